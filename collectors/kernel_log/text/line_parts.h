// SPDX-License-Identifier: Apache-2.0
// Parts that lines of several families have: who speaks in front of a message, names that can be
// believed, numbers that may be cut off.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "collectors/kernel_log/event/event.h"
#include "collectors/kernel_log/line/scan.h"

namespace jetmem::kernel_log {

// A device's or client's name as the kernel gives them, and nothing that could pass for more.
bool is_kernel_name(std::string_view text);
// Whether one of `parts` stands anywhere in the text.
bool contains_any(std::string_view text, std::span<const std::string_view> parts);

// A task's name: at most 15 bytes (TASK_COMM_LEN less its NUL), so no longer text was ever one. A
// byte that the log shows as "\\xe2" counts once.
bool is_comm(std::string_view text);
// The same for a name that its line begins with: nor what a log puts in front of a message (a time,
// a level, a mark of a list), or another message's first words.
bool is_leading_comm(std::string_view text);
// Letters, digits and '_', as in C.
inline bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}
bool is_c_name(std::string_view text);

// A number right here that is not below 0, as the field `name`. False when there is none.
bool take_natural(Scan& scan, Event& event, std::string_view name);
// Sets the text unless there is none.
void set_if(Event& event, std::string_view name, std::string_view value);
// So many of what is printed right behind the number, in bytes: of nothing, "bytes", "KiB", "kB",
// "M" ... Nothing where it counts something else, such as pages.
std::optional<std::int64_t> in_bytes(std::int64_t number, std::string_view behind);
// Whether a register of 32 bits is printed as the kernel does, "%08x" or "0x%08x": with fewer
// digits it was cut off.
bool is_whole_register(std::string_view digits);

// Without the "[2:   Binder:711_1:  740] " that some vendors' kernels print before each message.
std::string_view without_vendor_prefix(std::string_view text);

}  // namespace jetmem::kernel_log
