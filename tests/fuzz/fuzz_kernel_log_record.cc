// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "collectors/kernel_log/line/record.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  using namespace jetmem::kernel_log;
  const auto [ok, fresh, reused] = parsed_twice(parse_record, text);
  if (!ok) return;
  if (fresh.text != reused.text || fresh.device != reused.device ||
      fresh.subsystem != reused.subsystem || fresh.caller != reused.caller ||
      fresh.seq != reused.seq || fresh.stamp != reused.stamp || fresh.facility != reused.facility ||
      fresh.fragment != reused.fragment) {
    __builtin_trap();
  }
  for (const std::string_view part : {fresh.text, fresh.device, fresh.subsystem}) {
    if (part.size() > kMaxRecord) __builtin_trap();
  }
  if (fresh.used > fresh.bytes.size()) __builtin_trap();
  if (fresh.level > 7) __builtin_trap();
}
