// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/cma.h"
#include "tests/fuzz/snapshot_input.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static jetmem::Cma reused;
  jetmem::Cma fresh;
  const jetmem::Snapshot snapshot = jetmem::snapshot_of({reinterpret_cast<const char*>(data), size},
                                                        jetmem::CmaSource::kInfo.paths);
  const bool ok = jetmem::parse_cma(snapshot, fresh).has_value();
  if (jetmem::parse_cma(snapshot, reused).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
  if (fresh.areas.size() > 64 || fresh.total_bytes != reused.total_bytes) __builtin_trap();
  if (fresh.areas != reused.areas || fresh.areas_known != reused.areas_known) __builtin_trap();
  for (const jetmem::Cma::Area& area : fresh.areas) {
    if (area.total && area.used && *area.used > *area.total) __builtin_trap();
    if (area.total && area.largest_run && *area.largest_run > *area.total) __builtin_trap();
  }
  return 0;
}
