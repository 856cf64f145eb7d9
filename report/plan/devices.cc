// SPDX-License-Identifier: Apache-2.0
#include "report/plan/devices.h"

#include <array>

namespace jetmem::plan {
namespace {

constexpr std::uint64_t operator""_GiB(unsigned long long n) { return n << 30; }
constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
constexpr double kGiga = 1e9;

// Module sizes, buses and peaks: NVIDIA's data sheets of the modules. Totals: what tegrastats
// printed as RAM on such devices. The Orin Nano and NX have 102 GB/s since the "Super" power modes;
// before, the Nano's memory ran at 68 GB/s.
constexpr std::array kDevices{
    KnownDevice{"nano-4gb", "Jetson Nano", "Jetson Nano 4GB", 4_GiB, 3964_MiB, 64, 25.6 * kGiga, 0,
                true},
    KnownDevice{"tx2-8gb", "TX2", "Jetson TX2 8GB", 8_GiB, 7860_MiB, 128, 59.7 * kGiga, 0, true},
    KnownDevice{"xavier-nx-8gb", "Xavier NX", "Jetson Xavier NX 8GB", 8_GiB, 7771_MiB, 128,
                59.7 * kGiga, 2, true},
    KnownDevice{"agx-xavier-16gb", "AGX Xavier", "Jetson AGX Xavier 16GB", 16_GiB, 15692_MiB, 256,
                136.5 * kGiga, 2, true},
    KnownDevice{"agx-xavier-32gb", "AGX Xavier", "Jetson AGX Xavier 32GB", 32_GiB, 31920_MiB, 256,
                136.5 * kGiga, 2, true},
    KnownDevice{"orin-nano-4gb", "Orin Nano", "Jetson Orin Nano 4GB", 4_GiB, 0, 64, 51 * kGiga, 0,
                true},
    KnownDevice{"orin-nano-8gb", "Orin Nano", "Jetson Orin Nano 8GB", 8_GiB, 7620_MiB, 128,
                102 * kGiga, 0, true},
    KnownDevice{"orin-nx-8gb", "Orin NX", "Jetson Orin NX 8GB", 8_GiB, 7620_MiB, 128, 102.4 * kGiga,
                1, true},
    KnownDevice{"orin-nx-16gb", "Orin NX", "Jetson Orin NX 16GB", 16_GiB, 15388_MiB, 128,
                102.4 * kGiga, 2, true},
    KnownDevice{"agx-orin-32gb", "AGX Orin", "Jetson AGX Orin 32GB", 32_GiB, 0, 256, 204.8 * kGiga,
                2, true},
    KnownDevice{"agx-orin-64gb", "AGX Orin", "Jetson AGX Orin 64GB", 64_GiB, 62841_MiB, 256,
                204.8 * kGiga, 2, true},
    KnownDevice{"agx-thor-128gb", "Thor", "Jetson AGX Thor 128GB", 128_GiB, 125773_MiB, 256,
                273 * kGiga, 0, true},
    KnownDevice{"raspberry-pi-4-4gb", "Raspberry Pi 4", "Raspberry Pi 4 4GB", 4_GiB, 0, 32,
                12.8 * kGiga, 0, false},
    KnownDevice{"raspberry-pi-5-8gb", "Raspberry Pi 5", "Raspberry Pi 5 8GB", 8_GiB, 0, 32,
                17.1 * kGiga, 0, false},
};

}  // namespace

std::span<const KnownDevice> known_devices() { return kDevices; }

const KnownDevice* device_named(std::string_view name) {
  for (const KnownDevice& device : kDevices) {
    if (device.name == name) return &device;
  }
  return nullptr;
}

const KnownDevice* device_of_model(std::string_view model, std::optional<double> module_bytes) {
  if (!module_bytes) return nullptr;
  for (const KnownDevice& device : kDevices) {
    if (model.find(device.model) == std::string_view::npos) continue;
    if (static_cast<double>(device.module_bytes) == *module_bytes) return &device;
  }
  return nullptr;
}

}  // namespace jetmem::plan
