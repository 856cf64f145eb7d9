// The doctor's steps by one look, without a past.
#include "report/doctor/doctor.h"

#include <gmock/gmock.h>

#include "config/rules.h"
#include "tests/report/doctor_past.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string all_of(const DoctorAnswer::Step& step) {
  std::string out = step.summary + "\n";
  for (const auto& each : step.evidence) out += each.text + "\n";
  return out;
}

struct Case {
  const char* name;
  std::map<std::string, double> changes;
  const char* step;
  Verdict verdict;
  const char* says;
};

// Or ctest shows its bytes.
void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

const double kGone = NAN;

const Case kCases[] = {
    {"MemoryLow",
     {{"jetmem_meminfo_MemAvailable_bytes", 200 * kMiB}},
     "memory",
     Verdict::kCritical,
     "Only 200 MiB of 8 GiB is available (2.4%)"},
    {"MemoryShort",
     {{"jetmem_meminfo_MemAvailable_bytes", 700 * kMiB}},
     "memory",
     Verdict::kWarning,
     "Only 700 MiB"},
    {"Stall",
     {{"jetmem_pressure_stall_ratio{kind=\"full\",resource=\"memory\",window=\"60s\"}", 0.5},
      {"jetmem_pressure_stall_ratio{kind=\"some\",resource=\"memory\",window=\"60s\"}", 0.8}},
     "memory",
     Verdict::kCritical,
     "Everything waited for memory 50%"},
    {"UsedUpSoon",
     {{"jetmem_trend_exhaustion_seconds{of=\"MemAvailable\"}", 7200}},
     "memory",
     Verdict::kWarning,
     "used up in 2 h"},
    {"Fragmented",
     {{"jetmem_buddy_best_order_outside_cma", 1}},
     "fragmentation",
     Verdict::kWarning,
     "of order 1"},
    {"CmaFragmented",
     {{"jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", 0.75}},
     "cma",
     Verdict::kWarning,
     "75% of what is wanted"},
    {"CmaTaken",
     {{"jetmem_cma_used_ratio{area=\"linux,cma\"}", 0.97}},
     "cma",
     Verdict::kCritical,
     "97% taken"},
    {"NoCmaOnAJetson",
     {{"jetmem_meminfo_CmaTotal_bytes", 0}, {"jetmem_cma_used_ratio{area=\"linux,cma\"}", kGone}},
     "cma",
     Verdict::kWarning,
     "has no contiguous memory: what needs it in one piece gets none.\nCameras, codecs and GPU "
     "reach "
     "their buffers through the SMMU"},
    {"FaultsOfNobodyKnowsWhen",
     {{"jetmem_kernel_events_total{kind=\"smmu_context_fault\",origin=\"system\"}", 12},
      {"jetmem_smmu_faults_total{access=\"write\",client=\"gpcdma\",fault=\"context\",origin="
       "\"system\",smmu=\"a\"}",
       12}},
     "smmu",
     Verdict::kWarning,
     "Of gpcdma: 12 faults since boot"},
    {"OneAccessIsAFaultAndAnErrorOfTheController",
     {{"jetmem_kernel_events_total{kind=\"smmu_context_fault\",origin=\"system\"}", 1},
      {"jetmem_kernel_events_total{kind=\"mc_error\",origin=\"system\"}", 1}},
     "smmu",
     Verdict::kWarning,
     "memory accesses: 1 since boot, when is not known.\nErrors of the memory controller: 1 since "
     "boot"},
    {"ErrorsOfTheControllerAlone",
     {{"jetmem_kernel_events_total{kind=\"mc_error\",origin=\"system\"}", 7}},
     "smmu",
     Verdict::kWarning,
     "Errors of the memory controller: 7 since boot"},
    {"ARefusalThatIsCountedTwiceIsOne",
     {{"jetmem_kernel_events_total{kind=\"cma_alloc_failure\",origin=\"system\"}", 4},
      {"jetmem_kernel_events_total{kind=\"dma_alloc_failure\",origin=\"system\"}", 3}},
     "cma",
     Verdict::kWarning,
     "requests for contiguous memory: at least 4 since boot"},
    {"OldFaults",
     {{"jetmem_kernel_events_total{kind=\"smmu_context_fault\",origin=\"system\"}", 12},
      {"jetmem_kernel_event_last_seen_timestamp_seconds{kind=\"smmu_context_fault\"}",
       kMorning - 3 * 86400}},
     "smmu",
     Verdict::kFine,
     "No fault within the last day"},
    {"FaultsOfOurOwnProbe",
     {{"jetmem_kernel_events_total{kind=\"smmu_context_fault\",origin=\"probe\"}", 2}},
     "smmu",
     Verdict::kFine,
     "jetmem's own probe"},
    {"KilledJustNow",
     {{"jetmem_kernel_events_total{kind=\"oom_kill\",origin=\"system\"}", 1},
      {"jetmem_kernel_event_last_seen_timestamp_seconds{kind=\"oom_kill\"}", kMorning - 600}},
     "oom",
     Verdict::kCritical,
     "10 min ago"},
    {"KilledAtNight",
     {{"jetmem_kernel_events_total{kind=\"oom_kill\",origin=\"system\"}", 1},
      {"jetmem_kernel_event_last_seen_timestamp_seconds{kind=\"oom_kill\"}", kMorning - 6 * kHour}},
     "oom",
     Verdict::kWarning,
     "6 h ago"},
    {"KillsThatTheLogForgot",
     {{"jetmem_vmstat_oom_kill_total", 3}},
     "oom",
     Verdict::kWarning,
     "no longer says which"},
    {"Throttled",
     {{"jetmem_throttle_active{cause=\"cpu-throttle-alert\"}", 1}},
     "thermal",
     Verdict::kWarning,
     "cpu-throttle-alert"},
    {"NearItsLimit",
     {{"jetmem_thermal_margin_celsius{index=\"0\",kind=\"critical\",zone=\"tj-thermal\"}", 2}},
     "thermal",
     Verdict::kCritical,
     "2 C from where the machine switches itself off"},
    {"Orphans",
     {{"jetmem_nvmap_orphan_bytes{heap=\"iovmm\"}", 2 * kGiB}},
     "gpu_memory",
     Verdict::kWarning,
     "2 GiB of GPU and camera buffers belong to no program"},
    {"RefusedGpuBuffer",
     {{"jetmem_kernel_events_total{kind=\"nvmap\",origin=\"system\"}", 1}},
     "gpu_memory",
     Verdict::kWarning,
     "were refused"},
    {"ProbeFailed",
     {{"jetmem_probe_state{kind=\"pinned\",state=\"failed\",target=\"\"}", 1},
      {"jetmem_probe_failed_bytes{error=\"ENOMEM\",kind=\"pinned\",step=\"allocate\",target=\"\"}",
       12 * kMiB}},
     "probes",
     Verdict::kWarning,
     "12 MiB failed at step allocate with ENOMEM"},
    {"ProbeMismatch",
     {{"jetmem_probe_last_mismatched_words{kind=\"device\",target=\"\"}", 4}},
     "probes",
     Verdict::kCritical,
     "4 wrong words"},
    {"CrashedBefore",
     {{"jetmem_boot_last_stop{clean=\"yes\"}", 0},
      {"jetmem_boot_last_stop{clean=\"no\"}", 1},
      {"jetmem_boot_crash_recorded", 1}},
     "restart",
     Verdict::kWarning,
     "The kernel crashed before this boot"},
    {"ResetByTheWatchdog",
     {{"jetmem_boot_last_stop{clean=\"yes\"}", 0},
      {"jetmem_boot_last_stop{clean=\"no\"}", 1},
      {"jetmem_boot_reset_reason_info{cause=\"watchdog\",level=\"L0\",reason=\"WDT\"}", 1}},
     "restart",
     Verdict::kWarning,
     "hung until the watchdog reset it"},
    {"NobodyKnowsHowItEnded",
     {{"jetmem_boot_last_stop{clean=\"yes\"}", 0}, {"jetmem_boot_last_stop{clean=\"unknown\"}", 1}},
     "restart",
     Verdict::kUnknown,
     "is not known"},
    {"RecorderDown", {{"jetmem_history_up", 0}}, "daemon", Verdict::kWarning, "cannot write"},
    {"LogOverrun",
     {{"jetmem_kernel_log_lost_records_total{reason=\"overrun\"}", 5}},
     "daemon",
     Verdict::kWarning,
     "overwritten before jetmem read them"},
    {"LogFromBeforeTheStart",
     {{"jetmem_kernel_log_lost_records_total{reason=\"before_start\"}", 5}},
     "daemon",
     Verdict::kFine,
     "before_start"},
    {"LoopLag",
     {{"jetmem_round_lag_max_1m_seconds", 12}},
     "daemon",
     Verdict::kWarning,
     "hardly gets to run"},
    {"RestartedOften", {{"jetmem_recent_starts", 9}}, "daemon", Verdict::kWarning, "9 times"},
};

