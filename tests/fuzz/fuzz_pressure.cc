// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pressure.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static jetmem::Stall reused;
  jetmem::Stall fresh;
  jetmem::AbsentValues absent;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool ok = jetmem::parse_stall(text, fresh, absent).has_value();
  if (jetmem::parse_stall(text, reused, absent).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
  if (fresh.full.has_value() != reused.full.has_value()) __builtin_trap();
  for (const auto* line : {&fresh.some, &fresh.full}) {
    if (!*line) continue;
    for (const auto& average : (*line)->average) {
      if (average && !(*average >= 0 && *average <= 1)) __builtin_trap();
    }
  }
  if (fresh.some.has_value() != reused.some.has_value()) __builtin_trap();
  if (fresh.some && fresh.some->total_us != reused.some->total_us) __builtin_trap();
  return 0;
}
