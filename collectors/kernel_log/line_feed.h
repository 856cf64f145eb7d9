// SPDX-License-Identifier: Apache-2.0
// What every reader of a kernel log does with what it read, before it comes to the assembler: a
// record is taken apart into its lines, a line that was printed in pieces is put together, and what
// processes wrote into the kernel's log is counted and ignored. Errors of a drive that the kernel
// lost before are marked (`removed`), and those of a machine that shuts down (`happened`).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collectors/kernel_log/decode/assembler.h"
#include "collectors/kernel_log/decode/drives.h"

namespace jetmem::kernel_log {

class LineFeed {
 public:
  LineFeed(Soc soc, Assembler::Emit emit, const Catalogues& catalogues = {})
      : assembler_(soc, std::move(emit), catalogues) {
    assembler_.set_opened([this](Event& event) { mark(event); });
  }
  LineFeed(const LineFeed&) = delete;
  LineFeed& operator=(const LineFeed&) = delete;
  void set_catalogues(const Catalogues& catalogues) { assembler_.set_catalogues(catalogues); }

  // A line, or a record, whose text may be several. Returns whether it was of an event. Of `line`
  // only the number stays.
  bool feed(LogLine& line);
  // A line that was fed in an earlier run: what it says of later ones is learnt again.
  void remember(const LogLine& line);
  // Finishes what is open.
  void flush() { assembler_.flush(); }
  bool holding() const { return assembler_.holding(); }

  // Believe what processes write into the kernel's log: for tests.
  void set_accept_foreign(bool accept) { accept_foreign_ = accept; }
  bool accepts_foreign() const { return accept_foreign_; }
  // Lines and records that were not believed.
  std::uint64_t foreign() const { return foreign_; }

 private:
  bool feed_lines(LogLine& line, std::string_view text);
  bool is_one_message(const LogLine& line, std::string_view text);
  void mark(Event& event) const;

  Assembler assembler_;
  Drives drives_;
  std::optional<std::chrono::microseconds> smmu_off_;  // when, to shut down
  std::string joined_;
  bool accept_foreign_ = false;
  std::uint64_t foreign_ = 0;
  // What a fragment would go on with, whose it was, and whether it was of an event itself.
  std::string last_text_;
  std::string last_caller_;
  bool last_recognized_ = false;
  std::size_t last_first_ = 0;  // where in it the latest first fragment begins
};

}  // namespace jetmem::kernel_log
