// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pressure.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  static Stall reused;
  Stall fresh;
  AbsentValues absent;
  const bool ok = parse_stall(text, fresh, absent).has_value();
  if (parse_stall(text, reused, absent).has_value() != ok) __builtin_trap();
  if (!ok) return;
  if (fresh.full.has_value() != reused.full.has_value()) __builtin_trap();
  for (const auto* line : {&fresh.some, &fresh.full}) {
    if (!*line) continue;
    for (const auto& average : (*line)->average) {
      if (average && !(*average >= 0 && *average <= 1)) __builtin_trap();
    }
  }
  if (fresh.some.has_value() != reused.some.has_value()) __builtin_trap();
  if (fresh.some && fresh.some->total_us != reused.some->total_us) __builtin_trap();
}
