// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/child_process_stats.h"

#include <utility>

namespace jetmem {
namespace {

constexpr std::uint16_t kMaxPrograms = 4;
constexpr std::array<std::string_view, kChildProcessFailures> kFailureNames{
    "not_started", "exited", "timeout", "flood", "wedged", "invalid_output"};

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_program_starts_total",
               .type = MetricType::kCounter,
               .help = "Times that the daemon started a program whose output it reads. tegrastats "
                       "runs on, so growth means that it keeps ending; jetmem-nvml is started for "
                       "each reading, jetmem-probe for each probe.",
               .labels = {"program"},
               .max_series = kMaxPrograms},
    Descriptor{.name = "jetmem_program_failures_total",
               .type = MetricType::kCounter,
               .help = "Times that such a program failed, by reason: not_started; exited by itself; "
                       "timeout: no output for too long; flood of output; wedged in the kernel "
                       "beyond any signal; invalid_output. The journal has the end of its output. "
                       "It is retried at growing intervals.",
               .labels = {"program", "reason"},
               .max_series = kMaxPrograms * kChildProcessFailures},
    Descriptor{.name = "jetmem_program_lines_total",
               .type = MetricType::kCounter,
               .help = "Whole lines that such a program printed. When it stands still the source "
                       "goes stale.",
               .labels = {"program"},
               .max_series = kMaxPrograms},
    Descriptor{.name = "jetmem_program_lost_lines_total",
               .type = MetricType::kCounter,
               .help = "Lines of such a program that were not looked at: superseded by a newer one "
                       "before it was their turn, or too_long. It prints more than it was asked "
                       "for.",
               .labels = {"program", "reason"},
               .max_series = kMaxPrograms * 2},
    Descriptor{.name = "jetmem_program_wedged",
               .type = MetricType::kGauge,
               .help =
                   "1 while such a program hangs in the kernel although it was killed, or should "
                   "long have ended by itself: a driver "
                   "is stuck. No other is started until it is gone.",
               .labels = {"program"},
               .max_series = kMaxPrograms},
};
enum Metric : std::size_t { kStarts, kFailures, kLines, kLostLines, kWedged };

}  // namespace

void write_child_process_stats(SampleWriter& out, std::string_view program,
                               const ChildProcessStats& stats) {
  const auto put = [&](Metric metric, std::uint64_t value, auto... labels) {
    out.put(kMetrics[metric], static_cast<double>(value), program, labels...);
  };
  put(kStarts, stats.starts);
  for (std::size_t i = 0; i < kChildProcessFailures; ++i) {
    put(kFailures, stats.failures[i], kFailureNames[i]);
  }
  put(kLines, stats.lines);
  put(kLostLines, stats.superseded, std::string_view("superseded"));
  put(kLostLines, stats.too_long, std::string_view("too_long"));
  put(kWedged, stats.wedged ? 1 : 0);
}

std::span<const Descriptor> child_process_metrics() { return kMetrics; }

}  // namespace jetmem
