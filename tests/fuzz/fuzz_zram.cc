// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/zram.h"
#include "tests/fuzz/snapshot_input.h"

namespace {

void check(const jetmem::Snapshot& snapshot) {
  static jetmem::Zram reused;
  jetmem::Zram fresh;
  const bool ok = jetmem::parse_zram(snapshot, fresh).has_value();
  if (jetmem::parse_zram(snapshot, reused).has_value() != ok) __builtin_trap();
  if (!ok) return;
  if (fresh.devices != reused.devices || fresh.devices.size() > 32) __builtin_trap();
  if (fresh.areas != reused.areas || fresh.areas.size() > 64) __builtin_trap();
  if (fresh.areas_known != reused.areas_known) __builtin_trap();
  for (const jetmem::Zram::Area& area : fresh.areas) {
    if (area.bytes && area.used_bytes > area.bytes) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check(jetmem::snapshot_of(input, jetmem::ZramSource::kInfo.paths));
  jetmem::Snapshot files;
  files.add("/proc/swaps", "Filename\n" + std::string(input), 0);
  files.add("/sys/block/zram0/mm_stat", input, 0);
  files.add("/sys/block/zram0/comp_algorithm", input, 0);
  check(files);
  return 0;
}
