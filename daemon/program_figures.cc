#include "daemon/program_figures.h"

#include <utility>

namespace jetmem {
namespace {

constexpr std::uint16_t kMaxPrograms = 4;
constexpr std::array<std::string_view, kProgramFailures> kFailureNames{
    "not_started", "ended", "silent", "flood", "wedged", "garbage"};

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
               .help = "Times that such a program failed, by how: not_started, ended by itself, "
                       "silent for too long, flood of output, wedged in the kernel beyond any "
                       "signal, garbage in place of a result. The journal has its last words. It "
                       "is tried again, ever more "
                       "slowly.",
               .labels = {"program", "reason"},
               .max_series = kMaxPrograms * kProgramFailures},
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

void write_program(SampleWriter& out, std::string_view program, const ProgramFigures& figures) {
  const auto put = [&](Metric metric, std::uint64_t value, auto... labels) {
    out.put(kMetrics[metric], static_cast<double>(value), program, labels...);
  };
  put(kStarts, figures.starts);
  for (std::size_t i = 0; i < kProgramFailures; ++i) {
    put(kFailures, figures.failures[i], kFailureNames[i]);
  }
  put(kLines, figures.lines);
  put(kLostLines, figures.superseded, std::string_view("superseded"));
  put(kLostLines, figures.too_long, std::string_view("too_long"));
  put(kWedged, figures.wedged ? 1 : 0);
}

std::span<const Descriptor> program_figures_metrics() { return kMetrics; }

void ProgramLog::say(LogLevel level, std::string message, Fields fields) {
  const Nanoseconds now = clock_.boot();
  if (used_ == 0 || now - window_begin_ >= kWindow) {
    window_begin_ = now;
    used_ = 0;
  }
  if (used_ >= entries_) {
    ++withheld_;
    ++untold_;
    return;
  }
  if (untold_ > 0) {
    message += " (" + std::to_string(std::exchange(untold_, 0)) + " entries before it not told)";
  }
  if (++used_ == entries_) message += "; what follows within ten minutes is only counted";
  fields.emplace_back("JETMEM_SOURCE", source_);
  LogEntry entry{level, std::move(message), std::move(fields)};
  log_.write(std::move(entry));
}

}  // namespace jetmem
