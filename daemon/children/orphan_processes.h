// SPDX-License-Identifier: Apache-2.0
// Processes that a program left running when it ended: `setsid`, a daemon of its own. They count
// towards the limits of the daemon's unit, so whoever starts programs again and again looks for
// them in between.
//
// They are known by a variable of their environment, and where the daemon has a control group of
// its own, by being in it without descending from the daemon. A daemon that
// was started by hand shares the group of its session.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace jetmem {

class OrphanProcesses {
 public:
  // "NAME=value", which the program was started with.
  explicit OrphanProcesses(std::string marker) : marker_(std::move(marker)) {}

  const std::string& marker() const { return marker_; }
  // Before the program starts. The first time it looks whether the control group has nobody but the
  // daemon and its descendants, and so is its own.
  void before_start();
  // Processes of the daemon's own user that still run; nothing where /proc cannot be read.
  // `example` names one of them, for people: "sleep 4711". Not to be called while the program
  // itself runs.
  std::optional<std::size_t> count(std::string& example) const;

 private:
  std::string marker_;
  std::optional<bool> has_own_group_;
};

}  // namespace jetmem
