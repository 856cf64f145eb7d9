// SPDX-License-Identifier: Apache-2.0
// What stands around a message in a pasted log, taken off: the stamps of dmesg in all its ways of
// printing, of journalctl and syslog, of consoles; quote marks, colours, records of /dev/kmsg.
//
// Only what is certainly not the kernel's own text is taken: a message may begin with a bracket, a
// time or "kernel:" itself.
#pragma once

#include <string>
#include <string_view>

#include "collectors/kernel_log/line/line.h"
#include "collectors/kernel_log/line/record.h"

namespace jetmem::kernel_log {

struct PastedLine {
  LogLine line;  // without number; its text is several lines only where the input was a record
  // The time as printed, the outermost where there are several: "Jul 10 16:36:36", "12.345678".
  std::string_view time_text;
};

class Pasted {
 public:
  // One line, without its newline. False when it holds no message: a key of the record before it.
  // The texts in `out` stay valid as long as `raw`, and until the next call.
  bool strip(std::string_view raw, PastedLine& out);

 private:
  Record record_;
  bool after_record_ = false;
  std::string plain_;  // a line freed of colours and hard blanks
};

}  // namespace jetmem::kernel_log
