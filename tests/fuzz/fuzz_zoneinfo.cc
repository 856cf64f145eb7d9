// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/zoneinfo.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  // Kept between inputs, as the daemon keeps it: a stale reading must never show through.
  static jetmem::Zoneinfo reused;
  jetmem::Zoneinfo fresh;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool ok = jetmem::parse_zoneinfo(text, fresh).has_value();
  if (jetmem::parse_zoneinfo(text, reused).has_value() != ok) __builtin_trap();
  if (ok && fresh.zones.size() != reused.zones.size()) __builtin_trap();
  for (std::size_t i = 0; ok && i < fresh.zones.size(); ++i) {
    if (!(fresh.zones[i] == reused.zones[i])) __builtin_trap();
  }
  return 0;
}
