// SPDX-License-Identifier: Apache-2.0
// The metric that every user of a StateFile writes for its file.
#pragma once

#include <array>

#include "base/root/state_file.h"
#include "metrics/sample.h"

namespace jetmem {

inline constexpr std::array kStateFileMetrics{
    counter(
        "jetmem_state_file_failures_total",
        "Times that a file in jetmemd's runtime directory could not be written, read or parsed. A "
        "restart of jetmemd may lose what the file keeps; the journal has the file and the error.",
        {"file"}, 6),
};

inline void write_state_file_failures(SampleWriter& out, const StateFile& file) {
  out.put(kStateFileMetrics[0], static_cast<double>(file.failures()), file.name());
}

}  // namespace jetmem
