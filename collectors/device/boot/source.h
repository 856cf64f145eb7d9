// SPDX-License-Identifier: Apache-2.0
// Why the machine restarted last, and what changed: facts.h has what is read, and in which formats.
// Asked of jetmem-reader, since what a panic left behind is root's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "collectors/device/boot/facts.h"
#include "collectors/source.h"

namespace jetmem {

// The history that the daemon itself keeps.
struct BootHistoryView {
  const boot::History* history = nullptr;
  // When this boot began, by the clock as it is now.
  std::optional<std::int64_t> boot_time;
  std::optional<Nanoseconds> wall_offset;  // wall clock minus boot clock
  const boot::Starts* starts = nullptr;    // null: not known
  std::uint64_t failed_writes = 0;
  std::uint64_t bad_files = 0;
  std::uint64_t bad_marks = 0;
  std::span<const boot::Mark> acknowledged;
};

class BootSource final : public SourceOf<BootSource, BootFacts> {
 public:
  static const SourceInfo kInfo;
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;

  // The daemon keeps the history: it is shown each reading, and says what is to be written of it.
  // Must not fail, and what it points to must live as long as this.
  void set_history(std::function<BootHistoryView(const BootFacts&)> history) {
    history_ = std::move(history);
  }

 private:
  void write_starts(SampleWriter& out, WriteContext& context) const;

  std::function<BootHistoryView(const BootFacts&)> history_;
  std::optional<BootHistoryView> view_;
};

}  // namespace jetmem
