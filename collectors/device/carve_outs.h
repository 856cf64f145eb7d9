// SPDX-License-Identifier: Apache-2.0
// What the device tree keeps from Linux: /proc/device-tree/reserved-memory, one node for each
// carve-out (drivers/of/of_reserved_mem.c, Documentation reserved-memory.yaml), and the children of
// tegra-carveouts, which on the L4T releases seen has none and points at the former.
//
//   reg            where it is: pairs of address and size
//   size           how large, where the kernel chooses the place; alloc-ranges: from where
//   reusable       lent to Linux meanwhile (CMA): a part of MemTotal, so nothing is lost by it
//   no-map         not even mapped. Up to 5.10 Linux then forgets that it is memory at all; later
//                  it is still counted as present
//   status         "okay", "ok" or none: in force; anything else: not
// A node with neither reg nor size keeps nothing ("rce-reservation" only reserves addresses of the
// IOMMU); so does one of size 0 (fb0_carveout without a boot logo). What firmware takes before it
// writes the tree (BPMP, OP-TEE, the camera's processor) has no node at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/device/device_tree.h"
#include "collectors/source.h"

namespace jetmem::device {

inline constexpr std::size_t kMaxNodes = 128;      // of each kind
inline constexpr std::size_t kMaxNodeRanges = 16;  // of each node

struct CarveOut {
  std::string name;  // of the node, unit address included: "ramoops_carveout", "atf@0"
  std::vector<Range> ranges;          // of reg
  std::optional<std::uint64_t> size;  // where the kernel chooses the place
  std::vector<Range> alloc_ranges;
  bool enabled = true;
  bool reusable = false;
  bool no_map = false;

  bool operator==(const CarveOut&) const = default;
};

struct CarveOuts {
  std::vector<CarveOut> nodes;  // in the order of their names, reserved-memory first
  RangeSet memory;              // of the memory nodes' reg; empty where there is none (UEFI)
  bool has_tree = false;
  // Why the tree could not be looked at; 0 where it was, or where there is none.
  int error = 0;
  std::optional<bool> optee_node;  // whether it is enabled; absent: there is no such node

  bool operator==(const CarveOuts&) const = default;
};

// `out` must be new.
void parse_carve_outs(const Snapshot& snapshot, CarveOuts& out, AbsentValues& absent);

}  // namespace jetmem::device
