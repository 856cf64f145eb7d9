// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/decode/decode.h"

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/vocabulary.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence.h"

namespace jetmem::kernel_log {

Decoded decode_line(std::string_view text, Voice voice, Event& event, const Catalogues& catalogues,
                    bool quiet) {
  text = without_vendor_prefix(text.substr(0, kMaxLine));
  Match match = catalogues.first->decode(text, voice, event, quiet);
  // What the site says of a line goes before what jetmem says of all that it has no entry for.
  if (catalogues.second != nullptr && (!match || match.message->generic)) {
    if (const Match own = catalogues.second->decode(text, voice, event, quiet)) {
      match = own;
    } else if (match) {
      match = catalogues.first->decode(text, voice, event, quiet);
    }
  }
  return {match.message, match.piece};
}

Decoded guess_line(const LogLine& line, Event& event) {
  const auto found = guess(line);
  if (!found) return {};
  event.reset(found->kind);
  event.set_guess();
  if (!found->driver.empty()) event.set_text("driver", found->driver);
  if (!found->dev.empty()) event.set_text("dev", found->dev);
  event.set_text(kGuessedLine, line.text);
  return {nullptr, {.role = Role::kWhole}};
}

void complete(Event& event, const Decoded& decoded, Soc soc) {
  if (decoded.message == nullptr || decoded.message->hooks().complete == nullptr) return;
  decoded.message->hooks().complete(event, soc);
}

namespace {

bool is_an_event(std::string_view text) {
  Event event;
  return decode_line(text, Voice::kUnknown, event).piece.role != Role::kNothing;
}

void without_colons(std::string& text, std::size_t from = 0) {
  for (std::size_t at = text.find(": ", from); at != std::string::npos; at = text.find(": ", at)) {
    text[at] = ',';
  }
}

// Who reads it must see that it is no fact: the line itself stands there.
std::string as_guess(const Event& event, const std::string& text) {
  std::string out = "not a message that jetmem knows; its words suggest: " + text;
  const std::size_t before = out.size();
  const std::string line = printable(event.text(kGuessedLine), Event::kMaxText);
  if (!line.empty() && text.find(line) == std::string::npos) out += "; the line: \"" + line + "\"";
  if (is_an_event(out)) without_colons(out, before);
  if (is_an_event(out)) without_colons(out);
  return out;
}

}  // namespace

std::string describe(const Event& event) {
  std::string text;
  if (const Message* const message = event.message()) {
    if (message->hooks().describe != nullptr) message->hooks().describe(event, text);
    if (text.empty() && !message->say.empty()) say(message->say, event, text);
  }
  for (const std::string_view pattern : info_of(event.kind()).say) {
    if (!text.empty() || say(pattern, event, text)) break;
  }
  text = printable(text, 400);
  // What is quoted could be read as a message of its own, if the sentence stands in a log again.
  if (is_an_event(text)) without_colons(text);
  return event.is_guess() ? as_guess(event, text) : text;
}

}  // namespace jetmem::kernel_log