class DoctorSteps : public testing::TestWithParam<Case> {};

TEST_P(DoctorSteps, JudgeOneLook) {
  const Case& it = GetParam();
  const DoctorAnswer healthy = examine(healthy_device(), nullptr, "");
  const DoctorAnswer::Step* const before = healthy.step(it.step);
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(before->verdict, Verdict::kFine) << all_of(*before);

  const DoctorAnswer answer = examine(healthy_device(it.changes), nullptr, "");
  const DoctorAnswer::Step& step = *answer.step(it.step);
  EXPECT_EQ(step.verdict, it.verdict) << all_of(step);
  EXPECT_THAT(all_of(step), HasSubstr(it.says));
  EXPECT_GE(answer.verdict, it.verdict);
  if (it.verdict >= Verdict::kWarning) {
    EXPECT_FALSE(step.confirm.empty());
    EXPECT_THAT(answer.conclusion, Not(HasSubstr("Nothing"))) << answer.conclusion;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, DoctorSteps, testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Doctor, AHealthyDeviceIsFine) {
  const DoctorAnswer answer = examine(healthy_device(), nullptr, "");
  EXPECT_EQ(answer.verdict, Verdict::kFine);
  EXPECT_EQ(answer.conclusion, "Nothing is wrong with this device's memory.");
  for (const auto& step : answer.steps) {
    EXPECT_FALSE(step.summary.empty()) << step.name;
    EXPECT_TRUE(step.remedy.empty()) << step.name;
  }
}

TEST(Doctor, EventsThatJetmemdCouldNotAskForAreSaid) {
  MadeUpPast past;
  DeviceNow now = healthy_device();
  now.by = LookBy::kDaemon;
  const auto said = [&] {
    std::string out;
    for (const std::string& each : examine(now, &past).notes) out += each + "\n";
    return out;
  };
  EXPECT_EQ(said(), "");
  now.no_events = "history.db: Input/output error";
  EXPECT_EQ(said(),
            "The last day's events may lack some: jetmemd has none of them, as history.db: "
            "Input/output error\n");
}

TEST(Doctor, AnEmptyDeviceIsUnknownAndNeverFine) {
  const DoctorAnswer answer = examine(DeviceNow(), nullptr, "");
  EXPECT_EQ(answer.verdict, Verdict::kUnknown);
  for (const auto& step : answer.steps) {
    EXPECT_EQ(step.verdict, Verdict::kUnknown) << step.name;
    EXPECT_FALSE(step.summary.empty()) << step.name;
  }
}

// Each source taken away makes at least one step unknown or worse, with its reason.
TEST(Doctor, WhatMayNotBeReadIsUnknownWithWhatWouldHelp) {
  const std::pair<const char*, const char*> kNeeds[] = {
      {"boot", "restart"},     {"meminfo", "memory"}, {"buddyinfo", "fragmentation"},
      {"kernel_log", "smmu"},  {"kernel_log", "oom"}, {"thermal", "thermal"},
      {"nvmap", "gpu_memory"}, {"probe", "probes"},   {"device", "versions"},
      {"throttle", "thermal"}, {"cma", "cma"}};
  for (const auto& [source, name] : kNeeds) {
    DeviceNow now =
        healthy_device({{"jetmem_cma_used_ratio{area=\"linux,cma\"}", NAN},
                        {"jetmem_nvmap_total_bytes", NAN},
                        {"jetmem_probe_state{kind=\"host\",state=\"ok\",target=\"\"}", NAN}});
    set_source(now, source, "denied", "Permission denied", "CAP_SYSLOG");
    const DoctorAnswer answer = examine(now, nullptr, "");
    const DoctorAnswer::Step& step = *answer.step(name);
    EXPECT_EQ(step.verdict, Verdict::kUnknown) << source << "\n" << all_of(step);
    EXPECT_THAT(all_of(step), HasSubstr("Permission denied")) << source;
    EXPECT_THAT(all_of(step), HasSubstr("CAP_SYSLOG")) << source;
  }
}

TEST(Doctor, AKernelWithoutCmaOnAPcDoesNotApply) {
  DeviceNow now = healthy_device(
      {{"jetmem_meminfo_CmaTotal_bytes", NAN},
       {"jetmem_cma_used_ratio{area=\"linux,cma\"}", NAN},
       {"jetmem_device_info{kernel=\"5.15.148-tegra\",l4t=\"36.4.4\",model=\"Orin\",soc="
        "\"tegra234\"}",
        NAN},
       {"jetmem_device_info{kernel=\"6.1\",l4t=\"\",model=\"PC\",soc=\"\"}", 1}});
  set_source(now, "cma", "absent", "this kernel has no CMA");
  const DoctorAnswer answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.step("cma")->verdict, Verdict::kFine);
  EXPECT_THAT(answer.step("cma")->summary, HasSubstr("Does not apply"));
}

