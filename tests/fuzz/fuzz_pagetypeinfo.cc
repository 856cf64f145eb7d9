// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pagetypeinfo.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  // Kept between inputs, as the daemon keeps it: a stale reading must never show through.
  static jetmem::Pagetypeinfo reused;
  jetmem::Pagetypeinfo fresh;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool ok = jetmem::parse_pagetypeinfo(text, fresh).has_value();
  if (jetmem::parse_pagetypeinfo(text, reused).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
  if (fresh.rows != reused.rows || fresh.pageblock_order != reused.pageblock_order) {
    __builtin_trap();
  }
  if (fresh.total_blocks() != reused.total_blocks()) __builtin_trap();
  return 0;
}
