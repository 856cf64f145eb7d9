// SPDX-License-Identifier: Apache-2.0
// What a jetmem-probe found before it crashed, hung or was killed.
//
// With --progress it prints pieces of its result as soon as they are known: "begun {...}",
// "gpu {...}" once the GPU was asked, and "done {...}" for each kind and target that it is through
// with. One that loads a vendor's libraries last then costs nothing but what it was at.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "collectors/probe/source.h"

namespace jetmem {

// The pieces in what it printed as one line in the format of a result, without a newline, which
// parse_probe_run() takes. Empty where nothing was done. A piece that was cut or is none is left
// out; without a sound beginning, or with a GPU that is none, there is nothing.
// `took`: from its start to its end, which it can no longer say itself.
std::string partial_probe_result(std::string_view text, std::chrono::duration<double> elapsed);

// What jetmemd knows of a run that printed nothing but where it ended.
struct LostRun {
  bool cuda = false;
  std::uint64_t frame_bytes = 0;
  Nanoseconds started_boot{0};
  Nanoseconds started_wall{0};
  Nanoseconds elapsed{0};
};
// The line, or one for `run` where there is none, with what the program died or hung at, as a probe
// that failed: the results must not look as if it was never tried.
std::string with_lost_probe(std::string line, const ProbeRun::Probe& lost, const LostRun& run);

}  // namespace jetmem
