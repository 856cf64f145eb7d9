// SPDX-License-Identifier: Apache-2.0
// The doctor's steps by one look, without a past.
#include "report/doctor/doctor.h"

#include <gmock/gmock.h>

#include "collectors/kernel_log/event/kinds.h"
#include "rules/model/rules.h"
#include "tests/report/doctor/doctor_past.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string all_of(const DoctorAnswer::Step& step) {
  std::string out = step.summary + "\n";
  for (const auto& each : step.evidence) out += each.text + "\n";
  return out;
}

using enum Verdict;
using Changes = std::map<std::string, double>;

struct Case {
  const char* name;
  const char* step;
  Verdict verdict;
  const char* shows;  // names and numbers
  Changes changes;
};

// Or ctest shows its bytes.
void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

const double kGone = NAN;
const std::string kAvailable = "jetmem_meminfo_MemAvailable_bytes";
const std::string kCmaUsed = "jetmem_cma_used_ratio{area=\"linux,cma\"}";
const std::string kMemoryLow = "jetmem_daemon_memory_low_bytes";
const std::string kOomScore = "jetmem_process_oom_score_adj{process=\"jetmemd\"}";
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
    {"Orphans", "gpu_memory", kWarning, "2 GiB",
     set("jetmem_nvmap_orphan_bytes{heap=\"iovmm\"}", 2 * kGiB)},
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
};

class DoctorSteps : public testing::TestWithParam<Case> {};

TEST_P(DoctorSteps, EvaluateOneSnapshot) {
  const Case& it = GetParam();
  const DoctorAnswer healthy = examine(healthy_device(), nullptr, "");
  const DoctorAnswer::Step* const before = healthy.step(it.step);
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(before->verdict, Verdict::kOk) << all_of(*before);

  const DoctorAnswer answer = examine(healthy_device(it.changes), nullptr, "");
  const DoctorAnswer::Step& step = *answer.step(it.step);
  EXPECT_EQ(step.verdict, it.verdict) << all_of(step);
  EXPECT_THAT(all_of(step), HasSubstr(it.shows));
  // What one step cannot tell is no doubt of the device's state.
  if (it.verdict != Verdict::kUnknown) {
    EXPECT_GE(answer.level, it.verdict);
  }
  if (it.verdict >= Verdict::kWarning) {
    EXPECT_FALSE(step.confirm.empty());
    EXPECT_NE(answer.conclusion, healthy.conclusion);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, DoctorSteps, testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Doctor, TheCauseOfASilentRecorderIsTheOneCounted) {
  const auto cause = [](const Changes& changes) {
    return examine(healthy_device(changes), nullptr, "").step("daemon")->cause;
  };
  const auto errors = [](const std::string& reason) {
    return "jetmem_history_errors_total{reason=\"" + reason + "\"}";
  };
  const std::string full = cause(set("jetmem_history_up", 0, errors("disk_full"), 4));
  EXPECT_THAT(full, HasSubstr("full"));
  EXPECT_THAT(full, Not(HasSubstr("read-only")));
  EXPECT_THAT(cause(set("jetmem_history_up", 0, errors("read_only"), 1)), HasSubstr("read-only"));
}

TEST(Doctor, MemoryInTheKernelsOwnObjectsIsNotBlamedOnPrograms) {
  const auto memory = [](double slab) {
    const Changes changes = set(kAvailable, 200 * kMiB, "jetmem_meminfo_SUnreclaim_bytes", slab);
    return *examine(healthy_device(changes), nullptr, "").step("memory");
  };
  EXPECT_THAT(memory(5 * kGiB).cause, HasSubstr("5 GiB"));
  EXPECT_THAT(memory(5 * kGiB).remedy, HasSubstr("slabtop"));
  EXPECT_THAT(memory(kGiB).remedy, HasSubstr("jetmem top"));
}

TEST(Doctor, HeatThatNothingReportsIsUnknown) {
  DeviceNow now =
      healthy_device(set("jetmem_thermal_zone_celsius{index=\"0\",zone=\"tj-thermal\"}", kGone));
  EXPECT_EQ(examine(now, nullptr, "").step("thermal")->summary,
            "No zone reports a temperature; nothing throttles the chip.");
  now.samples = healthy_device(set("jetmem_thermal_zone_celsius{index=\"0\",zone=\"tj-thermal\"}",
                                   kGone, "jetmem_throttling", kGone))
                    .samples;
  EXPECT_EQ(examine(now, nullptr, "").step("thermal")->verdict, Verdict::kUnknown);
}

TEST(Doctor, NotThrottledTakesKnowingAllCauses) {
  const auto thermal = [](double unread) {
    const Changes changes =
        set("jetmem_throttling", kGone,
            "jetmem_source_absent_values{reason=\"malformed\",source=\"throttle\"}", unread);
    return *examine(healthy_device(changes), nullptr, "").step("thermal");
  };
  EXPECT_EQ(thermal(1).verdict, Verdict::kUnknown);
  EXPECT_THAT(thermal(1).summary, HasSubstr("not every cause can be read"));
  // Over-current counters alone say nothing of it.
  EXPECT_EQ(thermal(0).verdict, Verdict::kOk);
  EXPECT_THAT(thermal(0).summary, Not(HasSubstr("throttled")));
}

TEST(Doctor, AHealthyDeviceIsOk) {
  const DoctorAnswer answer = examine(healthy_device(), nullptr, "");
  EXPECT_EQ(answer.level, Verdict::kOk);
  EXPECT_EQ(answer.conclusion, "Nothing is wrong with this device's memory.");
  for (const auto& step : answer.steps) {
    EXPECT_FALSE(step.summary.empty()) << step.name;
    EXPECT_TRUE(step.remedy.empty()) << step.name;
  }
}

TEST(Doctor, WhatIsNotReadYetIsNamed) {
  DeviceNow now = healthy_device();
  now.sources.front().state = "pending";
  const DoctorAnswer answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.step("daemon")->summary, "jetmemd runs; not read yet: meminfo.");
}