TEST(Doctor, ReleasesWithAKnownDefectAreNamed) {
  for (const auto& [l4t, verdict] :
       {std::pair("36.4.7", Verdict::kWarning), std::pair("36.4.4", Verdict::kFine),
        std::pair("36.5.0", Verdict::kFine), std::pair("35.6.3", Verdict::kWarning)}) {
    const DoctorAnswer answer = examine(
        healthy_device({{"jetmem_device_info{kernel=\"5.15.148-tegra\",l4t=\"36.4.4\",model="
                         "\"Orin\",soc=\"tegra234\"}",
                         NAN},
                        {"jetmem_device_info{kernel=\"5\",l4t=\"" + std::string(l4t) +
                             "\",model=\"Orin\",soc=\"\"}",
                         1}}),
        nullptr, "");
    EXPECT_EQ(answer.step("versions")->verdict, verdict) << l4t;
  }
}

AlertsAnswer firing(const std::string& name, const std::string& severity) {
  AlertsAnswer out;
  out.judged_wall = kMorning;
  AlertsAnswer::Rule rule;
  rule.name = name;
  rule.severity = severity;
  rule.state = "firing";
  rule.runbook = "/usr/share/doc/jetmem/runbooks/some-page.md";
  AlertsAnswer::Alert alert;
  alert.state = "firing";
  alert.active_seconds = 600;
  alert.summary = "It is so";
  alert.cause = "the cause";
  alert.remedy = "the remedy";
  rule.alerts.push_back(alert);
  out.rules.push_back(rule);
  return out;
}

