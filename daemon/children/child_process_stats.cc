// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/child_process_stats.h"

#include <utility>

namespace jetmem {
namespace {

constexpr std::uint16_t kMaxPrograms = 4;
constexpr std::array<std::string_view, kChildProcessFailures> kFailureNames{
    "not_started", "exited", "timeout", "flood", "wedged", "invalid_output"};

constexpr std::array kChildMetrics{
    counter("jetmem_program_starts_total",
            "Times that the daemon started a program whose output it reads. tegrastats runs "
            "permanently, so growth means that it keeps exiting; jetmem-nvml is started for each "
            "reading, jetmem-probe for each probe.",
            {"program"}, kMaxPrograms),
    counter("jetmem_program_failures_total",
            "Times that such a program failed, by reason: not_started; exited by itself; timeout: "
            "no output for too long; flood of output; wedged in the kernel beyond any signal; "
            "invalid_output. The journal has the end of its output. It is retried at growing "
            "intervals.",
            {"program", "reason"}, kMaxPrograms* kChildProcessFailures),
    counter("jetmem_program_lines_total",
            "Complete lines that such a program printed. When it stops growing, the source becomes "
            "stale.",
            {"program"}, kMaxPrograms),
    counter("jetmem_program_lost_lines_total",
            "Lines of such a program that were not parsed: superseded by a newer one, or too_long. "
            "The program prints more than expected.",
            {"program", "reason"}, kMaxPrograms * 2),
    gauge("jetmem_program_wedged",
          "1 while such a program hangs in the kernel although it was killed, or should long have "
          "ended by itself: a driver is stuck. No other is started until it is gone.",
          {"program"}, kMaxPrograms),
};
enum ChildMetric : std::size_t { kStarts, kChildFailures, kLines, kLostLines, kChildWedged };

}  // namespace

void write_child_process_stats(SampleWriter& out, std::string_view program,
                               const ChildProcessStats& stats) {
  const auto put = [&](ChildMetric metric, std::uint64_t value, auto... labels) {
    out.put(kChildMetrics[metric], static_cast<double>(value), program, labels...);
  };
  put(kStarts, stats.starts);
  for (std::size_t i = 0; i < kChildProcessFailures; ++i) {
    put(kChildFailures, stats.failures[i], kFailureNames[i]);
  }
  put(kLines, stats.lines);
  put(kLostLines, stats.superseded, std::string_view("superseded"));
  put(kLostLines, stats.too_long, std::string_view("too_long"));
  put(kChildWedged, stats.wedged ? 1 : 0);
}

std::span<const Descriptor> child_process_metrics() { return kChildMetrics; }

}  // namespace jetmem
