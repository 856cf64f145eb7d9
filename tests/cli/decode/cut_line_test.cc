// SPDX-License-Identifier: Apache-2.0
#include "cli/decode/cut_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/text/text.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using kernel_log::EventKind;
using testing::HasSubstr;

constexpr std::string_view kRefused =
    "cma: cma_alloc: linux,cma: alloc failed, req-size: 148 pages, ret: -16";

TEST(CutLine, BeginningAndEnd) {
  CutLines lines;
  EXPECT_EQ(lines.kind_of(kRefused.substr(0, 48), false), EventKind::kCmaAllocFailure);
  EXPECT_EQ(lines.kind_of("oc: alloc failed, req-size: 9 pages, ret: -1", true),
            EventKind::kCmaAllocFailure);
  EXPECT_EQ(lines.kind_of("cma: cma_alloc: alloc fai...", false), EventKind::kCmaAllocFailure);
}

TEST(CutLine, TheMiddleIsMissing) {
  CutLines lines;
  for (const std::string_view error :
       {"EMEM address decode error", "VPR violation", "Route Sanity error"}) {
    EXPECT_EQ(lines.kind_of("tegra-mc 2c00000.memory-controller: " + std::string(error), false),
              EventKind::kMcError)
        << error;
  }
}

TEST(CutLine, TooLittleOrAnotherMessage) {
  CutLines lines;
  for (const std::string_view text :
       {"", "cma", "cma: Reserved 256 MiB at 0x6fc00000", "usb 1-1: new high-speed USB device",
        "cma: cma_alloc(cma (____ptrval____), count 4050, align 8)"}) {
    EXPECT_EQ(lines.kind_of(text, true), std::nullopt) << text;
  }
}

TEST(CutLine, NoHarmlessLineIsOne) {
  CutLines lines;
  std::ifstream in(std::string(JETMEM_FIXTURES) + "/kernel-log/benign.txt");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  ASSERT_FALSE(text.empty());
  Lines benign(text);
  std::string_view line;
  while (benign.next(line)) EXPECT_EQ(lines.kind_of(line, false), std::nullopt) << line;
}

TEST(CutLine, DecodeReportsIt) {
  const TempDir dir;
  const std::string log = "[   71.250000] cma: cma_alloc: alloc failed, re\n";
  const CommandRun text = run_command({"decode", "kernel-log", dir.write("log", log)});
  EXPECT_THAT(text.out, HasSubstr("line 1 [71.250000]: cut line, probably cma_alloc_failure\n"));
  EXPECT_THAT(text.out, HasSubstr("1 of them cut"));
  const CommandRun json = run_command({"decode", "kernel-log", "--json", dir.write("log", log)});
  EXPECT_EQ(json.out, "{\"cut_line\":\"cma_alloc_failure\",\"line\":1,\"time\":\"71.250000\"}\n");
}

TEST(CutLine, ABareLineToo) {
  const TempDir dir;
  const std::string log = "arm-smmu 12000000.iommu: Unhandled context fault\n";
  const CommandRun run = run_command({"decode", "kernel-log", "--json", dir.write("log", log)});
  EXPECT_EQ(run.out, "{\"cut_line\":\"smmu_context_fault\",\"line\":1}\n");
}

TEST(CutLine, IsNoFurtherEvent) {
  const TempDir dir;
  const std::string log = "[   71.250000] " + std::string(kRefused) +
                          "\n[   71.350000] cma: cma_alloc: alloc failed, re\n";
  EXPECT_THAT(run_command({"decode", "kernel-log", dir.write("log", log)}).out,
              HasSubstr("(1 event)"));
  const std::string cut = "[   71.350000] cma: cma_alloc: alloc failed, re\n";
  EXPECT_THAT(run_command({"decode", "kernel-log", dir.write("log", cut)}).out,
              HasSubstr("(cut lines)"));
}

}  // namespace
}  // namespace jetmem
