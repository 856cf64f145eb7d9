// SPDX-License-Identifier: Apache-2.0
// The parts of a form's text, for what compiles and what checks it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/kernel_log/catalogue/form.h"

namespace jetmem::kernel_log {

inline constexpr std::string_view kAnything = "...";
inline constexpr std::string_view kBlanks = "{ }";

struct ParsedField {
  std::string_view name;  // "_": not kept
  FormType type = FormType::kText;
  std::string_view words;  // of kOne
  std::size_t next = 0;    // behind its '}'
  bool is_kept() const { return name != "_"; }
};

// `at` is its '{'. Where no '}' ends it, `next` is beyond the form or not behind one.
ParsedField field_of(std::string_view form, std::size_t at);

struct Word {
  std::string shown;
  std::string value;
  bool has_value = false;
};

// Of what stands in the parentheses of one().
std::vector<Word> words_of(std::string_view words);

}  // namespace jetmem::kernel_log
