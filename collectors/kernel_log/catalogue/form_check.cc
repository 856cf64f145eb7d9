// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/catalogue/form_check.h"

#include <algorithm>
#include <cctype>

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/form.h"
#include "collectors/kernel_log/catalogue/form_text.h"

namespace jetmem::kernel_log {
namespace {

std::size_t letters_and_digits(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0; }));
}

// Of the words of one(), the one with the fewest.
std::size_t fewest_letters(const std::vector<Word>& words) {
  std::size_t fewest = SIZE_MAX;
  for (const Word& word : words) fewest = std::min(fewest, letters_and_digits(word.shown));
  return words.empty() ? 0 : fewest;
}

class FormExaminer {
 public:
  // A form is matched on the stack, its places have two bytes and the sizes of its words one.
  static constexpr std::size_t kMaxForm = 4096;
  static constexpr std::size_t kMaxWord = 250;
  static constexpr std::size_t kMaxVarying = 64;

  explicit FormExaminer(std::string_view form) : form_(form) {}

  FormReport run() {
    if (form_.size() > kMaxForm) {
      out_.error = "longer than " + std::to_string(kMaxForm) + " bytes: put '...' for the rest";
    }
    // Such bytes are the codes of a compiled form.
    const auto control = std::find_if(
        form_.begin(), form_.end(), [](unsigned char c) { return c < form_code::kFirstOrdinary; });
    if (control != form_.end()) {
      out_.error = "a control character at byte " + std::to_string(control - form_.begin() + 1) +
                   ": no line of a log has it";
    }
    for (std::size_t at = 0; at < form_.size() && out_.error.empty();) at = step(at);
    if (out_.error.empty() && !options_.empty()) {
      out_.error = "'[' without ']': write '\\[' for one that is printed";
    }
    if (out_.error.empty() && compile_form(form_).anchor_size == 0) {
      out_.error = "no text of " + std::to_string(kMinAnchor) +
                   " bytes or more that each such line has: name the driver or program in it";
    }
    return std::move(out_);
  }

 private:
  struct Named {
    std::string_view name;
    FormType type;
    std::vector<std::size_t> options;  // that it stands in, the outermost first
  };

  std::size_t fail(std::string text, std::size_t at) {
    out_.error = std::move(text);
    return at;
  }

  // What stands there, up to the place behind it.
  std::size_t step(std::size_t at) {
    const char c = form_[at];
    const bool varies = c == '[' || c == '{' || form_.substr(at).starts_with(kAnything);
    if (varies && ++varying_ > kMaxVarying) {
      return fail("more than " + std::to_string(kMaxVarying) +
                      " fields, options and '...': put one '...' for the rest",
                  at);
    }
    const std::string where = " at byte " + std::to_string(at + 1);
    if (c == '[') {
      options_.push_back(at);
      return at + 1;
    }
    if (c == ']') {
      if (options_.empty()) {
        return fail("']' without '['" + where + ": write '\\]' for one that is printed", at);
      }
      options_.pop_back();
      return at + 1;
    }
    if (c == '}') {
      return fail("'}' without '{'" + where + ": write '\\}' for one that is printed", at);
    }
    if (c == '{' && form_.substr(at).starts_with(kBlanks)) return at + kBlanks.size();
    if (c == '{') return field(at, where);
    if (form_.substr(at).starts_with(kAnything)) {
      began_ = began_ || options_.empty();
      return at + kAnything.size();
    }
    if (c == '\\' && at + 1 == form_.size()) {
      return fail("'\\' at the end: write '\\\\' for one", at);
    }
    if (options_.empty()) {
      out_.fixed += letters_and_digits(form_.substr(at, 1));
      out_.begins_with_text = out_.begins_with_text || !began_;
      began_ = true;
    }
    return at + (c == '\\' ? 2 : 1);
  }

  std::size_t field(std::size_t at, const std::string& where) {
    const ParsedField field = field_of(form_, at);
    const std::string_view name = field.name;
    if (field.next > form_.size() || form_[field.next - 1] != '}') {
      return fail("'{'" + where + " begins a field and no '}' ends it: {name} or {name:type}", 0);
    }
    if (name.empty()) {
      return fail("a field without a name" + where + ": {name}, or {_} to skip", 0);
    }
    const std::string_view inside = form_.substr(at, field.next - at);
    const std::size_t colon = inside.find(':');
    if (colon != std::string_view::npos && field.type == FormType::kText) {
      return fail("no type of field is named '" +
                      std::string(inside.substr(colon + 1, inside.size() - colon - 2)) +
                      "': int nat hex xnum size dev name cname word comm path one(A|B) rest",
                  0);
    }
    const std::vector<Word> words = words_of(field.words);
    if (field.type == FormType::kOne && words.empty()) {
      return fail("one() without words" + where + ": {op:one(Read=read|Write=write)}", 0);
    }
    if (field.words.ends_with('|') && !field.words.ends_with("\\|")) {
      return fail("one() ends with an empty word" + where + ": put that first, one(|A|B)", 0);
    }
    if (field.type != FormType::kOne && inside.find('(') != std::string_view::npos) {
      return fail("words in parentheses" + where + ": only one(A|B) has some", 0);
    }
    const bool is_long = std::any_of(words.begin(), words.end(), [](const Word& word) {
      return std::max(word.shown.size(), word.value.size()) > kMaxWord;
    });
    if (is_long || name.size() > kMaxWord) {
      return fail("a name or word of more than " + std::to_string(kMaxWord) + " bytes" + where, 0);
    }
    if (options_.empty()) {
      if (field.type == FormType::kOne) out_.fixed += fewest_letters(words);
      out_.begins_with_text = out_.begins_with_text || (!began_ && field.type == FormType::kOne);
      began_ = true;
    }
    if (field.is_kept() && !keep(field)) return 0;
    return field.next;
  }

  bool keep(const ParsedField& field) {
    const std::string_view name = field.name;
    if (field.type == FormType::kSize && rounded_name(name).empty()) {
      fail("a size is named size, free, total, limit, used or available, not '" +
               std::string(name) + "'",
           0);
      return false;
    }
    const bool twice = std::any_of(named_.begin(), named_.end(), [&](const Named& each) {
      return each.name == name && are_both_in_a_line(each, field.type);
    });
    if (twice) {
      fail("'" + std::string(name) +
               "' is the name of two fields of one line: the second would "
               "replace the first; give it another name, or {_} to skip it",
           0);
      return false;
    }
    if (named_.size() == FormMatcher::kMaxFields) {
      fail("more than " + std::to_string(FormMatcher::kMaxFields) +
               " fields: name those that are not needed {_}",
           0);
      return false;
    }
    named_.push_back({name, field.type, options_});
    out_.fields.emplace_back(name);
    if (field.type == FormType::kSize) out_.fields.emplace_back(rounded_name(name));
    return true;
  }

  // Two options may stand for one another; a size that is rounded has another name.
  bool are_both_in_a_line(const Named& first, FormType second) const {
    if ((first.type == FormType::kSize) != (second == FormType::kSize)) return false;
    const std::size_t common = std::min(first.options.size(), options_.size());
    return std::equal(first.options.begin(),
                      first.options.begin() + static_cast<std::ptrdiff_t>(common),
                      options_.begin());
  }

  std::string_view form_;
  FormReport out_;
  std::vector<std::size_t> options_;  // where those begin that the place is in
  std::vector<Named> named_;
  std::size_t varying_ = 0;
  bool began_ = false;  // something that each line has stands before the place
};

}  // namespace

FormReport examine_form(std::string_view form) { return FormExaminer(form).run(); }

}  // namespace jetmem::kernel_log
