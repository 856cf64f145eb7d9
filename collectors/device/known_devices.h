// SPDX-License-Identifier: Apache-2.0
// Boards and modules with their memory by the data sheets: to check a plan without the device, and
// the module's size where no device tree lets it be inferred.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace jetmem::device {

struct KnownDevice {
  std::string_view name;   // "orin-nano-8gb"
  std::string_view model;  // a part of the device tree's model, or of DMI's names
  std::string_view title;
  std::uint64_t module_bytes;
  // MemTotal on a device of this kind with its maker's own settings; 0: unknown.
  std::uint64_t seen_total_bytes;
  // Width of the memory's bus: two transfers in a clock of the memory move twice as many bits.
  // 0: unknown.
  std::uint32_t bus_bits;
  double peak_bytes_per_second;  // of the data sheet; 0: unknown
  std::uint32_t dlas;
  // Whether cameras and codecs reach their buffers through an IOMMU, so that these need not be in
  // one piece.
  bool cameras_behind_smmu;
  bool has_cuda;
  bool has_dmi = false;  // no device tree: its name is DMI's, and it comes in this size only
};

std::span<const KnownDevice> known_devices();
const KnownDevice* device_named(std::string_view name);
// The one whose model the device's own text contains and whose module is of this size.
const KnownDevice* device_of_model(std::string_view model, std::optional<double> module_bytes);
// The module's size of a device that DMI names.
std::optional<std::uint64_t> module_of_dmi(std::string_view model);

}  // namespace jetmem::device
