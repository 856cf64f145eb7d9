// SPDX-License-Identifier: Apache-2.0
// The doctor's steps by one look, without a past.
#include "report/doctor/doctor.h"

#include <gmock/gmock.h>

#include "base/text/text.h"
#include "collectors/kernel_log/event/kinds.h"
#include "rules/model/rules.h"
#include "tests/report/doctor/doctor_past.h"

namespace jetmem {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

DoctorAnswer asked(const DeviceNow& now) { return examine(now, nullptr); }

std::string all_of(const DoctorAnswer::Step& step) {
  std::string out = step.summary + "\n";
  for (const auto& each : step.evidence) out += each.text + "\n";
  return out;
}

using enum Verdict;
using Changes = std::map<std::string, double>;

DoctorAnswer::Step step_of(const char* name, const Changes& changes) {
  return *asked(healthy_device(changes)).step(name);
}

struct Case {
  const char* name;
  const char* step;
  Verdict verdict;
  const char* shows;  // names and numbers, of several a line each
  Changes changes;
  const char* hides = nullptr;
};

const double kGone = NAN;
const std::string kAvailable = "jetmem_meminfo_MemAvailable_bytes";
const std::string kCmaUsed = "jetmem_cma_used_ratio{area=\"linux,cma\"}";
const std::string kMemoryLow = "jetmem_daemon_memory_low_bytes";
const std::string kOomScore = "jetmem_process_oom_score_adj{process=\"jetmemd\"}";
const std::string kOrphans = "jetmem_nvmap_orphan_bytes{heap=\"iovmm\"}";
const std::string kThrottling = "jetmem_throttling";
const std::string kThrottleUnread =
    "jetmem_source_absent_values{reason=\"malformed\",source=\"throttle\"}";
const std::string kZone = "jetmem_thermal_zone_celsius{index=\"0\",zone=\"tj-thermal\"}";
const std::string kThisDevice =
    "jetmem_device_info{kernel=\"5.15.148-tegra\",l4t=\"36.4.4\",model=\"Orin\",soc=\"tegra234\"}";

std::string events(const std::string& kind, const std::string& origin = "system") {
  return "jetmem_kernel_events_total{kind=\"" + kind + "\",origin=\"" + origin + "\"}";
}

std::string last_seen(const std::string& kind) {
  return "jetmem_kernel_event_last_seen_timestamp_seconds{kind=\"" + kind + "\"}";
}

std::string stall(const std::string& kind) {
  return "jetmem_pressure_stall_ratio{kind=\"" + kind + "\",resource=\"memory\",window=\"60s\"}";
}

std::string lost(const std::string& reason) {
  return "jetmem_kernel_log_lost_records_total{reason=\"" + reason + "\"}";
}

std::string no_memory_low(const std::string& reason) {
  return "jetmem_daemon_memory_low_absent{reason=\"" + reason + "\"}";
}

Changes set(const std::string& key, double value, const std::string& more = "", double its = 0) {
  Changes out{{key, value}};
  if (!more.empty()) out[more] = its;
  return out;
}

Changes fragmented(double best, double page_size) {
  const std::string of = "{node=\"0\",order=\"0\",zone=\"Normal\"}";
  return {{"jetmem_buddy_best_outside_cma_bytes", best},
          {"jetmem_buddy_free_blocks" + of, 3},
          {"jetmem_buddy_free_bytes" + of, 3 * page_size}};
}

// Another release of L4T, or none.
Changes release(const std::string& l4t) {
  return set(kThisDevice, kGone,
             "jetmem_device_info{kernel=\"5\",l4t=\"" + l4t + "\",model=\"Orin\",soc=\"tegra234\"}",
             1);
}

Changes unclean(const std::string& key, double value) {
  return {{"jetmem_boot_last_shutdown{clean=\"yes\"}", 0}, {key, value}};
}

const Case kCases[] = {
    {"UncorrectedErrorsCounted", "hardware", kWarning, "DIMM_A1 (mc0): 1 uncorrected",
     set("jetmem_edac_errors_total{controller=\"mc0\",error=\"uncorrected\"}", 1,
         "jetmem_edac_module_errors_total{controller=\"mc0\",error=\"uncorrected\",label=\"DIMM_"
         "A1\","
         "module=\"dimm0\"}",
         1)},
    {"CorrectedErrorsCounted", "hardware", kOk, "mc0: 12 corrected",
     set("jetmem_edac_errors_total{controller=\"mc0\",error=\"corrected\"}", 12)},
    {"EccIsOff", "hardware", kOk, "ECC is off",
     set("jetmem_edac_ecc{controller=\"mc0\",mode=\"None\"}", 0)},
    {"ATaskIsStuck", "stalls", kWarning, "camera (PID 77) has been stuck in the kernel for 45 s",
     set("jetmem_stuck_task_seconds{command=\"camera\",wait_channel=\"nvmap_handle_pin\"}", 45,
         "jetmem_stuck_task_pid{command=\"camera\",wait_channel=\"nvmap_handle_pin\"}", 77)},
    {"CloseToItsLimit", "memory", kOk, "a.service uses 98% of its memory limit, 2 GiB",
     set("jetmem_cgroup_limit_used_ratio{container=\"\",unit=\"a.service\"}", 0.98,
         "jetmem_cgroup_memory_bytes{container=\"\",unit=\"a.service\"}", 2048 * kMiB)},
    {"NvmapIsBeyondTheLimit",
     "memory",
     kOk,
     "a.service is limited to 64 MiB, and holds 500 MiB of GPU and camera memory",
     {{"jetmem_nvmap_total_bytes", 900 * kMiB},
      {"jetmem_cgroup_memory_limit_bytes{container=\"\",unit=\"a.service\"}", 64 * kMiB},
      {"jetmem_process_group_gpu_bytes{command=\"camera\",container=\"\",unit=\"a.service\"}",
       300 * kMiB},
      {"jetmem_process_group_gpu_bytes{command=\"model\",container=\"\",unit=\"a.service\"}",
       200 * kMiB}}},
    {"MemoryLow", "memory", kCritical, "200 MiB of 8 GiB", set(kAvailable, 200 * kMiB)},
    {"MemoryShort", "memory", kWarning, "700 MiB", set(kAvailable, 700 * kMiB)},
    {"Stall", "memory", kCritical, "50%", set(stall("full"), 0.5, stall("some"), 0.8)},
    {"UsedUpSoon", "memory", kWarning, "about 2 h",
     set("jetmem_trend_exhaustion_seconds{of=\"MemAvailable\"}", 7200)},
    {"Fragmented", "fragmentation", kWarning, "8 KiB", fragmented(8192, 4096)},
    {"FragmentedWithLargePages", "fragmentation", kWarning, "256 KiB",
     fragmented(256 * 1024, 65536)},
    {"NotFragmented", "fragmentation", kOk, "256 KiB", fragmented(256 * 1024, 4096)},
    {"OfUnknownPages", "fragmentation", kWarning, "8 KiB",
     set("jetmem_buddy_best_outside_cma_bytes", 8192)},
    {"EnoughOfUnknownPages", "fragmentation", kOk, "32 KiB",
     set("jetmem_buddy_best_outside_cma_bytes", 32768)},
    {"CmaFragmented", "cma", kWarning, "linux,cma",
     set("jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", 0.75)},
    {"CmaTaken", "cma", kCritical, "97%", set(kCmaUsed, 0.97)},
    {"NoCmaOnAJetson", "cma", kWarning, "no CMA area",
     set("jetmem_meminfo_CmaTotal_bytes", 0, kCmaUsed, kGone)},
    {"FaultsWithoutATime", "smmu", kWarning, "gpcdma: 12 faults",
     set(events("smmu_context_fault"), 12,
         "jetmem_smmu_faults_total{access=\"write\",client=\"gpcdma\",fault=\"context\",origin="
         "\"system\",smmu=\"a\"}",
         12)},
    {"OneAccessIsAFaultAndAControllerError", "smmu", kWarning, "errors: 1 ",
     set(events("smmu_context_fault"), 1, events("mc_error"), 1)},
    {"ControllerErrorsOnly", "smmu", kWarning, "errors: 7 ", set(events("mc_error"), 7)},
    {"AFailureCountedTwiceIsOne", "cma", kWarning, "at least 4 ",
     set(events("cma_alloc_failure"), 4, events("dma_alloc_failure"), 3)},
    {"OldFaults", "smmu", kOk, "12 ",
     set(events("smmu_context_fault"), 12, last_seen("smmu_context_fault"), kMorning - 3 * 86400)},
    {"FaultsOfTheProbe", "smmu", kOk, "probe", set(events("smmu_context_fault", "probe"), 2)},
    {"KilledJustNow", "oom", kCritical, "10 min",
     set(events("oom_kill"), 1, last_seen("oom_kill"), kMorning - 600)},
    {"KilledAtNight", "oom", kWarning, "6 h",
     set(events("oom_kill"), 1, last_seen("oom_kill"), kMorning - 6 * kHour)},
    {"KillsMissingFromTheLog", "oom", kWarning, "3 OOM", set("jetmem_vmstat_oom_kill_total", 3)},
    {"TheProbeWasKilled", "oom", kOk, "jetmem's own probe",
     set(events("oom_kill", "probe"), 1, "jetmem_vmstat_oom_kill_total", 1)},
    {"TheProbeAndAnotherWereKilled", "oom", kWarning, "counted 1 OOM kill since boot, but",
     set(events("oom_kill", "probe"), 1, "jetmem_vmstat_oom_kill_total", 2)},
    {"Throttled", "thermal", kWarning, "cpu-throttle-alert",
     set("jetmem_throttle_active{cause=\"cpu-throttle-alert\"}", 1)},
    {"NearItsLimit", "thermal", kCritical, "tj-thermal is 2 C",
     set("jetmem_thermal_margin_celsius{index=\"0\",kind=\"critical\",zone=\"tj-thermal\"}", 2)},
    {"Orphans", "gpu_memory", kWarning, "2 GiB", set(kOrphans, 2 * kGiB)},
    {"RefusedGpuBuffer", "gpu_memory", kWarning, "failed: 1 ", set(events("nvmap"), 1)},
    {"ProbeFailed", "probes", kWarning, "pinned, 12 MiB (allocate: ENOMEM)",
     set("jetmem_probe_state{kind=\"pinned\",state=\"failed\",target=\"\"}", 1,
         "jetmem_probe_failed_bytes{error=\"ENOMEM\",kind=\"pinned\",step=\"allocate\",target="
         "\"\"}",
         12 * kMiB)},
    {"ProbeMismatch", "probes", kCritical, "device, 4 ",
     set("jetmem_probe_state{kind=\"device\",state=\"mismatch\",target=\"\"}", 1,
         "jetmem_probe_last_mismatched_words{kind=\"device\",target=\"\"}", 4)},
    {"ProbesOfTwoAges", "probes", kOk, "at most 2 h ago",
     set("jetmem_probe_state{kind=\"device\",state=\"ok\",target=\"\"}", 1,
         "jetmem_probe_age_seconds{group=\"cuda\"}", 7200)},
    {"ProbeWithoutKernels", "probes", kOk, "no kernels", set("jetmem_probe_kernels_loaded", 0)},
    {"CrashedBefore", "restart", kWarning, "crashed", unclean("jetmem_boot_crash_recorded", 1)},
    {"ResetByTheWatchdog", "restart", kWarning, "WDT",
     unclean("jetmem_boot_reset_reason_info{cause=\"watchdog\",level=\"L0\",reason=\"WDT\"}", 1)},
    {"UnknownEndOfThePreviousBoot", "restart", kUnknown, "unknown",
     unclean("jetmem_boot_last_shutdown{clean=\"unknown\"}", 1)},
    {"RecorderWithoutADirectory", "daemon", kOk, "", set("jetmem_history_up", 0)},
    {"RecorderDownAndTheDiskFull", "daemon", kWarning, "recorder",
     set("jetmem_history_up", 0, "jetmem_history_errors_total{reason=\"disk_full\"}", 4)},
    {"NotificationsFailed", "daemon", kWarning, "2 not_started",
     set("jetmem_notifications_total{result=\"not_started\"}", 2)},
    {"NotificationsSent", "daemon", kOk, "", set("jetmem_notifications_total{result=\"ok\"}", 2)},
    {"LogOverrun", "daemon", kWarning, "(overrun): 5", set(lost("overrun"), 5)},
    {"LogFromBeforeTheStart", "daemon", kOk, "(before_start): 5", set(lost("before_start"), 5)},
    {"LoopLag", "daemon", kWarning, "12 s", set("jetmem_sample_cycle_lag_max_1m_seconds", 12)},
    {"RestartedOften", "daemon", kWarning, "9 times", set("jetmem_daemon_recent_starts", 9)},
    {"MemoryKept", "daemon", kOk,
     "24 MiB of jetmemd's memory last (memory.low); its OOM score "
     "adjustment is -900",
     set(kMemoryLow, 24 * kMiB, kOomScore, -900)},
    {"AllOfItKept", "daemon", kOk, "reclaims all of", set(kMemoryLow, INFINITY)},
    {"MemoryLowOfASlice", "daemon", kOk, "only its OOM score adjustment of -900",
     set(kMemoryLow, 0, kOomScore, -900)},
    {"CgroupV1", "daemon", kOk, "version 1", set(no_memory_low("cgroup_v1"), 1, kOomScore, -900)},
    {"NoMemoryController", "daemon", kOk, "MemoryMax= does not",
     set(no_memory_low("no_memory_controller"), 1, kOomScore, -900)},
    {"NothingProtects", "daemon", kOk, "nothing protects jetmemd",
     set(no_memory_low("cgroup_v1"), 1, kOomScore, 0)},
    {"CgroupHidden", "daemon", kOk,
     "unknown, as its cgroup is hidden; its OOM score adjustment "
     "is unknown",
     set(no_memory_low("hidden"), 1)},
    {"NoZoneHasATemperature", "thermal", kOk, "No zone reports a temperature; nothing throttles",
     set(kZone, kGone)},
    {"NothingReportsHeat", "thermal", kUnknown, "", set(kZone, kGone, kThrottling, kGone)},
    // Not throttled takes knowing all causes.
    {"ACauseOfThrottlingIsNotRead", "thermal", kUnknown, "not every cause can be read",
     set(kThrottling, kGone, kThrottleUnread, 1)},
    {"OverCurrentCountersSayNothingOfThrottling", "thermal", kOk, "",
     set(kThrottling, kGone, kThrottleUnread, 0), "throttled"},
    {"ReleaseWithADefect", "versions", kWarning, "36.4.7", release("36.4.7")},
    {"OldReleaseWithADefect", "versions", kWarning, "35.6.3", release("35.6.3")},
    {"ReleaseBeforeTheDefect", "versions", kOk, "36.4.4", release("36.4.4")},
    {"ReleaseAfterTheDefect", "versions", kOk, "36.5.0", release("36.5.0")},
    {"AJetsonWithoutARelease", "versions", kUnknown, "nv_tegra_release", release(""),
     "not a Jetson"},
    {"HeldBuffersWithoutAClient",
     "gpu_memory",
     kWarning,
     "argus-like holds 1.5 GiB\npart): 512 MiB",
     {{kOrphans, 2 * kGiB},
      {"jetmem_dmabuf_clientless_bytes", 1.5 * kGiB},
      {"jetmem_dmabuf_holder_clientless_bytes{command=\"argus-like\"}", 1.5 * kGiB}}},
    {"CmaOfTheKernelsDefault", "cma", kOk, "CmaTotal is 32 MiB",
     set("jetmem_meminfo_CmaTotal_bytes", 32 * kMiB)},
    {"CmaOfL4tsDefault", "cma", kOk, "", set("jetmem_meminfo_CmaTotal_bytes", 256 * kMiB),
     "CmaTotal is"},
    {"CacheThatCudaDoesNotSee", "gpu_memory", kOk, "300 MiB\nmake-room",
     set("jetmem_meminfo_MemFree_bytes", 300 * kMiB)},
};

TEST(Doctor, EvaluatesOneSnapshot) {
  const DoctorAnswer healthy = asked(healthy_device());
  for (const Case& it : kCases) {
    SCOPED_TRACE(it.name);
    ASSERT_NE(healthy.step(it.step), nullptr);
    const DoctorAnswer answer = asked(healthy_device(it.changes));
    const DoctorAnswer::Step& step = *answer.step(it.step);
    EXPECT_EQ(step.verdict, it.verdict) << all_of(step);
    Lines shown(it.shows);
    for (std::string_view text; shown.next(text);) EXPECT_THAT(all_of(step), HasSubstr(text));
    if (it.hides != nullptr) {
      EXPECT_THAT(all_of(step), Not(HasSubstr(it.hides)));
    }
    // What one step cannot tell is no doubt of the device's state.
    if (it.verdict != kUnknown) {
      EXPECT_GE(answer.level, it.verdict);
    }
    if (it.verdict >= kWarning) {
      EXPECT_FALSE(step.confirm.empty());
      EXPECT_NE(answer.conclusion, healthy.conclusion);
    }
  }
}

TEST(Doctor, TheCauseOfASilentRecorderIsTheOneCounted) {
  const auto cause = [](const std::string& reason) {
    return step_of("daemon", set("jetmem_history_up", 0,
                                 "jetmem_history_errors_total{reason=\"" + reason + "\"}", 4))
        .cause;
  };
  EXPECT_THAT(cause("disk_full"), AllOf(HasSubstr("full"), Not(HasSubstr("read-only"))));
  EXPECT_THAT(cause("read_only"), HasSubstr("read-only"));
}

TEST(Doctor, MemoryInTheKernelsOwnObjectsIsNotBlamedOnPrograms) {
  const auto memory = [](double slab) {
    return step_of("memory", set(kAvailable, 200 * kMiB, "jetmem_meminfo_SUnreclaim_bytes", slab));
  };
  EXPECT_THAT(memory(5 * kGiB).cause, HasSubstr("5 GiB"));
  EXPECT_THAT(memory(5 * kGiB).remedy, HasSubstr("slabtop"));
  EXPECT_THAT(memory(kGiB).remedy, HasSubstr("jetmem top"));
}

TEST(Doctor, AHealthyDeviceIsOk) {
  const DoctorAnswer answer = asked(healthy_device());
  EXPECT_EQ(answer.level, kOk);
  EXPECT_EQ(answer.conclusion, "Nothing is wrong with this device's memory.");
  for (const auto& step : answer.steps) {
    EXPECT_EQ(step.verdict, kOk) << step.name << "\n" << all_of(step);
    EXPECT_FALSE(step.summary.empty()) << step.name;
    EXPECT_TRUE(step.remedy.empty()) << step.name;
  }
}

TEST(Doctor, ASourceThatIsPendingOrSkippedIsNoFault) {
  DeviceNow now = healthy_device();
  const auto daemon = [&] { return *asked(now).step("daemon"); };
  SourceNow& source = now.sources.front();
  source.state = "pending";
  EXPECT_EQ(daemon().summary, "jetmemd runs; not read yet: meminfo.");
  source.state = "ok";
  source.stale = true;
  source.skipped = "reading it would hold a lock for 6.9 ms";
  EXPECT_EQ(daemon().verdict, kOk);
  source.skipped.clear();
  EXPECT_EQ(daemon().verdict, kWarning);
}

TEST(Doctor, MissingEventsAreNoted) {
  FakeHistory past;
  DeviceNow now = healthy_device();
  EXPECT_THAT(examine(now, &past).notes, testing::IsEmpty());
  now.no_events = "history.db: Input/output error";
  EXPECT_THAT(examine(now, &past).notes, testing::Contains(HasSubstr(now.no_events)));
}

TEST(Doctor, AnEmptyDeviceIsUnknown) {
  const DoctorAnswer answer = asked(DeviceNow());
  EXPECT_EQ(answer.level, kUnknown);
  for (const auto& step : answer.steps) {
    EXPECT_EQ(step.verdict, kUnknown) << step.name;
    EXPECT_FALSE(step.summary.empty()) << step.name;
  }
}

// Each source taken away makes at least one step unknown or worse, with its reason.
TEST(Doctor, DeniedSourcesAreUnknownWithTheMissingRight) {
  const std::pair<const char*, const char*> kNeeds[] = {
      {"boot", "restart"},     {"meminfo", "memory"}, {"buddyinfo", "fragmentation"},
      {"kernel_log", "smmu"},  {"kernel_log", "oom"}, {"thermal", "thermal"},
      {"nvmap", "gpu_memory"}, {"probe", "probes"},   {"device", "versions"},
      {"throttle", "thermal"}, {"cma", "cma"}};
  for (const auto& [source, name] : kNeeds) {
    SCOPED_TRACE(source);
    DeviceNow now =
        healthy_device({{kCmaUsed, kGone},
                        {"jetmem_nvmap_total_bytes", kGone},
                        {"jetmem_probe_state{kind=\"host\",state=\"ok\",target=\"\"}", kGone}});
    set_source(now, source, "denied", "Permission denied", "CAP_SYSLOG");
    const DoctorAnswer::Step step = *asked(now).step(name);
    EXPECT_EQ(step.verdict, kUnknown) << all_of(step);
    EXPECT_THAT(all_of(step), AllOf(HasSubstr("Permission denied"), HasSubstr("CAP_SYSLOG")));
  }
}

TEST(Doctor, AKernelWithoutCmaOnAPcDoesNotApply) {
  DeviceNow now =
      healthy_device({{"jetmem_meminfo_CmaTotal_bytes", kGone},
                      {kCmaUsed, kGone},
                      {kThisDevice, kGone},
                      {"jetmem_device_info{kernel=\"6.1\",l4t=\"\",model=\"PC\",soc=\"\"}", 1}});
  set_source(now, "cma", "absent", "this kernel has no CMA");
  const DoctorAnswer::Step step = *asked(now).step("cma");
  EXPECT_EQ(step.verdict, kOk);
  EXPECT_THAT(step.summary, HasSubstr("Not applicable"));
}

TEST(Doctor, WhatNvmapDoesBeyondTheAllocatableDependsOnTheRelease) {
  for (const auto& [l4t, text] :
       {std::pair("36.4.7", "36.4.7 may refuse requests near or above that"),
        std::pair("35.6.3", "35.6.3 may refuse requests near or above that"),
        std::pair("36.2.0", "36.2.0 grants larger requests"),
        std::pair("36.4.4", "36.4.4 grants larger requests"), std::pair("36.5.0", "is not known"),
        std::pair("", "is not known")}) {
    Changes changes = release(l4t);
    changes["jetmem_nvmap_allocatable_bytes"] = kGiB;
    changes["jetmem_nvmap_page_pool_bytes"] = 144 * kMiB;
    EXPECT_THAT(all_of(step_of("gpu_memory", changes)),
                AllOf(HasSubstr(text), HasSubstr("144 MiB more in its page pool")))
        << l4t;
    EXPECT_THAT(all_of(step_of("memory", changes)), HasSubstr("page pool has 144 MiB"));
  }
}

TEST(Doctor, WhereHoldersAreNotKnownTheLikelyAreNamedAsAGuess) {
  const std::string growth =
      "jetmem_process_group_trend_bytes_per_second{command=\"grower\",container=\"\",unit=\"\"}";
  Changes known{{kOrphans, 2 * kGiB},
                {"jetmem_dmabuf_holder_descriptors{command=\"argus-like\"}", 9120},
                {"jetmem_dmabuf_holder_descriptors{command=\"other\"}", 20000},
                {growth, kMiB}};
  const auto text = [&] { return all_of(step_of("gpu_memory", known)); };
  EXPECT_THAT(text(), testing::ContainsRegex(
                          "May be held by argus-like .9,120 .*, grower .grows by 1 MiB/s"));
  known[growth] = 20;
  EXPECT_THAT(text(), Not(HasSubstr("grower"))) << "70 KiB an hour";
  DeviceNow cut = healthy_device(known);
  for (SourceNow& source : cut.sources) {
    if (source.name == "dmabuf") source.absent_values = {{"walk_cut", 1}};
  }
  EXPECT_THAT(all_of(*asked(cut).step("gpu_memory")),
              HasSubstr("(at least 9,120 DMA-BUF descriptors, the most of all programs examined)"));
  // What is known needs no guess.
  known["jetmem_dmabuf_clientless_bytes"] = 0;
  EXPECT_THAT(text(), Not(HasSubstr("ay be held by")));
}

DeviceNow firing(const std::string& name, const std::string& severity,
                 const Changes& changes = {}) {
  DeviceNow now = healthy_device(changes);
  now.alerts->rules.clear();
  raise_alert(now, name, "firing", severity);
  AlertsAnswer::Rule& rule = now.alerts->rules.back();
  rule.runbook = "/usr/share/doc/jetmem/runbooks/some-page.md";
  rule.alerts.back().cause = "the cause";
  rule.alerts.back().remedy = "the remedy";
  return now;
}

TEST(Doctor, AFiringAlertDecidesItsStep) {
  const DoctorAnswer::Step step = *asked(firing("JetmemSmmuStorm", "critical")).step("smmu");
  EXPECT_EQ(step.verdict, kCritical);
  EXPECT_EQ(step.summary, "JetmemSmmuStorm is so.");
  EXPECT_EQ(step.cause, "the cause");
  EXPECT_EQ(step.runbook, "some-page");
  EXPECT_EQ(step.evidence.front().time, kMorning - 60);
  EXPECT_EQ(asked(firing("JetmemGpuFreeHidden", "info")).level, kOk);
}

// Each shipped rule has its own step; the last step reports the others.
TEST(Doctor, EachShippedRuleHasItsStep) {
  const ParsedRules shipped = parse_rules(shipped_rules());
  ASSERT_GT(shipped.rules.rules.size(), 30U);
  for (const Rule& rule : shipped.rules.rules) {
    const DoctorAnswer answer = asked(firing(rule.name.c_str(), "critical"));
    EXPECT_EQ(answer.level, kCritical) << rule.name;
    EXPECT_EQ(answer.step("alerts")->verdict, kOk) << rule.name;
  }
}

TEST(Doctor, LocalRulesAreReported) {
  const DoctorAnswer answer = asked(firing("OurOwnRule", "critical"));
  EXPECT_EQ(answer.level, kCritical);
  EXPECT_EQ(answer.reason, "OurOwnRule is so");
  EXPECT_EQ(answer.found_by, "alerts");
  EXPECT_EQ(answer.step("alerts")->remedy, "the remedy");
  EXPECT_THAT(all_of(*answer.step("alerts")), HasSubstr("Alert OurOwnRule is firing"));
}

// One reading cannot evaluate what needs history: "nothing is wrong" is unknown then.
TEST(Doctor, UnevaluatedRulesAreUnknown) {
  DeviceNow now = healthy_device();
  now.by = SnapshotOrigin::kCapture;
  now.alerts->local_snapshot = true;
  AlertsAnswer::Rule& leak = now.alerts->rules.emplace_back();
  leak.name = "JetmemMemoryLeak";
  leak.severity = "warning";
  leak.state = "unknown";
  const auto is_unknown_for = [&](const char* reason) {
    const DoctorAnswer answer = examine(now, nullptr, "no history");
    EXPECT_EQ(answer.level, kUnknown);
    EXPECT_THAT(answer.step("alerts")->summary, HasSubstr(reason));
  };
  is_unknown_for("1 of 2 rules");
  now.alerts.reset();
  now.no_alerts = "the rules cannot be read";
  is_unknown_for("the rules cannot be read");
  // The recorder of the daemon that judged them tells what fired.
  FakeHistory past;
  past.known.newest = ns(kMorning);
  EXPECT_EQ(examine(now, &past).level, kOk);
  past.known.newest = ns(kMorning - 86400);
  EXPECT_EQ(examine(now, &past).level, kUnknown);
}

// "Nothing is wrong" over an event that somebody has to look at would be a lie.
TEST(Doctor, EveryKindIsSeenByItsStep) {
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    const std::string kind(info.name);
    SCOPED_TRACE(kind);
    // As an event, and as a count without one: the list of events is bounded.
    for (const bool listed : {true, false}) {
      DeviceNow now = healthy_device({{events(kind), 1}, {last_seen(kind), kMorning - 600}});
      if (listed) now.events.push_back(kernel_event(kind, "who", kMorning - 600));
      const DoctorAnswer answer = asked(now);
      const DoctorAnswer::Step* const step = answer.step(info.step);
      ASSERT_NE(step, nullptr) << info.step;
      const bool harmless =
          info.level == LogLevel::kInfo || kind == "hugetlb_failure" || kind == "camera_error";
      EXPECT_EQ(step->verdict >= kWarning, !harmless) << all_of(*step);
      if (harmless) continue;
      EXPECT_NE(answer.conclusion, "Nothing is wrong with this device's memory.");
      EXPECT_FALSE(step->remedy.empty());
      EXPECT_EQ(step->runbook.empty(), info.runbook.empty());
      EXPECT_THAT(all_of(*step), HasSubstr(listed ? "who" : ""));
    }
  }
}

