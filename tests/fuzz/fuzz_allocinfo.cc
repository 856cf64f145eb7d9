// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "collectors/proc/allocinfo.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static jetmem::Allocinfo reused;
  jetmem::Allocinfo fresh;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool ok = jetmem::parse_allocinfo(text, fresh).has_value();
  if (jetmem::parse_allocinfo(text, reused).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
  if (fresh.largest != reused.largest || fresh.bytes != reused.bytes) __builtin_trap();
  if (fresh.largest.size() > jetmem::Allocinfo::kMaxShown) __builtin_trap();
  return 0;
}
