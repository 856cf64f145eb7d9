// SPDX-License-Identifier: Apache-2.0
// The history of the machine's boots that jetmemd keeps over its restarts: boots.json in its state
// directory (systemd's StateDirectory=, /var/lib/jetmem), and what follows from it.
//
// Boots are in the order in which they were met. Wall clocks are shown where they are plausible and
// never compared otherwise: a board without a battery begins in 1970, and its clock steps when a
// time server answers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace jetmem::boot {

// A moment on both clocks, in seconds.
struct Moment {
  std::int64_t wall = 0;     // since 1970, right or not
  std::uint64_t uptime = 0;  // since boot, time in suspend included

  bool plausible() const { return wall >= kFirstPlausibleSecond; }
  bool operator==(const Moment&) const = default;
};

// How a run of jetmemd, or a boot of the device, ended.
enum class RunEnd : std::uint8_t {
  kRunning,      // it runs; seen by a later run: nothing stopped it
  kStopped,      // stopped while the system ran on
  kShutdown,     // stopped because the system was stopping
  kNotReported,  // stopped; systemd did not report whether the system was stopping
};
enum class DeviceEnd : std::uint8_t {
  kNotYet,
  kClean,    // a shutdown stopped jetmem
  kUnclean,  // jetmem ran, and nothing stopped it: power loss, panic, watchdog
  kUnknown,  // jetmem had been stopped before, or systemd did not say why it was
};
std::string_view device_end_name(DeviceEnd end);  // "running", "clean", ...

// What is watched for change.
enum class What : std::uint8_t {
  kKernel,
  kL4t,
  kPowerMode,
  kCommandLine,
  kSettings,
  kVersion,
};
inline constexpr std::size_t kWhats = 6;
std::string_view what_name(What what);  // "power_mode", in metrics
std::string_view what_text(What what);  // "power mode"

struct Boot {
  std::uint64_t number = 0;  // 1 is the first that jetmem ever saw here
  std::string id;            // the kernel's boot ID
  Moment first;              // jetmem's first start in it
  Moment last;               // when jetmem last wrote that it runs
  std::uint64_t starts = 0;
  bool starts_are_least = false;  // there may have been more, each killed before it was kept
  std::uint64_t unclean_runs = 0;
  RunEnd run = RunEnd::kRunning;  // of jetmem's last run in it
  DeviceEnd end = DeviceEnd::kNotYet;
  // Why the one before ended, as this boot's firmware reports; empty: unknown.
  std::string reset_reason;
  std::string reset_level;
  // The crash of which a record appeared with this boot; empty: none did.
  std::string crash;
  static constexpr std::string_view kCrashNotUnderstood = "(no line of it could be understood)";
  // Whether the records of pstore were read in this boot, and the summary was logged.
  bool checked = false;
  bool reported = false;
  // By What. Empty: not known.
  std::array<std::string, kWhats> values;

  bool operator==(const Boot&) const = default;
};

struct Change {
  std::uint64_t boot = 0;
  Moment at;
  What what = What::kKernel;
  std::string from;
  std::string to;

  bool operator==(const Change&) const = default;
};

struct History {
  static constexpr std::size_t kMaxBoots = 64;
  static constexpr std::size_t kMaxChanges = 64;
  static constexpr std::size_t kMaxDigests = 48;
  static constexpr std::size_t kMaxValue = 100;

  std::uint64_t boots_seen = 0;
  std::uint64_t starts = 0;
  bool starts_are_least = false;
  std::uint64_t unclean_boots = 0;
  std::uint64_t unclean_runs = 0;
  std::array<std::uint64_t, kWhats> changes_seen{};
  std::uint64_t marks_seen = 0;
  std::uint64_t last_mark = 0;               // its number
  std::optional<Moment> mark_at;             // of the last
  std::string mark_boot;                     // its boot's ID; empty: not known
  std::vector<Boot> boots;                   // oldest first; the last is the present one
  std::vector<Change> changes;               // oldest first
  std::vector<std::uint32_t> crash_records;  // digests of the pstore records that are known

  void clear() { *this = History(); }
  bool operator==(const History&) const = default;

  // Counts the starts of the present boot: `in_boot` in all, of which `stopped` runs ended cleanly.
  // Where that is not known, runs not recorded here count as unclean, except the last: its clean
  // stop is recorded.
  void count_starts(std::uint64_t in_boot, std::optional<std::uint64_t> stopped);
  // The boot before the last, and the change that a kind saw last; null: none.
  const Boot* before() const;
  const Change* last_change(What what) const;
};

// The moment at which a boot began, where its clock was plausible.
std::optional<std::int64_t> began(const Moment& moment);
// The moment as the clock has it that its boot knew last, which may have been set since; itself
// where the boot is not known, or its clock was never set.
Moment from_last_clock(const History& history, std::string_view boot_id, const Moment& moment);
// From when the boot before was last seen alive to the beginning of this one; absent where a clock
// was not plausible, or went backwards meanwhile.
std::optional<std::int64_t> seconds_down(const History& history);

inline constexpr int kFormat = 1;

// JSON, at most some 40 KiB.
std::string to_text(const History& history);
// Refuses a text that is not whole, not of this format, or not in order. What is in it need not be
// trusted: texts are made printable and bounded.
Result<void> parse_history(std::string_view text, History& out);

}  // namespace jetmem::boot
