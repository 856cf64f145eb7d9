// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/catalogue/form.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text/text.h"
#include "collectors/kernel_log/text/line_parts.h"

namespace jetmem::kernel_log {
namespace {

bool is_module_char(char c) { return is_name_char(c) || c == '-' || c == '.'; }
bool is_dev_char(char c) {
  return is_module_char(c) || std::string_view(":@,/+").find(c) != std::string_view::npos;
}

// The words of a kOne, from `at` up to `end` of the code.
class FormWords {
 public:
  FormWords(std::string_view code, std::size_t at, std::size_t end)
      : code_(code), at_(at), end_(end) {}
  bool next() {
    if (at_ >= end_) return false;
    const std::size_t size = static_cast<unsigned char>(code_[at_]);
    const auto value = static_cast<unsigned char>(code_[at_ + 1]);
    const bool same = value == form_code::kSameValue;
    shown_ = code_.substr(at_ + 2, size);
    value_ = same ? shown_ : code_.substr(at_ + 2 + size, value);
    at_ += 2 + size + (same ? 0 : value);
    return true;
  }
  std::string_view shown() const { return shown_; }
  std::string_view value() const { return value_; }

 private:
  std::string_view code_;
  std::size_t at_;
  std::size_t end_;
  std::string_view shown_;
  std::string_view value_;
};

// What in a form is other than ordinary text.
inline bool is_code(char c) { return static_cast<unsigned char>(c) < form_code::kFirstOrdinary; }

template <class IsPart>
std::size_t run_of(std::string_view text, std::size_t at, IsPart is_part) {
  const std::size_t begin = at;
  while (at < text.size() && is_part(text[at])) ++at;
  return at - begin;
}

// So many digits are an std::int64_t.
constexpr std::size_t kAlwaysFits = 18;

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
  return end == text.size() || !is_name_char(text[end]) ? end - at : n;
}

}  // namespace

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

std::vector<FormField> fields_of(const Form& form) {
  std::vector<FormField> out;
  const std::string_view code = form.code;
  for (std::size_t at = 0; at < code.size();) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(code[at + i]); };
    if (code[at] == form_code::kField) {
      const auto type = static_cast<FormType>(byte(1) & ~unsigned{form_code::kNotKept});
      const bool is_kept = (byte(1) & form_code::kNotKept) == 0;
      if (is_kept) out.push_back({code.substr(at + form_code::kFieldHead, byte(4)), type});
      at += byte(2) + (std::size_t{byte(3)} << 8U);
    } else {
      at += code[at] == form_code::kOption ? form_code::kOptionHead : 1;
    }
  }
  return out;
}

FormMatcher::Field FormMatcher::field_at(std::size_t at) const {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(form_[at + i]); };
  Field out;
  out.type = static_cast<FormType>(byte(1) & 0x7fU);
  out.is_kept = (byte(1) & 0x80U) == 0;
  out.next = at + byte(2) + (std::size_t{byte(3)} << 8U);
  out.name_at = static_cast<std::uint16_t>(at + form_code::kFieldHead);
  out.name_size = byte(4);
  return out;
}

std::size_t FormMatcher::behind_option(std::size_t at) const {
  return at + static_cast<unsigned char>(form_[at + 1]) +
         (std::size_t{static_cast<unsigned char>(form_[at + 2])} << 8U);
}

bool FormMatcher::may_begin(const Field& field, char c) const {
  switch (field.type) {
    case FormType::kInt:
      return is_digit(c) || c == '-';
    case FormType::kNat:
    case FormType::kSize:
      return is_digit(c);
    case FormType::kHex:
    case FormType::kXnum:
      return Scan::is_hex_digit(c);
    case FormType::kDev:
      return is_dev_char(c);
    case FormType::kName:
      return is_module_char(c);
    case FormType::kCname:
      return is_name_char(c);
    case FormType::kWord:
      return !is_blank(c);
    case FormType::kPath:
      return c == '/';
    case FormType::kOne: {
      FormWords words(form_, field.name_at + field.name_size, field.next);
      while (words.next()) {
        if (words.shown().empty() || words.shown()[0] == c) return true;
      }
      return false;
    }
    default:
      return true;
  }
}

// Whether the form could go on with the text there; cheap, and sometimes wrongly true.
bool FormMatcher::may_follow(std::size_t form, std::size_t text) const {
  // Options behind options have as many ways as there are subsets of them.
  int codes = 64;
  return may_follow(form, text, codes);
}

bool FormMatcher::may_follow(std::size_t form, std::size_t text, int& codes) const {
  for (;;) {
    if (form >= form_.size()) return text >= text_.size();
    if (text >= text_.size()) return true;
    const char c = form_[form];
    if (is_code(c) && --codes <= 0) return true;
    if (!is_code(c)) {
      if (c != text_[text]) return false;
      ++form;
      ++text;
    } else if (c == form_code::kOptionEnd) {
      ++form;
    } else if (c == form_code::kOption) {
      if (may_follow(form + form_code::kOptionHead, text, codes)) return true;
      form = behind_option(form);
    } else if (c == form_code::kField) {
      return may_begin(field_at(form), text_[text]);
    } else {
      return true;
    }
  }
}

