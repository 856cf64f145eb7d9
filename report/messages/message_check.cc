// SPDX-License-Identifier: Apache-2.0
#include "report/messages/message_check.h"

#include <algorithm>

#include "base/text/text.h"
#include "collectors/kernel_log/decode/assembler.h"
#include "collectors/kernel_log/text/sentence.h"

namespace jetmem {

using kernel_log::Assembler;
using kernel_log::Catalogue;
using kernel_log::Catalogues;
using kernel_log::Event;
using kernel_log::LogLine;
using kernel_log::Match;
using kernel_log::Message;
using kernel_log::Role;

namespace {

std::vector<Event> events_of(const MessageExample& example, const Message& message,
                             const Catalogues& catalogues) {
  std::vector<Event> events;
  Assembler assembler(
      example.soc, [&](const Event& event) { events.push_back(event); }, catalogues);
  LogLine line;
  line.voice = message.program ? kernel_log::Voice::kProcess : kernel_log::Voice::kKernel;
  for (const std::string& text : example.lines) {
    line.text = text;
    ++line.number;
    assembler.line(line);
  }
  assembler.flush();
  return events;
}

std::map<std::string, std::string> fields_of(const Event& event) {
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; i < event.size(); ++i) {
    const std::string name(event[i].name);
    out[name] = field_as_text(event, name);
  }
  return out;
}

std::string shown(const std::map<std::string, std::string>& fields) {
  std::string out = "{";
  for (const auto& [name, value] : fields) {
    out += (out.size() > 1 ? ", " : "") + name + ": " + printable(value, 200);
  }
  return out + "}";
}

class Checker {
 public:
  Checker(MessageForm form, const MessageFile& file)
      : form_(form), file_(file), own_(file.messages) {
    if (form == MessageForm::kUser) {
      catalogues_.second = &own_;
    } else {
      catalogues_.first = &own_;
    }
  }

  std::vector<ConfigError> run() {
    for (const MessageExample& example : file_.examples) check(example);
    return std::move(problems_);
  }

 private:
  void add(const MessageExample& example, std::string text) {
    const std::string id(file_.messages[example.message].id);
    problems_.push_back({file_.files[example.message], example.at.line, example.at.column,
                         id + ".examples", id + ": " + std::move(text)});
  }

  void check(const MessageExample& example) {
    const Message& message = file_.messages[example.message];
    const std::vector<Event> events = events_of(example, message, catalogues_);
    if (example.nothing) {
      if (!events.empty()) {
        add(example,
            "the example gives nothing, found " + shown(fields_of(events[0])) +
                (events[0].message() == nullptr ? " by words"
                                                : " of " + std::string(events[0].message()->id)) +
                ": narrow its line, or say what it gives");
      }
      return;
    }
    if (events.empty()) {
      add(example, "the example's line does not fit: '" + printable(example.lines[0], 200) + "'" +
                       where_it_stops(message, example.lines[0]));
      return;
    }
    if (events.size() > 1) {
      add(example, "the example must be one event, found " + std::to_string(events.size()) + ": " +
                       shown(fields_of(events[0])) + ", " + shown(fields_of(events[1])) +
                       ": give each an example of its own");
      return;
    }
    const Event& event = events[0];
    const std::string_view want = example.kind.empty() ? kernel_log::info_of(message.kind).name
                                                       : std::string_view(example.kind);
    const std::string_view kind = kernel_log::info_of(event.kind()).name;
    if (kind != want) {
      add(example, "the example is of kind " + std::string(want) + ", found " + std::string(kind) +
                       ": correct 'kind'");
    }
    if (event.message() == nullptr) {
      add(example, form_ == MessageForm::kUser
                       ? "the line does not fit" + where_it_stops(message, example.lines[0])
                       : "the example is decoded by words, not by an entry");
      return;
    }
    if (event.message()->id != message.id && message.piece.role != Role::kFollows) {
      const std::string other(event.message()->id);
      const bool built_in = form_ == MessageForm::kUser && own_.find(other) == nullptr;
      add(example, built_in ? "jetmem knows the line already, as '" + other +
                                  "' (`jetmem messages explain " + other + "`): remove this entry"
                            : "the line fits '" + other + "' too: make one of them narrower");
      return;
    }
    if (const auto fields = fields_of(event); fields != example.fields) {
      add(example, "the example says " + shown(example.fields) + ", the line gives " +
                       shown(fields) + what_is_too_large(example.fields, fields) +
                       ": correct 'gives' or the line's form");
    }
    std::string sentence;
    Event first;
    const bool is_cut = own_.decode(example.lines[0], kernel_log::Voice::kUnknown, first).cut;
    if (!is_cut && !message.say.empty() && !say(message.say, event, sentence)) {
      add(example, "say names a field that this example does not give: put it in {?...}");
    }
    for (const std::string& line : example.lines) check_line(example, line);
  }

