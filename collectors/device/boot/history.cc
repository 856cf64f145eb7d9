// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/history.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text/text.h"

namespace jetmem::boot {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 3> kRunEnds{"running", "stopped", "shutdown"};
constexpr std::array<std::string_view, 4> kDeviceEnds{"running", "clean", "unclean", "unknown"};
constexpr std::array<std::string_view, kWhats> kWhatNames{"kernel",  "l4t",      "power_mode",
                                                          "cmdline", "settings", "version"};
constexpr std::array<std::string_view, kWhats> kWhatWords{
    "kernel",           "L4T release", "power mode", "kernel command line", "settings of jetmemd",
    "version of jetmem"};

[[noreturn]] void refuse(const char* what) { throw Json::other_error::create(501, what, nullptr); }

Json moment_json(const Moment& moment) { return Json::array({moment.wall, moment.uptime}); }

std::uint64_t count_of(const Json& json) {
  if (!json.is_number_unsigned()) refuse("not a count");
  const auto count = json.get<std::uint64_t>();
  if (count > INT64_MAX / 4) refuse("not a likely count");
  return count;
}

Moment moment_of(const Json& json) {
  Moment moment;
  if (!json.at(0).is_number_integer()) refuse("not a time");
  moment.wall = json.at(0).get<std::int64_t>();
  moment.uptime = count_of(json.at(1));
  // So that it can be counted with and shown.
  const bool is_likely = moment.wall >= 0 && moment.wall <= kLastSecond &&
                         moment.uptime <= static_cast<std::uint64_t>(kLastSecond);
  if (!is_likely) refuse("not a likely time");
  return moment;
}

std::string text_of(const Json& json) {
  return printable(json.get_ref<const std::string&>(), History::kMaxValue);
}

template <class Names>
std::size_t index_of(const Json& json, const Names& names) {
  const auto& name = json.get_ref<const std::string&>();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) refuse("unknown word");
  return static_cast<std::size_t>(at - names.begin());
}

Json boot_json(const Boot& boot) {
  Json json{{"n", boot.number},
            {"id", boot.id},
            {"first", moment_json(boot.first)},
            {"last", moment_json(boot.last)},
            {"starts", boot.starts},
            {"unclean_runs", boot.unclean_runs},
            // A word that an older jetmem knows: it must not lose the history over it.
            {"run", kRunEnds[static_cast<std::size_t>(
                        boot.run == RunEnd::kNotReported ? RunEnd::kStopped : boot.run)]},
            {"end", kDeviceEnds[static_cast<std::size_t>(boot.end)]}};
  if (boot.starts_are_least) json["starts_are_least"] = true;
  if (!boot.recent_starts.empty()) json["recent_starts"] = boot.recent_starts;
  const auto put = [&](const char* name, const std::string& value) {
    if (!value.empty()) json[name] = value;
  };
  put("reset_reason", boot.reset_reason);
  put("reset_level", boot.reset_level);
  put("crash", boot.crash);
  if (boot.run == RunEnd::kNotReported) json["not_reported"] = true;
  if (boot.checked) json["looked"] = true;
  if (boot.reported) json["reported"] = true;
  for (std::size_t i = 0; i < kWhats; ++i) {
    if (!boot.values[i].empty()) json[std::string(kWhatNames[i])] = boot.values[i];
  }
  return json;
}

Boot boot_of(const Json& json) {
  Boot boot;
  boot.number = count_of(json.at("n"));
  boot.id = text_of(json.at("id"));
  boot.first = moment_of(json.at("first"));
  boot.last = moment_of(json.at("last"));
  boot.starts = count_of(json.at("starts"));
  boot.starts_are_least = json.value("starts_are_least", false);
  for (const Json& each : json.value("recent_starts", Json::array())) {
    if (boot.recent_starts.size() == Boot::kMaxRecentStarts) refuse("too many starts");
    boot.recent_starts.push_back(count_of(each));
  }
  boot.unclean_runs = count_of(json.at("unclean_runs"));
  boot.run = static_cast<RunEnd>(index_of(json.at("run"), kRunEnds));
  boot.end = static_cast<DeviceEnd>(index_of(json.at("end"), kDeviceEnds));
  const auto get = [&](std::string_view name, std::string& value) {
    if (const auto at = json.find(name); at != json.end()) value = text_of(*at);
  };
  get("reset_reason", boot.reset_reason);
  get("reset_level", boot.reset_level);
  get("crash", boot.crash);
  if (boot.run == RunEnd::kStopped && json.value("not_reported", false))
    boot.run = RunEnd::kNotReported;
  boot.checked = json.value("looked", false);
  boot.reported = json.value("reported", false);
  for (std::size_t i = 0; i < kWhats; ++i) get(kWhatNames[i], boot.values[i]);
  return boot;
}

Change change_of(const Json& json) {
  Change change;
  change.boot = count_of(json.at("n"));
  change.at = moment_of(json.at("at"));
  change.what = static_cast<What>(index_of(json.at("what"), kWhatNames));
  change.from = text_of(json.at("from"));
  change.to = text_of(json.at("to"));
  return change;
}

