// SPDX-License-Identifier: Apache-2.0
// Which cause is chosen, by its code; the words are held only as far as numbers and names go.
#include "report/diagnosis/cause.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "collectors/kernel_log/event/kinds.h"
#include "report/diagnosis/kind_care.h"
#include "report/diagnosis/known_issues.h"

namespace jetmem::diagnosis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

EventRecord event_of(const std::string& kind, const std::string& fields,
                     const std::string& summary = "") {
  EventRecord out;
  out.kind = kind;
  out.origin = "system";
  out.fields = fields;
  out.summary = summary;
  return out;
}

std::vector<Cause> explain_all(const std::vector<EventRecord>& events,
                               const MachineFacts& facts = {}) {
  std::vector<const EventRecord*> list;
  for (const EventRecord& each : events) list.push_back(&each);
  return explain(list, facts);
}

Cause only(const EventRecord& event, const MachineFacts& facts = {}) {
  const std::vector<Cause> causes = explain_all({event}, facts);
  EXPECT_FALSE(causes.empty()) << event.kind;
  return causes.empty() ? Cause() : causes.front();
}

struct Row {
  const char* kind;
  const char* fields;
  const char* id;
  const char* shows = "";  // a number or name in the words
};

const Row kRows[] = {
    // Three causes of a refused bounce buffer, three remedies.
    {"swiotlb_full", R"({"dev":"a.mmc","size":524276,"total":32768,"used":0})",
     "swiotlb-mapping-too-large", "512 KiB"},
    {"swiotlb_full", R"({"dev":"b.npu","size":6422528})", "swiotlb-mapping-too-large", "b.npu"},
    {"swiotlb_full", R"({"dev":"0000:05:00.0","size":4000,"total":32768,"used":32768})",
     "swiotlb-exhausted", "swiotlb=65536"},
    {"swiotlb_full", R"({"dev":"c","size":65536,"total":32768,"used":20000})", "swiotlb-fragmented",
     "20,000 of 32,768"},
    {"swiotlb_full", R"({"dev":"c","size":4096,"total":32768,"used":0})", "swiotlb-out-of-reach"},
    {"swiotlb_full", R"({"dev":"c","size":16384})", "swiotlb-full", "16 KiB"},
    {"dma_map_failure", R"({"dev":"0001:01:00.0","mask":"0xffffffff"})", "dma-mask-too-narrow",
     "0xffffffff"},
    {"dma_map_failure", R"({"dev":"c","errno":12})", "dma-map-failed", "12"},
    {"iova_exhausted", R"({"dev":"drm"})", "iova-exhausted", "drm"},
    {"cma_alloc_failure", R"({"pages":19200,"errno":12})", "cma-refused", "cma=512M"},
    {"cma_alloc_failure", R"({"pages":19200,"errno":12,"free":90,"total":16384})", "cma-too-small",
     "64 MiB"},
    {"cma_alloc_failure", R"({"pages":3000,"errno":12,"free":90,"total":16384})", "cma-exhausted"},
    {"cma_alloc_failure", R"({"pages":3000,"errno":12,"free":9000,"total":16384,"largest":2000})",
     "cma-fragmented", "7.8 MiB"},
    {"cma_alloc_failure", R"({"pages":30,"errno":16})", "cma-pinned"},
    {"dma_alloc_failure", R"({"dev":"1cb0000.csi","size":7561216})", "dma-no-contiguous",
     "1cb0000.csi"},
    {"gpu_alloc_failure", R"({"dev":"3fc00000.v3d","bos":389,"bos_kb":126112})", "bos-fill-cma",
     "123 MiB"},
    {"reserved_memory_failure", R"({"node":"linux,cma"})", "cma-not-reserved", "512 MiB"},
    {"reserved_memory_failure", R"({"node":"vpr"})", "reserved-memory-failed", "vpr"},
    {"page_alloc_failure", R"({"comm":"kswapd0","order":3,"gfp":"0x20"})", "pages-atomic",
     "vm.min_free_kbytes"},
    {"page_alloc_failure", R"j({"comm":"x","order":0,"mode":"0xa20(GFP_ATOMIC)"})j",
     "pages-atomic"},
    {"page_alloc_failure", R"j({"comm":"x","order":5,"mode":"0xcc0(GFP_KERNEL)"})j",
     "pages-fragmented", "128 KiB"},
    {"page_alloc_failure", R"j({"comm":"x","order":0,"mode":"0xcc0(GFP_KERNEL)"})j",
     "memory-exhausted"},
    {"oom_kill", R"({"comm":"java"})", "memory-exhausted"},
    {"oom_kill", R"({"comm":"java","swap_total_kb":1000,"swap_free_kb":900})", "oom-swap-unused"},
    {"oom_kill_memcg", R"({"comm":"a","memcg":"/docker/x"})", "oom-group-limit", "/docker/x"},
    {"zram_error", R"({"err":-12,"op":"write"})", "zram-no-room"},
    {"zram_error", R"({"op":"read"})", "zram-damaged"},
    {"swap_error", R"({"op":"read","dev":"8:0"})", "swap-read"},
    {"swap_error", R"({"op":"write","dev":"254:0"})", "swap-write"},
    {"memory_error", R"({"severity":"CE","count":4,"label":"CPU#0Channel#2_DIMM#0","mc":0})",
     "ecc-corrected", "CPU#0Channel#2_DIMM#0"},
    {"memory_error", R"({"severity":"UE","label":"DIMM_A1"})", "ecc-uncorrected", "DIMM_A1"},
    {"memory_error", R"({"severity":"UE","name":"L2 cache"})", "cache-error-uncorrected"},
    {"memory_error", R"j({"severity":"UE","error":"Illegal address (software fault)"})j",
     "software-address"},
    {"memory_error", R"({"pfn":"0x1234","outcome":"Recovered"})", "page-poisoned", "Recovered"},
    {"gpu_ecc_error", R"({"dev":"17000000.gpu","severity":"uncorrected"})", "gpu-ecc-uncorrected"},
    {"bus_error", R"({"error":"SLAVE_ERR","address":"0x381031c"})", "bus-access-refused",
     "0x381031c"},
    {"bus_error", R"({"error":"SError","cpu":1})", "serror", "CPU 1"},
    {"smmu_context_fault", R"({"client":"vic","fault":"translation","iova":"0x1000"})",
     "smmu-unmapped", "vic"},
    {"smmu_context_fault", R"({"client":"vic","fault":"permission"})", "smmu-permission"},
    {"smmu_context_fault", R"({"client":"vic","fault":"external abort"})", "smmu-abort"},
    {"smmu_v3_event", R"({"event":"0x07","sid":"0x100"})", "smmu-ats", "pci=noats"},
    {"smmu_v3_event", R"({"event":"0x10","sid":"0x100"})", "smmu-unmapped"},
    {"smmu_v3_event", R"({"event":"0x02","sid":"0x100"})", "smmu-configuration"},
    {"smmu_global_fault", R"({"sid":"0x12"})", "smmu-configuration", "0x12"},
    {"gpu_mmu_fault", R"({"dev":"fec00000.v3d","client":"CLE"})", "v3d-read-ahead"},
    {"gpu_mmu_fault", R"({"pci":"0000:0b:00.0","comm":"python"})", "gpu-bad-address", "python"},
    {"gpu_hang", R"({"dev":"fec00000.v3d"})", "gpu-hung", "fec00000.v3d"},
    {"gpu_error", R"({"dev":"17000000.gpu","function":"ga10b_acr_patch_wpr_info_to_ucode"})",
     "gpu-firmware-mismatch", "nvidia-l4t"},
    {"gpu_xid", R"({"xid":31,"comm":"python3"})", "xid-program", "python3"},
    {"gpu_xid", R"({"xid":79})", "xid-bus"},
    {"gpu_xid", R"({"xid":119})", "xid-firmware"},
    {"gpu_xid", R"({"xid":48})", "xid-memory"},
    {"nvmap", R"({"errno":12})", "gpu-buffer-refused", "drop_caches"},
    {"nvmap", R"({"errno":13})", "gpu-permission", "video"},
    {"cuda_alloc_failure", R"({"size":6960120064,"free":12823035904})", "gpu-refused-though-free",
     "6.5 GiB"},
    {"cuda_alloc_failure", R"({"size":6960120064,"free":123035904})", "gpu-buffer-too-large"},
    {"cuda_alloc_failure", R"({"size":622329856,"library":"TensorRT"})", "tensorrt-workspace"},
    {"program_alloc_failure", R"({"library":"RKNN","size":3085697024,"errno":14})", "npu-buffer",
     "2.9 GiB"},
    {"cuda_alloc_failure",
     R"({"library":"pytorch","size_text":"2.00 GiB","free_text":"102.80 MiB"})",
     "gpu-buffer-too-large", "2 GiB"},
    {"cuda_alloc_failure", R"({"library":"tensorflow","size_text":"2.13GiB","fallback":true})",
     "allocation-optional"},
    {"program_alloc_failure",
     R"({"library":"ollama","size_text":"6.3 GiB","available_text":"4.1 GiB"})", "program-refuses",
     "4.1 GiB"},
    {"program_alloc_failure", R"({"library":"argus"})", "media-buffer"},
    {"page_alloc_failure", R"({"order":2,"free_normal_kb":100000,"free_cma_kb":98000})",
     "pages-only-cma", "96 MiB"},
    {"page_alloc_failure", R"({"order":2,"free_highmem_kb":1000})", "lowmem-short"},
    {"memory_report", R"({"free_normal_kb":900,"min_normal_kb":2000})", "memory-exhausted"},
    {"memory_report", R"({"free_normal_kb":9000,"min_normal_kb":2000})", "memory-report"},
    {"nvbufsurface", R"({"function":"NvReleaseFd","fd":1292})", "nvbuf-stale-fd", "1292"},
    {"host1x_timeout", R"({"dev":"13e10000.host1x","syncpt":"31"})", "engine-stuck", "31"},
    {"camera_timeout", R"({"dev":"tegra-capture-vi","timeout_ms":2500})", "camera-no-frames",
     "2500 ms"},
    {"hung_task", R"({"comm":"kworker/2:0","seconds":966})", "task-stuck", "966"},
    {"rcu_stall", R"({"flavour":"rcu_preempt"})", "cpu-stuck"},
    {"storage_error", R"({"dev":"mmc0"})", "storage-failing", "mmc0"},
    // None fits: the kind as such.
    {"kmemleak", R"({"count":3})", "kmemleak"},
};

