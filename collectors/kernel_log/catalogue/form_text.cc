// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/catalogue/form_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "collectors/kernel_log/text/line_parts.h"

namespace jetmem::kernel_log {
namespace {

std::string without_backslashes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

}  // namespace

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

std::vector<Word> words_of(std::string_view words) {
  std::vector<Word> out;
  while (!words.empty()) {
    std::size_t end = 0;
    while (end < words.size() && words[end] != '|') end += words[end] == '\\' ? 2U : 1U;
    const std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    std::size_t equals = 0;
    while (equals < word.size() && word[equals] != '=') equals += word[equals] == '\\' ? 2U : 1U;
    Word each{without_backslashes(word.substr(0, equals)), {}, equals < word.size()};
    if (each.has_value) each.value = without_backslashes(word.substr(equals + 1));
    out.push_back(std::move(each));
  }
  return out;
}

}  // namespace jetmem::kernel_log
