// SPDX-License-Identifier: Apache-2.0
// The kernel's log: SMMU faults, OOM kills, failed allocations, decoded as they are printed.
//
// /dev/kmsg, Linux 3.5 and later (Documentation/ABI/testing/dev-kmsg): one record for each read(2).
// Followed, not read at intervals; where it may not be opened the journal stands in for it.
#pragma once

#include <optional>
#include <string>

#include "collectors/kernel_log/kernel_log.h"
#include "collectors/source.h"

namespace jetmem {

enum class KernelLogInput : std::uint8_t { kNone, kKmsg, kJournal, kFile };

// What is shown of the log: a view of the object that follows it.
struct KernelLogReading {
  const kernel_log::KernelLog* log = nullptr;
  KernelLogInput input = KernelLogInput::kNone;
  // Wall clock minus the clock that event times are on; absent where it is not known.
  std::optional<Nanoseconds> wall_offset;
  // Whether processes' lines in the journal are followed; absent where they are not asked for.
  std::optional<bool> library_errors;
  // Whether what those lines said before us is counted; true where they are not asked for. And
  // whether that is only to come, not refused.
  bool process_lines_read = true;
  bool process_lines_awaited = false;
  // Of a log that is whole and was captured: what its own clock said then. Absent: nobody knows.
  std::optional<Nanoseconds> captured_at{};

  // Counters that begin in the middle of the log's past would seem to grow by the rest of it: none
  // is reported before all of it is in them.
  bool is_counted(kernel_log::EventKind kind) const;
  bool is_counted(kernel_log::Group group) const;
};

class KernelLogSource final : public SourceOf<KernelLogSource, KernelLogReading> {
 public:
  static const SourceInfo kInfo;

  // A stream has no text of its own to parse: the reading is set by whoever follows it.
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;

  void set_reading(const KernelLogReading& reading) { reading_ = reading; }
};

}  // namespace jetmem