TEST(Causes, AreChosenByTheFields) {
  for (const Row& row : kRows) {
    const Cause cause = only(event_of(row.kind, row.fields));
    EXPECT_EQ(cause.id, row.id) << row.kind << " " << row.fields;
    EXPECT_THAT(cause.cause + cause.remedy, HasSubstr(row.shows)) << row.id;
    EXPECT_FALSE(cause.cause.empty()) << row.id;
    EXPECT_FALSE(cause.remedy.empty()) << row.id;
    EXPECT_FALSE(cause.runbook.empty()) << row.id;
  }
}

// Whatever is missing: no placeholder is left, and no sentence with a hole.
TEST(Causes, AreWholeWithoutAnyField) {
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    const Cause cause = only(event_of(std::string(info.name), "{}"));
    for (const std::string& text : {cause.cause, cause.remedy}) {
      EXPECT_FALSE(text.empty()) << info.name;
      EXPECT_THAT(text, Not(HasSubstr("{"))) << info.name;
      EXPECT_THAT(text, Not(HasSubstr("}"))) << info.name;
    }
    EXPECT_THAT(cause.cause, Not(HasSubstr("an unknown value"))) << info.name << ": " << cause.id;
    ASSERT_FALSE(cause.cause.empty());
    const char first = cause.cause[0];
    EXPECT_FALSE(first >= 'b' && first <= 'z') << info.name << ": " << cause.cause;
  }
}

