// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/catalogue/form.h"

#include <algorithm>
#include <bitset>
#include <optional>
#include <utility>

#include "base/text/text.h"
#include "collectors/kernel_log/text/line_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::string_view kAnything = "...";

constexpr auto kNameChar = [] {
  std::array<bool, 256> out{};
  for (const auto& [first, last] : {std::pair{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'_', '_'}}) {
    for (int c = first; c <= last; ++c) out[static_cast<std::size_t>(c)] = true;
  }
  return out;
}();
// As is_name_char(), of each byte of forms and lines.
inline bool in_name(char c) { return kNameChar[static_cast<unsigned char>(c)]; }

bool is_dev_char(char c) {
  constexpr std::string_view kMarks = "_-.:@,/+";
  return in_name(c) || kMarks.find(c) != std::string_view::npos;
}

bool is_module_char(char c) { return in_name(c) || c == '-' || c == '.'; }

// Of each byte of a form, so without a call.
inline bool is_anything(std::string_view form, std::size_t at) {
  return form.size() - at >= kAnything.size() && form[at] == '.' && form[at + 1] == '.' &&
         form[at + 2] == '.';
}

inline bool is_blanks(std::string_view form, std::size_t at) {
  return form.size() - at >= 3 && form[at + 1] == ' ' && form[at + 2] == '}';
}

// What in a form may be other than ordinary text.
constexpr auto kSpecial = [] {
  std::array<bool, 256> out{};
  for (const char c : {'{', '[', ']', '.', '\\'}) out[static_cast<unsigned char>(c)] = true;
  return out;
}();
inline bool is_special(char c) { return kSpecial[static_cast<unsigned char>(c)]; }

inline bool begins_field(char c) { return c == '{' || c == '[' || c == ']'; }

template <class IsPart>
std::size_t run_of(std::string_view text, std::size_t at, IsPart is_part) {
  const std::size_t begin = at;
  while (at < text.size() && is_part(text[at])) ++at;
  return at - begin;
}

// The size of a number right there, with its sign where one may stand.
std::size_t digits_at(std::string_view text, std::size_t at, bool sign) {
  const std::size_t minus = sign && at < text.size() && text[at] == '-' ? 1 : 0;
  const std::size_t n = run_of(text, at + minus, [](char c) { return is_digit(c); });
  return n == 0 || n > 19 ? 0 : n + minus;
}

std::size_t hex_at(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  const std::size_t mark = rest.starts_with("0x") || rest.starts_with("0X") ? 2 : 0;
  const std::size_t n = run_of(rest, mark, [](char c) { return Scan::is_hex_digit(c); });
  return n == 0 || n > 16 ? 0 : n + mark;
}

// "4096", "4096 bytes", "6637.69 MiB", "1900,00 MiB" of some locales, "0x1000", "1.2GB"
std::size_t size_at(std::string_view text, std::size_t at) {
  if (text.substr(at).starts_with("0x")) return hex_at(text, at);
  std::size_t n = digits_at(text, at, false);
  if (n == 0) return 0;
  if (at + n < text.size() && (text[at + n] == '.' || text[at + n] == ',')) {
    const std::size_t more = run_of(text, at + n + 1, is_digit);
    if (more > 0) n += 1 + more;
  }
  std::size_t end = at + n;
  if (end < text.size() && text[end] == ' ') ++end;
  constexpr std::array<std::string_view, 3> kBytes{"bytes", "Bytes", "byte"};
  const auto word = std::find_if(kBytes.begin(), kBytes.end(), [&](std::string_view each) {
    return text.substr(std::min(end, text.size())).starts_with(each);
  });
  if (word != kBytes.end()) {
    end += word->size();
  } else {
    constexpr std::string_view kPrefixes = "kKMGTPE";
    if (end < text.size() && kPrefixes.find(text[end]) != std::string_view::npos) ++end;
    if (end < text.size() && end > at + n && text[end] == 'i') ++end;
    if (end >= text.size() || text[end] != 'B') return n;
    ++end;
  }
  return end == text.size() || !in_name(text[end]) ? end - at : n;
}

// How far the text goes as a word of one() does, and whether that is all of it.
std::pair<std::size_t, bool> word_at(std::string_view word, std::string_view text) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < word.size(); ++i, ++n) {
    if (word[i] == '\\') ++i;
    if (n == text.size() || text[n] != word[i]) return {n, false};
  }
  return {n, true};
}

