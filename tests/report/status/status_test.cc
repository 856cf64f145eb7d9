// SPDX-License-Identifier: Apache-2.0
// The verdict of a status: which alert leads it, who is behind it, and what of the past is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/doctor/next_command.h"
#include "report/status/status_answer.h"
#include "rules/model/rules.h"
#include "tests/report/answers/series.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;

DeviceNow device(const Series& more = {}) {
  Series series{{"jetmem_meminfo_MemTotal_bytes", 8 * kGiB},
                {"jetmem_meminfo_MemAvailable_bytes", 4 * kGiB}};
  series.insert(series.end(), more.begin(), more.end());
  DeviceNow now;
  now.by = SnapshotOrigin::kDaemon;
  now.boot = 7;
  now.since_boot = 3600;
  now.wall = 1'790'000'000;
  now.samples = SampleSet::of(series);
  now.sources.emplace_back().name = "kernel_log";
  now.sources.back().state = "ok";
  now.alerts.emplace();
  return now;
}

struct Alarm {
  const char* name;
  const char* severity = "critical";
  const char* state = "firing";
  const char* expression = "jetmem_probe_success";
  Labels labels{};
};

const Alarm kLow{"JetmemMemoryLow", "critical", "firing", "jetmem_memory_available_ratio"};

void add(DeviceNow& now, const Alarm& alarm) {
  AlertsAnswer::Rule& rule = now.alerts->rules.emplace_back();
  rule.name = alarm.name;
  rule.severity = alarm.severity;
  rule.state = alarm.state;
  rule.conditions.emplace_back().expression = alarm.expression;
  AlertsAnswer::Alert& alert = rule.alerts.emplace_back();
  alert.state = alarm.state;
  alert.labels = alarm.labels;
  alert.active_seconds = 90;
  alert.summary = std::string(alarm.name) + " happened";
  alert.remedy = "sudo jetmem top shows it";
}

DeviceNow alarmed(const Series& series, const Alarm& alarm) {
  DeviceNow now = device(series);
  add(now, alarm);
  return now;
}

EventRecord event(const char* kind, double at, const char* subject = "") {
  EventRecord out;
  out.kind = kind;
  out.subject = subject;
  out.summary = std::string(kind) + " of " + subject;
  out.boot = 7;
  out.at = std::chrono::seconds(static_cast<int>(at));
  return out;
}

TEST(StatusVerdict, CriticalThenWarningThenTheRest) {
  DeviceNow now = device();
  add(now, {"JetmemThrottling", "warning"});
  add(now, {"JetmemClockStepped", "info"});
  EXPECT_THAT(status_answer(now).reason, HasSubstr("JetmemThrottling"));
  add(now, {"JetmemMemoryStall", "critical", "pending"});
  EXPECT_THAT(status_answer(now).reason, HasSubstr("JetmemMemoryStall"));
  EXPECT_EQ(status_answer(now).level, Verdict::kWarning);
  for (const char* name : {"JetmemCmaExhausted", "JetmemSmmuStorm"}) {
    add(now, {name});
    EXPECT_EQ(status_answer(now).level, Verdict::kCritical);
    EXPECT_THAT(status_answer(now).reason, HasSubstr(name));
  }
}

TEST(StatusVerdict, IsAWarningWhileNothingIsRecorded) {
  const std::string errors = "jetmem_history_errors_total{reason=\"disk_full\"}";
  const auto level = [&](double up, double failures) {
    DeviceNow now = device({{"jetmem_history_up", up}, {errors, failures}});
    add(now, {"JetmemMemoryLow", "critical", "inactive"});
    now.alerts->rules.front().alerts.clear();
    return status_answer(now).level;
  };
  EXPECT_EQ(level(1, 0), Verdict::kOk);
  EXPECT_EQ(level(1, 3), Verdict::kOk) << "it writes again";
  EXPECT_EQ(level(0, 0), Verdict::kOk) << "it has only just started";
  EXPECT_EQ(level(0, 3), Verdict::kWarning);
}

TEST(StatusVerdict, KnowsSinceWhenUnlessItLookedOnce) {
  DeviceNow now = alarmed({}, {"JetmemMemoryLow"});
  EXPECT_EQ(status_answer(now).since_seconds, 90);
  // As of the last evaluation, a while ago.
  now.alerts->evaluated_since_boot = now.since_boot - 10;
  EXPECT_EQ(status_answer(now).since_seconds, 100);
  now.alerts->local_snapshot = true;
  EXPECT_FALSE(status_answer(now).since_seconds);
  EXPECT_FALSE(status_answer(device()).since_seconds);
}