TEST(Causes, EachIsOfOneGroupAndComplete) {
  std::set<std::string_view> ids;
  for (const CauseGroup* group : cause_groups()) {
    for (const CauseText& each : group->texts) {
      EXPECT_TRUE(ids.insert(each.id).second) << each.id;
      EXPECT_FALSE(each.remedy.empty()) << each.id;
      EXPECT_EQ(std::count(each.cause.begin(), each.cause.end(), '{'),
                std::count(each.cause.begin(), each.cause.end(), '}'))
          << each.id;
    }
  }
  EXPECT_EQ(ids.size(), cause_ids().size());
}

// The first cannot be told from a refusal of GPU memory without looking at the machine.
TEST(Causes, AreChosenByTheMachine) {
  constexpr double kGiB = 1 << 30;
  const EventRecord refused = event_of("cuda_alloc_failure", R"({"size":1476114816})");
  MachineFacts facts;
  facts.total = 8 * kGiB;
  facts.available = 5 * kGiB;
  facts.free = 0.3 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-free-hidden");
  EXPECT_EQ(only(refused, facts).runbook, "gpu-free-hidden");
  facts.free = 4.5 * kGiB;
  facts.bytes_in_2m_blocks = 0.1 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-no-2m-blocks");
  facts.bytes_in_2m_blocks = 4.0 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-buffer-refused");
  facts.available = 0.5 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-memory-short");

  const EventRecord cma = event_of("cma_alloc_failure", R"({"pages":1846,"errno":12})");
  facts.cma_total = 0;
  EXPECT_EQ(only(cma, facts).id, "cma-missing");
  facts.cma_total = 1 << 20;
  EXPECT_EQ(only(cma, facts).id, "cma-too-small");

  MachineFacts arm32;
  arm32.is_32_bit_arm = true;
  EXPECT_EQ(only(event_of("page_alloc_failure", R"({"order":3})"), arm32).id, "lowmem-short");
  MachineFacts stuck;
  stuck.backtrace_modules = {"v3d", "gpu_sched"};
  const Cause cause = only(event_of("hung_task", R"({"comm":"kworker/2:0"})"), stuck);
  EXPECT_EQ(cause.id, "task-stuck-gpu");
  EXPECT_THAT(cause.cause, HasSubstr("gpu_sched, v3d"));
}

