// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_state.h"

#include <nlohmann/json.hpp>

#include "base/root/facts.h"
#include "base/root/small_file.h"
#include "base/spawn.h"
#include "base/text/text.h"
#include "collectors/processes/group/pid_stat.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kComm = "jetmem-probe";

std::uint64_t count_of(const Json& json) {
  if (!json.is_number_unsigned()) throw Json::other_error::create(501, "not a count", &json);
  return json.get<std::uint64_t>();
}

// A number that can be counted with.
Nanoseconds time_of(const Json& json) {
  const std::uint64_t number = count_of(json);
  if (number > INT64_MAX / 4) throw Json::other_error::create(501, "not a time", &json);
  return Nanoseconds(number);
}

SavedProbes from_json(const Json& json) {
  SavedProbes state;
  for (const ProbeGroup group : kProbeGroupList) {
    const Json& from = json.at("groups").at(std::string(probe_group_name(group)));
    auto& to = state.schedule.groups[static_cast<std::size_t>(group)];
    if (!from.at("last").is_null()) to.last = time_of(from.at("last"));
    to.pause = time_of(from.at("pause"));
    to.failure = time_of(from.at("failure"));
  }
  state.schedule.doublings = count_of(json.at("doublings"));
  const Json& process = json.at("process");
  if (process.is_null()) return state;
  const std::uint64_t pid = count_of(process.at("pid"));
  if (pid <= 1 || pid >= kPidLimit) throw Json::other_error::create(501, "not a process", &process);
  state.process = {static_cast<pid_t>(pid), count_of(process.at("start_ticks"))};
  return state;
}

}  // namespace

std::optional<ProbeProcess> probe_process_of(std::string_view stat) {
  // Its name may have brackets and spaces in it.
  const std::size_t open = stat.find('(');
  const std::size_t close = stat.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  const auto pid = parse_u64(trim(stat.substr(0, open)));
  if (!pid || *pid >= kPidLimit || stat.substr(open + 1, close - open - 1) != kComm) {
    return std::nullopt;
  }
  const auto fields = parse_pid_stat(stat);
  if (!fields || !fields->threads || !fields->start_ticks) return std::nullopt;
  // One that nobody reaped holds nothing any more, unless other threads of it hang.
  const bool is_over = fields->state == 'Z' || fields->state == 'X';
  if (is_over && *fields->threads <= 1) return std::nullopt;
  return ProbeProcess{static_cast<pid_t>(*pid), *fields->start_ticks};
}

std::optional<ProbeProcess> find_probe_process(pid_t pid) {
  if (pid <= 1) return std::nullopt;
  const auto stat = read_small_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  return stat ? probe_process_of(*stat) : std::nullopt;
}

std::string to_text(const SavedProbes& state) {
  Json groups;
  for (const ProbeGroup group : kProbeGroupList) {
    const auto& from = state.schedule.groups[static_cast<std::size_t>(group)];
    groups[std::string(probe_group_name(group))] = {
        {"last", from.last ? Json(from.last->count()) : Json(nullptr)},
        {"pause", from.pause.count()},
        {"failure", from.failure.count()}};
  }
  Json process;
  if (state.process) {
    process = {{"pid", state.process->pid}, {"start_ticks", state.process->start_ticks}};
  }
  const Json json{{"groups", std::move(groups)},
                  {"doublings", state.schedule.doublings},
                  {"process", std::move(process)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<SavedProbes> parse_probe_state(std::string_view text) {
  try {
    // Nested without end, it would take the stack with it.
    if (text.size() > SavedProbes::kMaxBytes) return fail(Errc::kTooLarge, "too long");
    return from_json(Json::parse(text));
  } catch (const Json::exception& error) {
    return fail(Errc::kMalformed, error.what());
  }
}

ProbeStateStore::ProbeStateStore(const std::string& directory, Log& log)
    : file_({.directory = directory,
             .name = "probe.json",
             .boot_id = Facts::of_this_machine().boot_id.value_or(""),
             .what = "the time of the last probe",
             .format = SavedProbes::kFormat,
             .max_bytes = SavedProbes::kMaxBytes},
            log) {}

void ProbeStateStore::restore(ProbeSchedule& schedule, Nanoseconds now) {
  const auto state = file_.load(parse_probe_state);
  if (!state) return;
  schedule.restore(state->schedule, now);
  orphan_ = state->process;
  (void)find_orphan();  // most are gone by now
}

void ProbeStateStore::save(const ProbeSchedule& schedule, pid_t pid) {
  if (!file_.is_enabled()) return;
  SavedProbes state{schedule.save(), find_probe_process(pid)};
  if (!state.process && find_orphan() > 0) state.process = orphan_;
  file_.store(to_text(state));
}

pid_t ProbeStateStore::find_orphan() {
  if (orphan_ && find_probe_process(orphan_->pid) != orphan_) orphan_.reset();
  return orphan_ ? orphan_->pid : 0;
}

}  // namespace jetmem
