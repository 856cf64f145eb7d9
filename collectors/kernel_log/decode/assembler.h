// SPDX-License-Identifier: Apache-2.0
// Puts the lines of one event together, in a log where lines of several CPUs interleave.
//
// Events come out in the order of their first lines. A line that cannot join an open event opens
// its own, or is left alone. An open event is finished when its last line came, when another of its
// kind and device begins (formats that name no device may have several open, since their lines may
// interleave: when that shows, none of them keeps them), when it has been quiet for kMaxGap lines
// or for a second of log time, and when the caller says so. At most kMaxOpen are held.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <utility>

#include "collectors/kernel_log/decode/decode.h"
#include "collectors/kernel_log/line/line.h"

namespace jetmem::kernel_log {

class Assembler {
 public:
  using Emit = std::function<void(const Event&)>;
  using Opened = std::function<void(Event&)>;
  static constexpr std::size_t kMaxOpen = 16;
  static constexpr std::uint64_t kMaxGap = 64;

  Assembler(Soc soc, Emit emit, const Catalogues& catalogues = {})
      : soc_(soc), emit_(std::move(emit)), catalogues_(catalogues) {}

  // What is added to an event when its first line comes: others may come before it is emitted.
  void set_opened(Opened opened) { opened_ = std::move(opened); }
  // For lines from here on. Those before must outlive the events that are open (holding()).
  void set_catalogues(const Catalogues& catalogues) { catalogues_ = catalogues; }

  // Returns whether the line was of an event. A further line of a record may only join an event
  // that the record's first line opened.
  bool line(const LogLine& line);
  // Whether a message fits it, of the same voice and level as `line`. Changes no event.
  bool knows(std::string_view text, const LogLine& line);
  // Finishes everything that is open: the end of the input, or a pause in it.
  void flush();
  // Whether something waits for more lines, or a flush.
  bool holding() const { return size_ > 0; }

 private:
  struct Open {
    Event event;
    Decoded decoded;  // its first line
    std::int64_t pid = 0;  // of the program that printed it
    std::uint8_t step = 0;
    bool done = false;
    std::size_t first_size = 0;    // of the event when it was opened
    bool mixed = false;            // with another one's lines: it takes no further ones
    std::uint64_t first_line = 0;  // of lines_
    std::uint64_t last_line = 0;   // likewise
    std::optional<std::chrono::microseconds> last_stamp;
  };
  Open& at(std::size_t i) { return open_[(first_ + i) % kMaxOpen]; }
  static bool agree(const Open& open, const Event& part, std::string_view join);
  bool may_own(const Open& open, const Decoded& decoded) const;
  // The open event that a further line is of, the newest. When it shows that lines of several
  // interleave, what they gained is taken back: nobody can tell whose it was.
  Open* owner_of(const Decoded& decoded, const LogLine& line, bool& several);
  // Finishes the event that the line shows to be over.
  void end_former(const Decoded& decoded);
  void expire(const LogLine& line);
  void add(const LogLine& line, const Decoded& decoded, bool done);
  void pop();
  // Emits from the front what is done.
  void settle();

  Soc soc_;
  Emit emit_;
  Opened opened_;
  Catalogues catalogues_;
  Event scratch_;
  std::array<Open, kMaxOpen> open_;  // a ring
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::uint64_t lines_ = 0;
  std::uint64_t record_ = 0;  // of lines_, where the record of the latest line begins
};

}  // namespace jetmem::kernel_log
