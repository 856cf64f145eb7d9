// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace jetmem {

// From good to bad: a known problem outranks something unknown.
enum class Verdict : std::uint8_t { kOk, kUnknown, kWarning, kCritical };
// "ok", "unknown", "warning", "critical".
std::string_view verdict_name(Verdict verdict);
std::optional<Verdict> verdict_named(std::string_view name);

}  // namespace jetmem
