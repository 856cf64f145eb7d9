// SPDX-License-Identifier: Apache-2.0
// The command to type next, chosen from what is wrong. It only looks: it never changes the device,
// whatever a remedy says to do afterwards.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace jetmem {

// Commands of jetmem that change nothing and cost little, so that nobody has to think before typing
// them.
std::span<const std::string_view> looking_commands();

// The first of them in a remedy: "sudo jetmem top shows what grows: stop it" is "sudo jetmem top".
// Empty where there is none.
std::string command_in(std::string_view remedy);

// Whether a word means in a shell what it shows: anybody may have chosen it.
bool is_plain_word(std::string_view word);

}  // namespace jetmem
