// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/reduce_log.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "collectors/device/boot/history.h"
#include "collectors/device/boot/pstore.h"
#include "collectors/kernel_log/line/pasted.h"
#include "collectors/kernel_log/line/record.h"

namespace jetmem {
namespace {

using kernel_log::Decoded;
using kernel_log::Event;
using kernel_log::FieldType;
using kernel_log::LogLine;
using kernel_log::Voice;

constexpr std::string_view kOmitted = "<omitted>";

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Who it was: names of tasks, units and containers are what an event is about.
bool is_name_of_program(std::string_view field) {
  return is_one_of(field, {"comm", "process", "unit", "cgroup", "limit_cgroup", "task_memcg",
                           "oom_memcg", "cpuset"});
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_part(char c) { return is_letter(c) || is_digit(c); }

// Of letters and digits: no more than a word, a number, or a short name with a number. Serial
// numbers, keys and texts in hexadecimal are longer, or more mixed.
bool is_plain(std::string_view part) {
  constexpr std::size_t kMostLetters = 32;
  constexpr std::size_t kMostDigits = 10;
  constexpr std::size_t kMostMixed = 8;
  constexpr std::size_t kMostHex = 18;
  if (part.starts_with("0x") && part.size() <= kMostHex) return true;
  if (std::all_of(part.begin(), part.end(), is_digit)) return part.size() <= kMostDigits;
  if (std::all_of(part.begin(), part.end(), is_letter)) return part.size() <= kMostLetters;
  return part.size() <= kMostMixed;
}

struct Span {
  std::size_t at = 0;
  std::size_t size = 0;
};

std::string omitted_text(std::string_view text) {
  return "<" + std::to_string(text.size()) + " bytes omitted>";
}

// By an earlier capture.
bool is_omitted(std::string_view text) {
  if (!take_prefix(text, "<") || !text.ends_with(" bytes omitted>")) return false;
  return take_u64(text).has_value() && text == " bytes omitted>";
}

// Between blanks.
std::vector<Span> words_of(std::string_view text) {
  std::vector<Span> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && !is_blank(text[at])) ++at;
    if (at > begin) out.push_back({begin, at - begin});
    while (at < text.size() && is_blank(text[at])) ++at;
  }
  return out;
}

// What of a text is more than words and numbers: addresses of mail and of the web as a whole, the
// value behind '=', and parts that are not plain.
std::vector<Span> private_parts(std::string_view text) {
  std::vector<Span> out;
  for (Span word : words_of(text)) {
    std::string_view whole = text.substr(word.at, word.size);
    const std::size_t first = whole.find_first_not_of("\"'([{,;:");
    if (first == whole.npos) continue;
    const std::size_t last = whole.find_last_not_of("\"')]},;:.!?");
    if (last == whole.npos || last < first) continue;
    word = {word.at + first, last + 1 - first};
    whole = text.substr(word.at, word.size);
    if (whole == kOmitted) continue;
    const std::size_t at = whole.find('@');
    const bool is_mail = at != whole.npos && at > 0 && at + 1 < whole.size();
    if (is_mail || contains(whole, "://") || whole.starts_with("/home/") ||
        whole.starts_with("/root/")) {
      out.push_back(word);
      continue;
    }
    bool is_value = false;
    for (std::size_t i = 0; i < whole.size();) {
      if (!is_part(whole[i])) {
        is_value = whole[i] == '=' || (is_value && whole[i] == '"');
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < whole.size() && is_part(whole[end])) ++end;
      const std::string_view part = whole.substr(i, end - i);
      if (!is_plain(part) || (is_value && !is_digit(part.front()))) {
        out.push_back({word.at + i, end - i});
      }
      i = end;
      is_value = false;
    }
  }
  return out;
}

// The kernel's own escapes.
void append_escaped(std::string& out, std::string_view text) {
  constexpr const char* kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      out += c;
    } else {
      out.append("\\x").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 15U]);
    }
  }
}

