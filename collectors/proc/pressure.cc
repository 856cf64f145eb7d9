// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pressure.h"

#include "base/text/text.h"

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
std::optional<double> take_percent(std::string_view& text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  std::string_view rest = text;
  const auto whole = take_u64(rest);
  if (!whole || rest.size() < 3 || rest[0] != '.' || !is_digit(rest[1]) || !is_digit(rest[2])) {
    return std::nullopt;
  }
  const auto hundredths =
      static_cast<std::uint64_t>(rest[1] - '0') * 10 + static_cast<std::uint64_t>(rest[2] - '0');
  if (*whole > 100 || (*whole == 100 && hundredths > 0)) return std::nullopt;
  text = rest.substr(3);
  return static_cast<double>(*whole * 100 + hundredths) / 10000;
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

Result<void> parse_stall(std::string_view text, Stall& out) {
  out = {};
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) {
    std::string_view rest = line;
    const bool is_some = take_prefix(rest, "some ");
    if (!is_some && !take_prefix(rest, "full ")) {
      return lines.malformed("expected 'some ' or 'full ', found '" + printable(line, 60) + "'");
    }
    std::optional<StallLine>& slot = is_some ? out.some : out.full;
    if (slot) return lines.malformed(is_some ? "'some' twice" : "'full' twice");
    StallLine& parsed = slot.emplace();
    for (std::size_t i = 0; i < kAverages.size(); ++i) {
      const auto percent =
          take_prefix(rest, kAverages[i]) ? take_percent(rest) : std::optional<double>();
      if (!percent || !take_prefix(rest, " ")) {
        return lines.malformed("expected '" + std::string(kAverages[i]) +
                               "N.NN ' of at most 100.00, found '" + printable(line, 60) + "'");
      }
      parsed.average[i] = *percent;
    }
    const bool has_total = take_prefix(rest, "total=") && !rest.empty() && is_digit(rest.front());
    const auto total = has_total ? take_u64(rest) : std::optional<std::uint64_t>();
    if (!total) return lines.malformed("no 'total=' with a number that fits 64 bits");
    if (!rest.empty()) {
      return lines.malformed("'" + printable(rest, 20) + "' behind the total");
    }
    // A number at the end of a text that was cut may have lost digits.
    if (line.data() + line.size() == text.data() + text.size()) {
      return lines.malformed("cut off: no newline at its end");
    }
    parsed.total_us = *total;
  }
  if (lines.number() == 0) return fail(Errc::kMalformed, "empty");
  if (!out.some) return fail(Errc::kMalformed, "no 'some' line");
  return {};
}

Result<void> parse_pressure(const Snapshot& snapshot, Pressure& out) {
  const std::array<std::optional<Stall>*, 3> slots{&out.memory, &out.io, &out.cpu};
  out.absent_reason = {};
  std::optional<Error> first_error;
  bool all_absent = true;
  bool any = false;
  for (std::size_t i = 0; i < kPressurePaths.size(); ++i) {
    slots[i]->reset();
    const auto text = snapshot.text_of(kPressurePaths[i]);
    Result<void> ok =
        text ? parse_stall(*text, slots[i]->emplace()) : Result<void>(tl::unexpected(text.error()));
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
    out.put(kSeconds, static_cast<double>(line.total_us) / 1e6, resource, kind);
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
