// SPDX-License-Identifier: Apache-2.0
// A whole text of kernel log, however it was captured or pasted: a file, standard input, the
// /dev/kmsg of a captured tree. Streams: memory is bounded whatever the text's size.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "collectors/kernel_log/line/pasted.h"
#include "collectors/kernel_log/line_feed.h"

namespace jetmem::kernel_log {

class TextLog {
 public:
  // A longer line is read as far as this.
  static constexpr std::size_t kMaxLineBytes = 64U << 10;

  struct Counts {
    std::uint64_t lines = 0;
    std::uint64_t events = 0;
    std::uint64_t sending = 0;               // lines that belong to an event
    std::uint64_t foreign = 0;               // in the kernel's log, but written by a process
    std::uint64_t records = 0;               // of /dev/kmsg
    std::optional<std::uint64_t> first_seq;  // of them
    std::uint64_t lost = 0;                  // records that are missing between those
    std::uint64_t cut = 0;                   // lines longer than kMaxLineBytes
    std::optional<std::chrono::microseconds> first_stamp;
    std::optional<std::chrono::microseconds> last_stamp;
  };
  // `time_text` is the time of the event's first line as printed there; it may be empty.
  using Emit = std::function<void(const Event&, std::string_view time_text)>;

  TextLog(Soc soc, Emit emit, const Catalogues& catalogues = {});
  TextLog(const TextLog&) = delete;
  TextLog& operator=(const TextLog&) = delete;

  // Any part of the text; it need not end with a line.
  void feed(std::string_view text);
  // The end of the text.
  void finish();
  // A pause in it: what is known so far is passed on, though more lines of an event may yet come.
  void flush();

  // For text that is no log itself but holds one: a message of it with the number of its line, and
  // how far lines are read. Not to be mixed with feed().
  void message(const LogLine& line, std::string_view time_text);
  void count_lines(std::uint64_t until) { counts_.lines = until; }

  const Counts& counts() const { return counts_; }

 private:
  struct Time {
    std::uint64_t line = 0;
    std::uint8_t size = 0;
    std::array<char, 47> text;
  };

  // A line that the next one may go on with: mail, chats and narrow terminals break lines.
  struct Held {
    std::string raw;
    std::uint64_t number = 0;
    std::uint64_t lines = 0;  // that it was; 0: there is none
  };

  // The length of the line at the front of the text; npos when its end has not come.
  std::size_t line_size(std::string_view text) const;
  void learn_line_end(std::string_view text);
  void end_partial();
  void take_line(std::string_view raw);
  bool take_stripped();
  // Of one line, or several that were joined.
  void take_whole(std::string_view raw, std::uint64_t number, std::uint64_t lines);
  // Returns what stands behind it: further records, of a text that lost its line ends.
  std::string_view take_record(std::string_view raw, std::uint64_t number, std::uint64_t lines);
  // Whether the line is what the held one goes on with; then it is part of that.
  bool join_held(std::string_view raw);
  void release_held();
  void count_record(const LogLine& line);
  void remember_time(std::uint64_t line, std::string_view text);
  std::string_view time_of(std::uint64_t line) const;

  LineFeed feed_;
  Emit emit_;
  Pasted pasted_;
  PastedLine stripped_;
  Held held_;
  std::array<Pasted, 2> joining_;  // the held line and the next, to see whether they are one
  std::array<PastedLine, 2> joined_;
  Event joined_event_;
  std::string partial_;    // a line whose end has not come
  bool overlong_ = false;  // and is not going to be kept
  // Lines end with CR alone. The first line's end decides: elsewhere a CR is some program's.
  bool cr_ends_lines_ = false;
  bool knows_line_end_ = false;
  bool at_cr_ = false;  // the last byte was one, and what follows decides what it means
  std::optional<std::uint64_t> next_seq_;
  Counts counts_;
  // Of the latest lines that were of an event: an event comes out some lines after its first.
  std::array<Time, 256> times_;
  std::size_t next_time_ = 0;
};

}  // namespace jetmem::kernel_log
