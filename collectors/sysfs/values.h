// SPDX-License-Identifier: Apache-2.0
// Takes values out of the files of a reading; one that is none is counted, with its reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/root/snapshot.h"
#include "collectors/source.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {

// No clock of any machine: beyond it is what a driver prints for "no limit".
inline constexpr std::uint64_t kNoClock = 1'000'000'000'000;

class Values {
 public:
  // Why a file could not be read, or not be understood.
  using Reason = std::string_view (*)(const FileText& file);

  Values(const Snapshot& snapshot, AbsentValues& absent, Reason reason)
      : snapshot_(snapshot), absent_(absent), reason_(reason) {}

  FileText file(Record record) const { return snapshot_[static_cast<std::size_t>(record)]; }
  // Whether there was any.
  bool any() const { return any_; }
  void found() { any_ = true; }
  // What is wrong with the first file that gave none, denial before all else.
  std::optional<Error> error(std::string_view expected = {}) const;

  void missing(std::string_view reason, Record record);
  // The file itself says why.
  void missing(Record record);
  void missing(std::string_view reason, std::uint64_t count = 1) { absent_.add(reason, count); }

  // One that is out of these bounds is missing for this reason.
  std::optional<std::uint64_t> number(Record record, std::uint64_t least = 0,
                                      std::uint64_t most = kMostNumber,
                                      std::string_view reason = kMalformed);
  // A number of this many hertz. As a limit 0 is none.
  enum class Zero : bool { kIsClock, kIsNoLimit };
  std::optional<std::uint64_t> hertz(Record record, std::uint64_t unit, Zero zero);
  // The highest of "114750000 216750000 ... \n"; none of an empty list.
  std::optional<std::uint64_t> highest(Record record);
  // Empty: none.
  std::string_view name(Record record);
  // Of a number of thousandths.
  std::optional<double> ratio(Record record);

 private:
  const Snapshot& snapshot_;
  AbsentValues& absent_;
  Reason reason_;
  Record first_error_ = kNoRecord;
  bool any_ = false;
};

}  // namespace jetmem