  // A field that a number had no room in is absent.
  static std::string what_is_too_large(const std::map<std::string, std::string>& want,
                                       const std::map<std::string, std::string>& found) {
    for (const auto& [name, value] : want) {
      const std::string_view large = too_large_number(value);
      if (found.contains(name) || large.empty()) continue;
      return "; " + std::string(large) + " is " + std::string(kTooLarge) + ", {" + name +
             ":word} keeps it as text";
    }
    return {};
  }

  // What helps to see why a line does not fit.
  static std::string where_it_stops(const Message& message, std::string_view line) {
    kernel_log::FormMatcher matcher;
    std::size_t most = 0;
    bool has_anchor = false;
    for (const kernel_log::Form& form : message.forms) {
      if (line.find(form.anchor()) == std::string_view::npos) continue;
      has_anchor = true;
      for (std::size_t n = line.size() - 1; n > most; --n) {
        if (matcher.match(form, line.substr(0, n)) == kernel_log::FormMatch::kNone) continue;
        most = n;
        break;
      }
    }
    if (!has_anchor && !message.forms.empty()) {
      return "; it lacks '" + printable(message.forms[0].anchor(), 60) + "'";
    }
    const std::string_view large = too_large_number(line);
    if (!large.empty()) {
      const std::string smaller =
          std::string(line.substr(0, static_cast<std::size_t>(large.data() - line.data()))) + "1" +
          std::string(large.data() + large.size(), line.data() + line.size());
      for (const kernel_log::Form& form : message.forms) {
        if (matcher.match(form, smaller) != kernel_log::FormMatch::kNone) {
          return "; " + std::string(large) + " is " + std::string(kTooLarge) +
                 ": {name:word} keeps it as text";
        }
      }
    }
    if (most == 0) return "; correct the entry's line: it must be the whole line";
    return "; it fits up to '" +
           printable(line.substr(most > 30 ? most - 30 : 0, std::min<std::size_t>(most, 30)), 60) +
           "', correct the entry's line behind that";
  }

  void check_line(const MessageExample& example, const std::string& line) {
    Event event;
    const std::vector<Match> all = own_.all(line, event);
    if (all.size() > 1) {
      add(example, "the line fits '" + std::string(all[0].message->id) + "' and '" +
                       std::string(all[1].message->id) + "': make one of them narrower");
    }
    const kernel_log::Voice voice = kernel_log::Voice::kUnknown;
    const Match whole = own_.decode(line, voice, event);
    if (!whole) return;
    if (own_.decode_unfiltered(line, voice, event).message != whole.message) {
      add(example, "the filter hides the line: its anchor is not in it");
      return;
    }
    const auto fields = fields_of(event);
    for (std::size_t n = 1; n < line.size(); ++n) {
      const Match cut = own_.decode(std::string_view(line).substr(0, n), voice, event);
      if (!cut) continue;
      // Of jetmem's own, versions that end there are taken for meant.
      const bool fits = !cut.cut && cut.message->hooks().decode == nullptr;
      if (fits && form_ == MessageForm::kShipped) continue;
      for (const auto& [name, value] : fields_of(event)) {
        // Of the decoder's own: gone when the event is complete.
        if (name.starts_with('_')) continue;
        const auto same = fields.find(name);
        if (same != fields.end() && same->second == value) continue;
        // The beginning of a line may be another message's, whose fields have other names.
        if (same == fields.end() && cut.message != whole.message) continue;
        // What ends the line may end earlier.
        if (fits && (same == fields.end() || line.ends_with(same->second))) continue;
        add(example,
            "cut off behind '" +
                printable(line.substr(n > 30 ? n - 30 : 0, std::min<std::size_t>(n, 30))) +
                "' it gives " + name + "=" + printable(value, 60) + ", which the whole line " +
                (same == fields.end() ? "does not have" : "has as " + printable(same->second, 60)) +
                ": put what follows {" + name +
                "} into the line's text, not into [...]; a line "
                "that ends there is a second item of 'line'");
        return;
      }
    }
  }

  MessageForm form_;
  const MessageFile& file_;
  Catalogue own_;
  Catalogues catalogues_;
  std::vector<ConfigError> problems_;
};

}  // namespace

std::vector<ConfigError> check_messages(MessageForm form, const MessageFile& file) {
  return Checker(form, file).run();
}

}  // namespace jetmem