// A size with a fraction is kept as it was rounded, under a name of its own.
std::string_view rounded_name(std::string_view name) {
  constexpr std::array<std::array<std::string_view, 2>, 6> kNames{
      {{"size", "size_text"},
       {"free", "free_text"},
       {"total", "total_text"},
       {"limit", "limit_text"},
       {"used", "used_text"},
       {"available", "available_text"}}};
  for (const auto& [exact, rounded] : kNames) {
    if (exact == name) return rounded;
  }
  return {};
}

}  // namespace

FormMatcher::Field FormMatcher::parsed_field(std::size_t at) const {
  struct Named {
    std::string_view name;
    Type type;
  };
  constexpr std::array kTypes{
      Named{"int", Type::kInt},      // a number, perhaps negative
      Named{"nat", Type::kNat},      // a number
      Named{"hex", Type::kHex},      // hexadecimal digits, kept as printed
      Named{"xnum", Type::kXnum},    // hexadecimal digits, kept as a number
      Named{"size", Type::kSize},    // of any unit, in bytes; rounded ones as text (size_text)
      Named{"dev", Type::kDev},      // a device's name: "12000000.iommu", "2-1:1.0"
      Named{"name", Type::kName},    // a module's or driver's name
      Named{"cname", Type::kCname},  // a name in C
      Named{"word", Type::kWord},    // no blank in it
      Named{"comm", Type::kComm},    // a task's name: the longest that fits, of 15 bytes
      Named{"path", Type::kPath},    // begins with '/', no blank in it
      Named{"one", Type::kOne},
      Named{"rest", Type::kRest}};  // what the form goes on to describe, as printed
  Field field{};
  field.at = static_cast<std::uint16_t>(at);
  field.type = Type::kText;
  std::size_t end = at + 1;
  while (end < form_.size() && in_name(form_[end])) ++end;
  field.name_size = static_cast<std::uint16_t>(end - at - 1);
  field.is_kept = name_of(field) != "_";
  if (end < form_.size() && form_[end] == ':') {
    const std::size_t begin = end + 1;
    end = begin + run_of(form_, begin, [](char c) { return in_name(c); });
    const std::string_view type = form_.substr(begin, end - begin);
    for (const Named& each : kTypes) {
      if (type.size() != each.name.size() || type[0] != each.name[0]) continue;
      if (type.size() < 2 || type[1] != each.name[1] || each.name != type) continue;
      field.type = each.type;
      break;
    }
    if (end < form_.size() && form_[end] == '(') {
      const std::size_t first = end + 1;
      end = first;
      while (end < form_.size() && form_[end] != ')') end += form_[end] == '\\' ? 2U : 1U;
      field.words_at = static_cast<std::uint16_t>(first);
      field.words_size = static_cast<std::uint16_t>(end - first);
      ++end;
    }
  }
  field.next = static_cast<std::uint16_t>(end + 1);
  return field;
}

FormMatcher::Field FormMatcher::field_at(std::size_t at) {
  for (std::size_t i = 0; i < known_size_; ++i) {
    if (known_[i].at == at) return known_[i];
  }
  const Field field = parsed_field(at);
  if (known_size_ < kMostKnown) known_[known_size_++] = field;
  return field;
}

std::size_t FormMatcher::behind_option(std::size_t at) const {
  int depth = 0;
  for (; at < form_.size(); ++at) {
    if (form_[at] == '\\') {
      ++at;
    } else if (form_[at] == '[') {
      ++depth;
    } else if (form_[at] == ']' && --depth == 0) {
      return at + 1;
    }
  }
  return at;
}

// Whether the form could go on with the text there; cheap, and sometimes wrongly true.
bool FormMatcher::may_follow(std::size_t form, std::size_t text) const {
  for (; form < form_.size() && text < text_.size(); ++form, ++text) {
    const char c = form_[form];
    if (is_special(c)) {
      if (begins_field(c) || is_anything(form_, form)) return true;
      if (c == '\\') ++form;
    }
    if (text_[text] != form_[form]) return false;
  }
  return true;
}

// The bytes that the form can go on with there; all of them where that is not plain to see.
std::bitset<256> FormMatcher::first_of(std::size_t form) {
  std::bitset<256> first;
  const auto add = [&first](char c) { first.set(static_cast<unsigned char>(c)); };
  if (form < form_.size() && !begins_field(form_[form]) &&
      !form_.substr(form).starts_with(kAnything)) {
    add(form_[form] == '\\' ? form_[form + 1] : form_[form]);
    return first;
  }
  if (form >= form_.size() || form_[form] != '{' || form_.substr(form).starts_with("{ }")) {
    return first.set();
  }
  const Field field = field_at(form);
  if (field.type != Type::kOne) return first.set();
  const std::string_view words = form_.substr(field.words_at, field.words_size);
  bool begins = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool escaped = words[i] == '\\';
    if (escaped) ++i;
    if (begins) add(words[i]);
    begins = !escaped && words[i] == '|';
  }
  return first;
}

