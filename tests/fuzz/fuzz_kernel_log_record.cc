// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "collectors/kernel_log/line/record.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace jetmem::kernel_log;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static Record reused;
  Record fresh;
  const bool ok = parse_record(text, fresh).has_value();
  if (parse_record(text, reused).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
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
  return 0;
}
