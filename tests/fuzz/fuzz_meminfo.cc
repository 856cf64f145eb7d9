// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/meminfo.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  // Kept between inputs, as the daemon keeps it: a stale reading must never show through.
  static jetmem::Meminfo reused;
  jetmem::Meminfo fresh;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool ok = jetmem::parse_meminfo(text, fresh).has_value();
  if (jetmem::parse_meminfo(text, reused).has_value() != ok) __builtin_trap();
  if (ok && fresh.fields.size() != reused.fields.size()) __builtin_trap();
  for (std::size_t i = 0; ok && i < fresh.fields.size(); ++i) {
    if (fresh.fields[i].name != reused.fields[i].name) __builtin_trap();
    if (fresh.fields[i].value != reused.fields[i].value) __builtin_trap();
  }
  return 0;
}