// What comes with it decides: a reset makes the V3D's fault a real one.
TEST(Causes, AreChosenByTheOtherEvents) {
  const auto ids = [](const std::vector<EventRecord>& events) {
    std::vector<std::string> out;
    for (const Cause& each : explain_all(events)) out.push_back(each.id);
    return out;
  };
  const EventRecord fault = event_of("gpu_mmu_fault", R"({"dev":"fec00000.v3d","client":"CLE"})");
  const EventRecord hang = event_of("gpu_hang", R"({"dev":"fec00000.v3d"})");
  EXPECT_THAT(ids({fault}), ElementsAre("v3d-read-ahead"));
  EXPECT_THAT(ids({fault, hang}), testing::Contains("gpu-hung"));
  EXPECT_THAT(ids({fault, hang}), Not(testing::Contains("v3d-read-ahead")));
  EXPECT_THAT(ids({event_of("rcu_stall", "{}"), event_of("bus_error", R"({"error":"SError"})")}),
              ElementsAre("serror", "cpu-stuck-bus"));
  EXPECT_THAT(ids({event_of("camera_timeout", "{}"), event_of("dma_alloc_failure", "{}")}),
              testing::Contains("camera-no-memory"));
}

TEST(Causes, ACmaRefusalAtBootIsHarmless) {
  EventRecord event = event_of("cma_alloc_failure", R"({"pages":2025,"errno":12})");
  event.at = std::chrono::milliseconds(125);
  EXPECT_EQ(only(event).id, "cma-boot-fallback");
  EXPECT_EQ(only(event).harm, Harm::kNone);
  EXPECT_EQ(explain_all({event, event_of("dma_alloc_failure", R"({"dev":"vi"})")}).front().id,
            "cma-refused");
  event.at = std::chrono::seconds(60);
  EXPECT_EQ(only(event).id, "cma-refused");
}

TEST(Causes, EventsOfOneCauseAndDeviceAreOne) {
  std::vector<EventRecord> events(5, event_of("iova_exhausted", R"({"dev":"a"})"));
  events.push_back(event_of("iova_exhausted", R"({"dev":"b"})"));
  events[0].count = 10;
  const std::vector<Cause> causes = explain_all(events);
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].events, 14U);
  EXPECT_EQ(causes[1].device, "b");
  // Those of jetmem's own probe need no explanation.
  events.resize(1);
  events[0].origin = "probe";
  EXPECT_TRUE(explain_all(events).empty());
}