TEST(Doctor, SuppressedMessagesAreOfTheStepOfTheirFunction) {
  for (const auto& [function, kind, of] :
       {std::tuple("warn_alloc", "page_alloc_failure", "fragmentation"),
        std::tuple("cma_alloc", "cma_alloc_failure", "cma"),
        std::tuple("arm_smmu_context_fault", "smmu_context_fault", "smmu")}) {
    DeviceNow now = healthy_device({{events("ratelimit_suppressed"), 1}});
    EventRecord line = kernel_event("ratelimit_suppressed", "", kMorning - 600);
    line.fields = R"({"function":")" + std::string(function) + R"(","count":5})";
    now.events.push_back(line);
    const DoctorAnswer answer = asked(now);
    for (const char* step : {"fragmentation", "cma", "smmu"}) {
      const bool here = step == std::string_view(of);
      EXPECT_EQ(answer.step(step)->verdict == kWarning, here) << function << " " << step;
      EXPECT_EQ(all_of(*answer.step(step)).find(kind) != std::string::npos, here)
          << function << "\n"
          << all_of(*answer.step(step));
    }
  }
}

// An event says more than the alert on its kind.
TEST(Doctor, TheCauseIsThatOfTheEvent) {
  DeviceNow now = firing("JetmemBounceBufferFull", "warning", {{events("swiotlb_full"), 1}});
  EventRecord full = kernel_event("swiotlb_full", "fe007000.dma", kMorning - 600);
  full.fields = R"({"dev":"fe007000.dma","size":524276,"total":32768,"used":0})";
  now.events.push_back(full);
  const DoctorAnswer::Step step = *asked(now).step("dma");
  EXPECT_EQ(step.verdict, kWarning);
  EXPECT_THAT(step.cause, HasSubstr("512 KiB"));
  EXPECT_EQ(step.runbook, "swiotlb-full");
}

