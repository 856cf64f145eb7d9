// SPDX-License-Identifier: Apache-2.0
#include "report/device/device_now.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "base/text/utc_time.h"
#include "config/named.h"
#include "report/events/event_json.h"

namespace jetmem {

namespace {

constexpr std::array<Named<SnapshotOrigin>, 4> kOrigins{{{SnapshotOrigin::kDaemon, "daemon"},
                                                         {SnapshotOrigin::kCommand, "command"},
                                                         {SnapshotOrigin::kCapture, "capture"},
                                                         {SnapshotOrigin::kHistory, "history"}}};

}  // namespace

std::string_view snapshot_origin_name(SnapshotOrigin by) { return name_in(kOrigins, by); }

const SourceNow* DeviceNow::source(std::string_view name) const {
  for (const SourceNow& each : sources) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::string DeviceNow::absence_reason(std::string_view source) const {
  const SourceNow* const found = this->source(source);
  if (found == nullptr) return "source " + std::string(source) + " is unknown";
  std::string text = "source " + found->name + " is ";
  if (found->state == "ok") {
    if (!found->stale) return {};
    return text + "stale";
  }
  text += found->state;
  const std::string& why = found->skipped.empty() ? found->reason : found->skipped;
  if (!why.empty()) text += ": " + why;
  return text;
}

namespace {

constexpr std::size_t kMaxSamples = 20'000;
constexpr std::size_t kMaxSampleBytes = 3U << 20;
constexpr std::size_t kMaxSourceName = 100;

json::Fields::Map<double> pairs_of(const SampleSet& samples) {
  json::Fields::Map<double> out;
  for (const Sample& sample : samples.all()) out.emplace_back(sample.name.key(), sample.value);
  return out;
}

void take_samples(json::Fields& v, json::Fields::Map<double>&& pairs, SampleSet& samples) {
  for (auto& [key, value] : pairs) {
    auto name = parse_series_key(key);
    if (!name) {
      v.count_newer();
      continue;
    }
    for (auto& label : name->labels) label.second = printable(label.second, 300);
    samples.add(std::move(*name), value);
  }
  samples.sort();
}

// What is omitted where the answer would be too long.
struct Omit {
  bool events = false;
  bool alerts = false;
};

void describe_now(json::Fields& v, DeviceNow& now, Omit omit) {
  v.schema(DeviceNow::kSchema);
  std::string by(snapshot_origin_name(now.by));
  v("by", by);
  v("version", now.version);
  v("boot_id", now.boot_id);
  v.unless_empty("host_name", now.host_name);
  v.unless_empty("boot", now.boot);
  v("since_boot_seconds", now.since_boot);
  v("time", now.wall);
  v.required("sources", now.sources);
  if (!omit.alerts) v("alerts", now.alerts);
  std::string why =
      omit.alerts ? "omitted: the answer would be too long; see jetmem alerts" : now.no_alerts;
  if (v.reading() || omit.alerts || !now.alerts) v("no_alerts", why);
  if (v.reading()) now.no_alerts = std::move(why);
  std::vector<EventRecord> none;
  v("events", omit.events ? none : now.events);
  why = omit.events ? "omitted: the answer would be too long; see jetmem events" : now.no_events;
  v.unless_empty("no_events", why);
  if (v.reading()) now.no_events = std::move(why);
  if (!omit.alerts) v("cma_map", now.cma_map);
  auto samples = pairs_of(now.samples);
  std::size_t omitted = samples.size() - std::min(samples.size(), kMaxSamples);
  samples.resize(samples.size() - omitted);
  omitted += json::keep_within(samples, kMaxSampleBytes);
  std::vector<std::string> notes = now.notes;
  if (omitted > 0) {
    notes.push_back(std::to_string(omitted) +
                    " samples are omitted: the answer would be too long; use /metrics");
  }
  v("notes", notes);
  v.required("samples", samples);
  if (!v.reading()) return;
  now.by = value_named(kOrigins, by).value_or(SnapshotOrigin::kCommand);
  now.notes = std::move(notes);
  if (now.wall && !wall_of(*now.wall)) now.wall.reset();
  if (now.events.size() > DeviceNow::kMaxEvents) now.events.resize(DeviceNow::kMaxEvents);
  take_samples(v, std::move(samples), now.samples);
  if (v.newer() == 0) return;
  now.notes.push_back(std::to_string(v.newer()) +
                      " samples, events or words of alerts that only a newer jetmem knows are "
                      "omitted; is jetmem older than jetmemd?");
}

}  // namespace

static void describe(json::Fields& v, SourceNow& source) {
  v("source", source.name);
  v("description", source.what);
  v("state", source.state);
  v.unless_empty("reason", source.reason);
  v.unless_empty("grant", source.grant);
  v.unless_empty("skipped", source.skipped);
  v("stale", source.stale);
  v("interval_seconds", source.interval_seconds);
  v.unless_empty("absent_values", source.absent_values);
  if (v.reading()) source.name = printable(source.name, kMaxSourceName);
}

std::string device_now_json(const DeviceNow& now) {
  std::string text;
  // Events and alerts can be long, and there are other answers for them.
  for (const Omit omit : {Omit{}, Omit{true, false}, Omit{true, true}}) {
    text = json::write_document(
        1, [&](json::Fields& v) { describe_now(v, const_cast<DeviceNow&>(now), omit); });
    if (text.size() <= kMaxDeviceNowJson) break;
  }
  return text;
}

Result<DeviceNow> parse_device_now(std::string_view text) {
  DeviceNow out;
  auto done = json::read_document(text, [&](json::Fields& v) { describe_now(v, out, {}); });
  if (!done) return tl::unexpected(std::move(done.error()));
  return out;
}

}  // namespace jetmem
