// SPDX-License-Identifier: Apache-2.0
// The last hot spell: from the first throttling to the last, how long in all, and how hot.
#include <algorithm>

#include "base/text/text.h"
#include "metrics/series_key.h"
#include "report/diagnosis/format.h"
#include "report/doctor/correlate.h"

namespace jetmem::doctor {
namespace {

constexpr const char* kThrottling = "jetmem_throttling";
constexpr std::string_view kZone = "jetmem_thermal_zone_celsius{";
// In the two days that a spell may reach back, by the minute; of the spell itself, all there is.
constexpr std::size_t kMostMinutes = 3000;
constexpr std::size_t kMostSteps = 9000;
// Of these the peak is that of the whole chip: all zones would be too many queries.
constexpr std::size_t kMostZones = 4;

// When it throttled, and when it was seen to no longer throttle.
void find_spell(const Values& values, double raw_step, Heat& out) {
  out = {};
  double last_on = 0;
  bool is_on = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& each = values[i];
    const double step = each.step > 0 ? each.step : raw_step;
    if (each.max < 0.5) {
      if (is_on && each.time - last_on <= 3 * step) out.ended = each.time;
      is_on = false;
      continue;
    }
    if (last_on <= 0 || each.time - last_on > kApart) {
      out = {};
      out.began = each.time;
    }
    is_on = true;
    last_on = each.time;
    out.step = std::max(out.step, each.step);
    // A value stands for the time until the next one; where that is long, nothing was recorded.
    const double next = i + 1 < values.size() ? values[i + 1].time : each.time + step;
    out.throttled += each.step > 0 ? step * each.value : std::min(next - each.time, 2 * step);
    out.ended = each.time + step;
  }
  out.is_ongoing = is_on;
}

// The hottest zones of a moment, the hottest first.
std::vector<std::string> hottest(Past& past, double time, std::size_t most,
                                 std::optional<double>* celsius = nullptr) {
  std::vector<std::pair<double, std::string>> zones;
  for (const auto& [key, value] : past.at(time, 60)) {
    if (key.rfind(kZone, 0) == 0) zones.emplace_back(value, key);
  }
  std::stable_sort(zones.begin(), zones.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (zones.size() > most) zones.resize(most);
  if (celsius != nullptr && !zones.empty()) *celsius = zones.front().first;
  std::vector<std::string> out;
  for (auto& zone : zones) out.push_back(std::move(zone.second));
  return out;
}

std::string zone_of(const std::string& key) {
  const auto name = parse_series_key(key);
  return name ? printable(name->label("zone"), 64) : std::string();
}

}  // namespace

std::optional<Heat> heat_of(Past& past, double now) {
  if (!past.known() || now <= 0) return std::nullopt;
  const HistoryFacts* const facts = past.facts();
  const double raw_step =
      facts != nullptr && facts->raw_step > Nanoseconds(0) ? to_seconds(facts->raw_step) : 10;
  Heat out;
  const Values rough = past.series(kThrottling, now - 2 * kRecent, now, kMostMinutes);
  find_spell(rough, raw_step, out);
  if (out.began <= 0 || out.ended < now - kRecent) return std::nullopt;
  // As finely as it is still recorded.
  const double around = out.step + 60;
  const Values fine =
      past.series(kThrottling, out.began - around, std::min(now, out.ended + around), kMostSteps);
  if (!fine.empty()) find_spell(fine, raw_step, out);
  if (out.began <= 0) return std::nullopt;
  // Values that no longer come do not say that it goes on.
  out.is_ongoing = out.is_ongoing && now - out.ended <= 2 * std::max(raw_step, out.step);
  if (!out.is_ongoing) out.ended = std::min(out.ended, now);

  std::optional<double> celsius;
  std::vector<std::string> zones = hottest(past, out.began, kMostZones / 2, &celsius);
  if (!zones.empty()) {
    out.zone = zone_of(zones.front());
    const auto rise = move_of(past.series(zones.front(), out.began - 3600, out.began), true, 5);
    if (rise) out.rise = *rise;
    out.rise.is_ongoing = false;
    out.rise.after = *celsius;
  }
  for (std::string& key :
       hottest(past, out.ended - 2 * std::max(raw_step, out.step), kMostZones / 2)) {
    if (std::find(zones.begin(), zones.end(), key) == zones.end()) zones.push_back(std::move(key));
  }
  for (const std::string& key : zones) {
    for (const Value& each : past.series(key, out.began, out.ended, kMostSteps)) {
      if (!out.peak_zone.empty() && each.max <= out.peak) continue;
      out.peak = each.max;
      out.peak_time = each.time;
      out.peak_zone = zone_of(key);
    }
  }
  return out;
}

}  // namespace jetmem::doctor
