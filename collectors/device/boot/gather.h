// SPDX-License-Identifier: Apache-2.0
// Adds the files of the boot source that no path pattern can name: the power management
// controller's folder, and the records of pstore, only their ends.
#pragma once

#include <string>
#include <string_view>

#include "base/root/gatherer.h"

namespace jetmem {

inline constexpr std::string_view kPstore = "/sys/fs/pstore";
inline constexpr std::string_view kPstoreArchive = "/var/lib/systemd/pstore";
// Notes' records: how many of each were omitted.
inline constexpr std::string_view kPstoreLeftOut = "jetmem:pstore records omitted";
inline constexpr std::string_view kArchiveLeftOut = "jetmem:archived records omitted";

// Whether the kernel says that its clock is kept in step: 0 or 1. Asked on a live machine alone.
inline constexpr std::string_view kClockSynchronized = "jetmem:clock_synchronized";

// What the controller reported when one of its values had no name: the kernel warns at each reading
// of such a one.
struct SavedReset {
  bool kept = false;
  std::string reason;
  std::string level;
  int level_error = 0;
};

// `unnamed`: what is reported instead of reading again; null: always look.
void gather_reset(Gatherer& gatherer, SavedReset* unnamed);
void gather_boot(Gatherer& gatherer);

}  // namespace jetmem
