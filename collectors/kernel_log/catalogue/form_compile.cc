// SPDX-License-Identifier: Apache-2.0
// Forms from their text: what generate.py does for the shipped ones, for a user's, and what an
// author did wrong.
#include <algorithm>
#include <vector>

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/form.h"
#include "collectors/kernel_log/text/line_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::string_view kAnything = "...";
constexpr std::string_view kBlanks = "{ }";
constexpr std::size_t kLongestWord = 254;

struct ParsedField {
  std::string_view name;  // "_": not kept
  FormType type = FormType::kText;
  std::string_view words;  // of kOne
  std::size_t next = 0;    // behind its '}'
  bool is_kept() const { return name != "_"; }
};

ParsedField field_of(std::string_view form, std::size_t at) {
  struct Named {
    std::string_view name;
    FormType type;
  };
  constexpr std::array kTypes{Named{"int", FormType::kInt},   Named{"nat", FormType::kNat},
                              Named{"hex", FormType::kHex},   Named{"xnum", FormType::kXnum},
                              Named{"size", FormType::kSize}, Named{"dev", FormType::kDev},
                              Named{"name", FormType::kName}, Named{"cname", FormType::kCname},
                              Named{"word", FormType::kWord}, Named{"comm", FormType::kComm},
                              Named{"path", FormType::kPath}, Named{"one", FormType::kOne},
                              Named{"rest", FormType::kRest}};
  const auto name_at = [&](std::size_t begin) {
    std::size_t end = begin;
    while (end < form.size() && is_name_char(form[end])) ++end;
    return form.substr(begin, end - begin);
  };
  ParsedField field;
  field.name = name_at(at + 1);
  std::size_t end = at + 1 + field.name.size();
  if (end < form.size() && form[end] == ':') {
    const std::string_view type = name_at(end + 1);
    end += 1 + type.size();
    for (const Named& each : kTypes) {
      if (each.name == type) field.type = each.type;
    }
    if (end < form.size() && form[end] == '(') {
      const std::size_t first = ++end;
      while (end < form.size() && form[end] != ')') end += form[end] == '\\' ? 2U : 1U;
      field.words = form.substr(first, end - first);
      ++end;
    }
  }
  field.next = end + 1;
  return field;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

struct Word {
  std::string shown;
  std::string value;
  bool has_value = false;
};

std::vector<Word> words_of(std::string_view words) {
  std::vector<Word> out;
  while (!words.empty()) {
    std::size_t end = 0;
    while (end < words.size() && words[end] != '|') end += words[end] == '\\' ? 2U : 1U;
    const std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    const std::size_t equals = word.find('=');
    Word each{unescaped(word.substr(0, equals)), {}, equals != std::string_view::npos};
    if (each.has_value) each.value = word.substr(equals + 1);
    out.push_back(std::move(each));
  }
  return out;
}

// Two bytes, the lower one first.
void put_size(std::string& code, std::size_t at, std::size_t size) {
  code[at] = static_cast<char>(size & 0xffU);
  code[at + 1] = static_cast<char>(size >> 8U);
}

void put_field(std::string& code, const ParsedField& field) {
  const std::size_t begin = code.size();
  const std::string_view name = field.is_kept() ? field.name : std::string_view{};
  const auto type = static_cast<unsigned char>(field.type);
  code +=
      {form_code::kField, static_cast<char>(field.is_kept() ? type : type | form_code::kNotKept), 0,
       0, static_cast<char>(name.size())};
  code += name;
  for (const Word& word : words_of(field.words)) {
    code += {static_cast<char>(word.shown.size()),
             static_cast<char>(word.has_value ? word.value.size() : form_code::kSameValue)};
    code += word.shown + word.value;
  }
  put_size(code, begin + 2, code.size() - begin);
}

}  // namespace