// A log without its other sources, as of a bundle cut short.
TEST(Doctor, EventsDoNotVanishWithAnotherSource) {
  DeviceNow now = healthy_device({{events("page_alloc_failure"), 1},
                                  {events("kmemleak"), 1},
                                  {events("cuda_alloc_failure"), 1}});
  for (const char* source : {"buddyinfo", "meminfo", "nvmap", "device", "cma"}) {
    set_source(now, source, "absent", "not there");
  }
  const DoctorAnswer answer = asked(now);
  for (const char* step : {"fragmentation", "memory", "gpu_memory"}) {
    EXPECT_EQ(answer.step(step)->verdict, kWarning) << all_of(*answer.step(step));
  }
}

// The area and who asked for DMA memory tell of the same request within a second.
TEST(Doctor, AFailureLoggedTwiceCountsOnce) {
  DeviceNow now =
      healthy_device({{events("cma_alloc_failure"), 3}, {events("dma_alloc_failure"), 2}});
  for (const double at : {-100.0, -90.0, -80.0}) {
    now.events.push_back(kernel_event("cma_alloc_failure", "linux,cma", kMorning + at));
    if (at != -80) {
      now.events.push_back(kernel_event("dma_alloc_failure", "vi", kMorning + at + 0.1));
    }
  }
  const DoctorAnswer answer = asked(now);
  EXPECT_THAT(all_of(*answer.step("cma")), HasSubstr(": 3 since boot"));
  EXPECT_THAT(answer.conclusion, HasSubstr("3 failures"));
}