void FormMatcher::cut(const Place& at) {
  if (at.form < anchor_end_ || at.loose || (is_cut_ && cut_size_ >= at.confirmed)) return;
  is_cut_ = true;
  cut_size_ = at.confirmed;
  std::copy_n(values_.begin(), at.confirmed, cut_values_.begin());
}

bool FormMatcher::keep(const Field& field, Place& at, std::string_view value) {
  if (!field.is_kept) return true;
  if (at.values == kMaxFields) return false;
  values_[at.values++] = {value.data(), static_cast<std::uint32_t>(value.size()),
                          static_cast<std::uint16_t>(field.at + 1), field.name_size, field.type};
  return true;
}

bool FormMatcher::go_on(const Field& field, Place at, std::size_t end, std::string_view value) {
  if (!may_follow(field.next, end) || !keep(field, at, value)) return false;
  at.form = field.next;
  at.text = end;
  at.loose = at.loose || field.type == Type::kText || field.type == Type::kComm ||
             field.type == Type::kWord || field.type == Type::kPath;
  return run(at);
}

// Each end from the longest to the shortest.
bool FormMatcher::shorter(const Field& field, const Place& at, std::size_t least,
                          std::size_t most) {
  for (std::size_t n = most; n >= least && n > 0; --n) {
    if (go_on(field, at, at.text + n, text_.substr(at.text, n))) return true;
  }
  return false;
}

// Sets `done` where it went on to the end itself; else the place is behind the field's only end.
bool FormMatcher::take_field(const Field& field, Place& at, bool& done) {
  done = true;
  std::size_t n = 0;
  switch (field.type) {
    case Type::kText:
      for (std::size_t end = at.text + 1; end <= text_.size(); ++end) {
        if (go_on(field, at, end, text_.substr(at.text, end - at.text))) return true;
        if (steps_ <= 0) return false;
      }
      return false;
    case Type::kComm: {
      // A byte that the log shows as "\\xe2" takes four.
      const std::size_t most = std::min<std::size_t>(text_.size() - at.text, 60);
      for (n = most; n > 0; --n) {
        if (!may_follow(field.next, at.text + n)) continue;
        const std::string_view comm = text_.substr(at.text, n);
        const bool fits = at.text == 0 ? is_leading_comm(comm) : is_comm(comm);
        if (fits && go_on(field, at, at.text + n, comm)) return true;
      }
      return false;
    }
    case Type::kDev:
      return shorter(
          field, at, 1,
          std::min<std::size_t>(run_of(text_, at.text, [](char c) { return is_dev_char(c); }), 80));
    case Type::kName:
      return shorter(field, at, 1,
                     std::min<std::size_t>(
                         run_of(text_, at.text, [](char c) { return is_module_char(c); }), 60));
    case Type::kCname:
      return shorter(field, at, 1, run_of(text_, at.text, [](char c) { return in_name(c); }));
    case Type::kPath:
      if (text_[at.text] != '/') return false;
      [[fallthrough]];
    case Type::kWord:
      return shorter(field, at, 1, run_of(text_, at.text, [](char c) { return !is_blank(c); }));
    case Type::kOne: {
      std::string_view words = form_.substr(field.words_at, field.words_size);
      while (!words.empty()) {
        std::size_t end = std::min(words.find('|'), words.size());
        while (end > 0 && end < words.size() && words[end - 1] == '\\') {
          end = std::min(words.find('|', end + 1), words.size());
        }
        const std::string_view word = words.substr(0, end);
        words.remove_prefix(std::min(end + 1, words.size()));
        const std::size_t equals = word.find('=');
        const std::string_view shown = word.substr(0, equals);
        const auto [size, same] = word_at(shown, text_.substr(at.text));
        if (!same) {
          // The line may end within the word.
          if (at.text + size == text_.size()) cut(at);
          continue;
        }
        const std::string_view value =
            equals == std::string_view::npos ? shown : word.substr(equals + 1);
        Field kept = field;
        kept.is_kept = kept.is_kept && !value.empty();
        if (go_on(kept, at, at.text + size, value)) return true;
      }
      return false;
    }
    case Type::kInt:
      n = digits_at(text_, at.text, true);
      break;
    case Type::kNat:
      n = digits_at(text_, at.text, false);
      break;
    case Type::kHex:
    case Type::kXnum:
      n = hex_at(text_, at.text);
      break;
    case Type::kSize:
      n = size_at(text_, at.text);
      break;
    case Type::kRest:
      return go_on(field, at, at.text, text_.substr(at.text));
  }
  if (n == 0) return false;
  const std::string_view value = text_.substr(at.text, n);
  if ((field.type == Type::kInt || field.type == Type::kNat) && !parse_i64(value)) return false;
  if (!keep(field, at, value)) return false;
  at.form = field.next;
  at.text += n;
  done = false;
  return true;
}

