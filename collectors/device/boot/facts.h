// SPDX-License-Identifier: Apache-2.0
// What the chip and the kernel kept of the last reset, what is watched for change, and jetmemd's
// own history of boots (history.h), as files tell it.
//
// Sources; each may be missing:
//   /sys/devices/platform/[bus@0/]<address>.pmc/reset_{reason,level} drivers/soc/tegra/pmc.c, 4.20
//       and later: a name ("BCCPLEXWDT", "MAINSWRST") and "L0", "L1", "L2" or "WARM"
//   /sys/kernel/pmc/tegra_reset_{reason,level}   L4T 32: "TEGRA_POWER_ON_RESET",
//       "TEGRA_RESET_LEVEL_L0"
//   /sys/fs/pstore, /var/lib/systemd/pstore      pstore.h
//   /sys/module/pstore/parameters/backend        "ramoops", "efi_pstore"; "(null)": a panic leaves
//       no record
//   /proc/sys/kernel/osrelease, /proc/cmdline, /etc/nv_tegra_release, /var/lib/nvpmodel/status
//       what is watched for change. Of the command line only a digest of 24 bits is ever kept: it
//       may hold secrets.
//   /var/lib/jetmem/boots.json, marks.jsonl      where no daemon hands its history over
//   /run/jetmem/starts                           starts.h; as these
//   adjtimex(2)                                  live: whether the clock is synchronised
//   /proc/uptime                                 "12345.67 45678.90": seconds since boot. For a
//       captured tree: a live machine's clock is asked itself
//
// Reading reset_reason looks at one register. A value that the kernel has no name for costs a
// warning with a stack in its log (pmc.c: WARN_ON) each time, so it is read once only by each
// process then.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/device/boot/history.h"
#include "collectors/device/boot/marks.h"
#include "collectors/device/boot/pstore.h"
#include "collectors/device/boot/starts.h"
#include "collectors/source.h"

namespace jetmem {

// Besides what gather.h finds.
inline constexpr std::array<std::string_view, 9> kBootPaths{"/proc/sys/kernel/osrelease",
                                                            "/proc/cmdline",
                                                            "/etc/nv_tegra_release",
                                                            "/var/lib/nvpmodel/status",
                                                            "/var/lib/jetmem/boots.json",
                                                            "/var/lib/jetmem/marks.jsonl",
                                                            "/sys/module/pstore/parameters/backend",
                                                            "/run/jetmem/starts",
                                                            "/proc/uptime"};

struct BootFacts : Reading {
  static constexpr std::size_t kMaxRecords = 48;

  // By What; empty: not known here. Settings and version are the daemon's to tell.
  std::array<std::string, boot::kWhats> values;
  std::string reset_reason;  // empty: this machine does not tell
  std::string reset_level;
  std::string backend;  // of pstore: "none" where it has none; empty: not known
  // Whether the folder could be listed.
  bool pstore_listed = false;
  bool archive_listed = false;
  // Whether records of it are missing below, so that their number is not known.
  bool pstore_cut = false;
  bool archive_cut = false;
  std::vector<PstoreRecord> records;

  // Of /var/lib/jetmem, for who has no daemon's history. Empty error: it was read.
  boot::History history;
  std::optional<Error> history_error{Error{Errc::kAbsent, "not read"}};
  boot::Marks marks;
  boot::Starts starts;  // no boot: not read
  std::optional<Nanoseconds> uptime;
  // Wall clock minus boot clock, as the daemon last saw it: a second's change at least. Absent
  // where nobody follows the clock.
  std::optional<Nanoseconds> wall_offset;

  // Whether a time server keeps the clock synchronized, as the kernel reports it. Absent for a
  // captured tree.
  std::optional<bool> clock_synchronized;

  // Whether a record that may be one of a crash could not be read.
  bool can_mask_crash() const;
};

// A file that cannot be read or understood leaves out its value and no other. Errors: kAbsent when
// not one of them is there. `with_history`: whether to read what is in /var/lib/jetmem.
Result<void> parse_boot(const Snapshot& snapshot, bool with_history, BootFacts& out);

}  // namespace jetmem