TEST(Doctor, ASourceThatIsSkippedIsNoFault) {
  DeviceNow now = healthy_device();
  now.sources.front().stale = true;
  now.sources.front().skipped = "reading it would hold a lock for 6.9 ms";
  DoctorAnswer answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.step("daemon")->verdict, Verdict::kOk);
  now.sources.front().skipped.clear();
  answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.step("daemon")->verdict, Verdict::kWarning);
}

TEST(Doctor, MissingEventsAreNoted) {
  FakeHistory past;
  DeviceNow now = healthy_device();
  now.by = SnapshotOrigin::kDaemon;
  const auto logged = [&] {
    std::string out;
    for (const std::string& each : examine(now, &past).notes) out += each + "\n";
    return out;
  };
  EXPECT_EQ(logged(), "");
  now.no_events = "history.db: Input/output error";
  EXPECT_THAT(logged(), HasSubstr("history.db: Input/output error"));
}

TEST(Doctor, AnEmptyDeviceIsUnknown) {
  const DoctorAnswer answer = examine(DeviceNow(), nullptr, "");
  EXPECT_EQ(answer.level, Verdict::kUnknown);
  for (const auto& step : answer.steps) {
    EXPECT_EQ(step.verdict, Verdict::kUnknown) << step.name;
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
    DeviceNow now =
        healthy_device({{kCmaUsed, NAN},
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
  DeviceNow now =
      healthy_device({{"jetmem_meminfo_CmaTotal_bytes", NAN},
                      {kCmaUsed, NAN},
                      {kThisDevice, NAN},
                      {"jetmem_device_info{kernel=\"6.1\",l4t=\"\",model=\"PC\",soc=\"\"}", 1}});
  set_source(now, "cma", "absent", "this kernel has no CMA");
  const DoctorAnswer answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.step("cma")->verdict, Verdict::kOk);
  EXPECT_THAT(answer.step("cma")->summary, HasSubstr("Not applicable"));
}

TEST(Doctor, ReleasesWithAKnownDefectAreNamed) {
  for (const auto& [l4t, verdict] :
       {std::pair("36.4.7", Verdict::kWarning), std::pair("36.4.4", Verdict::kOk),
        std::pair("36.5.0", Verdict::kOk), std::pair("35.6.3", Verdict::kWarning)}) {
    const DoctorAnswer answer =
        examine(healthy_device({{kThisDevice, NAN},
                                {"jetmem_device_info{kernel=\"5\",l4t=\"" + std::string(l4t) +
                                     "\",model=\"Orin\",soc=\"\"}",
                                 1}}),
                nullptr, "");
    EXPECT_EQ(answer.step("versions")->verdict, verdict) << l4t;
  }
}

TEST(Doctor, WhatNvmapDoesBeyondTheAllocatableDependsOnTheRelease) {
  for (const auto& [l4t, text] :
       {std::pair("36.4.7", "36.4.7 may refuse requests near or above that"),
        std::pair("35.6.3", "35.6.3 may refuse requests near or above that"),
        std::pair("36.2.0", "36.2.0 grants larger requests"),
        std::pair("36.4.4", "36.4.4 grants larger requests"), std::pair("36.5.0", "is not known"),
        std::pair("", "is not known")}) {
    const DoctorAnswer answer =
        examine(healthy_device({{kThisDevice, NAN},
                                {"jetmem_nvmap_allocatable_bytes", kGiB},
                                {"jetmem_nvmap_page_pool_bytes", 144 * kMiB},
                                {"jetmem_device_info{kernel=\"5\",l4t=\"" + std::string(l4t) +
                                     "\",model=\"Orin\",soc=\"tegra234\"}",
                                 1}}),
                nullptr, "");
    const std::string said = all_of(*answer.step("gpu_memory"));
    EXPECT_THAT(said, HasSubstr(text)) << l4t;
    EXPECT_THAT(said, HasSubstr("144 MiB more in its page pool"));
    EXPECT_THAT(all_of(*answer.step("memory")), HasSubstr("page pool has 144 MiB"));
  }
}

TEST(Doctor, AJetsonWithoutAReleaseIsStillOne) {
  const DoctorAnswer answer = examine(
      healthy_device(
          {{kThisDevice, NAN},
           {"jetmem_device_info{kernel=\"6.1\",l4t=\"\",model=\"Orin\",soc=\"tegra234\"}", 1}}),
      nullptr, "");
  const DoctorAnswer::Step& step = *answer.step("versions");
  EXPECT_EQ(step.verdict, Verdict::kUnknown);
  EXPECT_THAT(all_of(step), testing::Not(HasSubstr("not a Jetson")));
  EXPECT_THAT(all_of(step), HasSubstr("nv_tegra_release"));
}

TEST(Doctor, BuffersWithoutAClientHaveTheirHolders) {
  const std::map<std::string, double> known{
      {"jetmem_nvmap_orphan_bytes{heap=\"iovmm\"}", 2 * kGiB},
      {"jetmem_dmabuf_clientless_bytes", 1.5 * kGiB},
      {"jetmem_dmabuf_holder_clientless_bytes{command=\"argus-like\"}", 1.5 * kGiB}};
  const DoctorAnswer answer = examine(healthy_device(known), nullptr, "");
  const DoctorAnswer::Step& step = *answer.step("gpu_memory");
  EXPECT_EQ(step.verdict, Verdict::kWarning);
  EXPECT_THAT(step.summary, HasSubstr("argus-like holds 1.5 GiB"));
  EXPECT_THAT(all_of(step), HasSubstr("part): 512 MiB"));
}

TEST(Doctor, WhereHoldersAreNotKnownTheLikelyAreNamedAsAGuess) {
  std::map<std::string, double> known{
      {"jetmem_nvmap_orphan_bytes{heap=\"iovmm\"}", 2 * kGiB},
      {"jetmem_dmabuf_holder_descriptors{command=\"argus-like\"}", 9120},
      {"jetmem_dmabuf_holder_descriptors{command=\"other\"}", 20000},
      {"jetmem_process_group_trend_bytes_per_second{command=\"grower\",container=\"\",unit=\"\"}",
       kMiB}};
  const DoctorAnswer answer = examine(healthy_device(known), nullptr, "");
  EXPECT_THAT(
      all_of(*answer.step("gpu_memory")),
      testing::ContainsRegex("May be held by argus-like .9,120 .*, grower .grows by 1 MiB/s"));
  known
      ["jetmem_process_group_trend_bytes_per_second{command=\"grower\",container=\"\",unit=\"\"}"] =
          20;
  EXPECT_THAT(all_of(*examine(healthy_device(known), nullptr, "").step("gpu_memory")),
              testing::Not(HasSubstr("grower")))
      << "70 KiB an hour";
  DeviceNow cut = healthy_device(known);
  for (SourceNow& source : cut.sources) {
    if (source.name == "dmabuf") source.absent_values = {{"walk_cut", 1}};
  }
  EXPECT_THAT(all_of(*examine(cut, nullptr, "").step("gpu_memory")),
              HasSubstr("(at least 9,120 DMA-BUF descriptors, the most of all programs examined)"));
  // What is known needs no guess.
  known["jetmem_dmabuf_clientless_bytes"] = 0;
  const DoctorAnswer whole = examine(healthy_device(known), nullptr, "");
  EXPECT_THAT(all_of(*whole.step("gpu_memory")), testing::Not(HasSubstr("ay be held by")));
}

AlertsAnswer firing(const std::string& name, const std::string& severity) {
  DeviceNow now;
  now.alerts.emplace();
  raise_alert(now, name, "firing", severity);
  AlertsAnswer::Rule& rule = now.alerts->rules.back();
  rule.runbook = "/usr/share/doc/jetmem/runbooks/some-page.md";
  rule.alerts.back().cause = "the cause";
  rule.alerts.back().remedy = "the remedy";
  return *now.alerts;
}

TEST(Doctor, AFiringAlertDecidesItsStep) {
  DeviceNow now = healthy_device();
  now.alerts = firing("JetmemSmmuStorm", "critical");
  DoctorAnswer answer = examine(now, nullptr, "");
  const DoctorAnswer::Step& step = *answer.step("smmu");
  EXPECT_EQ(step.verdict, Verdict::kCritical);
  EXPECT_EQ(step.summary, "JetmemSmmuStorm is so.");
  EXPECT_EQ(step.cause, "the cause");
  EXPECT_EQ(step.runbook, "some-page");
  EXPECT_EQ(step.evidence.front().time, kMorning - 60);
  now.alerts = firing("JetmemGpuFreeHidden", "info");
  answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.level, Verdict::kOk);
}

// Each shipped rule has its own step; the last step reports the others.
TEST(Doctor, EachShippedRuleHasItsStep) {
  const ParsedRules shipped = parse_rules(shipped_rules());
  ASSERT_GT(shipped.rules.rules.size(), 30U);
  for (const Rule& rule : shipped.rules.rules) {
    DeviceNow now = healthy_device();
    now.alerts = firing(rule.name.c_str(), "critical");
    const DoctorAnswer answer = examine(now, nullptr, "");
    EXPECT_EQ(answer.level, Verdict::kCritical) << rule.name;
    EXPECT_EQ(answer.step("alerts")->verdict, Verdict::kOk) << rule.name;
  }
}

TEST(Doctor, LocalRulesAreReported) {
  DeviceNow now = healthy_device();
  now.alerts = firing("OurOwnRule", "critical");
  const DoctorAnswer answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.level, Verdict::kCritical);
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
  DoctorAnswer answer = examine(now, nullptr, "no history");
  EXPECT_EQ(answer.level, Verdict::kUnknown);
  EXPECT_THAT(answer.step("alerts")->summary, HasSubstr("1 of 2 rules"));
  now.alerts.reset();
  now.no_alerts = "the rules cannot be read";
  answer = examine(now, nullptr, "no history");
  EXPECT_EQ(answer.level, Verdict::kUnknown);
  EXPECT_THAT(answer.step("alerts")->summary, HasSubstr("the rules cannot be read"));
  // The recorder of the daemon that judged them tells what fired.
  FakeHistory past;
  past.known.newest = ns(kMorning);
  EXPECT_EQ(examine(now, &past).level, Verdict::kOk);
  past.known.newest = ns(kMorning - 86400);
  EXPECT_EQ(examine(now, &past).level, Verdict::kUnknown);
}

