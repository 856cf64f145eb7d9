// SPDX-License-Identifier: Apache-2.0
// Where the module's memory went, in parts that add up.
//
//   module                        what is soldered on: inferred, see below
//     physical                    what firmware reported to Linux
//       linux/mem_total           MemTotal: what programs and drivers share, CMA included
//       linux/kernel_reserved     kernel image, page structures, reservations at boot
//       carveout/<node>           carve-outs within physical memory
//       firmware/reserved         reported and kept (iomem, memblock); else in kernel_reserved
//     carveout/<node>             carve-outs outside of it
//     firmware/unattributed       what nothing accounts for: taken before Linux's device tree
//
// Physical memory is, in this order, the device tree's memory nodes, /proc/iomem, memblock, the
// present pages of /proc/zoneinfo: the first that is readable and not below MemTotal. UEFI removes
// the memory nodes, and addresses take privilege, so on a Jetson with L4T 35 or later it is often
// the last.
//
// The module's size is written nowhere that Linux can read. On a board with a device tree it is
// inferred: the next size that modules are made in, 2^n or 1.5 * 2^n, at or above what is known; or
// that itself, when it is a whole number of GiB and the SoC no Tegra (a virtual machine). A PC or a
// virtual machine without device tree may have any size: there no module is inferred, unless DMI
// names a known device that comes in one size, and the parts add up to physical memory.
//
// Carve-outs that overlap count once, for the first; reusable and disabled ones not at all; and one
// that lies below the GiB in which memory begins is no DRAM (a Tegra's IRAM at 0x40000000).
//
// A carve-out whose address is not known (the kernel chose it) is taken to lie in physical memory
// unless it does not fit. But one that is no-map, where iomem or memblock is the source, in what is
// kept (kernels after 5.10), else outside of physical memory (older ones make a hole there).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "collectors/device/carve_outs.h"
#include "collectors/device/memory_map.h"
#include "collectors/storage.h"

namespace jetmem::device {

inline constexpr std::size_t kMaxNamedParts = 48;

// What a budget is made of.
struct MemoryFacts {
  const CarveOuts* tree = nullptr;
  // Each absent where it is unavailable.
  const MemoryMap* iomem = nullptr;
  const MemoryMap* memblock = nullptr;
  const ZonePages* zones = nullptr;
  std::optional<std::uint64_t> mem_total;
  std::optional<std::uint64_t> page_size;
  bool is_tegra = false;  // each Jetson: some of its memory is always firmware's
  std::optional<std::uint64_t> module_of_dmi;  // known_devices.h; used without a device tree
};

struct Budget {
  enum class From : std::uint8_t { kNowhere, kDeviceTree, kIomem, kMemblock, kZoneinfo };
  enum class Kind : std::uint8_t { kLinux, kCarveOut, kFirmware };
  struct Part {
    Kind kind = Kind::kLinux;
    std::string_view name;  // a carve-out's is its CarveOut's
    std::uint64_t bytes = 0;
  };

  BoundedList<Part, kMaxNamedParts + 8> parts;  // none: `absence_reason` says why
  std::string_view absence_reason;
  From from = From::kNowhere;
  std::optional<std::uint64_t> physical;
  std::optional<std::uint64_t> module;
  // Carve-outs put into the part "(others)": beyond the bound, or with a name that no device tree
  // may have.
  std::uint64_t unnamed = 0;
};

Budget make_budget(const MemoryFacts& facts);

// Whether zoneinfo and meminfo are of two machines: in a container meminfo may be lxcfs', of the
// container, and zoneinfo the host's. The kernel keeps both sums alike. In bytes.
constexpr bool contradict(double managed, double mem_total) {
  return managed > mem_total * 65 / 64 || managed < mem_total / 2;
}

std::string_view kind_name(Budget::Kind kind);
std::string_view from_name(Budget::From from);
// The next size that modules are made in; what is a whole number of GiB may be one but on a Tegra.
std::uint64_t module_size_for(std::uint64_t known, bool is_tegra);

}  // namespace jetmem::device