bool FormMatcher::run(Place at) {
  for (;;) {
    if (--steps_ <= 0) return false;
    if (at.form >= form_.size()) {
      if (at.text != text_.size()) return false;
      size_ = at.values;
      return true;
    }
    const char c = form_[at.form];
    if (c == ']') {
      ++at.form;
      continue;
    }
    if (c == '[') {
      Place without = at;
      without.form = behind_option(at.form);
      ++at.form;
      if (run(at)) return true;
      at = without;
      continue;
    }
    if (c == '.' && is_anything(form_, at.form)) {
      at.form += kAnything.size();
      at.loose = true;
      if (at.form >= form_.size()) at.text = text_.size();
      const std::bitset<256> first = first_of(at.form);
      for (; at.text < text_.size(); ++at.text) {
        if (!first[static_cast<unsigned char>(text_[at.text])]) continue;
        if (run(at)) return true;
        if (steps_ <= 0) return false;
      }
      continue;
    }
    if (c == '{' && is_blanks(form_, at.form)) {
      at.form += 3;
      // A tab, as /dev/kmsg and what copies it show one.
      constexpr std::string_view kTab = "\\x09";
      while (at.text < text_.size()) {
        const bool tab = text_[at.text] == '\\' && text_.substr(at.text).starts_with(kTab);
        if (!tab && !is_blank(text_[at.text])) break;
        at.text += tab ? kTab.size() : 1;
      }
      continue;
    }
    if (c == '{') {
      if (at.text == text_.size()) {
        cut(at);
        return false;
      }
      bool done = false;
      const bool fits = take_field(field_at(at.form), at, done);
      if (done || !fits) return fits;
      continue;
    }
    // Ordinary text, as far as it goes.
    while (at.form < form_.size()) {
      const char ordinary = form_[at.form];
      if (is_special(ordinary)) {
        if (begins_field(ordinary) || is_anything(form_, at.form)) break;
        if (ordinary == '\\') ++at.form;
      }
      if (at.text == text_.size()) {
        cut(at);
        return false;
      }
      if (form_[at.form] != text_[at.text]) return false;
      ++at.form;
      ++at.text;
    }
    at.confirmed = at.values;
    at.loose = false;
  }
}

FormMatch FormMatcher::match(std::string_view form, std::string_view anchor,
                             std::string_view text) {
  form_ = form;
  text_ = text;
  anchor_end_ = static_cast<std::size_t>(anchor.data() - form.data()) + anchor.size();
  steps_ = kMaxSteps;
  size_ = 0;
  cut_size_ = 0;
  is_cut_ = false;
  known_size_ = 0;
  whole_ = run({});
  if (whole_) return FormMatch::kWhole;
  if (!is_cut_) return FormMatch::kNone;
  size_ = cut_size_;
  std::copy_n(cut_values_.begin(), cut_size_, values_.begin());
  return FormMatch::kCut;
}

void FormMatcher::write(Event& event) const {
  for (std::size_t i = 0; i < size_; ++i) {
    const struct {
      std::string_view name;
      std::string_view text;
      Type type;
    } value{form_.substr(values_[i].name_at, values_[i].name_size),
            {values_[i].text, values_[i].size},
            values_[i].type};
    switch (value.type) {
      case Type::kInt:
      case Type::kNat:
        event.set_number(value.name, parse_i64(value.text).value_or(0));
        break;
      case Type::kXnum: {
        std::string_view digits = value.text;
        const auto number = parse_hex(digits);
        if (number && *number <= INT64_MAX) {
          event.set_number(value.name, static_cast<std::int64_t>(*number));
        }
        break;
      }
      case Type::kSize: {
        if (const auto hex = parse_hex(value.text); value.text.starts_with("0x")) {
          if (hex && *hex <= INT64_MAX) {
            event.set_number(value.name, static_cast<std::int64_t>(*hex));
          }
          break;
        }
        std::string_view behind = value.text;
        const auto number = take_i64(behind);
        const bool rounded = value.text.find_first_of(".,") != std::string_view::npos;
        const auto bytes = number && !rounded ? in_bytes(*number, behind) : std::nullopt;
        if (bytes) {
          event.set_number(value.name, *bytes);
        } else {
          event.set_text(rounded_name(value.name), value.text);
        }
        break;
      }
      case Type::kOne:
        if (value.text == "true" || value.text == "false") {
          event.set_bool(value.name, value.text == "true");
          break;
        }
        event.set_text(value.name, value.text);
        break;
      case Type::kText:
        event.set_text(value.name, trim(value.text));
        break;
      case Type::kRest:
        if (whole_) event.set_text(value.name, trim(value.text));
        break;
      default:
        event.set_text(value.name, value.text);
        break;
    }
  }
}

