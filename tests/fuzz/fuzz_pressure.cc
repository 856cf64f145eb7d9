// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pressure.h"
#include "tests/fuzz/target.h"

namespace jetmem {

static Result<void> parse(std::string_view text, Stall& out) {
  AbsentValues absent;
  return parse_stall(text, out, absent);
}

}  // namespace jetmem

FUZZ(text) {
  const auto stall = parsed_twice(
      parse, text, [](const Stall& of) { return of.full.has_value(); },
      [](const Stall& of) { return of.some ? of.some->total_us : std::nullopt; },
      [](const Stall& of) { return of.some.has_value(); });
  if (!stall) return;
  for (const auto* line : {&stall->some, &stall->full}) {
    if (!*line) continue;
    for (const auto& average : (*line)->average) {
      check(!average || (*average >= 0 && *average <= 1));
    }
  }
}
