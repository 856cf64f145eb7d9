// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/zram.h"
#include "tests/fuzz/snapshot_input.h"

namespace jetmem {
namespace {

void check_files(const Snapshot& snapshot) {
  const auto [ok, fresh, reused] = parsed_twice(parse_zram, snapshot);
  if (!ok) return;
  if (fresh.devices != reused.devices || fresh.devices.size() > 32) __builtin_trap();
  if (fresh.areas != reused.areas || fresh.areas.size() > 64) __builtin_trap();
  if (fresh.areas_known != reused.areas_known) __builtin_trap();
  for (const Zram::Area& area : fresh.areas) {
    if (area.bytes && area.used_bytes > area.bytes) __builtin_trap();
  }
}

}  // namespace
}  // namespace jetmem

FUZZ(input) {
  check_files(snapshot_of(input, ZramSource::kInfo.paths));
  Snapshot files;
  files.add("/proc/swaps", "Filename\n" + std::string(input), 0);
  files.add("/sys/block/zram0/mm_stat", input, 0);
  files.add("/sys/block/zram0/comp_algorithm", input, 0);
  check_files(files);
}
