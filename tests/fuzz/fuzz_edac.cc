// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/edac.h"
#include "tests/fuzz/snapshot_input.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static jetmem::Edac reused;
  jetmem::Edac fresh;
  const jetmem::Snapshot snapshot = jetmem::snapshot_of({reinterpret_cast<const char*>(data), size},
                                                        jetmem::EdacSource::kInfo.paths);
  const bool ok = jetmem::parse_edac(snapshot, fresh).has_value();
  if (jetmem::parse_edac(snapshot, reused).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
  if (fresh.controllers != reused.controllers || fresh.modules != reused.modules) __builtin_trap();
  if (fresh.modules.size() > jetmem::Edac::kMaxModules) __builtin_trap();
  return 0;
}
