// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's tegrastats prints (L4T 21 to 39): the RAM, GPU, EMC, engine and power figures that
// people know from it, beside what jetmem reads from files. The daemon runs the program and hands
// its last lines over; a captured root keeps what it printed in /jetmem/tegrastats.
//
// Format: lines, as collectors/jetson/tegrastats/line.h has it. The last complete one counts.
//
// Omitted on purpose: temperatures (source thermal, which has the limits too), load of cores and
// swap (the kernel's own), MTS and EDP (of no use beyond `jetmem decode tegrastats`).
//
// Values that are omitted and counted:
//   unknown_quality  EMC, the GPU or an engine at 0% without a clock: without root that is what is
//                    printed for what could not be read (all lines of L4T 36 and 39 without root
//                    have GR3D_FREQ 0%, at 5 W too). A percentage above 0 was read.
//   negative_power   a rail without power may read below 0 (-392mW): an offset, no power
//   duplicate        a rail of a name that the line had already
//   out_of_range     a percentage above 100
//   beyond_bound     more cores, GPCs, engines, rails or zones than are kept
// Rails named NC (not connected) are not counted at all.
//
// Errors: kAbsent where there is no tegrastats; kMalformed for text without a complete line, and
// for a last line in which no field is known.
#pragma once

#include "collectors/jetson/tegrastats/line.h"
#include "collectors/source.h"

namespace jetmem {

struct Tegrastats {
  TegrastatsLine line;

  bool operator==(const Tegrastats&) const = default;
};

Result<void> parse_tegrastats(std::string_view text, Tegrastats& out);

class TegrastatsSource final : public SourceOf<TegrastatsSource, Tegrastats> {
 public:
  static const SourceInfo kInfo;
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
