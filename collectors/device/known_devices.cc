// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/known_devices.h"

#include <array>

namespace jetmem::device {
namespace {

constexpr std::uint64_t operator""_GiB(unsigned long long n) { return n << 30; }
constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
constexpr double kGiga = 1e9;

// Module sizes, buses and peaks: the makers' data sheets; of ROCK 5B what its boot loader prints
// (four channels of 16 bits at 2112 MHz). Totals: MemTotal as published of such devices, or what
// tegrastats printed as RAM. The Orin Nano and NX have 102 GB/s since the "Super" power modes;
// before, the Nano's memory ran at 68 GB/s. What was not found is 0. Of two that fit, the first is
// taken.
constexpr std::array kDevices{
    KnownDevice{"nano-4gb", "Jetson Nano", "Jetson Nano 4GB", 4_GiB, 3964_MiB, 64, 25.6 * kGiga, 0,
                true, true},
    KnownDevice{"tx2-8gb", "TX2", "Jetson TX2 8GB", 8_GiB, 7860_MiB, 128, 59.7 * kGiga, 0, true,
                true},
    KnownDevice{"xavier-nx-8gb", "Xavier NX", "Jetson Xavier NX 8GB", 8_GiB, 7771_MiB, 128,
                59.7 * kGiga, 2, true, true},
    KnownDevice{"agx-xavier-16gb", "AGX Xavier", "Jetson AGX Xavier 16GB", 16_GiB, 15692_MiB, 256,
                136.5 * kGiga, 2, true, true},
    KnownDevice{"agx-xavier-32gb", "AGX Xavier", "Jetson AGX Xavier 32GB", 32_GiB, 31920_MiB, 256,
                136.5 * kGiga, 2, true, true},
    KnownDevice{"orin-nano-4gb", "Orin Nano", "Jetson Orin Nano 4GB", 4_GiB, 0, 64, 51 * kGiga, 0,
                true, true},
    KnownDevice{"orin-nano-8gb", "Orin Nano", "Jetson Orin Nano 8GB", 8_GiB, 7620_MiB, 128,
                102 * kGiga, 0, true, true},
    KnownDevice{"orin-nx-8gb", "Orin NX", "Jetson Orin NX 8GB", 8_GiB, 7620_MiB, 128, 102.4 * kGiga,
                1, true, true},
    KnownDevice{"orin-nx-16gb", "Orin NX", "Jetson Orin NX 16GB", 16_GiB, 15388_MiB, 128,
                102.4 * kGiga, 2, true, true},
    KnownDevice{"agx-orin-industrial-64gb", "AGX Orin Industrial",
                "Jetson AGX Orin Industrial 64GB", 64_GiB, 0, 256, 204.8 * kGiga, 2, true, true},
    KnownDevice{"agx-orin-32gb", "AGX Orin", "Jetson AGX Orin 32GB", 32_GiB, 0, 256, 204.8 * kGiga,
                2, true, true},
    KnownDevice{"agx-orin-64gb", "AGX Orin", "Jetson AGX Orin 64GB", 64_GiB, 62841_MiB, 256,
                204.8 * kGiga, 2, true, true},
    KnownDevice{"igx-orin-64gb", "IGX Orin", "NVIDIA IGX Orin 64GB", 64_GiB, 0, 256, 204.8 * kGiga,
                2, true, true},
    KnownDevice{"t4000-64gb", "Thor", "Jetson T4000 64GB", 64_GiB, 0, 256, 273 * kGiga, 0, true,
                true},
    KnownDevice{"agx-thor-128gb", "Thor", "Jetson AGX Thor 128GB", 128_GiB, 125773_MiB, 256,
                273 * kGiga, 0, true, true},
    KnownDevice{"dgx-spark", "DGX_Spark", "DGX Spark (GB10) 128GB", 128_GiB, 124610_MiB, 256,
                273 * kGiga, 0, true, true, true},
    KnownDevice{"raspberry-pi-zero-2w", "Raspberry Pi Zero 2", "Raspberry Pi Zero 2 W", 512_MiB,
                416_MiB, 0, 0, 0, false, false},
    KnownDevice{"raspberry-pi-4-4gb", "Raspberry Pi 4", "Raspberry Pi 4 4GB", 4_GiB, 0, 32,
                12.8 * kGiga, 0, false, false},
    KnownDevice{"raspberry-pi-5-2gb", "Raspberry Pi 5", "Raspberry Pi 5 2GB", 2_GiB, 0, 32,
                17.1 * kGiga, 0, false, false},
    KnownDevice{"raspberry-pi-5-4gb", "Raspberry Pi 5", "Raspberry Pi 5 4GB", 4_GiB, 0, 32,
                17.1 * kGiga, 0, false, false},
    KnownDevice{"raspberry-pi-5-8gb", "Raspberry Pi 5", "Raspberry Pi 5 8GB", 8_GiB, 0, 32,
                17.1 * kGiga, 0, false, false},
    KnownDevice{"raspberry-pi-5-16gb", "Raspberry Pi 5", "Raspberry Pi 5 16GB", 16_GiB, 0, 32,
                17.1 * kGiga, 0, false, false},
    KnownDevice{"rock-5b-4gb", "ROCK 5B", "Radxa ROCK 5B (RK3588) 4GB", 4_GiB, 0, 64, 33.8 * kGiga,
                0, true, false},
    KnownDevice{"rock-5b-8gb", "ROCK 5B", "Radxa ROCK 5B (RK3588) 8GB", 8_GiB, 0, 64, 33.8 * kGiga,
                0, true, false},
    KnownDevice{"rock-5b-16gb", "ROCK 5B", "Radxa ROCK 5B (RK3588) 16GB", 16_GiB, 0, 64,
                33.8 * kGiga, 0, true, false},
    KnownDevice{"imx8mp-evk", "i.MX8MPlus EVK", "NXP i.MX 8M Plus EVK 6GB", 6_GiB, 0, 32, 0, 0,
                false, false},
    KnownDevice{"rb3gen2-6gb", "RB3gen2", "Qualcomm RB3 Gen 2 (QCS6490) 6GB", 6_GiB, 0, 0, 0, 0,
                true, false},
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

std::optional<std::uint64_t> module_of_dmi(std::string_view model) {
  for (const KnownDevice& device : kDevices) {
    if (device.has_dmi && model.find(device.model) != std::string_view::npos) {
      return device.module_bytes;
    }
  }
  return std::nullopt;
}

}  // namespace jetmem::device