// "Nothing is wrong" over an event that somebody has to look at would be a lie.
TEST(Doctor, EveryKindIsSeenByItsStep) {
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    const std::string kind(info.name);
    // As an event, and as a count without one: the list of events is bounded.
    for (const bool listed : {true, false}) {
      DeviceNow now = healthy_device({{events(kind), 1}, {last_seen(kind), kMorning - 600}});
      if (listed) now.events.push_back(kernel_event(kind, "who", kMorning - 600));
      const DoctorAnswer answer = examine(now, nullptr, "");
      const DoctorAnswer::Step* const step = answer.step(info.step);
      ASSERT_NE(step, nullptr) << kind << ": " << info.step;
      const bool harmless =
          info.level == LogLevel::kInfo || kind == "hugetlb_failure" || kind == "camera_error";
      EXPECT_EQ(step->verdict >= Verdict::kWarning, !harmless) << kind << "\n" << all_of(*step);
      if (harmless) continue;
      EXPECT_NE(answer.conclusion, "Nothing is wrong with this device's memory.") << kind;
      EXPECT_FALSE(step->remedy.empty()) << kind;
      EXPECT_EQ(step->runbook.empty(), info.runbook.empty()) << kind;
      if (listed) {
        EXPECT_THAT(all_of(*step), HasSubstr("who")) << kind;
      }
    }
  }
}

