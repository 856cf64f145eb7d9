// SPDX-License-Identifier: Apache-2.0
// One record of /dev/kmsg: "6,1234,5678901,-;text" and, in lines of their own, " KEY=value".
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "collectors/kernel_log/line/line.h"

namespace jetmem::kernel_log {

// As much text of a record as is kept. The kernel's own records are far smaller.
inline constexpr std::size_t kMaxRecord = 8192;

// Texts stay valid as long as what was parsed and this record, until it is used again.
struct Record {
  Record() = default;
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  std::uint8_t facility = 0;  // 0: the kernel itself. What does not fit is 255
  std::uint8_t level = 0;
  std::uint64_t seq = 0;
  std::chrono::microseconds stamp{0};
  bool fragment = false;  // of a line that was printed in pieces
  bool first_fragment = false;
  std::string_view text;    // may hold several lines: Lines(record.text)
  std::string_view caller;  // "T123" or "C0", where the kernel is built to tell

  // The same for LineFeed, still without a number.
  LogLine line() const {
    LogLine made;
    made.text = text;
    made.voice = facility == 0 ? Voice::kKernel : Voice::kForeign;
    made.level = level;
    made.seq = seq;
    made.stamp = stamp;
    made.fragment = fragment;
    made.first_fragment = first_fragment;
    made.caller = caller;
    return made;
  }

  // Of a text that had escapes.
  std::array<char, kMaxRecord> bytes;
};

// Unknown fields and keys are passed over. Errors: "kmsg record: ...", and then `out` holds nothing
// of use.
Result<void> parse_record(std::string_view text, Record& out);

// Whether a line begins as a record does: "6,1234,5678901,-", then ',' or ';'.
bool is_kmsg_record(std::string_view line);
// Whether a line is a record's " KEY=value".
bool is_kmsg_record_key(std::string_view line);

}  // namespace jetmem::kernel_log
