// SPDX-License-Identifier: Apache-2.0
// The recorder's own metrics.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "history/recorder/recorder_thread.h"
#include "metrics/sample.h"

namespace jetmem {

struct RecorderStats {
  static constexpr std::array<std::string_view, 5> kWriteReasons{"full", "alert", "pressure", "oom",
                                                                 "stop"};
  bool up = false;
  bool has_file = false;
  std::uint64_t max_bytes = 0;
  RecorderThread::File file;
  std::size_t series = 0;
  std::size_t waiting_steps = 0;
  std::uint64_t steps = 0;
  std::array<std::uint64_t, kWriteReasons.size()> writes{};
  std::array<std::uint64_t, RecorderThread::kReasons.size()> errors{};
  std::optional<double> write_seconds;
  std::optional<std::uint64_t> written_bytes;  // without what tidying wrote
  std::uint64_t lost_steps_not_written = 0;
  std::uint64_t lost_steps_full = 0;
  std::uint64_t lost_events_not_written = 0;
  std::uint64_t lost_events_full = 0;
  std::uint64_t quarantine = 0;
  std::uint64_t unread = 0;
  std::optional<Nanoseconds> last_write;  // boot clock

  // `wall_offset`: wall clock less boot clock.
  void write(SampleWriter& out, Nanoseconds wall_offset) const;
  static std::span<const Descriptor> metrics();
};

}  // namespace jetmem