// Without jetmemd a command has an ordinary user's rights: no fault of the device.
TEST(StatusVerdict, IsNoWarningForACommandsOwnRights) {
  DeviceNow now = alarmed({}, {"JetmemSourceDenied", "warning", "pending", "jetmem_source_state"});
  now.sources.push_back(source("cma", "failed"));
  now.alerts->local_snapshot = true;
  now.by = SnapshotOrigin::kCommand;
  EXPECT_EQ(status_answer(now).level, Verdict::kUnknown);
  now.by = SnapshotOrigin::kCapture;
  EXPECT_EQ(status_answer(now).level, Verdict::kWarning);
}

TEST(StatusCulprit, MayBeSmallerThanOneThatIsHidden) {
  const DeviceNow now = alarmed(
      {{group("resident", "bash"), kGiB}, {"jetmem_processes_omitted{reason=\"denied\"}", 80}},
      kLow);
  const StatusAnswer answer = status_answer(now);
  ASSERT_TRUE(answer.who);
  EXPECT_EQ(answer.who->role, "largest holder seen");
}

TEST(StatusCulprit, HoldsMostOfTheHeapThatIsFull) {
  const Series holders{{"jetmem_nvmap_carveout_bytes{heap=\"vpr\"}", 256 * kMiB},
                       {"jetmem_nvmap_process_bytes{heap=\"iovmm\",process=\"llama\"}", 3 * kGiB},
                       {"jetmem_nvmap_process_bytes{heap=\"vpr\",process=\"player\"}", 200 * kMiB},
                       {"jetmem_nvmap_process_bytes{heap=\"vpr\",process=\"camera\"}", 8 * kMiB},
                       {group("resident", "player", "video.service"), 1 * kMiB},
                       {group("gpu", "player", "video.service"), 200 * kMiB}};
  const Alarm full{"JetmemNvmapCarveoutFull",
                   "warning",
                   "firing",
                   "jetmem_nvmap_carveout_free_ratio",
                   {{"heap", "vpr"}}};
  EXPECT_THAT(status_answer(alarmed(holders, full)).reason,
              HasSubstr("largest holder: player (video.service), 200 MiB"));
  const Alarm refused{"JetmemNvmapCarveoutRefused",
                      "warning",
                      "firing",
                      "jetmem_kernel_recent_events{kind=\"nvmap_carveout\"}",
                      {{"kind", "nvmap_carveout"}}};
  EXPECT_FALSE(status_answer(alarmed(holders, refused)).who) << "of a heap that is not known";
  DeviceNow now = alarmed(holders, refused);
  now.events = {event("nvmap_carveout", now.since_boot - 20, "vpr"),
                event("nvmap_carveout", now.since_boot - 30, "generic-0")};
  const StatusAnswer answer = status_answer(now);
  ASSERT_TRUE(answer.who);
  EXPECT_EQ(answer.who->unit, "video.service");
  now.events.front().subject.clear();
  EXPECT_FALSE(status_answer(now).who) << "of a heap that the log does not name";
  // Buffers without a client, or of one that has ended: no process can be restarted for them.
  Series changed = holders;
  changed[2].second = 100 * kMiB;
  EXPECT_THAT(status_answer(alarmed(changed, full)).reason,
              HasSubstr("who holds most of vpr is not known"));
  changed = holders;
  changed.emplace_back(
      "jetmem_nvmap_ended_client_bytes{certainty=\"certain\",holder=\"w\",process=\"player\"}", 1);
  EXPECT_FALSE(status_answer(alarmed(changed, full)).who);
  // A namesake of another service may be among those without a group of their own.
  changed = holders;
  changed.emplace_back(group("resident", "other"), 50 * kMiB);
  changed.emplace_back(group("gpu", "other"), 200 * kMiB);
  EXPECT_THAT(status_answer(alarmed(changed, full)).reason,
              HasSubstr("largest holder: player, 200 MiB"));
}

