// SPDX-License-Identifier: Apache-2.0
// Lines to the compiled catalogue, and files to the loader of messages.
#include "base/text/text.h"
#include "collectors/kernel_log/decode/assembler.h"
#include "report/messages/message_check.h"
#include "report/messages/message_file.h"
#include "tests/fuzz/target.h"

namespace jetmem {
namespace {

using kernel_log::Catalogue;
using kernel_log::Event;
using kernel_log::Match;
using kernel_log::Voice;

void check_same(const Event& a, const Event& b) {
  check(a.kind() == b.kind() && a.size() == b.size() && a.message() == b.message());
  for (std::size_t i = 0; i < a.size(); ++i) {
    check(a[i].name == b[i].name && a[i].type == b[i].type && a[i].number == b[i].number);
    check(a.text_of(a[i]) == b.text_of(b[i]));
  }
}

// Each is as slow as all messages together.
constexpr int kMostUnfiltered = 2;

// Decoding is pure, and the filter hides nothing.
void check_line(std::string_view line, const Catalogue& catalogue, int& unfiltered_left) {
  static Event reused;
  Event fresh;
  const Match match = catalogue.decode(line, Voice::kUnknown, fresh);
  check(catalogue.decode(line, Voice::kUnknown, reused).message == match.message);
  if (!match) return;
  check_same(fresh, reused);
  check(fresh.message() == match.message && !message_id(fresh).empty());
  if (--unfiltered_left < 0) return;
  Event unfiltered;
  const Match other = catalogue.decode_unfiltered(line, Voice::kUnknown, unfiltered);
  check(other.message == match.message);
  check_same(fresh, unfiltered);
}

// What jetmem says of an event is one printable line, and no message itself.
void check_events(std::string_view text, const kernel_log::Catalogues& catalogues) {
  kernel_log::Assembler assembler(
      kernel_log::Soc::kTegra234,
      [](const Event& event) {
        const std::string said = describe(event);
        check(printable(said, said.size()) == said);
        Event again;
        check(decode_line(said, Voice::kKernel, again).piece.role == kernel_log::Role::kNothing);
      },
      catalogues);
  Lines lines(text);
  kernel_log::LogLine line;
  while (lines.next(line.text)) assembler.line(line);
  assembler.flush();
}

// Whatever the text is: what is taken is whole, each mistake has a text, and it decodes lines.
void check_file(std::string_view text) {
  MessageFile file;
  read_messages(MessageForm::kUser, "fuzz", text, file);
  check(file.messages.size() <= kMaxSiteMessages && file.errors.size() <= 300);
  for (const ConfigError& each : file.errors) check(!each.message.empty());
  for (const kernel_log::Message& each : file.messages) {
    check(!each.id.empty() && !each.forms.empty());
  }
  // Each example is cut off at each byte: of a few short ones only.
  std::size_t bytes = 0;
  for (const MessageExample& each : file.examples) {
    for (const std::string& line : each.lines) bytes += line.size();
  }
  if (bytes < 600) check_messages(MessageForm::kUser, file);
  const Catalogue site(file.messages);
  Lines lines(text);
  int unfiltered = kMostUnfiltered;
  for (std::string_view line; lines.next(line);) check_line(line, site, unfiltered);
  if (bytes < 600) check_events(text, {.second = &site});
}

}  // namespace
}  // namespace jetmem

FUZZ(text) {
  Lines lines(text);
  int unfiltered = kMostUnfiltered;
  for (std::string_view line; lines.next(line);) check_line(line, Catalogue::shipped(), unfiltered);
  check_events(text, {});
  if (text.size() <= 8192) check_file(text);
}
