// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/zoneinfo.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  const auto [ok, fresh, reused] = parsed_twice(parse_zoneinfo, text);
  if (ok && fresh.zones.size() != reused.zones.size()) __builtin_trap();
  for (std::size_t i = 0; ok && i < fresh.zones.size(); ++i) {
    if (!(fresh.zones[i] == reused.zones[i])) __builtin_trap();
  }
}