TEST(StatusCulprit, IsTheLargestHolderOfMemory) {
  const Series holders{{group("resident", "python3", "vision.service"), 1 * kGiB},
                       {group("gpu", "python3", "vision.service"), 3 * kGiB},
                       {group("resident", "Xorg"), 2 * kGiB},
                       {group("resident", "other"), 6 * kGiB}};
  const StatusAnswer answer = status_answer(alarmed(holders, kLow));
  ASSERT_TRUE(answer.who);
  EXPECT_EQ(answer.who->name, "python3 (vision.service)");
  EXPECT_EQ(answer.who->role, "largest holder");
  EXPECT_EQ(answer.who->bytes, 4 * kGiB);
  EXPECT_THAT(answer.reason, HasSubstr("largest holder: python3 (vision.service), 4 GiB"));
  const auto json = nlohmann::json::parse(status_json(answer));
  EXPECT_EQ(json["who"]["name"], "python3 (vision.service)");
  EXPECT_EQ(json["since_seconds"], 90);
}

TEST(StatusCulprit, MayCallItselfOther) {
  const Series holders{{group("resident", "other", "hog.service"), 4 * kGiB},
                       {group("resident", "Xorg"), 2 * kGiB},
                       {group("resident", "other"), 6 * kGiB}};
  const StatusAnswer answer = status_answer(alarmed(holders, kLow));
  ASSERT_TRUE(answer.who);
  EXPECT_EQ(answer.who->name, "other (hog.service)");
}