TEST(Causes, TextsAreFilled) {
  const Values values{{"a", "1"}, {"b", "2"}};
  EXPECT_EQ(fill("x {a}{? and {b}}{? or {c}}.", values), "x 1 and 2.");
  EXPECT_EQ(fill("{?{a}{? or {c}}}", values), "");
  EXPECT_EQ(fill("{dev} {", values), "a device an unknown value");
}

TEST(Causes, BrokenFieldsAreNone) {
  for (const char* fields :
       {"", "[", "[1]", "{\"size\":", "{\"size\":null}", "{\"dev\":{}}", "{\"size\":\"0x\"}",
        "{\"errno\":1e300}", "{\"dev\":\"\\u001b[2J\"}"}) {
    const Cause cause = only(event_of("swiotlb_full", fields));
    EXPECT_FALSE(cause.cause.empty()) << fields;
    EXPECT_THAT(cause.cause, Not(HasSubstr("\x1b"))) << fields;
  }
}

TEST(KindCare, EveryKindHasAStepARunbookAndARuleOrAReason) {
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    const KindCare* const care = care_of(info.name);
    ASSERT_NE(care, nullptr) << info.name << " is missing in kind_care.cc";
    EXPECT_FALSE(care->step.empty()) << info.name;
    EXPECT_FALSE(care->runbook.empty()) << info.name;
    EXPECT_NE(care->rule.empty(), care->no_rule.empty()) << info.name;
  }
}

TEST(KnownIssues, TheShippedOnesAreValid) {
  const KnownIssues& shipped = shipped_known_issues();
  for (const ConfigError& error : shipped.errors) ADD_FAILURE() << error.message;
  EXPECT_GT(shipped.issues.size(), 8U);
}

TEST(KnownIssues, MatchByReleaseAndSign) {
  const auto ids = [](const std::string& l4t, const std::string& kernel) {
    MachineFacts facts;
    facts.l4t = l4t;
    facts.kernel = kernel;
    std::string out;
    for (const Cause& each :
         explain_all({event_of("hung_task", R"({"comm":"kworker/2:0","workqueue":"host1x v3d"})")},
                     facts)) {
      out += each.id + " ";
    }
    return out;
  };
  EXPECT_THAT(ids("", "6.18.34+rpt-rpi-v8"), HasSubstr("v3d-reset-6.18"));
  EXPECT_THAT(ids("", "6.12.1"), Not(HasSubstr("v3d-reset-6.18")));
  // Which release it is may be unknown: then the words say for which it holds.
  const auto of_tensorrt = [](const std::string& l4t) {
    MachineFacts facts;
    facts.l4t = l4t;
    std::string out;
    for (const Cause& each :
         explain_all({event_of("cuda_alloc_failure", R"({"library":"tensorrt"})")}, facts)) {
      if (each.id == "l4t-36-myelin-scratch") out = each.cause;
    }
    return out;
  };
  EXPECT_THAT(of_tensorrt("36.5.0"), Not(HasSubstr("Known issue, if")));
  EXPECT_THAT(of_tensorrt(""), HasSubstr("Known issue, if this is L4T 36.4.7, 36.5.0"));
  EXPECT_EQ(of_tensorrt("36.4.4"), "");
  EXPECT_EQ(known_issues_of_release("36.4.7").size(), 1U);
  EXPECT_TRUE(known_issues_of_release("36.4.4").empty());
  EXPECT_TRUE(known_issues_of_release("").empty());
  const KnownIssues family = parse_known_issues(
      "f",
      "known_issues:\n"
      "  - {id: a, l4t: 36.4.x, by_release: true, cause: c, remedy: r, runbook: nvmap-cap, source: "
      "s}\n");
  EXPECT_EQ(known_issues_of_release("36.4.3", family).size(), 1U);
  EXPECT_TRUE(known_issues_of_release("36.40.1", family).empty());
  EXPECT_TRUE(known_issues_of_release("36.5.0", family).empty());
}

