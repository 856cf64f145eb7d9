// SPDX-License-Identifier: Apache-2.0
// What is asked of a jetmem-probe: its command line, which over systemd's socket is one line of
// text.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jetmem {

struct ProbeRequest {
  std::vector<std::string> kinds;
  std::uint64_t frame_bytes = 12U << 20;
  std::vector<std::pair<std::string, std::uint64_t>> largest_runs;  // of CMA areas
  bool any_heap = false;
  std::uint64_t bisect_limit = 0;  // 0: none
  std::chrono::seconds deadline{60};
};

// Without the program's name. An area whose name is not one printable word is omitted: then its
// heap is not tried.
std::vector<std::string> probe_arguments(const ProbeRequest& request);
// The same as one line, its newline included.
std::string probe_request_line(const ProbeRequest& request);

// What the program prints before its result, with --progress, and never more than this in all.
inline constexpr std::size_t kMaxProbeOutput = 512U << 10;

// Takes the output apart: "jetmem-probe/1 pid N", then "at KIND TARGET STEP BYTES" lines, then the
// result, which is the last line and whole. TARGET is "-" where there is none. The pieces between
// them are for where there is no result (probes/partial.h).
struct ProbeOutput {
  struct Step {
    std::string kind;  // printable, each
    std::string target;
    std::string step;
    std::uint64_t bytes = 0;  // 0: of no size

    std::string words() const;  // "pinned allocate 65536 bytes"
  };
  std::uint64_t pid = 0;   // 0: it did not come to say so
  std::optional<Step> at;  // the last step begun
  std::string result;      // the line, without its newline; empty: there is none

  bool has_begun() const { return pid != 0 || at; }
};
ProbeOutput split_probe_output(std::string_view text);

}  // namespace jetmem
