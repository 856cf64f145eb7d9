// SPDX-License-Identifier: Apache-2.0
// Which device this is. Nothing that tells one device from another of its kind: no serial number,
// no MAC, none of the DMI serials.
//
//   /proc/device-tree/model          one string
//   /proc/device-tree/compatible     strings from the board to the SoC:
//   "nvidia,p3768-0000+p3767-0005",
//                                    "nvidia,p3767-0005", "nvidia,tegra234"
//   /sys/class/dmi/id/{sys_vendor,product_name}   where there is no device tree
//   /etc/nv_tegra_release            first line "# R36 (release), REVISION: 4.4, GCID: ...": L4T
//                                    36.4.4. Builds by Yocto have none; their kernel's release says
//                                    it: "5.15.148-l4t-r36.4.4-1012.12+g..."
//   /proc/sys/kernel/{osrelease,version}
// All world readable.
#pragma once

#include <string>
#include <string_view>

#include "collectors/source.h"

namespace jetmem::device {

// Texts from outside, bounded but not made printable; empty where nobody says.
struct Identity {
  std::string model;           // "NVIDIA Jetson Orin Nano Developer Kit"
  std::string soc;             // "tegra234", "bcm2712": without the vendor
  std::string l4t;             // "36.4.4"
  std::string kernel;          // "5.15.148-tegra"
  std::string kernel_version;  // "#1 SMP PREEMPT Tue Jan 7 17:14:38 PST 2025"

  bool operator==(const Identity&) const = default;
};

// `out` must be new. What is there and cannot be understood or read is counted in `absent`.
void parse_identity(const Snapshot& snapshot, Identity& out, AbsentValues& absent);

// "36.4.4" of the release file's text; empty when its first line is another.
void take_l4t_release(std::string_view text, std::string& out);
// The L4T release that a kernel's release names; empty when it names none.
void take_l4t_of_kernel(std::string_view release, std::string& out);
// The SoC among the strings of `compatible`; nothing when they are not strings.
std::optional<std::string_view> soc_among(std::string_view compatible);

}  // namespace jetmem::device
