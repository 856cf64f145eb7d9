// SPDX-License-Identifier: Apache-2.0
// Marks: what a person did to the device, noted with `jetmem mark TEXT`, so that a change in a
// graph has its cause beside it. One line of JSON each, in marks.jsonl of jetmemd's state
// directory, added whether or not the daemon runs:
//
//   {"n":7,"wall":1763690000,"uptime":8123,"boot":"5b0f...","text":"new camera firmware"}
//
// With "finding" and "by" it acknowledges what happened before: `jetmem ack FINDING WHY`.
//
// The file is bounded: beyond kMaxFile its older half goes. A line that is cut or no mark is
// counted and omitted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collectors/device/boot/history.h"

namespace jetmem::boot {

inline constexpr std::string_view kStateDirectory = "/var/lib/jetmem";
inline constexpr std::string_view kHistoryFile = "boots.json";
inline constexpr std::string_view kMarksFile = "marks.jsonl";

struct Mark {
  static constexpr std::size_t kMaxText = 200;

  std::uint64_t number = 0;
  Moment at;
  std::string boot;  // its ID; empty: not known
  std::string text;  // printable
  // A step of `jetmem doctor` or an alert; empty: no acknowledgement.
  std::string finding;
  std::string by;  // who; empty: not known

  // The text, with what it acknowledges.
  std::string sentence() const {
    return finding.empty() ? text : "acknowledged " + finding + ": " + text;
  }
  bool operator==(const Mark&) const = default;
};

struct Marks {
  static constexpr std::size_t kMaxFile = 64U << 10;

  std::vector<Mark> list;       // oldest first
  std::uint64_t malformed = 0;  // lines that are none

  bool operator==(const Marks&) const = default;
};

// One line, newline included; below PIPE_BUF whatever the text.
std::string to_line(const Mark& mark);
void parse_marks(std::string_view text, Marks& out);
// The last acknowledgement of each finding, at most kMaxAcknowledged, the newest; without a time
// none.
inline constexpr std::size_t kMaxAcknowledged = 32;
std::vector<Mark> acknowledgements(const Marks& marks);

// Numbers the mark and adds it to the file, which is made if it is not there. Errors say what would
// help. Never follows a link, nor writes into a file that is not the directory's owner's.
Result<Mark> add_mark(const std::string& directory, Mark mark);
// Makes an empty file that the directory's group may add to.
Result<void> make_marks_file(const std::string& directory);

}  // namespace jetmem::boot