// Behind the anchor; where that says only who prints ("NVRM: "), behind the next words that each
// such line has; at the end, where it has none.
std::size_t FormMatcher::proof_end() const {
  constexpr std::ptrdiff_t kWord = 3;
  const auto letters = [](std::string_view text) {
    return std::count_if(text.begin(), text.end(), [](char c) {
      return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    });
  };
  const std::string_view anchor = form_.substr(anchor_at_, anchor_end_ - anchor_at_);
  const bool one_word = anchor.find(' ') + 1 == anchor.size();
  if (anchor_at_ != 0 || (!one_word && !anchor.ends_with(": "))) return anchor_end_;
  for (std::size_t at = anchor_end_; at < form_.size();) {
    if (form_[at] == form_code::kOption) {
      at = behind_option(at);
    } else if (form_[at] == form_code::kField) {
      const Field field = field_at(at);
      at = field.next;
      if (field.type == FormType::kOne) return at;
    } else if (is_code(form_[at])) {
      ++at;
    } else {
      const std::size_t begin = at;
      while (at < form_.size() && !is_code(form_[at])) ++at;
      if (letters(form_.substr(begin, at - begin)) >= kWord) return at;
    }
  }
  return form_.size();
}

void FormMatcher::cut(const Place& at) {
  if (at.form < anchor_end_ || at.loose || (is_cut_ && cut_size_ >= at.confirmed)) return;
  if (proof_end_ == 0) proof_end_ = proof_end();
  if (at.form < proof_end_) return;
  is_cut_ = true;
  cut_size_ = at.confirmed;
  std::copy_n(values_.begin(), at.confirmed, cut_values_.begin());
}

bool FormMatcher::keep(const Field& field, Place& at, std::string_view value) {
  if (!field.is_kept) return true;
  if (at.values == kMaxFields) return false;
  values_[at.values++] = {value.data(), static_cast<std::uint32_t>(value.size()), field.name_at,
                          field.name_size, field.type};
  return true;
}

bool FormMatcher::go_on(const Field& field, Place at, std::size_t end, std::string_view value) {
  if (!keep(field, at, value)) return false;
  at.form = field.next;
  at.text = end;
  at.loose = at.loose || field.type == FormType::kText || field.type == FormType::kComm ||
             field.type == FormType::kWord || field.type == FormType::kPath;
  return run(at);
}

// Each end from the longest to the shortest.
bool FormMatcher::shorter(const Field& field, const Place& at, std::size_t least,
                          std::size_t most) {
  for (std::size_t n = most; n >= least && n > 0; --n) {
    if (!may_follow(field.next, at.text + n)) continue;
    if (go_on(field, at, at.text + n, text_.substr(at.text, n))) return true;
  }
  return false;
}

bool FormMatcher::take_word(const Field& field, const Place& at) {
  const std::string_view rest = text_.substr(at.text);
  for (FormWords words(form_, field.name_at + field.name_size, field.next); words.next();) {
    const std::string_view shown = words.shown();
    // Most differ in the first byte.
    if (!shown.empty() && (rest.empty() || shown[0] != rest[0])) continue;
    if (!rest.starts_with(shown)) {
      // The line may end within the word.
      if (rest.size() < shown.size() && shown.starts_with(rest)) cut(at);
      continue;
    }
    Field kept = field;
    kept.is_kept = kept.is_kept && !words.value().empty();
    if (may_follow(field.next, at.text + shown.size()) &&
        go_on(kept, at, at.text + shown.size(), words.value())) {
      return true;
    }
  }
  return false;
}

