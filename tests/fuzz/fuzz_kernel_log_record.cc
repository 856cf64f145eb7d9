// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "collectors/kernel_log/line/record.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  using namespace jetmem::kernel_log;
  const auto [ok, fresh, reused] = parsed_twice(parse_record, text);
  if (!ok) return;
  if (fresh.text != reused.text || fresh.caller != reused.caller || fresh.seq != reused.seq ||
      fresh.stamp != reused.stamp || fresh.facility != reused.facility ||
      fresh.fragment != reused.fragment) {
    __builtin_trap();
  }
  if (fresh.text.size() > kMaxRecord) __builtin_trap();
  if (fresh.level > 7) __builtin_trap();
}