TEST(Doctor, AFiringAlertDecidesItsStep) {
  DeviceNow now = healthy_device();
  now.alerts = firing("JetmemSmmuStorm", "critical");
  DoctorAnswer answer = examine(now, nullptr, "");
  const DoctorAnswer::Step& step = *answer.step("smmu");
  EXPECT_EQ(step.verdict, Verdict::kCritical);
  EXPECT_EQ(step.summary, "It is so.");
  EXPECT_EQ(step.cause, "the cause");
  EXPECT_EQ(step.runbook, "some-page");
  EXPECT_EQ(step.evidence.front().time, kMorning - 600);
  now.alerts = firing("JetmemGpuFreeHidden", "info");
  answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.verdict, Verdict::kFine);
}

// Whatever fires is told: each rule that jetmem ships by its own step, a person's own by the last.
TEST(Doctor, EachShippedRuleHasItsStep) {
  const ParsedRules shipped = parse_rules(shipped_rules());
  ASSERT_GT(shipped.rules.rules.size(), 30U);
  for (const Rule& rule : shipped.rules.rules) {
    DeviceNow now = healthy_device();
    now.alerts = firing(rule.name.c_str(), "critical");
    const DoctorAnswer answer = examine(now, nullptr, "");
    EXPECT_EQ(answer.verdict, Verdict::kCritical) << rule.name;
    EXPECT_EQ(answer.step("alerts")->verdict, Verdict::kFine) << rule.name;
  }
}

