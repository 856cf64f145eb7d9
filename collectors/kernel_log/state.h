// SPDX-License-Identifier: Apache-2.0
// What is kept over a restart of the daemon within one boot: how far the log was read, and the
// counts as of there. Both in one text, so that what is read again is counted from where it was.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "collectors/kernel_log/kernel_log.h"

namespace jetmem::kernel_log {

struct SavedLog {
  static constexpr int kFormat = 1;

  // How far the journal was read, for the kernel's lines and for processes'; may be empty.
  std::string kernel_cursor;
  std::string process_cursor;
  std::optional<std::uint64_t> last_seq;
  std::optional<std::chrono::microseconds> last_stamp;
  bool last_was_line = false;
  std::uint64_t lost = 0;
  std::uint64_t lost_before_start = 0;
  Tally::Saved tally;
};

// JSON, some kilobytes.
std::string to_text(const SavedLog& saved);
// Refuses a truncated text; what is in it need not be trusted.
Result<SavedLog> parse_saved_log(std::string_view text);

}  // namespace jetmem::kernel_log