TEST(Doctor, HarmlessEventsAreShownButNotReported) {
  DeviceNow now = healthy_device({{events("gpu_mmu_fault"), 1}});
  EventRecord fault = kernel_event("gpu_mmu_fault", "fec00000.v3d", kMorning - 600);
  fault.fields = R"({"dev":"fec00000.v3d","client":"CLE"})";
  now.events.push_back(fault);
  const DoctorAnswer answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.step("gpu")->verdict, Verdict::kOk);
  EXPECT_THAT(all_of(*answer.step("gpu")), HasSubstr("fec00000.v3d"));
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
    const DoctorAnswer answer = examine(now, nullptr, "");
    for (const char* step : {"fragmentation", "cma", "smmu"}) {
      const bool here = step == std::string_view(of);
      EXPECT_EQ(answer.step(step)->verdict == Verdict::kWarning, here) << function << " " << step;
      EXPECT_EQ(all_of(*answer.step(step)).find(kind) != std::string::npos, here)
          << function << "\n"
          << all_of(*answer.step(step));
    }
  }
}

// An event says more than the alert on its kind.
TEST(Doctor, TheCauseIsThatOfTheEvent) {
  DeviceNow now = healthy_device({{events("swiotlb_full"), 1}});
  EventRecord full = kernel_event("swiotlb_full", "fe007000.dma", kMorning - 600);
  full.fields = R"({"dev":"fe007000.dma","size":524276,"total":32768,"used":0})";
  now.events.push_back(full);
  now.alerts = firing("JetmemBounceBufferFull", "warning");
  const DoctorAnswer answer = examine(now, nullptr, "");
  const DoctorAnswer::Step& step = *answer.step("dma");
  EXPECT_EQ(step.verdict, Verdict::kWarning);
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
  const DoctorAnswer answer = examine(now, nullptr, "");
  for (const char* step : {"fragmentation", "memory", "gpu_memory"}) {
    EXPECT_EQ(answer.step(step)->verdict, Verdict::kWarning) << all_of(*answer.step(step));
  }
}