TEST(Doctor, ARuleOfOnesOwnIsTold) {
  DeviceNow now = healthy_device();
  now.alerts = firing("OurOwnRule", "critical");
  const DoctorAnswer answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.verdict, Verdict::kCritical);
  EXPECT_EQ(answer.conclusion, "It is so.");
  EXPECT_EQ(answer.step("alerts")->remedy, "the remedy");
  EXPECT_THAT(all_of(*answer.step("alerts")), HasSubstr("Alert OurOwnRule fires"));
}

// What needs a past cannot be told from one look: that nothing is wrong is not known then.
TEST(Doctor, NothingIsFineThatWasNotJudged) {
  DeviceNow now = healthy_device();
  now.by = LookBy::kCapture;
  now.alerts->one_look = true;
  AlertsAnswer::Rule& leak = now.alerts->rules.emplace_back();
  leak.name = "JetmemMemoryLeak";
  leak.severity = "warning";
  leak.state = "unknown";
  DoctorAnswer answer = examine(now, nullptr, "no history");
  EXPECT_EQ(answer.verdict, Verdict::kUnknown);
  EXPECT_EQ(answer.conclusion,
            "Nothing wrong was seen in one look, but 1 step of 12 could not be told.");
  EXPECT_THAT(answer.step("alerts")->summary, HasSubstr("1 of 2 rules could not be judged"));
  now.alerts.reset();
  now.no_alerts = "the rules cannot be read";
  answer = examine(now, nullptr, "no history");
  EXPECT_EQ(answer.verdict, Verdict::kUnknown);
  EXPECT_THAT(answer.step("alerts")->summary, HasSubstr("the rules cannot be read"));
  // The recorder of the daemon that judged them tells what fired.
  MadeUpPast past;
  past.known.newest = ns(kMorning);
  EXPECT_EQ(examine(now, &past).verdict, Verdict::kFine);
  past.known.newest = ns(kMorning - 86400);
  EXPECT_EQ(examine(now, &past).verdict, Verdict::kUnknown);
}

// The log says who, also where the SMMU itself says nothing.
TEST(Doctor, FaultsAreShownWithTheirNames) {
  for (const char* kind : {"mc_error", "gpu_mmu_fault"}) {
    DeviceNow now = healthy_device(
        {{std::string("jetmem_kernel_events_total{kind=\"") + kind + "\",origin=\"system\"}", 1}});
    now.events.push_back(kernel_event(kind, "tegra-vi", kMorning - 600));
    EXPECT_THAT(all_of(*examine(now, nullptr, "").step("smmu")),
                HasSubstr(std::string(kind) + " of tegra-vi"));
  }
}

// The area and who asked for DMA memory tell of the same request within a second.
TEST(Doctor, ARefusalThatIsToldTwiceIsOne) {
  DeviceNow now = healthy_device(
      {{"jetmem_kernel_events_total{kind=\"cma_alloc_failure\",origin=\"system\"}", 3},
       {"jetmem_kernel_events_total{kind=\"dma_alloc_failure\",origin=\"system\"}", 2}});
  for (const double at : {-100.0, -90.0, -80.0}) {
    now.events.push_back(kernel_event("cma_alloc_failure", "linux,cma", kMorning + at));
    if (at != -80) {
      now.events.push_back(kernel_event("dma_alloc_failure", "vi", kMorning + at + 0.1));
    }
  }
  const DoctorAnswer answer = examine(now, nullptr, "");
  EXPECT_THAT(all_of(*answer.step("cma")), HasSubstr("contiguous memory: 3 since boot"));
  EXPECT_THAT(answer.conclusion, HasSubstr("and 3 times in all"));
}

