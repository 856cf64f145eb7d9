// SPDX-License-Identifier: Apache-2.0
// Lines of tegrastats for people: a block each that fits a terminal of 80 columns, and a summary.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/jetson/tegrastats/line.h"

namespace jetmem {

class TegrastatsText {
 public:
  // What the line says. What a remark explains it explains once, at the first line that needs it.
  std::string block(const TegrastatsLine& line, std::uint64_t number);
  // The last line went on in a further one.
  void goes_on() { ++further_lines_; }
  std::string summary() const;

 private:
  enum Remark : std::size_t {
    kFragmented,
    kShort,
    kFewBlocks,
    kEmcUnreadable,
    kNoClock,
    kNoLoad,
    kNoPower,
    kConstant,
    kNegative,
    kNotConnected,
    kAveraged,
    kNotKept,
    kRemarks,
  };
  struct Peak {
    std::string name;
    double value = 0;
  };

  void remark(Remark remark);
  void remember(const TegrastatsLine& line);
  std::string memory(const TegrastatsLine& line);
  std::string cores(const TegrastatsLine& line) const;
  std::string load(const TegrastatsLine::Load& load);
  std::string gpu(const TegrastatsLine::Gpu& gpu);
  std::string loads(const TegrastatsLine& line);
  std::string engines(const TegrastatsLine& line);
  std::string temperatures(const TegrastatsLine& line);
  std::string power(const TegrastatsLine& line);
  std::string unknown(const TegrastatsLine& line);

  bool logged_[kRemarks] = {};
  std::vector<Remark> now_;  // remarks of the line at hand

  std::uint64_t lines_ = 0;
  std::uint64_t further_lines_ = 0;  // of samples that a page wrapped
  std::uint64_t foreign_ = 0;        // in which no field is known
  std::uint64_t unknown_words_ = 0;
  std::uint32_t ram_total_ = 0;
  std::optional<std::uint32_t> ram_least_;
  std::optional<std::uint32_t> ram_most_;
  std::optional<std::uint32_t> smallest_lfb_kb_;
  std::optional<Peak> hottest_;
  std::vector<Peak> powers_;  // highest of each rail, watts
};

// A line of tegrastats as JSON: what `jetmem decode tegrastats --json` prints, one object a line.

// {"time", "ram", "swap", "iram", "cpu", "emc", "gr3d", "gr3d2", "engines", "mts", "edp_limit_mhz",
// "temperatures", "temperatures_max", "rails", "unknown"}. Members that the line lacks are omitted;
// "unknown" is always there. A core of cpu: {"percent", "mhz"}, or null for off. EMC, GPU and
// engines have "quality": "unknown" if a percentage has no clock. An EMC of 0% without a clock
// could not be read, so it has no "percent". Items beyond the bounds are counted in "unknown_more",
// "unknown_cut" and "beyond_bound".
nlohmann::ordered_json tegrastats_json(const TegrastatsLine& line);

// On one line. Invalid UTF-8 becomes U+FFFD; control characters are escaped.
std::string one_line(nlohmann::ordered_json json);

}  // namespace jetmem