CompiledForm compile_form(std::string_view form) {
  CompiledForm out;
  std::string& code = out.code;
  std::vector<std::size_t> options;  // that are open: where each begins
  std::size_t text_at = 0;           // of the ordinary text that goes on
  const auto end_text = [&] {
    const std::size_t size = std::min<std::size_t>(code.size() - text_at, UINT8_MAX);
    if (options.empty() && size >= kMinAnchor && size > out.anchor_size) {
      out.anchor_at = text_at;
      out.anchor_size = size;
    }
  };
  for (std::size_t at = 0; at < form.size();) {
    const char c = form[at];
    const bool is_anything = form.substr(at).starts_with(kAnything);
    if (c != '[' && c != ']' && c != '{' && !is_anything) {
      if (c == '\\') ++at;
      code += form[at++];
      continue;
    }
    end_text();
    if (c == '[') {
      options.push_back(code.size());
      code += {form_code::kOption, 0, 0};
      ++at;
    } else if (c == ']') {
      code += form_code::kOptionEnd;
      put_size(code, options.back() + 1, code.size() - options.back());
      options.pop_back();
      ++at;
    } else if (is_anything) {
      code += form_code::kAnything;
      at += kAnything.size();
    } else if (form.substr(at).starts_with(kBlanks)) {
      code += form_code::kBlanks;
      at += kBlanks.size();
    } else {
      const ParsedField field = field_of(form, at);
      put_field(code, field);
      at = field.next;
    }
    text_at = code.size();
  }
  end_text();
  return out;
}

std::string form_error(std::string_view form) {
  int depth = 0;
  std::size_t fields = 0;
  for (std::size_t at = 0; at < form.size(); ++at) {
    const char c = form[at];
    const std::string where = " at byte " + std::to_string(at + 1);
    if (static_cast<unsigned char>(c) < form_code::kFirstOrdinary) {
      return "a control character" + where + ": no line of a log has it";
    }
    if (c == '\\') {
      if (++at == form.size()) return "'\\' at the end: write '\\\\' for one";
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth < 0) {
      return "']' without '['" + where + ": write '\\]' for one that is printed";
    } else if (c == '}') {
      return "'}' without '{'" + where + ": write '\\}' for one that is printed";
    } else if (c == '{' && !form.substr(at).starts_with(kBlanks)) {
      const ParsedField field = field_of(form, at);
      if (field.next > form.size() || form[field.next - 1] != '}') {
        return "'{'" + where + " begins a field and no '}' ends it: {name} or {name:type}";
      }
      if (field.name.empty()) return "a field without a name" + where + ": {name}, or {_} to skip";
      const std::string_view inside = form.substr(at, field.next - at);
      const std::size_t colon = inside.find(':');
      if (colon != std::string_view::npos && field.type == FormType::kText) {
        return "no type of field is named '" +
               std::string(inside.substr(colon + 1, inside.size() - colon - 2)) +
               "': int nat hex xnum size dev name cname word comm path one(A|B) rest";
      }
      if (field.type == FormType::kOne && field.words.empty()) {
        return "one() without words" + where + ": {op:one(Read=read|Write=write)}";
      }
      const std::vector<Word> words = words_of(field.words);
      const auto longest = std::find_if(words.begin(), words.end(), [](const Word& word) {
        return std::max(word.shown.size(), word.value.size()) > kLongestWord;
      });
      if (longest != words.end() || field.name.size() > kLongestWord) {
        return "a name or word of more than " + std::to_string(kLongestWord) + " bytes" + where;
      }
      if (field.type == FormType::kSize && field.is_kept() && rounded_name(field.name).empty()) {
        return "a size is named size, free, total, limit, used or available, not '" +
               std::string(field.name) + "'";
      }
      if (field.is_kept() && ++fields > FormMatcher::kMaxFields) {
        return "more than " + std::to_string(FormMatcher::kMaxFields) + " fields";
      }
      at = field.next - 1;
    } else if (c == '{') {
      at += 2;
    }
  }
  if (depth != 0) return "'[' without ']': write '\\[' for one that is printed";
  const CompiledForm compiled = compile_form(form);
  if (compiled.code.size() > UINT16_MAX) return "longer than 64 KiB";
  if (compiled.anchor_size == 0) {
    return "no text of " + std::to_string(kMinAnchor) +
           " bytes or more that each such line has: it would fit too much";
  }
  return {};
}

}  // namespace jetmem::kernel_log