TEST(Doctor, TheCommandForKillsShowsAllKindsOfThem) {
  const std::string confirm = examine(healthy_device(), nullptr, "").step("oom")->confirm;
  EXPECT_THAT(confirm, HasSubstr("oom_kill,oom_kill_memcg,oom_no_victim"));
}

TEST(Doctor, HostileNamesAreMadeSafe) {
  DeviceNow now = healthy_device({{"jetmem_meminfo_MemAvailable_bytes", 100 * kMiB}});
  now.samples.add({"jetmem_oom_kills_total",
                   {{"comm", "\x1b[2Jevil\n"}, {"origin", "system"}, {"scope", "machine"}}},
                  1);
  now.samples.add({"jetmem_throttle_active", {{"cause", "\x1b]0;x\a"}}}, 1);
  now.samples.add({"jetmem_smmu_faults_total", {{"client", "\xff\x1b"}, {"origin", "system"}}}, 3);
  now.samples.add({"jetmem_nvmap_process_bytes", {{"heap", "\x1b"}, {"process", "\x1b[31m"}}}, 3);
  now.samples.add({"jetmem_process_group_trend_bytes_per_second", {{"command", "\x1b[31mx"}}}, 1e6);
  now.samples.sort();
  now.events.push_back(kernel_event("oom_kill", "\x1b[2J\nx", kMorning - 60));
  now.sources[0].reason = "\x1b";
  now.notes.push_back("\x1b[2J");
  const DoctorAnswer answer = examine(now, nullptr, "\x1b");
  const std::string json = doctor_json(answer);
  EXPECT_THAT(json, Not(HasSubstr("\x1b")));
  EXPECT_THAT(json, Not(HasSubstr("\\u001b")));
  EXPECT_THAT(json, Not(HasSubstr("\\n")));
}

TEST(Doctor, ItsJsonComesBackTheSame) {
  DeviceNow now = healthy_device({{"jetmem_meminfo_MemAvailable_bytes", 100 * kMiB}});
  now.notes.push_back("a note");
  now.events.push_back(kernel_event("oom_kill", "python3", kMorning - 60));
  const std::string json = doctor_json(examine(now, nullptr, "no file"));
  const auto back = parse_doctor(json);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(doctor_json(*back), json);
}

TEST(Doctor, AnAnswerWithoutVerdictsIsRefused) {
  const std::string json = doctor_json(examine(healthy_device(), nullptr, ""));
  EXPECT_FALSE(parse_doctor(""));
  EXPECT_FALSE(parse_doctor("[]"));
  EXPECT_FALSE(parse_doctor("{\"schema\":\"jetmem-doctor/1\"}"));
  EXPECT_FALSE(parse_doctor("{\"schema\":\"jetmem-doctor/1\",\"verdict\":\"fine\"}"));
  for (const std::string word : {"jetmem-doctor/1", "\"fine\""}) {
    std::string broken = json;
    broken.replace(broken.rfind(word), word.size(), "\"?\"");
    EXPECT_FALSE(parse_doctor(broken)) << word;
  }
}

TEST(Doctor, EvidenceIsBounded) {
  DeviceNow now = healthy_device();
  for (int i = 0; i < 500; ++i) {
    now.samples.add(
        {"jetmem_oom_kills_total",
         {{"comm", "p" + std::to_string(i)}, {"origin", "system"}, {"scope", "machine"}}},
        1);
    now.events.push_back(kernel_event("oom_kill", std::string(5000, 'x'), kMorning - i));
  }
  now.samples.sort();
  const DoctorAnswer answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.step("oom")->evidence.size(), DoctorAnswer::kMaxEvidence);
  EXPECT_GT(answer.step("oom")->evidence_left_out, 400U);
  EXPECT_LE(answer.timeline.size(), DoctorAnswer::kMaxTimeline);
  EXPECT_LT(doctor_json(answer).size(), 100'000U);
}

}  // namespace
}  // namespace jetmem
