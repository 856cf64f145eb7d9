// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/buddyinfo.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  // Kept between inputs, as the daemon keeps it: a stale reading must never show through.
  static jetmem::Buddyinfo reused;
  jetmem::Buddyinfo fresh;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool ok = jetmem::parse_buddyinfo(text, fresh).has_value();
  if (jetmem::parse_buddyinfo(text, reused).has_value() != ok) __builtin_trap();
  if (ok && fresh.zones.size() != reused.zones.size()) __builtin_trap();
  for (std::size_t i = 0; ok && i < fresh.zones.size(); ++i) {
    const auto& a = fresh.zones[i];
    const auto& b = reused.zones[i];
    if (!(a.id == b.id) || a.orders != b.orders) __builtin_trap();
    for (std::size_t order = 0; order < a.orders; ++order) {
      if (a.blocks[order] != b.blocks[order]) __builtin_trap();
    }
  }
  return 0;
}
