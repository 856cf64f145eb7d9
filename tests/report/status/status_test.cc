// SPDX-License-Identifier: Apache-2.0
// The verdict of a status: which alert leads it, who is behind it, and what of the past is known.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/doctor/next_command.h"
#include "report/status/status_answer.h"
#include "rules/model/rules.h"
#include "tests/report/doctor/doctor_past.h"

namespace jetmem {
namespace {

using testing::EndsWith;
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

Alarm critical(const char* name, const char* expression, Labels labels = {}) {
  return {name, "critical", "firing", expression, std::move(labels)};
}

const Alarm kLow = critical("JetmemMemoryLow", "jetmem_memory_available_ratio");
const Alarm kQuiet{"Quiet", "warning", "inactive"};

DeviceNow& add(DeviceNow& now, const Alarm& alarm) {
  raise_alert(now, alarm.name, alarm.state, alarm.severity, alarm.expression, alarm.labels);
  now.alerts->rules.back().alerts.front().remedy = "sudo jetmem top shows it";
  return now;
}

DeviceNow alarmed(const Series& series, const Alarm& alarm) {
  DeviceNow now = device(series);
  return add(now, alarm);
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
  DeviceNow now = alarmed({}, {"JetmemClockStepped", "info"});
  add(now, {"JetmemThrottling", "warning"});
  EXPECT_THAT(status_answer(now).reason, HasSubstr("JetmemThrottling is so"));
  // A critical one may be over before it fires.
  add(now, {"JetmemMemoryStall", "critical", "pending"});
  EXPECT_EQ(status_answer(now).level, Verdict::kWarning);
  EXPECT_THAT(status_answer(now).reason, HasSubstr("JetmemMemoryStall is so (pending)"));
  for (const char* name : {"JetmemCmaExhausted", "JetmemSmmuStorm"}) {
    EXPECT_THAT(status_answer(add(now, {name})).reason, HasSubstr(name));
    EXPECT_EQ(status_answer(now).level, Verdict::kCritical);
  }
  now = alarmed({}, {"JetmemThrottling", "warning", "pending"});
  EXPECT_EQ(status_answer(now).level, Verdict::kOk) << "a daemon waits whether it lasts";
  now.alerts->local_snapshot = true;
  EXPECT_EQ(status_answer(now).level, Verdict::kWarning) << "true now, and nobody waits";
}

// Of rules of which some are unknown, Doctor.UnevaluatedRulesAreUnknown holds the same.
TEST(StatusVerdict, IsOkOnlyIfRulesAreEvaluated) {
  DeviceNow now = alarmed({}, kQuiet);
  EXPECT_EQ(status_answer(now).level, Verdict::kOk);
  now.by = SnapshotOrigin::kCommand;
  EXPECT_EQ(status_answer(now).level, Verdict::kUnknown) << "no daemon answers";
  EXPECT_EQ(status_answer(device()).level, Verdict::kUnknown) << "no rules";
  now = alarmed({}, kQuiet);
  now.alerts.reset();
  now.no_alerts = "the rules have mistakes";
  EXPECT_EQ(status_answer(now).level, Verdict::kUnknown);
  EXPECT_THAT(status_answer(now).reason, HasSubstr("the rules have mistakes"));
}

TEST(StatusVerdict, AFailedSourceIsAWarning) {
  DeviceNow now = alarmed({}, kQuiet);
  SourceNow& buddyinfo =
      now.sources.emplace_back(source("buddyinfo", "failed", "line 3: 9 orders"));
  EXPECT_EQ(status_answer(now).level, Verdict::kWarning);
  EXPECT_THAT(status_answer(now).reason, HasSubstr("buddyinfo"));
  buddyinfo = source("buddyinfo", "ok");
  buddyinfo.stale = true;
  EXPECT_EQ(status_answer(now).level, Verdict::kWarning);
  buddyinfo.skipped = "78311 free blocks would take about 6.9 ms under the zone lock";
  EXPECT_EQ(status_answer(now).level, Verdict::kOk) << "to spare the device";
  ASSERT_EQ(status_answer(now).blind.size(), 1U);
  EXPECT_EQ(status_answer(now).blind[0].state, "skipped");
  buddyinfo = source("nvml", "absent", "no GPU");
  EXPECT_EQ(status_answer(now).level, Verdict::kOk) << "a device that has none";
}

TEST(StatusVerdict, OfAnEmptyReadingIsUnknown) {
  const StatusAnswer answer = status_answer(DeviceNow{});
  EXPECT_EQ(answer.level, Verdict::kUnknown);
  const auto json = nlohmann::json::parse(status_json(answer));
  EXPECT_EQ(json["schema"], "jetmem-status/1");
  EXPECT_EQ(json["level"], "unknown");
  EXPECT_FALSE(json["memory"].contains("available_bytes"));
  EXPECT_FALSE(json["memory"]["budget"].contains("bytes"));
  EXPECT_FALSE(json["alerts"].contains("firing"));
  EXPECT_TRUE(json["absent"].contains("available_bytes"));
  EXPECT_TRUE(json["absent"].contains("alerts"));
  EXPECT_FALSE(json["cma"].contains("none"));
  EXPECT_FALSE(json["cma"].contains("has_cma")) << "nobody can tell";
  EXPECT_TRUE(json["cma"]["absent"].contains("has_cma"));
  EXPECT_TRUE(json["thermal"]["absent"].contains("throttling_level"));
  EXPECT_TRUE(json["thermal"]["absent"].contains("power_mode"));
}

TEST(StatusVerdict, IsAWarningWhileNothingIsRecorded) {
  const std::string errors = "jetmem_history_errors_total{reason=\"disk_full\"}";
  const auto level = [&](double up, double failures) {
    return status_answer(alarmed({{"jetmem_history_up", up}, {errors, failures}}, kQuiet)).level;
  };
  EXPECT_EQ(level(1, 0), Verdict::kOk);
  EXPECT_EQ(level(1, 3), Verdict::kOk) << "it writes again";
  EXPECT_EQ(level(0, 0), Verdict::kOk) << "it has only just started";
  EXPECT_EQ(level(0, 3), Verdict::kWarning);
}

TEST(StatusVerdict, KnowsSinceWhenUnlessItLookedOnce) {
  DeviceNow now = alarmed({}, {"JetmemMemoryLow"});
  EXPECT_EQ(status_answer(now).since_seconds, 60);
  // As of the last evaluation, a while ago.
  now.alerts->evaluated_since_boot = now.since_boot - 10;
  EXPECT_EQ(status_answer(now).since_seconds, 70);
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

// "role: name"; empty where nobody is named.
std::string who(const DeviceNow& now) {
  const std::optional<Who> found = status_answer(now).who;
  return found ? found->role + ": " + found->name : "";
}

TEST(StatusCulprit, MayBeSmallerThanOneThatIsHidden) {
  EXPECT_EQ(who(alarmed({{group("resident", "bash"), kGiB},
                         {"jetmem_processes_omitted{reason=\"denied\"}", 80}},
                        kLow)),
            "largest holder seen: bash");
}

TEST(StatusCulprit, HoldsMostOfTheHeapThatIsFull) {
  const Series holders{{"jetmem_nvmap_carveout_bytes{heap=\"vpr\"}", 256 * kMiB},
                       {"jetmem_nvmap_process_bytes{heap=\"iovmm\",process=\"llama\"}", 3 * kGiB},
                       {"jetmem_nvmap_process_bytes{heap=\"vpr\",process=\"player\"}", 200 * kMiB},
                       {"jetmem_nvmap_process_bytes{heap=\"vpr\",process=\"camera\"}", 8 * kMiB},
                       {group("resident", "player", "video.service"), 1 * kMiB},
                       {group("gpu", "player", "video.service"), 200 * kMiB}};
  const Alarm full =
      critical("JetmemNvmapCarveoutFull", "jetmem_nvmap_carveout_free_ratio", {{"heap", "vpr"}});
  EXPECT_THAT(status_answer(alarmed(holders, full)).reason,
              HasSubstr("largest holder: player (video.service), 200 MiB"));
  const Alarm refused =
      critical("JetmemNvmapCarveoutRefused", "jetmem_kernel_recent_events{kind=\"nvmap_carveout\"}",
               {{"kind", "nvmap_carveout"}});
  DeviceNow now = alarmed(holders, refused);
  EXPECT_EQ(who(now), "") << "of a heap that is not known";
  now.events = {event("nvmap_carveout", now.since_boot - 20, "vpr"),
                event("nvmap_carveout", now.since_boot - 30, "generic-0")};
  EXPECT_EQ(who(now), "largest holder: player (video.service)");
  now.events.front().subject.clear();
  EXPECT_EQ(who(now), "") << "of a heap that the log does not name";
  // Buffers without a client, or of one that has ended: no process can be restarted for them.
  Series changed = holders;
  changed[2].second = 100 * kMiB;
  EXPECT_THAT(status_answer(alarmed(changed, full)).reason,
              HasSubstr("who holds most of vpr is not known"));
  changed = holders;
  changed.emplace_back(
      "jetmem_nvmap_ended_client_bytes{certainty=\"certain\",holder=\"w\",process=\"player\"}", 1);
  EXPECT_EQ(who(alarmed(changed, full)), "");
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
  EXPECT_EQ(answer.who->unit, "vision.service");
  EXPECT_EQ(answer.who->bytes, 4 * kGiB);
  EXPECT_THAT(answer.reason, HasSubstr("largest holder: python3 (vision.service), 4 GiB"));
  const auto json = nlohmann::json::parse(status_json(answer));
  EXPECT_EQ(json["who"]["name"], "python3 (vision.service)");
  EXPECT_EQ(json["since_seconds"], 60);
  // It may call itself as the rest is called.
  EXPECT_EQ(who(alarmed({{group("resident", "other", "hog.service"), 4 * kGiB},
                         {group("resident", "Xorg"), 2 * kGiB},
                         {group("resident", "other"), 6 * kGiB}},
                        kLow)),
            "largest holder: other (hog.service)");
}

TEST(StatusCulprit, IsTheOneThatGrowsFast) {
  Series holders{{group("resident", "Xorg"), 2 * kGiB},
                 {group("resident", "leaky"), 1 * kGiB},
                 {"jetmem_process_group_growth_bytes_per_second{command=\"leaky\"}", 13 * kMiB}};
  EXPECT_EQ(who(alarmed(holders, kLow)), "growing: leaky");
  EXPECT_EQ(status_answer(alarmed(holders, kLow)).who->growth, 13 * kMiB);
  // What grows slowly explains no shortage of now, but it does a trend over hours.
  holders.back() = {"jetmem_process_group_trend_bytes_per_second{command=\"leaky\"}", 10'000};
  EXPECT_EQ(who(alarmed(holders, kLow)), "largest holder: Xorg");
  EXPECT_EQ(who(alarmed(holders, critical("JetmemMemoryLeak", "jetmem_trend_exhaustion_seconds"))),
            "growing: leaky");
}

TEST(StatusCulprit, MayBeInNoProcess) {
  Series holders{{group("resident", "Xorg"), 1 * kGiB},
                 {"jetmem_meminfo_SUnreclaim_bytes", 3 * kGiB}};
  EXPECT_THAT(who(alarmed(holders, kLow)), EndsWith(": kernel slab (SUnreclaim)"));
  // Nobody knows that no process holds more, where processes are not known.
  holders.erase(holders.begin());
  const StatusAnswer blind = status_answer(alarmed(holders, kLow));
  EXPECT_FALSE(blind.who);
  EXPECT_THAT(blind.reason, HasSubstr("largest holder not known"));
  EXPECT_FALSE(blind.who_unknown.empty());
}

TEST(StatusCulprit, IsNamedByALabelOrAnEvent) {
  DeviceNow now =
      alarmed({}, critical("JetmemSmmuStorm", "jetmem_smmu_recent_faults", {{"client", "isp0"}}));
  EXPECT_THAT(who(now), EndsWith(": isp0"));
  EXPECT_THAT(status_answer(now).reason, HasSubstr("isp0"));

  now =
      alarmed({}, critical("JetmemOomKill", "jetmem_kernel_recent_events", {{"kind", "oom_kill"}}));
  now.events = {event("smmu_context_fault", 3590, "isp0"), event("oom_kill", 3580, "python3")};
  EXPECT_EQ(who(now), "killed: python3");
  // An older one is not what fires.
  now.events[1].at = std::chrono::seconds(100);
  EXPECT_EQ(who(now), "");
  now.events[1] = event("oom_kill", 3580, "python3");
  now.events[1].boot = 6;
  EXPECT_EQ(who(now), "");

  now = alarmed(
      {}, critical("JetmemSmmuSuppressed", "jetmem_smmu_recent_faults", {{"client", "unknown"}}));
  now.events = {event("smmu_context_fault", 3590, "isp0")};
  EXPECT_EQ(who(now), "") << "the kernel did not print whose these are";
  EXPECT_EQ(who(alarmed({}, {"JetmemProbeSlow", "warning"})), "") << "nobody is meant";
  EXPECT_EQ(who(device()), "");
}

// A storm that began long ago and goes on is recent.
TEST(StatusCulprit, IsNamedByTheLastOfAStorm) {
  DeviceNow now =
      alarmed({}, critical("JetmemGpuHang", "jetmem_kernel_recent_events{kind=\"gpu_hang\"}"));
  now.events = {event("gpu_hang", now.since_boot - 1800, "17000000.gpu")};
  EXPECT_EQ(who(now), "");
  now.events[0].count = 40;
  now.events[0].until = std::chrono::seconds(static_cast<int>(now.since_boot) - 5);
  EXPECT_THAT(who(now), EndsWith(": 17000000.gpu"));
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
  now = alarmed({}, kQuiet);
  EXPECT_EQ(status_answer(now).next_command, "jetmem --all");
  now.by = SnapshotOrigin::kCommand;
  EXPECT_EQ(status_answer(now).next_command, "systemctl status jetmemd");
}

// Every Linux has one; a container often does not see it.
TEST(StatusVerdict, WithoutTheKernelLogIsUnknown) {
  DeviceNow now = alarmed({}, kQuiet);
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

TEST_F(StatusFaults, WithoutAnEventAMomentOutsideThisBootTellsNothing) {
  const auto seen = [](double wall) { return only(device({{kCounter, 3}, {kSeen, wall}})); };
  EXPECT_FALSE(seen(1'753'000'000).last_age_seconds);
  EXPECT_FALSE(seen(1'753'000'000).last_wall);
  EXPECT_EQ(seen(1'790'000'000 - 60).last_age_seconds, 60);
  EXPECT_FALSE(seen(1'790'000'000 + 60).last_age_seconds) << "in the future";
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
  EXPECT_FALSE(fault.last_day) << "no count, and no 0 either";
  EXPECT_FALSE(absence_reason(fault.absent, "last_day").empty());
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
  now.events.push_back(event("smmu_context_fault", 2 * 86'400 - 10));
  EXPECT_EQ(only(now).last_day, 1) << "the other is of the day before";
  const auto json = nlohmann::json::parse(status_json(status_answer(now)));
  EXPECT_EQ(json["faults"][0]["suppressed"], 71'781);
  EXPECT_EQ(json["faults"][0]["last_day_at_least"], true);
  EXPECT_EQ(json["last_event"]["age_seconds"], 10);
}

TEST_F(StatusFaults, AreAbsentWhereTheKernelLogIs) {
  DeviceNow now = device();
  now.sources = {source("kernel_log", "denied", "open /dev/kmsg: no")};
  now.events.emplace_back().what = EventWhat::kAlert;
  const auto reason = [&] { return absence_reason(status_answer(now).absent, "faults"); };
  EXPECT_THAT(reason(), HasSubstr("/dev/kmsg"));
  // Those that are known are not all.
  now.samples = device({{kCounter, 3}}).samples;
  EXPECT_EQ(only(now).since_boot, 3);
  EXPECT_NE(reason(), "");
  now.sources = {source("kernel_log", "ok")};
  EXPECT_EQ(reason(), "");
}

TEST_F(StatusFaults, AreNotWhatGoesWithAnotherNorTheProbes) {
  DeviceNow now = device({{kCounter, 3},
                          {"jetmem_kernel_events_total{kind=\"oom_reaper\",origin=\"system\"}", 3},
                          {"jetmem_kernel_events_total{kind=\"mc_error\",origin=\"probe\"}", 3}});
  EXPECT_EQ(only(now).since_boot, 3);
  now.no_events = "omitted";
  EXPECT_FALSE(only(now).last_day) << "not known is not 0";
}

TEST_F(StatusFaults, MayBeMoreWhereMessagesWereLost) {
  for (const auto& [reason, count, shown] :
       {std::tuple("overrun", 12, "12 kernel messages were"),
        {"before_start", 2100, "2,100 kernel messages were"}}) {
    const StatusAnswer answer = status_answer(device(
        {{kCounter, 0},
         {"jetmem_kernel_log_lost_records_total{reason=\"" + std::string(reason) + "\"}", count}}));
    EXPECT_TRUE(answer.faults.empty());
    EXPECT_THAT(absence_reason(answer.absent, "faults"), HasSubstr(shown));
  }
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