// The sentence is the newest event's; the number is not.
TEST(Doctor, TheNumberOfAKindIsNotThatOfItsNewestEvent) {
  DeviceNow now = healthy_device({{events("gpu_xid"), 2}});
  now.events = {kernel_event("gpu_xid", "13", kMorning - 100),
                kernel_event("gpu_xid", "13", kMorning - 200)};
  EXPECT_THAT(asked(now).step("gpu")->summary, HasSubstr("13: 2 since boot"));
  now.events[1].summary = "another";
  EXPECT_THAT(asked(now).step("gpu")->summary, HasSubstr("; events of kind gpu_xid: 2 since boot"));
}

TEST(Doctor, HarmlessEventsAreShownButNotReported) {
  DeviceNow now = healthy_device({{events("gpu_mmu_fault"), 1}, {events("dma_alloc_failure"), 1}});
  now.events = {kernel_event("gpu_mmu_fault", "fec00000.v3d", kMorning - 600),
                kernel_event("dma_alloc_failure", "nvme0", kMorning - 100)};
  now.events[0].fields = R"({"dev":"fec00000.v3d","client":"CLE"})";
  now.events[1].fields = R"({"dev":"nvme0","fallback":true})";
  const DoctorAnswer::Step step = *asked(now).step("gpu");
  EXPECT_EQ(step.verdict, kOk);
  EXPECT_THAT(all_of(step), HasSubstr("fec00000.v3d"));
  EXPECT_EQ(asked(now).step("cma")->verdict, kOk);
  // One of another device, of which no more is known, is one.
  now.events.push_back(kernel_event("dma_alloc_failure", "", kMorning - 90));
  EXPECT_EQ(asked(now).step("cma")->verdict, kWarning);
}

