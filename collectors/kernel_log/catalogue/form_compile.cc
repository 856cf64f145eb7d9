// SPDX-License-Identifier: Apache-2.0
// What generate.py does with the shipped forms, for a user's.
#include <algorithm>
#include <vector>

#include "collectors/kernel_log/catalogue/form.h"
#include "collectors/kernel_log/catalogue/form_text.h"

namespace jetmem::kernel_log {
namespace {

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

}  // namespace jetmem::kernel_log