// The event that a text is, and whether another text is the same one.
class Meaning {
 public:
  Meaning(const LogLine& line, const kernel_log::Catalogues& catalogues)
      : line_(line), catalogues_(catalogues) {
    is_event_ = decode(line.text, event_, decoded_);
  }

  bool is_event() const { return is_event_; }
  bool begins() const { return decoded_.piece.role != kernel_log::Role::kFollows; }
  bool is_guess() const { return decoded_.message == nullptr; }

  // `part`: what was replaced. A field of free text may lack it then, and nothing else.
  bool is_kept_by(std::string_view text, std::string_view part) {
    Decoded decoded;
    if (!decode(text, other_, decoded) || decoded.message != decoded_.message ||
        decoded.piece.role != decoded_.piece.role || decoded.piece.step != decoded_.piece.step ||
        other_.kind() != event_.kind() || other_.size() != event_.size()) {
      return false;
    }
    for (std::size_t i = 0; i < event_.size(); ++i) {
      const kernel_log::Field& before = event_[i];
      const kernel_log::Field& now = other_[i];
      if (before.name != now.name || before.type != now.type || before.number != now.number) {
        return false;
      }
      const bool is_text = before.type == FieldType::kText || before.type == FieldType::kItem;
      if (!is_text || event_.text_of(before) == other_.text_of(now)) continue;
      const bool is_free =
          !part.empty() && !is_typed(before.name) && contains(event_.text_of(before), part);
      if (!is_free && !(is_guess() && before.name == kernel_log::kGuessedLine)) return false;
    }
    return true;
  }
  // `text` is what is left of it now.
  void becomes(std::string_view text) { (void)decode(text, event_, decoded_); }

 private:
  bool decode(std::string_view text, Event& event, Decoded& decoded) const {
    decoded = kernel_log::decode_line(text, line_.voice, event, catalogues_, line_.is_quiet());
    if (decoded.message == nullptr) {
      LogLine line = line_;
      line.text = text;
      decoded = kernel_log::guess_line(line, event);
    }
    return decoded.piece.role != kernel_log::Role::kNothing;
  }

  // By each form that has the field.
  bool is_typed(std::string_view name) const {
    if (is_name_of_program(name) || is_guess()) return true;
    bool is_known = false;
    for (const kernel_log::Form& form : decoded_.message->forms) {
      for (const kernel_log::FormField& field : kernel_log::fields_of(form)) {
        if (field.name != name) continue;
        if (field.is_free()) return false;
        is_known = true;
      }
    }
    return is_known;
  }

  const LogLine& line_;
  const kernel_log::Catalogues& catalogues_;
  bool is_event_ = false;
  Decoded decoded_;
  Event event_;
  Event other_;
};

std::string replaced(std::string_view text, Span what) {
  std::string out(text.substr(0, what.at));
  return out.append(kOmitted).append(text.substr(what.at + what.size));
}

}  // namespace

std::optional<std::string> LogReducer::message(const LogLine& line) {
  Meaning meaning(line, catalogues_);
  if (!meaning.is_event()) return std::nullopt;
  std::string text(line.text.substr(0, kernel_log::kMaxLine));
  const auto replace = [&](Span what, std::string_view part) {
    std::string other = replaced(text, what);
    if (!meaning.is_kept_by(other, part)) return false;
    text = std::move(other);
    return true;
  };
  // From the end, so that what stands before keeps its place.
  const auto words = words_of(text);
  for (auto word = words.rbegin(); word != words.rend(); ++word) (void)replace(*word, {});
  const auto parts = private_parts(text);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const std::string what = text.substr(part->at, part->size);
    if (replace(*part, what)) meaning.becomes(text);
  }
  for (std::size_t at = text.find("<omitted> <omitted>"); at != std::string::npos;
       at = text.find("<omitted> <omitted>", at)) {
    if (!replace({at, 2 * kOmitted.size() + 1}, {})) ++at;
  }
  const std::string out = redact_text(text, counts_);
  LogLine other = line;
  other.text = out;
  Meaning after(other, catalogues_);
  if (!after.is_event() || after.is_guess() != meaning.is_guess()) return std::nullopt;
  return out;
}