TEST(Doctor, AJetsonWithTheKernelsDefaultOfCmaIsTold) {
  const auto cma = [](double size) {
    return all_of(*examine(healthy_device({{"jetmem_meminfo_CmaTotal_bytes", size}}), nullptr, "")
                       .step("cma"));
  };
  EXPECT_THAT(cma(32 * kMiB), HasSubstr("CmaTotal is 32 MiB"));
  EXPECT_THAT(cma(256 * kMiB), Not(HasSubstr("CmaTotal is")));
}

TEST(Doctor, CacheThatCudaDoesNotSeeIsNoted) {
  DeviceNow now = healthy_device({{"jetmem_meminfo_MemFree_bytes", 300 * kMiB}});
  const DoctorAnswer answer = examine(now, nullptr, "");
  EXPECT_EQ(answer.step("gpu_memory")->verdict, Verdict::kOk);
  EXPECT_THAT(all_of(*answer.step("gpu_memory")), HasSubstr("300 MiB"));
  EXPECT_THAT(all_of(*answer.step("gpu_memory")), HasSubstr("make-room"));
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
  const DoctorAnswer answer = examine(now, nullptr, "");
  EXPECT_THAT(all_of(*answer.step("cma")), HasSubstr(": 3 since boot"));
  EXPECT_THAT(answer.conclusion, HasSubstr("3 failures"));
}

