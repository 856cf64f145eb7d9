// SPDX-License-Identifier: Apache-2.0
// Which SoC a log comes from: what a stream ID means depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/root/root.h"

namespace jetmem::kernel_log {

enum class Soc : std::uint8_t { kUnknown, kTegra210, kTegra186, kTegra194, kTegra234, kTegra264 };

// "tegra234"; empty for kUnknown.
std::string_view soc_name(Soc soc);
std::optional<Soc> soc_named(std::string_view name);
// From /proc/device-tree/compatible: NUL-separated, "nvidia,tegra234" among the last.
Soc soc_of_compatible(std::string_view compatible);
// From the device tree of this machine or capture; kUnknown where there is none or it names
// another.
Soc soc_of(const Root& root);

struct SocFound {
  Soc soc = Soc::kUnknown;
  bool is_tegra = false;  // also one that is not in the list
  std::string problem;    // why it is not known, where the device tree could not be read
};
SocFound find_soc(const Root& root);

// The stream ID as device trees number it, out of what a fault register of an SMMUv2 holds: on
// Tegra186, 194 and 234 bits 7 to 14 are not part of it, yet show. `smmu` is the unit that the
// kernel names ("12000000.iommu"); nothing for a unit that the SoC does not have.
std::optional<std::uint32_t> stream_id(Soc soc, std::string_view smmu, std::uint32_t raw);

// The client behind a stream ID ("host1x_ctx0"), or empty: on Tegra234 each unit has IDs of its
// own. `raw` as the register has it.
std::string stream_client(Soc soc, std::string_view smmu, std::uint32_t raw);
// The same for SMMUv3, which only Tegra264 has.
std::string stream_client_v3(Soc soc, std::uint32_t raw);

}  // namespace jetmem::kernel_log
