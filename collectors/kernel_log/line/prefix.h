// SPDX-License-Identifier: Apache-2.0
// The prefixes of one line of a pasted log, taken off one after the other.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "collectors/kernel_log/line/line.h"

namespace jetmem::kernel_log {

// Whether the kernel's own stamp stands right here: "[   12.345678]", as printk prints it, or that
// of `dmesg -T`, "[Fri Aug 30 11:43:09 2024]". Not any bracket with a number: messages have these.
bool is_kernel_stamp(std::string_view text);

class Prefix {
 public:
  explicit Prefix(std::string_view text) : rest_(text) {}

  void take_all();

  std::string_view rest() const { return rest_; }
  Voice voice() const { return voice_; }
  std::optional<std::chrono::microseconds> stamp() const { return stamp_; }
  std::string_view time_text() const { return time_text_; }
  // Of the kernel's own priority, "<4>" or "kern  :warn  : ".
  std::optional<std::uint8_t> level() const { return level_; }

 private:
  // Each takes one prefix off the front or leaves everything as it is.
  bool take_priority();    // "<4>", of dmesg -r and consoles
  bool take_facility();    // "kern  :warn  : ", of dmesg -x
  bool take_bracket();     // all that dmesg puts into brackets
  bool take_trace();       // "0x00000000027bbfa0 |   1263.468579:   "
  bool take_level();       // "ERR kernel: "
  bool take_vendor_cpu();  // "-(2)[123:kworker/2:1]" behind "[12.345678]"
  bool take_bare_ident();  // "kernel: "
  bool take_date();        // "Jul 10 16:36:36 host kernel: " and what else journals write
  bool take_columns();
  bool take_host_of_monotonic();  // "host kernel: " behind "[12.345678] " or a date in brackets
  bool take_line_number();        // "17:" before "[12.345678]", of grep -n
  bool take_cut_bracket();        // "0.125464] "
  bool take_time_of_day();        // "18:53:17.778 "
  bool take_host_of_kernel();     // "host kernel: "
  bool take_unknown_words();      // anything else before "[   12.345678]"
  bool take_version_5424();       // "1 2026-11-20T18:53:17.003Z orin kernel - - - "

  // "host kernel[851]: ", "kernel: ", "host program[812]: ".
  bool take_host_and_ident(bool host_needed, bool pid_needed);
  void received(Voice voice);
  void timed(std::string_view text);
  // One blank ends a prefix; further ones are the message's own.
  void end_of_prefix() {
    if (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  std::string_view rest_;
  Voice voice_ = Voice::kUnknown;
  std::optional<std::chrono::microseconds> stamp_;
  std::string_view time_text_;
  std::optional<std::uint8_t> level_;
  bool process_ = false;  // what follows is a process' own text
};

}  // namespace jetmem::kernel_log
