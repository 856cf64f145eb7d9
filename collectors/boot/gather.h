// What of the boot source no pattern names: the power management controller's folder, and the
// records of pstore, of which only the ends are taken.
#pragma once

#include <string>
#include <string_view>

#include "base/gatherer.h"

namespace jetmem {

inline constexpr std::string_view kPstore = "/sys/fs/pstore";
inline constexpr std::string_view kPstoreArchive = "/var/lib/systemd/pstore";
// Notes' records: how many of each were left out.
inline constexpr std::string_view kPstoreLeftOut = "jetmem:pstore records left out";
inline constexpr std::string_view kArchiveLeftOut = "jetmem:archived records left out";

// Whether the kernel says that its clock is kept in step: 0 or 1. Asked on a live machine alone.
inline constexpr std::string_view kClockSynchronized = "jetmem:clock_synchronized";

// What the controller told when one of its values had no name: the kernel warns at each reading of
// such a one.
struct KeptReset {
  bool kept = false;
  std::string reason;
  std::string level;
  int level_error = 0;
};

// `unnamed`: what is told instead of looking again; null: always look.
void gather_reset(Gatherer& gatherer, KeptReset* unnamed);
void gather_boot(Gatherer& gatherer);

}  // namespace jetmem