TEST(StatusCulprit, IsTheOneThatGrowsFast) {
  Series holders{{group("resident", "Xorg"), 2 * kGiB},
                 {group("resident", "leaky"), 1 * kGiB},
                 {"jetmem_process_group_growth_bytes_per_second{command=\"leaky\"}", 13 * kMiB}};
  const StatusAnswer fast = status_answer(alarmed(holders, kLow));
  ASSERT_TRUE(fast.who);
  EXPECT_EQ(fast.who->name, "leaky");
  EXPECT_EQ(fast.who->role, "growing");
  EXPECT_EQ(fast.who->growth, 13 * kMiB);
  // What grows slowly explains no shortage of now, but it does a trend over hours.
  holders.back() = {"jetmem_process_group_trend_bytes_per_second{command=\"leaky\"}", 10'000};
  EXPECT_EQ(status_answer(alarmed(holders, kLow)).who->name, "Xorg");
  const Alarm leak{"JetmemMemoryLeak", "warning", "firing", "jetmem_trend_exhaustion_seconds"};
  EXPECT_EQ(status_answer(alarmed(holders, leak)).who->name, "leaky");
}

TEST(StatusCulprit, MayBeInNoProcess) {
  Series holders{{group("resident", "Xorg"), 1 * kGiB},
                 {"jetmem_meminfo_SUnreclaim_bytes", 3 * kGiB}};
  EXPECT_EQ(status_answer(alarmed(holders, kLow)).who->name, "kernel slab (SUnreclaim)");
  // Nobody knows that no process holds more, where processes are not known.
  holders.erase(holders.begin());
  const StatusAnswer blind = status_answer(alarmed(holders, kLow));
  EXPECT_FALSE(blind.who);
  EXPECT_THAT(blind.reason, HasSubstr("largest holder not known"));
  EXPECT_FALSE(blind.who_unknown.empty());
}

TEST(StatusCulprit, IsNamedByALabelOrAnEvent) {
  const StatusAnswer storm = status_answer(alarmed({}, {"JetmemSmmuStorm",
                                                        "critical",
                                                        "firing",
                                                        "jetmem_smmu_recent_faults",
                                                        {{"client", "isp0"}}}));
  ASSERT_TRUE(storm.who);
  EXPECT_EQ(storm.who->name, "isp0");
  EXPECT_THAT(storm.reason, HasSubstr("isp0"));

  DeviceNow now = alarmed({}, {"JetmemOomKill",
                               "critical",
                               "firing",
                               "jetmem_kernel_recent_events",
                               {{"kind", "oom_kill"}}});
  now.events = {event("smmu_context_fault", 3590, "isp0"), event("oom_kill", 3580, "python3")};
  EXPECT_EQ(status_answer(now).who->name, "python3");
  EXPECT_EQ(status_answer(now).who->role, "killed");
  // An older one is not what fires.
  now.events[1].at = std::chrono::seconds(100);
  EXPECT_FALSE(status_answer(now).who);
  now.events[1] = event("oom_kill", 3580, "python3");
  now.events[1].boot = 6;
  EXPECT_FALSE(status_answer(now).who);

  now = alarmed({}, {"JetmemSmmuSuppressed",
                     "critical",
                     "firing",
                     "jetmem_smmu_recent_faults",
                     {{"client", "unknown"}}});
  now.events = {event("smmu_context_fault", 3590, "isp0")};
  EXPECT_FALSE(status_answer(now).who) << "the kernel did not print whose these are";
}

// A storm that began long ago and goes on is recent.
TEST(StatusCulprit, IsNamedByTheLastOfAStorm) {
  DeviceNow now = alarmed({}, {"JetmemOomKill", "critical", "firing",
                               "jetmem_kernel_recent_events{kind=\"gpu_hang\"}"});
  now.events = {event("gpu_hang", now.since_boot - 1800, "17000000.gpu")};
  EXPECT_FALSE(status_answer(now).who);
  now.events[0].count = 40;
  now.events[0].until = std::chrono::seconds(static_cast<int>(now.since_boot) - 5);
  ASSERT_TRUE(status_answer(now).who);
  EXPECT_EQ(status_answer(now).who->name, "17000000.gpu");
}

TEST(StatusCulprit, IsNobodyWhereNobodyIsMeant) {
  EXPECT_FALSE(status_answer(alarmed({}, {"JetmemProbeSlow", "warning"})).who);
  EXPECT_FALSE(status_answer(device()).who);
}

TEST(NextCommand, IsTheFirstThatLooks) {
  const std::vector<std::pair<const char*, const char*>> remedies{
      {"sudo jetmem top shows the largest holders: stop one.", "sudo jetmem top"},
      {"Stop the largest program (sudo jetmem top); soon", "sudo jetmem top"},
      {"sudo jetmem events --since 15m shows the size.", "sudo jetmem events --since 15m"},
      {"jetmem doctor --step gpu names it", "jetmem doctor --step gpu"},
      {"sudo jetmem events --faults names it", "sudo jetmem events --faults"},
      {"jetmem events --faults --since 1h: see", "jetmem events --faults --since 1h"},
      {"see jetmem events --kind bus_error --since 15m.",
       "jetmem events --kind bus_error --since 15m"},
      {"sudo jetmem capture, then reboot; jetmem doctor --step stalls names it",
       "jetmem doctor --step stalls"},
      {"sudo jetmem compact helps; jetmem fragmentation shows it", "jetmem fragmentation"},
      {"Not urgent: jetmem restarts it.", ""},
      {"Power it off, then run sudo jetmem probe when it is cool.", ""},
      {"read the manual of jetmem", ""},
      {"sudo jetmem events --unit `reboot` names it", "sudo jetmem events"},
      {"jetmem events --unit x|sh --since 1h", "jetmem events"},
      {"", ""}};
  for (const auto& [remedy, command] : remedies) EXPECT_EQ(command_in(remedy), command) << remedy;
}

TEST(NextCommand, FollowsTheVerdict) {
  EXPECT_EQ(status_answer(device()).next_command, "jetmem rules check") << "no rules";
  DeviceNow now = alarmed({}, {"JetmemMemoryLow"});
  EXPECT_EQ(status_answer(now).next_command, "sudo jetmem top");
  now.alerts->rules.front().alerts.front().remedy = "Pray.";
  EXPECT_EQ(status_answer(now).next_command, "jetmem doctor --step alerts");
  EXPECT_EQ(status_answer(DeviceNow{}).next_command, "sudo jetmem sources");
  now = alarmed({}, {"Quiet", "warning", "inactive"});
  EXPECT_EQ(status_answer(now).next_command, "jetmem --all");
  now.by = SnapshotOrigin::kCommand;
  EXPECT_EQ(status_answer(now).next_command, "systemctl status jetmemd");
}

// Every Linux has one; a container often does not see it.
TEST(StatusVerdict, WithoutTheKernelLogIsUnknown) {
  DeviceNow now = alarmed({}, {"Quiet", "warning", "inactive"});
  ASSERT_EQ(status_answer(now).level, Verdict::kOk);
  now.sources.front().state = "absent";
  now.sources.front().reason = "read /dev/kmsg: No such file or directory";
  const StatusAnswer answer = status_answer(now);
  EXPECT_EQ(answer.level, Verdict::kUnknown);
  EXPECT_THAT(answer.reason, HasSubstr("/dev/kmsg"));
}

TEST(NextCommand, EachShippedRuleHasOne) {
  const ParsedRules shipped = parse_rules(shipped_rules());
  std::size_t named = 0;
  for (const Rule& rule : shipped.rules.rules) {
    named += command_in(rule.texts.remedy).empty() ? 0 : 1;
  }
  EXPECT_GT(named * 10, shipped.rules.rules.size() * 7) << "of most alerts the remedy names it";
}

class StatusFaults : public testing::Test {
 protected:
  static constexpr const char* kCounter =
      "jetmem_kernel_events_total{kind=\"smmu_context_fault\",origin=\"system\"}";
  static constexpr const char* kSeen =
      "jetmem_kernel_event_last_seen_timestamp_seconds{kind=\"smmu_context_fault\"}";
  static constexpr const char* kSuppressed =
      "jetmem_kernel_events_suppressed_total{kind=\"smmu_context_fault\"}";
  static StatusAnswer::Fault only(const DeviceNow& now) {
    const StatusAnswer answer = status_answer(now);
    EXPECT_EQ(answer.faults.size(), 1U);
    return answer.faults.empty() ? StatusAnswer::Fault{} : answer.faults.front();
  }
};

TEST_F(StatusFaults, AgeIsThatOfTheBootClock) {
  // Under --root the log's wall clock is that of the recording.
  DeviceNow now = device({{kCounter, 3}, {kSeen, 1'753'000'000}});
  now.events = {event("smmu_context_fault", 3598, "isp0")};
  now.events[0].wall = std::chrono::seconds(1'753'000'000);
  const StatusAnswer::Fault fault = only(now);
  EXPECT_EQ(fault.last_age_seconds, 2);
  EXPECT_FALSE(fault.last_wall) << "before this boot is not when it was";
  EXPECT_EQ(status_answer(now).last_event->age_seconds, 2);
}

TEST_F(StatusFaults, WithoutAnEventAMomentBeforeThisBootTellsNothing) {
  DeviceNow now = device({{kCounter, 3}, {kSeen, 1'753'000'000}});
  EXPECT_FALSE(only(now).last_age_seconds);
  EXPECT_FALSE(only(now).last_wall);
  now = device({{kCounter, 3}, {kSeen, 1'790'000'000 - 60}});
  EXPECT_EQ(only(now).last_age_seconds, 60);
  now = device({{kCounter, 3}, {kSeen, 1'790'000'000 + 60}});
  EXPECT_FALSE(only(now).last_age_seconds) << "in the future";
}

TEST_F(StatusFaults, WithoutAClockTheBootClockTells) {
  DeviceNow now = device({{kCounter, 3}, {kSeen, 1'000}});
  now.wall.reset();
  now.events = {event("smmu_context_fault", 3000)};
  now.events[0].wall = std::chrono::seconds(3000);  // 1970
  EXPECT_EQ(only(now).last_age_seconds, 600);
  EXPECT_EQ(only(now).last_day, 3);
  EXPECT_FALSE(only(now).last_wall) << "nobody set that clock";
  EXPECT_FALSE(status_answer(now).last_event->wall);
}

TEST_F(StatusFaults, OfAnEarlierBootAnUnsyncedClockTellsNothing) {
  DeviceNow now = device();
  now.events = {event("smmu_context_fault", 3598, "isp0")};
  now.events[0].boot = 6;
  now.events[0].wall = std::chrono::seconds(1'600'000'000);
  StatusAnswer::Fault fault = only(now);
  EXPECT_FALSE(fault.last_age_seconds);
  EXPECT_TRUE(fault.before_this_boot);
  EXPECT_FALSE(fault.last_day);
  // A clock that was right then.
  now.events[0].wall_trusted = true;
  now.events[0].wall = std::chrono::seconds(1'790'000'000 - 7200);
  fault = only(now);
  EXPECT_EQ(fault.last_age_seconds, 7200);
  EXPECT_TRUE(fault.before_this_boot);
  EXPECT_EQ(fault.last_day, 1);
  // And is wrong now: before this boot is longer ago than this boot lasts.
  now.wall = 1'790'000'000 - 7100;
  EXPECT_FALSE(only(now).last_age_seconds);
  EXPECT_TRUE(status_answer(now).last_event->before_this_boot);
}

TEST_F(StatusFaults, OfThisBootComeFirst) {
  DeviceNow now = device({{kCounter, 1}});
  now.events = {event("mc_error", 0), event("smmu_context_fault", 10)};
  now.events[0].boot = 6;
  now.events[0].wall_trusted = true;
  now.events[0].wall = std::chrono::seconds(1'790'000'000 - 3700);
  const StatusAnswer answer = status_answer(now);
  ASSERT_EQ(answer.faults.size(), 2U);
  EXPECT_EQ(answer.faults[0].kind, "smmu_context_fault");
}

TEST_F(StatusFaults, SayWhetherSuppressedOnesAreIn) {
  // Up for an hour: all of this boot are of the last day, printed or not.
  DeviceNow now = device({{kCounter, 71'943}, {kSuppressed, 71'781}});
  now.events = {event("smmu_context_fault", 3598)};
  StatusAnswer::Fault fault = only(now);
  EXPECT_EQ(fault.last_day, 71'943);
  EXPECT_EQ(fault.since_boot, 71'943);
  EXPECT_EQ(fault.suppressed, 71'781);
  EXPECT_FALSE(fault.at_least);
  // Up for three days: of the last one only what was printed is known.
  now.since_boot = 3 * 86'400;
  now.events[0].at = std::chrono::seconds(3 * 86'400 - 10);
  fault = only(now);
  EXPECT_EQ(fault.last_day, 1);
  EXPECT_TRUE(fault.at_least);
  const auto json = nlohmann::json::parse(status_json(status_answer(now)));
  EXPECT_EQ(json["faults"][0]["suppressed"], 71'781);
  EXPECT_EQ(json["faults"][0]["last_day_at_least"], true);
  EXPECT_EQ(json["last_event"]["age_seconds"], 10);
}

TEST_F(StatusFaults, MayBeMoreWhereMessagesWereLost) {
  const DeviceNow now =
      device({{kCounter, 0}, {"jetmem_kernel_log_lost_records_total{reason=\"overrun\"}", 12}});
  const StatusAnswer answer = status_answer(now);
  EXPECT_TRUE(answer.faults.empty());
  EXPECT_THAT(absence_reason(answer.absent, "faults"), HasSubstr("12 kernel messages were"));
}

TEST_F(StatusFaults, BeforeTheDaemonStartedCountsToo) {
  const DeviceNow now = device(
      {{kCounter, 0}, {"jetmem_kernel_log_lost_records_total{reason=\"before_start\"}", 2100}});
  EXPECT_THAT(absence_reason(status_answer(now).absent, "faults"),
              HasSubstr("2,100 kernel messages were"));
}

TEST_F(StatusFaults, OfTheKernelsCounterWhereTheLogHasNone) {
  DeviceNow now = device({{kCounter, 0}, {"jetmem_vmstat_oom_kill_total", 2}});
  const auto fault = only(now);
  EXPECT_EQ(fault.kind, "oom_kill");
  EXPECT_EQ(fault.since_boot, 2);
  now.since_boot = 3 * 86'400;
  EXPECT_FALSE(only(now).last_day) << "nobody knows when";
}

TEST_F(StatusFaults, AKillOfTheProbeIsNotMissingFromTheLog) {
  const std::string of_probe =
      "jetmem_kernel_events_total{kind=\"oom_kill_memcg\",origin=\"probe\"}";
  EXPECT_TRUE(
      status_answer(device({{of_probe, 2}, {"jetmem_vmstat_oom_kill_total", 2}})).faults.empty());
  EXPECT_EQ(only(device({{of_probe, 2}, {"jetmem_vmstat_oom_kill_total", 3}})).since_boot, 1);
}

TEST(StatusLastEvent, IsNoCompanionAndNoProbe) {
  DeviceNow now = device();
  now.events = {event("oom_reaper", 3599), event("mc_error", 3598), event("oom_kill", 3590, "a")};
  now.events[1].origin = "probe";
  const StatusAnswer answer = status_answer(now);
  ASSERT_TRUE(answer.last_event);
  EXPECT_EQ(answer.last_event->kind, "oom_kill");
  EXPECT_EQ(answer.last_event->age_seconds, 10);
  now.events.clear();
  EXPECT_FALSE(status_answer(now).last_event);
  EXPECT_TRUE(absence_reason(status_answer(now).absent, "last_event").empty());
  now.no_events = "omitted";
  EXPECT_EQ(absence_reason(status_answer(now).absent, "last_event"), "omitted");
}

}  // namespace
}  // namespace jetmem