void from_json(const Json& json, History& out) {
  out.boots_seen = count_of(json.at("boots_seen"));
  out.starts = count_of(json.at("starts"));
  out.starts_are_least = json.value("starts_are_least", false);
  out.unclean_boots = count_of(json.at("unclean_boots"));
  out.unclean_runs = count_of(json.at("unclean_runs"));
  out.marks_seen = count_of(json.at("marks_seen"));
  out.last_mark = count_of(json.at("last_mark"));
  if (!json.at("mark_at").is_null()) out.mark_at = moment_of(json.at("mark_at"));
  if (const auto at = json.find("mark_boot"); at != json.end()) out.mark_boot = text_of(*at);
  for (const auto& [name, count] : json.at("changes_seen").items()) {
    out.changes_seen[index_of(Json(name), kWhatNames)] = count_of(count);
  }
  for (const Json& each : json.at("boots")) {
    if (out.boots.size() == History::kMaxBoots) refuse("too many boots");
    out.boots.push_back(boot_of(each));
    const std::size_t n = out.boots.size();
    if (n > 1 && out.boots[n - 1].number <= out.boots[n - 2].number) refuse("not in order");
  }
  for (const Json& each : json.at("changes")) {
    if (out.changes.size() == History::kMaxChanges) refuse("too many changes");
    out.changes.push_back(change_of(each));
  }
  for (const Json& each : json.at("crash_records")) {
    if (out.crash_records.size() == History::kMaxDigests) refuse("too many records");
    const std::uint64_t digest = count_of(each);
    if (digest > UINT32_MAX) refuse("not a digest");
    out.crash_records.push_back(static_cast<std::uint32_t>(digest));
  }
}

}  // namespace

std::string_view device_end_name(DeviceEnd end) {
  return kDeviceEnds[static_cast<std::size_t>(end)];
}
std::string_view what_name(What what) { return kWhatNames[static_cast<std::size_t>(what)]; }
std::string_view what_text(What what) { return kWhatWords[static_cast<std::size_t>(what)]; }

std::optional<std::size_t> Boot::starts_within_hour(std::uint64_t uptime) const {
  constexpr std::uint64_t kHour = 3600;
  const std::size_t listed = recent_starts.size();
  const bool are_all = listed == kMaxRecentStarts || (listed == starts && !starts_are_least);
  if (listed == 0) return std::nullopt;
  if (!are_all && (uptime < recent_starts[0] || uptime - recent_starts[0] < kHour)) {
    return std::nullopt;
  }
  const auto is_recent = [&](std::uint64_t at) { return at <= uptime && uptime - at < kHour; };
  return std::count_if(recent_starts.begin(), recent_starts.end(), is_recent);
}

const Boot* History::before() const {
  return boots.size() < 2 ? nullptr : &boots[boots.size() - 2];
}

const Change* History::last_change(What what) const {
  for (std::size_t i = changes.size(); i-- > 0;) {
    if (changes[i].what == what) return &changes[i];
  }
  return nullptr;
}

std::optional<std::int64_t> began(const Moment& moment) {
  if (!moment.plausible()) return std::nullopt;
  return moment.wall - static_cast<std::int64_t>(moment.uptime);
}

Moment from_last_clock(const History& history, std::string_view boot_id, const Moment& moment) {
  Moment found = moment;
  for (std::size_t i = history.boots.size(); i-- > 0;) {
    if (boot_id.empty() || history.boots[i].id != boot_id) continue;
    const auto begin = began(history.boots[i].last);
    if (begin) found.wall = *begin + static_cast<std::int64_t>(moment.uptime);
    break;
  }
  return found;
}

std::optional<std::int64_t> seconds_down(const History& history) {
  const Boot* before = history.before();
  if (before == nullptr || !before->last.plausible()) return std::nullopt;
  const auto begin = began(history.boots.back().last);
  if (!begin || *begin < before->last.wall) return std::nullopt;
  return *begin - before->last.wall;
}

std::string to_text(const History& history) {
  Json changes_seen = Json::object();
  for (std::size_t i = 0; i < kWhats; ++i) {
    changes_seen[std::string(kWhatNames[i])] = history.changes_seen[i];
  }
  Json boots = Json::array();
  for (const Boot& boot : history.boots) boots.push_back(boot_json(boot));
  Json changes = Json::array();
  for (const Change& change : history.changes) {
    changes.push_back({{"n", change.boot},
                       {"at", moment_json(change.at)},
                       {"what", what_name(change.what)},
                       {"from", change.from},
                       {"to", change.to}});
  }
  Json json{{"format", kFormat},
            {"boots_seen", history.boots_seen},
            {"starts", history.starts},
            {"unclean_boots", history.unclean_boots},
            {"unclean_runs", history.unclean_runs},
            {"changes_seen", std::move(changes_seen)},
            {"marks_seen", history.marks_seen},
            {"last_mark", history.last_mark},
            {"mark_at", history.mark_at ? moment_json(*history.mark_at) : Json(nullptr)},
            {"boots", std::move(boots)},
            {"changes", std::move(changes)},
            {"crash_records", history.crash_records}};
  if (history.starts_are_least) json["starts_are_least"] = true;
  if (!history.mark_boot.empty()) json["mark_boot"] = history.mark_boot;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void> parse_history(std::string_view text, History& out) {
  out.clear();
  try {
    const Json json = Json::parse(text);
    if (!json.is_object() || !json.at("format").is_number_integer()) {
      return fail(Errc::kMalformed, "not a history of boots");
    }
    if (const auto format = json.at("format").get<std::int64_t>(); format != kFormat) {
      return fail(Errc::kMalformed, "of format " + std::to_string(format) + ", this jetmem knows " +
                                        std::to_string(kFormat));
    }
    from_json(json, out);
    return {};
  } catch (const Json::exception& error) {
    return fail(Errc::kMalformed, printable(error.what()));
  }
}

}  // namespace jetmem::boot