std::string LogReducer::omitted(std::string_view text) {
  if (is_omitted(text)) return std::string(text);
  ++counts_.lines;
  counts_.line_bytes += text.size();
  return omitted_text(text);
}

LogReducer::Reduced LogReducer::record_text(std::string_view text, LogLine line) {
  Reduced out;
  Lines lines(text);
  bool is_known = false;
  while (lines.next(line.text)) {
    while (!line.text.empty() && is_blank(line.text.back())) line.text.remove_suffix(1);
    if (line.text.empty()) continue;
    const auto reduced = line.voice == Voice::kForeign ? std::nullopt : message(line);
    is_known = is_known || reduced;
    if (!out.text.empty()) out.text += '\n';
    out.text += reduced ? *reduced : omitted_text(line.text);
    if (!line.continues && reduced) {
      out.begins = Meaning(line, catalogues_).begins();
    }
    line.continues = true;
  }
  if (!is_known) out.text.clear();
  return out;
}

std::string LogReducer::take_record(std::string_view raw) {
  kernel_log::Record record;
  std::string out(raw.substr(0, raw.find(',')));
  if (!kernel_log::parse_record(raw, record)) return out + ",-;" + omitted(raw);
  out += "," + std::to_string(record.seq) + "," + std::to_string(record.stamp.count()) + ",-";
  if (!record.caller.empty() && is_plain(record.caller)) {
    out.append(",caller=").append(record.caller);
  }
  // As LineFeed joins them. What is written here is joined already.
  Reduced reduced;
  if (record.fragment && !last_begins_ && !last_text_.empty() && record.caller == last_caller_ &&
      last_text_.size() < kernel_log::kMaxLine) {
    if (record.first_fragment) last_first_ = last_text_.size();
    last_text_.append(record.text);
    reduced = record_text(last_text_, record.line());
    if (reduced.text.empty() && !record.first_fragment && last_first_ > 0) {
      reduced = record_text(std::string_view(last_text_).substr(last_first_), record.line());
    }
  } else {
    reduced = record_text(record.text, record.line());
    last_text_.assign(record.text);
    last_caller_.assign(record.caller);
    last_first_ = 0;
  }
  last_begins_ = reduced.begins;
  out += ';';
  if (reduced.text.empty()) return out + omitted(record.text);
  append_escaped(out, reduced.text);
  return out;
}

std::string LogReducer::kernel_log(std::string_view text) {
  std::string out;
  kernel_log::Pasted pasted;
  bool has_records = false;
  Lines lines(text);
  std::string_view raw;
  while (lines.next(raw)) {
    if (kernel_log::is_kmsg_record(raw)) {
      has_records = true;
      out += take_record(raw) + "\n";
      continue;
    }
    kernel_log::PastedLine line;
    if (has_records && kernel_log::is_kmsg_record_key(raw)) continue;
    if (!pasted.strip(raw, line)) continue;
    if (line.line.level) out += "<" + std::to_string(*line.line.level) + ">";
    if (line.line.stamp) {
      char stamp[40];
      const auto us = static_cast<unsigned long long>(line.line.stamp->count());
      std::snprintf(stamp, sizeof stamp, "[%5llu.%06llu] ", us / 1'000'000, us % 1'000'000);
      out += stamp;
    }
    if (line.line.voice == Voice::kKernel) out += "kernel: ";
    const Reduced reduced = record_text(line.line.text, line.line);
    out += (reduced.text.empty() ? omitted(line.line.text) : reduced.text) + "\n";
  }
  return out;
}

std::string LogReducer::crash_line(std::string_view text) {
  LogLine line;
  line.text = text;
  line.voice = Voice::kKernel;
  if (auto reduced = message(line)) return *reduced;
  const std::string_view phrase = crash_phrase(text);
  if (phrase.empty()) return omitted(text);
  // It says how the kernel ended, in words that no message has.
  return (text.starts_with(phrase) ? "" : std::string(kOmitted) + " ") + std::string(trim(phrase)) +
         " " + omitted(text);
}

