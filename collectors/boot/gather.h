// What of the boot source no pattern names: the power management controller's folder, and the
// records of pstore, of which only the ends are taken.
#pragma once

#include "base/gatherer.h"

namespace jetmem {

inline constexpr std::string_view kPstore = "/sys/fs/pstore";
inline constexpr std::string_view kPstoreArchive = "/var/lib/systemd/pstore";
// A note's record: how many records were left out.
inline constexpr std::string_view kPstoreLeftOut = "jetmem:pstore records left out";

void gather_boot(Gatherer& gatherer);

}  // namespace jetmem
