// SPDX-License-Identifier: Apache-2.0
// /proc/pressure/{memory,io,cpu}: how much time was lost waiting for a resource (PSI). World
// readable, about 1 us each. Kernel 4.20 and later with CONFIG_PSI; some kernels have it compiled
// in but off, until psi=1 is on the kernel's command line. L4T with kernel 4.9 never has it.
//
// Format (Documentation/accounting/psi.rst): one or two lines,
//   some avg10=0.26 avg60=0.42 avg300=0.64 total=8519428
//   full avg10=0.00 avg60=0.00 avg300=0.00 total=0
// "some": at least one task waited. "full": no task that wanted to run could. Averages are
// percents of the last 10, 60 and 300 seconds with two decimals, total is microseconds since boot.
//
// cpu has no "full" line before 5.13. Since then it has one that the kernel's documentation calls
// undefined for the whole system, and which is set to zero: it is accepted and not exported.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "collectors/source.h"

namespace jetmem {

struct StallLine {
  std::array<std::optional<double>, 3> average{};  // of 10, 60 and 300 s; 0..1
  std::optional<std::uint64_t> total_us;           // since boot
};

struct Stall {
  std::optional<StallLine> some;
  std::optional<StallLine> full;
};

struct Pressure : Reading {
  // Unset when the resource's file could not be read or understood.
  std::optional<Stall> memory;
  std::optional<Stall> io;
  std::optional<Stall> cpu;
  // For each resource that is unset, in this order: why. Static text.
  std::array<std::string_view, 3> absent_reason{};
};

// One resource's file. An odd field costs that field (collectors/fields.h); an average above 100 %
// is impossible.
Result<void> parse_stall(std::string_view text, Stall& out, AbsentValues& absent);

// All three files. An unavailable resource leaves the others alone. Errors: none of them is
// available.
Result<void> parse_pressure(const Snapshot& snapshot, Pressure& out);

class PressureSource final : public ParsedSource<PressureSource, Pressure, parse_pressure> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
