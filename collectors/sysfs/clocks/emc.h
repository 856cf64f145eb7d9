// SPDX-License-Identifier: Apache-2.0
// The memory's clock and activity, from whichever files this kernel has
// (collectors/sysfs/clocks/source.h).
#pragma once

#include <array>
#include <optional>

#include "collectors/sysfs/clocks/files.h"
#include "collectors/sysfs/clocks/source.h"
#include "collectors/sysfs/clocks/values.h"

namespace jetmem::clocks {

class EmcParser {
 public:
  EmcParser(Values& values, Clocks::Emc& out) : values_(values), out_(out) {}

  // Whether the file is one of the memory's.
  bool take(const FileText& file, Record record);
  // Only a Tegra has an EMC: elsewhere its files are not missed, and debugfs not being readable
  // says nothing of them.
  void set_tegra() { is_tegra_ = true; }

  // After all files. Not expected where a devfreq device tells the memory's clock (Thor).
  struct Rates {
    std::optional<std::uint64_t> now;
    std::optional<std::uint64_t> min;
    std::optional<std::uint64_t> hardware_max;
  };
  Rates finish(bool clock_expected);

 private:
  // The first of a value's files that gave one; else the last that did not.
  struct Raw {
    Record record = kNone;
    std::optional<std::uint64_t> value;
  };
  std::optional<std::uint64_t> value(EmcValue which, bool is_expected);
  void finish_activity(std::uint64_t kilohertz, const std::optional<std::uint64_t>& rate);

  Values& values_;
  Clocks::Emc& out_;
  std::array<Raw, 8> raw_{};
  bool is_tegra_ = false;
};

}  // namespace jetmem::clocks
