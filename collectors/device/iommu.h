// SPDX-License-Identifier: Apache-2.0
// Which devices an IOMMU keeps apart: /sys/kernel/iommu_groups/<number>/devices/<device>, links of
// which only the names are looked at. World readable. The folder is there with CONFIG_IOMMU_API; it
// is empty where no IOMMU works. Devices of one group share their address space: what one of them
// writes to a wrong place may be another's.
//
// The gatherer hands the names over in one record, kIommuRecord: "GROUP DEVICE" lines, sorted as
// directories are, and "GROUP" alone for a group without devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/source.h"

namespace jetmem::device {

inline constexpr std::string_view kIommuFolder = "/sys/kernel/iommu_groups";
inline constexpr std::string_view kIommuRecord = "jetmem:iommu_groups";
inline constexpr std::string_view kIommuLeftOut = "iommu_left_out";
inline constexpr std::string_view kIommuLeftOutRecord = "jetmem:iommu_left_out";
inline constexpr std::size_t kMaxIommuGroups = 1024;
inline constexpr std::size_t kMaxIommuDevices = 4096;

struct Iommu {
  struct Device {
    std::uint32_t group = 0;
    std::string name;  // "17000000.gpu", "0000:01:00.0"

    bool operator==(const Device&) const = default;
  };
  struct Group {
    std::uint32_t number = 0;
    std::uint32_t devices = 0;
    bool operator==(const Group&) const = default;
  };
  bool known = false;  // otherwise `why` says why not
  std::string_view why;
  std::vector<Group> groups;    // by number
  std::vector<Device> devices;  // as directories are sorted

  bool operator==(const Iommu&) const = default;
};

// `out` must be new.
void parse_iommu(const Snapshot& snapshot, Iommu& out, AbsentValues& absent);

}  // namespace jetmem::device
