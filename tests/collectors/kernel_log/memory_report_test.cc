// SPDX-License-Identifier: Apache-2.0
#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::string_view kReport =
    "Mem-Info:\n"
    "active_anon:412 inactive_anon:381122 isolated_anon:0\n"
    " slab_reclaimable:9012 slab_unreclaimable:41100\n"
    " free:25301 free_pcp:0 free_cma:11\n"
    "Node 0 DMA free:69192kB min:40960kB low:51200kB high:61440kB free_cma:44kB\n"
    "Node 0 Normal free:31988kB min:36864kB low:46080kB high:55296kB free_cma:0kB\n"
    "Free swap  = 1024kB\n"
    "Total swap = 4096kB\n"
    "983040 pages RAM\n"
    "25000 pages reserved\n"
    "65536 pages cma reserved\n";

constexpr std::string_view kFields =
    "slab_unreclaimable_pages=41100 free_pages=25301 free_dma_kb=69192 min_dma_kb=40960 "
    "free_cma_kb=44 free_normal_kb=31988 min_normal_kb=36864 swap_free_kb=1024 swap_total_kb=4096 "
    "ram_pages=983040 reserved_pages=25000 cma_pages=65536";

TEST(KernelLogMemoryReport, WithoutItsHeadItIsAnEvent) {
  EXPECT_EQ(one(kReport), "memory_report " + std::string(kFields));
  EXPECT_EQ(one("Normal free:2348kB min:2896kB low:3620kB high:4344kB"),
            "memory_report free_normal_kb=2348 min_normal_kb=2896");
  EXPECT_EQ(one("Total swap = 0kB"), "memory_report swap_total_kb=0");
}

TEST(KernelLogMemoryReport, IsKeptWithTheEventAboveIt) {
  EXPECT_EQ(one("app invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n" +
                std::string(kReport)),
            "oom_invoked comm=app gfp=0xcc0 order=0 oom_score_adj=0 " + std::string(kFields));
  const std::string failure =
      one("app: page allocation failure: order:3, mode:0xcc0(GFP_KERNEL), nodemask=(null)\n" +
          std::string(kReport));
  EXPECT_EQ(failure.substr(0, 18), "page_alloc_failure");
  EXPECT_NE(failure.find("cma_pages=65536"), std::string::npos);
}

// The second report belongs to the second failure.
TEST(KernelLogMemoryReport, GoesToTheLatest) {
  const std::string_view failure =
      "app: page allocation failure: order:3, mode:0xcc0(GFP_KERNEL), nodemask=(null)\n";
  const std::vector<Event> events = events_of(std::string(failure) + "Total swap = 1kB\n" +
                                              std::string(failure) + "Total swap = 2kB\n");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].number("swap_total_kb"), 1);
  EXPECT_EQ(events[1].number("swap_total_kb"), 2);
}

TEST(KernelLogMemoryReport, HarmlessAndCut) {
  EXPECT_EQ(decoded("983040 pages RAM\n"
                    "Mem-Info:\n"
                    "Total swap = many\n"
                    "Node 0 DMA free:69192\n"
                    "a zone free:5kB min:5kB\n"
                    "Memory: 3898640K/4050944K available (131072K cma-reserved)\n"),
            "");
}

TEST(KernelLogMemoryReport, CountsBehindOtherWordsAreNotOfIt) {
  constexpr std::string_view kHead = "Total swap = 4096kB\n";
  const auto of = [&](std::string_view line) { return decoded(std::string(kHead).append(line)); };
  EXPECT_EQ(of("dce: a slab_unreclaimable:614 Queue\n"), of(""));
  EXPECT_NE(of(" slab_reclaimable:9012 slab_unreclaimable:41100\n"), of(""));
  EXPECT_NE(of(" free:22123 slab_reclaimable:9012 slab_unreclaimable:41100\n"), of(""));
}

TEST(KernelLogMemoryReport, Sentence) {
  EXPECT_EQ(sentence_of("Node 0 Normal free:2048kB min:4096kB low:1kB\n"),
            "the kernel printed a memory report; zone Normal had 2 MiB free, below its min "
            "watermark of 4 MiB");
}

TEST(KernelLogMemoryReport, CutLines) { expect_filter_agrees_on_cut_lines("memory_report.txt"); }

}  // namespace
}  // namespace jetmem::kernel_log
