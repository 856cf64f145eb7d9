// SPDX-License-Identifier: Apache-2.0
// What the kernel kept of its end over the reset: records of pstore, and where systemd-pstore moved
// them to.
//
//   /sys/fs/pstore/<type>-<backend>-<id>[.enc.z]   fs/pstore/inode.c, pstore_type_names; root only
//   /var/lib/systemd/pstore/[<id>/[<n>/]]<name>    systemd-pstore 243 and later; root only
//
// A dmesg record begins with a line "Panic#1 Part1": why it was written, the how-manieth since
// boot, and which part, of which the first has the log's end (fs/pstore/platform.c). Then come
// lines of the kernel's log, "<0>[   12.345678] text". A console record is such lines and no
// header, pmsg is what programs wrote. Records of a RAM that lost power have bits flipped.
//
// Nothing here says in which boot a record was written: pstore's file times are not given to us,
// and RAM keeps a record until somebody removes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/root/snapshot.h"

namespace jetmem {

enum class PstoreKind : std::uint8_t { kPanic, kOops, kDmesg, kConsole, kPmsg, kOther };
inline constexpr std::size_t kPstoreKinds = 6;

std::string_view pstore_kind_name(PstoreKind kind);

struct PstoreRecord {
  static constexpr std::size_t kMaxName = 64;
  static constexpr std::size_t kMaxLine = 160;

  std::string name;  // below its folder, printable
  bool archived = false;
  bool unreadable = false;
  PstoreKind kind = PstoreKind::kOther;
  std::uint32_t part = 0;  // of a dmesg record
  // The line that says most of the end, printable; empty: none does.
  std::string line;
  // Whether it is a line of a crash, not just the last one or one of what the kernel survived: a
  // console is kept over every reboot, a clean one too.
  bool is_crash = false;
  // Of the record's text, not of its path: systemd-pstore moves records.
  std::uint32_t digest = 0;

  bool operator==(const PstoreRecord&) const = default;
};

// Parses a record's name and text: `head` is its beginning, `tail` its end if the middle was
// omitted. Never fails: the text was written by a dying kernel.
void parse_pstore_record(std::string_view name, std::string_view head, std::string_view tail,
                         PstoreRecord& out);

// "<0>[   12.345678][    C2] text" without what stands before the text.
std::string_view message_of_crash_line(std::string_view line);

// The words by which crash_weight() judges the line; empty: none.
std::string_view crash_phrase(std::string_view line);

// How much a line of the kernel ("Kernel panic - not syncing: ...") says about what went wrong; 0:
// nothing. It does not say whether the kernel ended there.
int crash_weight(std::string_view line);

}  // namespace jetmem