TEST(Doctor, TheOomCommandCoversAllKinds) {
  const std::string confirm = asked(healthy_device()).step("oom")->confirm;
  EXPECT_THAT(confirm, HasSubstr("oom_kill,oom_kill_memcg,oom_no_victim"));
}

TEST(Doctor, HostileNamesAreMadeSafe) {
  DeviceNow now = healthy_device({{kAvailable, 100 * kMiB}});
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

TEST(Doctor, JsonRoundTrip) {
  DeviceNow now = healthy_device({{kAvailable, 100 * kMiB}});
  now.notes.push_back("a note");
  now.events.push_back(kernel_event("oom_kill", "python3", kMorning - 60));
  const std::string json = doctor_json(examine(now, nullptr, "no file"));
  const auto back = parse_doctor(json);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(doctor_json(*back), json);
}

TEST(Doctor, AnAnswerWithoutVerdictsIsRefused) {
  for (const char* text : {"", "[]", R"({"schema":"jetmem-doctor/1"})",
                           R"({"schema":"jetmem-doctor/1","verdict":"ok"})"}) {
    EXPECT_FALSE(parse_doctor(text)) << text;
  }
  for (const std::string word : {"jetmem-doctor/1", "\"ok\""}) {
    std::string broken = doctor_json(asked(healthy_device()));
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
  const DoctorAnswer answer = asked(now);
  EXPECT_EQ(answer.step("oom")->evidence.size(), DoctorAnswer::kMaxEvidence);
  EXPECT_GT(answer.step("oom")->evidence_omitted, 400U);
  EXPECT_LE(answer.timeline.size(), DoctorAnswer::kMaxTimeline);
  EXPECT_LT(doctor_json(answer).size(), 100'000U);
}

}  // namespace
}  // namespace jetmem
