// SPDX-License-Identifier: Apache-2.0
// What is wrong with a form, and what it has, for whoever checks the message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace jetmem::kernel_log {

struct FormReport {
  std::string error;                // and how to correct it; empty: nothing is wrong
  std::vector<std::string> fields;  // that a line may set
  // Letters and digits that each line has: how much of it the form is about.
  std::size_t fixed = 0;
  bool begins_with_text = false;  // and not with a field, which any line may begin with
};

FormReport examine_form(std::string_view form);

}  // namespace jetmem::kernel_log