std::string_view anchor_of(std::string_view form) {
  std::string_view best;
  int depth = 0;
  std::size_t begin = 0;
  const auto end_at = [&](std::size_t end) {
    if (depth == 0 && end > begin && end - begin > best.size()) {
      best = form.substr(begin, end - begin);
    }
  };
  for (std::size_t at = 0; at < form.size();) {
    const char c = form[at];
    if (c == '\\') {
      end_at(at);
      // What is escaped stands by itself: an anchor is a piece of the form as it is written.
      begin = at + 1;
      at += 2;
    } else if (c == '[') {
      end_at(at);
      ++depth;
      begin = ++at;
    } else if (c == ']') {
      --depth;
      begin = ++at;
    } else if (c == '{') {
      end_at(at);
      bool words = false;
      while (at < form.size() && (words || form[at] != '}')) {
        if (form[at] == '(') words = true;
        if (form[at] == ')') words = false;
        at += form[at] == '\\' ? 2U : 1U;
      }
      begin = ++at;
    } else if (is_anything(form, at)) {
      end_at(at);
      at += kAnything.size();
      begin = at;
    } else {
      ++at;
    }
  }
  end_at(form.size());
  return best.size() < kMinAnchor ? std::string_view{} : best;
}

std::string form_error(std::string_view form) {
  FormMatcher matcher;
  matcher.form_ = form;
  int depth = 0;
  std::size_t fields = 0;
  for (std::size_t at = 0; at < form.size(); ++at) {
    const char c = form[at];
    const std::string where = " at byte " + std::to_string(at + 1);
    if (c == '\\') {
      if (++at == form.size()) return "'\\' at the end: write '\\\\' for one";
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth < 0) {
      return "']' without '['" + where + ": write '\\]' for one that is printed";
    } else if (c == '}') {
      return "'}' without '{'" + where + ": write '\\}' for one that is printed";
    } else if (c == '{' && !form.substr(at).starts_with("{ }")) {
      const FormMatcher::Field field = matcher.parsed_field(at);
      if (field.next > form.size() || form[field.next - 1] != '}') {
        return "'{'" + where + " begins a field and no '}' ends it: {name} or {name:type}";
      }
      if (field.name_size == 0) return "a field without a name" + where + ": {name}, or {_} to skip";
      const std::string_view inside = form.substr(at, field.next - at);
      const std::size_t colon = inside.find(':');
      if (colon != std::string_view::npos && field.type == FormMatcher::Type::kText) {
        return "no type of field is named '" +
               std::string(inside.substr(colon + 1, inside.size() - colon - 2)) +
               "': int nat hex xnum size dev name cname word comm path one(A|B) rest";
      }
      if (field.type == FormMatcher::Type::kOne && field.words_size == 0) {
        return "one() without words" + where + ": {op:one(Read=read|Write=write)}";
      }
      if (field.type == FormMatcher::Type::kSize && field.is_kept &&
          rounded_name(matcher.name_of(field)).empty()) {
        return "a size is named size, free, total, limit, used or available, not '" +
               std::string(matcher.name_of(field)) + "'";
      }
      if (field.is_kept && ++fields > FormMatcher::kMaxFields) {
        return "more than " + std::to_string(FormMatcher::kMaxFields) + " fields";
      }
      at = field.next - 1;
    } else if (c == '{') {
      at += 2;
    }
  }
  if (depth != 0) return "'[' without ']': write '\\[' for one that is printed";
  if (anchor_of(form).empty()) {
    return "no text of " + std::to_string(kMinAnchor) +
           " bytes or more that each such line has: it would fit too much";
  }
  return {};
}

}  // namespace jetmem::kernel_log
