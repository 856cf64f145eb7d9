// SPDX-License-Identifier: Apache-2.0
// What stands around a message in a pasted log, taken off: the stamps of dmesg in all its ways of
// printing, of journalctl, syslog and other loggers; colours, quote marks and Markdown; records of
// /dev/kmsg.
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
  // Nothing was taken off that a log puts in front of a message: it may be what a line before it
  // goes on with.
  bool bare = false;
};

class Pasted {
 public:
  // One line, without its newline. False when it holds no message: a key of the record before it.
  // The texts in `out` stay valid as long as `raw`, and until the next call.
  bool strip(std::string_view raw, PastedLine& out);
  // How long the message at the front of `text` is if "kernel: " stands further on: perhaps a
  // further record, which lost the line end between them. npos: it does not.
  static std::size_t size_of_first(std::string_view text);

 private:
  void strip_prefixes(std::string_view text, PastedLine& out);

  Record record_;
  bool after_record_ = false;
  std::string plain_;  // a line freed of colours and hard blanks
};

}  // namespace jetmem::kernel_log
