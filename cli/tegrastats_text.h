// Lines of tegrastats for people: a block each that fits a terminal of 80 columns, and a summary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/tegrastats/line.h"

namespace jetmem {

class TegrastatsText {
 public:
  // What the line says. What a remark explains it explains once, at the first line that needs it.
  std::string block(const TegrastatsLine& line, std::uint64_t number);
  std::string summary() const;

 private:
  enum Remark : std::size_t {
    kFragmented,
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

  bool told_[kRemarks] = {};
  std::vector<Remark> now_;  // remarks of the line at hand

  std::uint64_t lines_ = 0;
  std::uint64_t foreign_ = 0;  // in which no field is known
  std::uint64_t unknown_words_ = 0;
  std::uint32_t ram_total_ = 0;
  std::optional<std::uint32_t> ram_least_;
  std::optional<std::uint32_t> ram_most_;
  std::optional<std::uint32_t> smallest_lfb_kb_;
  std::optional<Peak> hottest_;
  std::vector<Peak> powers_;  // highest of each rail, watts
};

}  // namespace jetmem