// The sentence is the newest event's; the number is not.
TEST(Doctor, TheNumberOfAKindIsNotThatOfItsNewestEvent) {
  DeviceNow now = healthy_device({{events("gpu_xid"), 2}});
  now.events.push_back(kernel_event("gpu_xid", "13", kMorning - 100));
  now.events.push_back(kernel_event("gpu_xid", "13", kMorning - 200));
  const std::string alike = examine(now, nullptr, "").step("gpu")->summary;
  EXPECT_THAT(alike, HasSubstr("13: 2 since boot"));
  now.events[1].summary = "another";
  const std::string mixed = examine(now, nullptr, "").step("gpu")->summary;
  EXPECT_THAT(mixed, HasSubstr("; events of kind gpu_xid: 2 since boot"));
}

TEST(Doctor, AnAllocationWithAFallbackIsNoFinding) {
  DeviceNow now = healthy_device({{events("dma_alloc_failure"), 1}});
  now.events.push_back(kernel_event("dma_alloc_failure", "nvme0", kMorning - 100));
  now.events.back().fields = R"({"dev":"nvme0","fallback":true})";
  EXPECT_EQ(examine(now, nullptr, "").step("cma")->verdict, Verdict::kOk);
  // One of another device, of which no more is known, is one.
  now.events.push_back(kernel_event("dma_alloc_failure", "", kMorning - 90));
  EXPECT_EQ(examine(now, nullptr, "").step("cma")->verdict, Verdict::kWarning);
}

TEST(Doctor, TheOomCommandCoversAllKinds) {
  const std::string confirm = examine(healthy_device(), nullptr, "").step("oom")->confirm;
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
  const std::string json = doctor_json(examine(healthy_device(), nullptr, ""));
  EXPECT_FALSE(parse_doctor(""));
  EXPECT_FALSE(parse_doctor("[]"));
  EXPECT_FALSE(parse_doctor("{\"schema\":\"jetmem-doctor/1\"}"));
  EXPECT_FALSE(parse_doctor("{\"schema\":\"jetmem-doctor/1\",\"verdict\":\"ok\"}"));
  for (const std::string word : {"jetmem-doctor/1", "\"ok\""}) {
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
  EXPECT_GT(answer.step("oom")->evidence_omitted, 400U);
  EXPECT_LE(answer.timeline.size(), DoctorAnswer::kMaxTimeline);
  EXPECT_LT(doctor_json(answer).size(), 100'000U);
}

}  // namespace
}  // namespace jetmem
