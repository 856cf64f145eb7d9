// SPDX-License-Identifier: Apache-2.0
// What the parts of the source nvmap agree on.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace jetmem::nvmap {

inline constexpr std::string_view kRoot = "/sys/kernel/debug/nvmap";
inline constexpr std::size_t kMaxHeaps = 16;
inline constexpr std::size_t kMaxClients = 512;  // of a heap
// Process names listed per heap; the rest is summed up.
inline constexpr std::size_t kMaxNames = 32;

// Reading `clients` walks all handles under the spinlock that each allocation takes. Where one such
// walk takes longer, the same heap's orphan_handles, which prints a row for each handle under that
// lock, would take many times as long: it is not read. Some 10 000 handles of an Orin.
inline constexpr std::chrono::milliseconds kMostWalkTime{1};

// Notes of the gatherer ("jetmem:" stands before them). Whether the driver's device is there, known
// only when debugfs could not be listed; how many folders were not looked at.
inline constexpr std::string_view kDeviceRemark = "nvmap device";
inline constexpr std::string_view kLeftOutNote = "nvmap folders omitted";

}  // namespace jetmem::nvmap
