// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_state.h"

#include "base/json/fields.h"
#include "base/root/facts.h"
#include "base/root/small_file.h"
#include "base/spawn.h"
#include "base/text/text.h"
#include "collectors/processes/group/pid_stat.h"

namespace jetmem {
namespace {

constexpr std::string_view kComm = "jetmem-probe";

}  // namespace

static void describe(json::Fields& v, ProbeSchedule::Saved::Group& group) {
  v.required_count_or_null("last", group.last);
  v.required_count("pause", group.pause);
  v.required_count("failure", group.failure);
}

static void describe(json::Fields& v, ProbeProcess& process) {
  v.required("pid", process.pid);
  if (process.pid <= 1 || process.pid >= static_cast<pid_t>(kPidLimit)) v.missing("pid");
  v.required("start_ticks", process.start_ticks);
}

static void describe(json::Fields& v, SavedProbes& state) {
  v.object("groups", [&](json::Fields& w) {
    for (const ProbeGroup group : kProbeGroupList) {
      w.required(probe_group_name(group).data(),
                 state.schedule.groups[static_cast<std::size_t>(group)]);
    }
  });
  v.required("doublings", state.schedule.doublings);
  v.required_or_null("process", state.process);
}

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

std::string to_text(const SavedProbes& state) { return json::write(state, -1); }

Result<SavedProbes> parse_probe_state(std::string_view text) {
  if (text.size() > SavedProbes::kMaxBytes) return fail(Errc::kTooLarge, "too long");
  return json::read<SavedProbes>(text, json::From::kFile);
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