TEST(KnownIssues, WhatIsWrongInTheFileIsSaid) {
  const std::string whole =
      "known_issues:\n"
      "  - {id: a, l4t: 36.4.7, kinds: nvmap, cause: c, remedy: r, runbook: nvmap-cap, source: "
      "s}\n";
  EXPECT_EQ(parse_known_issues("f", whole).issues.size(), 1U);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"id: a, ", ""},
           {"id: a", "id: A b"},
           {"36.4.7", "36.4.x.1"},
           {"kinds: nvmap", "kinds: nvmapp"},
           {", source: s", ""},
           {"source: s", "links: ftp://x"},
           {"cause: c", "why: c"},
           {"remedy: r, ", ""},
           {"kinds: nvmap, ", ""},
           {"known_issues:\n", "known_issues: 3\nrest:\n"}}) {
    std::string broken = whole;
    ASSERT_NE(broken.find(from), std::string::npos) << from;
    broken.replace(broken.find(from), from.size(), to);
    const KnownIssues parsed = parse_known_issues("f", broken);
    EXPECT_FALSE(parsed.errors.empty()) << broken;
    EXPECT_TRUE(parsed.issues.empty()) << broken;
  }
}

TEST(LogFacts, OfTheMachineFromItsLog) {
  const std::string text =
      "[    0.000000] Linux version 5.15.148-tegra (buildbrain@mobile-u64)\n"
      "[    0.000000] Kernel command line: root=/dev/mmcblk0p1 swiotlb=65535 cma=256M\n"
      "[    0.000000] software IO TLB: mapped [mem 0xf7fff000-0xfffff000] (128MB)\n"
      "[    0.000000] cma: Reserved 256 MiB at 0x00000000f0000000\n"
      "# R36 (release), REVISION: 4.7, GCID: 41062509, BOARD: generic\n"
      "[ 8338.504182]  v3d_bin_job_timedout+0x80/0xa0 [v3d]\n"
      "[ 8338.504221]  drm_sched_job_timedout+0x80/0x180 [gpu_sched]\n"
      "CUDA0: Orin (15655 MiB, 12229 MiB free)\n"
      "nvgpu: 17000000.gpu nvgpu_x:12 [ERR] a+0x1/0x2 [ERR]\n";
  for (const std::size_t piece : {text.size(), std::size_t{1}, std::size_t{7}}) {
    LogFacts log;
    for (std::size_t at = 0; at < text.size(); at += piece) log.feed(text.substr(at, piece));
    log.finish();
    const MachineFacts& facts = log.facts();
    EXPECT_EQ(facts.kernel, "5.15.148-tegra");
    EXPECT_EQ(facts.l4t, "36.4.7");
    EXPECT_THAT(facts.command_line, HasSubstr("swiotlb=65535"));
    EXPECT_EQ(facts.swiotlb_bytes, 128.0 * (1 << 20));
    EXPECT_EQ(facts.cma_total, 256.0 * (1 << 20));
    EXPECT_THAT(facts.backtrace_modules, ElementsAre("gpu_sched", "v3d"));
    EXPECT_FALSE(facts.is_32_bit_arm);
    EXPECT_EQ(facts.gpu_free, 12229.0 * (1 << 20));
  }
}

TEST(LogFacts, OtherWaysToSayIt) {
  const auto facts_of_line = [](const std::string& line) {
    LogFacts log;
    log.feed(line);
    log.finish();
    return log.facts();
  };
  EXPECT_EQ(facts_of_line("[2.0] CPU: 3 PID: 118 Comm: kworker/3:1H Tainted: G         C        "
                          "4.19.63-v8-g75f1d14ce #1")
                .kernel,
            "4.19.63-v8-g75f1d14ce");
  EXPECT_EQ(facts_of_line("ii  nvidia-l4t-core 36.4.7-20250918154033 arm64").l4t, "36.4.7");
  EXPECT_EQ(facts_of_line("Jetson Orin Nano, L4T 36.5.0.").l4t, "36.5.0");
  EXPECT_EQ(facts_of_line("L4T is fine").l4t, "");
  EXPECT_EQ(facts_of_line("CmaTotal:         262144 kB").cma_total, 262144.0 * 1024);
  EXPECT_TRUE(facts_of_line("[<c0013e1c>] (unwind_backtrace+0x0/0xf0) from [<c008e01c>] (x)")
                  .is_32_bit_arm);
  const std::string overlong(1 << 20, 'x');
  EXPECT_EQ(facts_of_line(overlong + "\nLinux version 6.1.0 x\n").kernel, "6.1.0");
}

}  // namespace
}  // namespace jetmem::diagnosis
