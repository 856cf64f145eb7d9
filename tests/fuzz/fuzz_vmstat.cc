// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/vmstat.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  // Kept between inputs, as the daemon keeps it: a stale reading must never show through.
  static Vmstat reused;
  Vmstat fresh;
  const bool ok = parse_vmstat(text, fresh).has_value();
  // Twice: the second time, every name is the one before.
  for (int cycle = 0; cycle < 2; ++cycle) {
    if (parse_vmstat(text, reused).has_value() != ok) __builtin_trap();
    if (!ok) continue;
    if (fresh.fields.size() != reused.fields.size()) __builtin_trap();
    if (fresh.parts.size() != reused.parts.size()) __builtin_trap();
    for (std::size_t i = 0; i < fresh.fields.size(); ++i) {
      if (fresh.fields[i].name != reused.fields[i].name) __builtin_trap();
      if (fresh.fields[i].value != reused.fields[i].value) __builtin_trap();
    }
    for (std::size_t i = 0; i < fresh.parts.size(); ++i) {
      if (fresh.parts[i].counter != reused.parts[i].counter) __builtin_trap();
      if (fresh.parts[i].field != reused.parts[i].field) __builtin_trap();
    }
  }
}
