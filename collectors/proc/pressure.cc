// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pressure.h"

#include <algorithm>
#include <string>

#include "base/text/text.h"
#include "collectors/fields.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 3> kPressurePaths{"/proc/pressure/memory",
                                                         "/proc/pressure/io", "/proc/pressure/cpu"};
constexpr std::array<std::string_view, 3> kResources{"memory", "io", "cpu"};
constexpr std::array<std::string_view, 3> kWindows{"10s", "60s", "300s"};
constexpr std::array<std::string_view, 3> kAverages{"avg10=", "avg60=", "avg300="};

constexpr std::array kPressureMetrics{
    gauge("jetmem_pressure_stall_ratio",
          "Share of the window in which tasks waited for the resource: some, at least one task; "
          "full, all that could have run. Memory full above 0.1 slows every program, and above "
          "0.4 the machine hardly works.",
          {"resource", "kind", "window"}, 18, Worst::kMax),
    counter("jetmem_pressure_stall_seconds_total",
            "Time lost waiting for the resource since boot: some, by at least one task; full, by "
            "all that could have run. Catches spikes that the averages smooth.",
            {"resource", "kind"}, 6),
};
constexpr const Descriptor& kRatio = kPressureMetrics[0];
constexpr const Descriptor& kSeconds = kPressureMetrics[1];

// "12.34" -> 0.1234. The kernel always prints two decimals.
std::optional<double> ratio(std::string_view word, Fields& fields) {
  const std::size_t point = word.find('.');
  std::string digits(word.substr(0, point));
  digits += point == std::string_view::npos ? "" : word.substr(point + 1);
  if (word.size() - std::min(point, word.size()) != 3) digits.clear();
  const auto hundredths = fields.number(digits, 100 * 100);
  if (!hundredths) return std::nullopt;
  return static_cast<double>(*hundredths) / 10000;
}

std::string_view reason_of(const Error& error) {
  switch (error.code) {
    case Errc::kAbsent:
      return "not_in_this_kernel";
    case Errc::kDenied:
      return "denied";
    case Errc::kMalformed:
      return "malformed";
    default:
      return "unreadable";
  }
}

}  // namespace

const SourceInfo PressureSource::kInfo{
    .name = "pressure",
    .what = "time lost waiting for memory, disk and CPU (PSI)",
    .paths = kPressurePaths,
    .grant = "read access to /proc/pressure for the daemon's user",
    .metrics = kPressureMetrics,
};

Result<void> parse_stall(std::string_view text, Stall& out, AbsentValues& absent) {
  out = {};
  Fields fields(absent);
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view kind = take_word(line);
    if (kind.empty()) continue;
    std::optional<StallLine>* const slot = kind == "some"   ? &out.some
                                           : kind == "full" ? &out.full
                                                            : nullptr;
    // Of two the first stands.
    if (slot == nullptr || *slot) {
      fields.lost();
      continue;
    }
    StallLine& parsed = slot->emplace();
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      for (std::size_t i = 0; i < kAverages.size(); ++i) {
        if (take_prefix(word, kAverages[i])) parsed.average[i] = ratio(word, fields);
      }
      if (take_prefix(word, "total=")) parsed.total_us = fields.number(word);
    }
  }
  return fields.finish(text, "some avg10=N.NN avg60=N.NN avg300=N.NN total=N");
}

Result<void> parse_pressure(const Snapshot& snapshot, Pressure& out) {
  const std::array<std::optional<Stall>*, 3> slots{&out.memory, &out.io, &out.cpu};
  out.absent_reason = {};
  out.absent.reset();
  std::optional<Error> first_error;
  bool all_absent = true;
  bool any = false;
  for (std::size_t i = 0; i < kPressurePaths.size(); ++i) {
    slots[i]->reset();
    const auto text = snapshot.text_of(kPressurePaths[i]);
    Result<void> ok = text ? parse_stall(*text, slots[i]->emplace(), out.absent)
                           : Result<void>(tl::unexpected(text.error()));
    if (ok) {
      any = true;
      continue;
    }
    slots[i]->reset();
    out.absent_reason[i] = reason_of(ok.error());
    // Reading errors name their path; those of the format do not.
    Error error = text ? std::move(ok.error()).within(kResources[i]) : std::move(ok.error());
    if (error.code == Errc::kAbsent) continue;
    all_absent = false;
    if (!first_error) first_error = std::move(error);
  }
  if (any) return {};
  if (all_absent) {
    return fail(Errc::kAbsent,
                "no pressure figures (PSI): kernel before 4.20, built without CONFIG_PSI, or "
                "started without psi=1 on its command line");
  }
  return tl::unexpected(std::move(*first_error));
}

void PressureSource::write(SampleWriter& out, WriteContext& context) const {
  const std::array<const std::optional<Stall>*, 3> stalls{&reading_.memory, &reading_.io,
                                                          &reading_.cpu};
  const auto put_line = [&](const StallLine& line, std::string_view resource,
                            std::string_view kind) {
    for (std::size_t w = 0; w < kWindows.size(); ++w) {
      out.put(kRatio, line.average[w], resource, kind, kWindows[w]);
    }
    if (line.total_us) {
      out.put(kSeconds, static_cast<double>(*line.total_us) / 1e6, resource, kind);
    }
  };
  for (std::size_t i = 0; i < stalls.size(); ++i) {
    if (!*stalls[i]) {
      context.absent.add(reading_.absent_reason[i]);
      continue;
    }
    const Stall& stall = **stalls[i];
    if (stall.some) put_line(*stall.some, kResources[i], "some");
    const bool is_cpu = stalls[i] == &reading_.cpu;
    if (stall.full && !is_cpu) put_line(*stall.full, kResources[i], "full");
  }
}

}  // namespace jetmem
