// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/buddyinfo.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  const auto [ok, fresh, reused] = parsed_twice(parse_buddyinfo, text);
  if (ok && fresh.zones.size() != reused.zones.size()) __builtin_trap();
  for (std::size_t i = 0; ok && i < fresh.zones.size(); ++i) {
    const auto& a = fresh.zones[i];
    const auto& b = reused.zones[i];
    if (!(a.id == b.id) || a.orders != b.orders) __builtin_trap();
    for (std::size_t order = 0; order < a.orders; ++order) {
      if (a.blocks[order] != b.blocks[order]) __builtin_trap();
    }
  }
}
