// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/zram.h"
#include "tests/fuzz/snapshot_input.h"

namespace jetmem {

static void check_files(const Snapshot& snapshot) {
  const auto zram =
      parsed_twice(parse_zram, snapshot, &Zram::devices, &Zram::areas, &Zram::areas_known);
  if (!zram) return;
  check(zram->devices.size() <= 32 && zram->areas.size() <= 64);
  for (const Zram::Area& area : zram->areas) check(!area.bytes || area.used_bytes <= area.bytes);
}

}  // namespace jetmem

FUZZ(input) {
  check_files(snapshot_of(input, ZramSource::kInfo.paths));
  Snapshot files;
  files.add("/proc/swaps", "Filename\n" + std::string(input), 0);
  files.add("/sys/block/zram0/mm_stat", input, 0);
  files.add("/sys/block/zram0/comp_algorithm", input, 0);
  check_files(files);
}