// Sets `done` where it went on to the end itself; else the place is behind the field's only end.
bool FormMatcher::take_field(const Field& field, Place& at, bool& done) {
  done = true;
  std::size_t n = 0;
  switch (field.type) {
    case FormType::kText:
      for (std::size_t end = at.text + 1; end <= text_.size(); ++end) {
        if (!may_follow(field.next, end)) continue;
        if (go_on(field, at, end, text_.substr(at.text, end - at.text))) return true;
        if (steps_ <= 0) return false;
      }
      return false;
    case FormType::kComm: {
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
    case FormType::kDev:
      return shorter(
          field, at, 1,
          std::min<std::size_t>(run_of(text_, at.text, [](char c) { return is_dev_char(c); }), 80));
    case FormType::kName:
      return shorter(field, at, 1,
                     std::min<std::size_t>(
                         run_of(text_, at.text, [](char c) { return is_module_char(c); }), 60));
    case FormType::kCname:
      return shorter(field, at, 1, run_of(text_, at.text, [](char c) { return is_name_char(c); }));
    case FormType::kPath:
      if (text_[at.text] != '/') return false;
      [[fallthrough]];
    case FormType::kWord:
      return shorter(field, at, 1, run_of(text_, at.text, [](char c) { return !is_blank(c); }));
    case FormType::kOne:
      return take_word(field, at);
    case FormType::kInt:
      n = digits_at(text_, at.text, true);
      break;
    case FormType::kNat:
      n = digits_at(text_, at.text, false);
      break;
    case FormType::kHex:
    case FormType::kXnum:
      n = hex_at(text_, at.text);
      break;
    case FormType::kSize:
      n = size_at(text_, at.text);
      break;
    case FormType::kRest:
      return go_on(field, at, at.text, text_.substr(at.text));
  }
  if (n == 0) return false;
  const std::string_view value = text_.substr(at.text, n);
  const bool is_decimal = field.type == FormType::kInt || field.type == FormType::kNat;
  if (is_decimal && n > kAlwaysFits && !parse_i64(value)) return false;
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
    switch (form_[at.form]) {
      case form_code::kOptionEnd:
        ++at.form;
        continue;
      case form_code::kOption: {
        Place without = at;
        without.form = behind_option(at.form);
        at.form += form_code::kOptionHead;
        if (may_follow(at.form, at.text) && run(at)) return true;
        at = without;
        continue;
      }
      case form_code::kAnything: {
        ++at.form;
        at.loose = true;
        if (at.form >= form_.size()) at.text = text_.size();
        for (; at.text < text_.size(); ++at.text) {
          if (!may_follow(at.form, at.text)) continue;
          if (run(at)) return true;
          if (steps_ <= 0) return false;
        }
        continue;
      }
      case form_code::kBlanks: {
        ++at.form;
        // A tab, as /dev/kmsg and what copies it show one.
        constexpr std::string_view kTab = "\\x09";
        while (at.text < text_.size()) {
          const bool tab = text_[at.text] == '\\' && text_.substr(at.text).starts_with(kTab);
          if (!tab && !is_blank(text_[at.text])) break;
          at.text += tab ? kTab.size() : 1;
        }
        continue;
      }
      case form_code::kField: {
        const Field field = field_at(at.form);
        if (at.text == text_.size()) {
          // Only an empty word can stand there.
          if (field.type == FormType::kOne && take_word(field, at)) return true;
          cut(at);
          return false;
        }
        bool done = false;
        const bool fits = take_field(field, at, done);
        if (done || !fits) return fits;
        continue;
      }
      default:
        break;
    }
    // Ordinary text, as far as it goes.
    for (; at.form < form_.size() && !is_code(form_[at.form]); ++at.form, ++at.text) {
      if (at.text == text_.size()) {
        cut(at);
        return false;
      }
      if (form_[at.form] != text_[at.text]) return false;
    }
    at.confirmed = at.values;
    at.loose = false;
  }
}

bool FormMatcher::has_rest(const Form& form) {
  for (std::size_t at = text_.find(form.anchor()); at != std::string_view::npos;
       at = text_.find(form.anchor(), at + 1)) {
    is_cut_ = false;
    Place behind;
    behind.form = anchor_end_;
    behind.text = at + form.anchor_size;
    if (run(behind) || is_cut_ || steps_ <= 0) return true;
  }
  return false;
}

FormMatch FormMatcher::match(const Form& form, std::string_view text, bool rest_first) {
  form_ = form.code;
  text_ = text;
  anchor_at_ = form.anchor_at;
  anchor_end_ = anchor_at_ + form.anchor_size;
  proof_end_ = 0;
  steps_ = kMaxSteps;
  if (!may_follow(0, 0) || (rest_first && !has_rest(form))) return FormMatch::kNone;
  size_ = 0;
  cut_size_ = 0;
  is_cut_ = false;
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
      FormType type;
    } value{form_.substr(values_[i].name_at, values_[i].name_size),
            {values_[i].text, values_[i].size},
            values_[i].type};
    switch (value.type) {
      case FormType::kInt:
      case FormType::kNat:
        event.set_number(value.name, parse_i64(value.text).value_or(0));
        break;
      case FormType::kXnum: {
        std::string_view digits = value.text;
        const auto number = parse_hex(digits);
        if (number && *number <= INT64_MAX) {
          event.set_number(value.name, static_cast<std::int64_t>(*number));
        }
        break;
      }
      case FormType::kSize: {
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
      case FormType::kOne:
        if (value.text == "true" || value.text == "false") {
          event.set_bool(value.name, value.text == "true");
          break;
        }
        event.set_text(value.name, value.text);
        break;
      case FormType::kText:
        event.set_text(value.name, trim(value.text));
        break;
      case FormType::kRest:
        if (whole_) event.set_text(value.name, trim(value.text));
        break;
      default:
        event.set_text(value.name, value.text);
        break;
    }
  }
}

}  // namespace jetmem::kernel_log
