// SPDX-License-Identifier: Apache-2.0
// Which device this is, and where its memory went before Linux. All of it is settled at boot, so it
// is read every ten minutes only; asked of jetmem-reader, whose privilege shows debugfs.
//
//   identity.h     model, SoC, L4T, kernel
//   carve_outs.h   the device tree's carve-outs and memory nodes
//   memory_map.h   iomem, memblock and zoneinfo: what memory firmware reported to Linux
//   budget.h       the parts that add up
//   iommu.h        which devices share an address space
// and whether OP-TEE is there: the node /firmware/optee, or the device tee0 (since 4.12; where the
// firmware is found over FF-A there is no node). On a machine without device tree tee0 may be
// another's, AMD's. MemTotal is read here once more, so that the budget is of one moment.
//
// What is unavailable is omitted and counted by reason. Errors: when nothing is available.
#pragma once

#include <cstdint>
#include <optional>

#include "collectors/device/budget.h"
#include "collectors/device/carve_outs.h"
#include "collectors/device/identity.h"
#include "collectors/device/iommu.h"
#include "collectors/device/memory_map.h"
#include "collectors/source.h"

namespace jetmem {

struct Device : Reading {
  device::Identity identity;
  device::CarveOuts tree;
  std::optional<std::uint64_t> mem_total;      // bytes, of /proc/meminfo
  std::optional<std::uint64_t> cma_requested;  // bytes, cma= of the kernel's command line
  device::MapState iomem_state = device::MapState::kAbsent;
  device::MapState memblock_state = device::MapState::kAbsent;
  device::MapState zones_state = device::MapState::kAbsent;
  device::MemoryMap iomem;
  device::MemoryMap memblock;
  device::ZonePages zones;
  std::optional<bool> optee;
  device::Iommu iommu;

  // The page size turns zoneinfo's pages into bytes; it is a fact of the machine, not in a file.
  // The parts' names are the reading's: valid as long as it is.
  device::Budget budget(std::optional<std::uint64_t> page_size) const;
};

Result<void> parse_device(const Snapshot& snapshot, Device& out);

class DeviceSource final : public ParsedSource<DeviceSource, Device, parse_device> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
