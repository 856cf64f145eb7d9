// SPDX-License-Identifier: Apache-2.0
// What is known of each of jetmem's messages beside what decodes it. Only programs that show it
// hold it.
#pragma once

#include <span>
#include <string_view>

namespace jetmem::kernel_log {

struct MessageNote {
  std::string_view source;   // file, function, versions
  std::string_view forms;    // one a line, as their author wrote them
  std::string_view example;  // a line, or several
};

// Generated from messages/*.yaml; in the order of shipped_messages().
std::span<const MessageNote> shipped_notes();

}  // namespace jetmem::kernel_log