std::string LogReducer::boots(std::string_view json) {
  using Json = nlohmann::ordered_json;
  Json all = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!all.is_object() || !all.contains("boots")) return std::string(json);
  for (Json& boot : all["boots"]) {
    const auto crash = boot.is_object() ? boot.find("crash") : boot.end();
    if (crash == boot.end() || !crash->is_string()) continue;
    const auto& text = crash->get_ref<const std::string&>();
    if (text != boot::Boot::kCrashNotUnderstood) *crash = crash_line(text);
  }
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Of what stands before a line's text only what a record's writer puts there.
std::string LogReducer::crash_record(std::string_view name, std::string_view text) {
  PstoreRecord whole;
  parse_pstore_record(name, text, {}, whole);
  if (whole.kind == PstoreKind::kPmsg || whole.kind == PstoreKind::kOther ||
      contains(name, ".enc.z")) {
    return text.empty() ? std::string() : omitted(text) + "\n";
  }
  std::string out;
  Lines lines(text);
  std::string_view raw;
  bool is_first = true;
  while (lines.next(raw)) {
    PstoreRecord header;
    const std::string first = std::string(raw) + "\n";
    parse_pstore_record(name, first, {}, header);
    if (std::exchange(is_first, false) && header.part > 0 &&
        is_plain(raw.substr(0, raw.find('#')))) {
      out += first;
      continue;
    }
    if (const std::string_view what = message_of_crash_line(raw); !what.empty()) {
      const std::string_view prefix =
          raw.substr(0, static_cast<std::size_t>(what.data() - raw.data()));
      if (prefix.find_first_not_of("0123456789<>[]. CT") == prefix.npos) out += prefix;
      out += crash_line(what);
    }
    out += '\n';
  }
  return out;
}

EventTexts reduce_event(std::string_view fields, std::string_view summary) {
  using Json = nlohmann::ordered_json;
  EventTexts out{std::string(fields), std::string(summary)};
  Json json = Json::parse(fields, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return out;
  const auto text_at = [&](const char* key) {
    const auto at = json.find(key);
    return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  const kernel_log::Catalogue& shipped = kernel_log::Catalogue::shipped();
  const std::string guessed = text_at(std::string(kernel_log::kGuessedLine).c_str());
  if (const auto known = json.find("known"); known != json.end() && *known == false) {
    Redacted ignored;
    LogLine line;
    line.text = guessed;
    line.voice = Voice::kKernel;
    const std::string less =
        LogReducer(nullptr, ignored).message(line).value_or(omitted_text(guessed));
    json[std::string(kernel_log::kGuessedLine)] = less;
    constexpr std::string_view kLine = "; the line: \"";
    const std::size_t at = out.summary.find(kLine);
    if (at != std::string::npos) out.summary.resize(at);
    if (at != std::string::npos) out.summary.append(kLine).append(less).append("\"");
  } else if (const std::string id = text_at("message"); !id.empty()) {
    // Of several lines: a field may be of another message than the first's.
    const bool is_shipped = shipped.find(id) != nullptr;
    const auto is_free = [&](std::string_view name) {
      if (is_name_of_program(name) || is_one_of(name, {"kind", "message"})) return false;
      if (!is_shipped) return true;
      for (const kernel_log::Message& message : shipped.messages()) {
        for (const kernel_log::Form& form : message.forms) {
          for (const kernel_log::FormField& field : kernel_log::fields_of(form)) {
            if (field.name == name && field.is_free()) return true;
          }
        }
      }
      return false;
    };
    for (auto& [name, value] : json.items()) {
      if (!value.is_string() || !is_free(name)) continue;
      std::string text = value.get<std::string>();
      const auto parts = private_parts(text);
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        const std::string what = text.substr(part->at, part->size);
        text = replaced(text, *part);
        for (std::size_t at = out.summary.find(what); at != std::string::npos;
             at = out.summary.find(what, at + kOmitted.size())) {
          out.summary = replaced(out.summary, {at, what.size()});
        }
      }
      value = text;
    }
  } else {
    return out;
  }
  out.fields = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return out;
}

}  // namespace jetmem
