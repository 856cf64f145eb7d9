// SPDX-License-Identifier: Apache-2.0
// One line of a log, freed of everything around the message itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace jetmem::kernel_log {

// Who says it. Anyone who may write /dev/kmsg can put text into the kernel's log, but not under
// the kernel's facility: only kKernel is believed about the kernel.
enum class Voice : std::uint8_t {
  kKernel,   // facility 0
  kForeign,  // in the kernel's log, written there by a process
  kProcess,  // a process' own line in the journal or syslog
  kJetmem,   // a line of jetmem's own there: what it says of an event is no further one
  kUnknown,  // pasted text that does not say
};

constexpr bool is_process(Voice voice) {
  return voice == Voice::kProcess || voice == Voice::kJetmem;
}

struct LogLine {
  std::string_view text;  // of a record it may be several lines, until LineFeed took them apart
  Voice voice = Voice::kUnknown;
  std::uint64_t number = 0;  // of the line in its input, from 1
  std::optional<std::uint64_t> seq;
  std::optional<std::chrono::microseconds> stamp;  // the kernel's log clock
  // Its priority as syslog(2) counts, from 0 (emergency) to 7 (debug), where that is known.
  std::optional<std::uint8_t> level;
  // For information: below a warning.
  bool is_quiet() const {
    constexpr std::uint8_t kNotice = 5;
    return level.value_or(0) >= kNotice;
  }
  // It continues the record of the line before it.
  bool continues = false;
  // The record is a piece of a line (`fragment`), perhaps the first that the kernel could not merge
  // (`first_fragment`). `caller` printed it, where the kernel reports that.
  bool fragment = false;
  bool first_fragment = false;
  std::string_view caller;
  // It was in the log before we came to read it.
  bool from_before = false;
  // It reached us a while after it was printed.
  bool late = false;
  // Of a process' line: who printed it, where that is known.
  std::string_view unit;
  std::uint32_t pid = 0;
};

}  // namespace jetmem::kernel_log
