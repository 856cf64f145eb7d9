// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/meminfo.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  const auto [ok, fresh, reused] = parsed_twice(parse_meminfo, text);
  if (ok && fresh.fields.size() != reused.fields.size()) __builtin_trap();
  for (std::size_t i = 0; ok && i < fresh.fields.size(); ++i) {
    if (fresh.fields[i].name != reused.fields[i].name) __builtin_trap();
    if (fresh.fields[i].value != reused.fields[i].value) __builtin_trap();
  }
}
