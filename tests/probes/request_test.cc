// SPDX-License-Identifier: Apache-2.0
#include "probes/request.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

TEST(ProbeRequest, IsACommandLine) {
  ProbeRequest request;
  request.kinds = {"host", "dmabuf"};
  request.frame_bytes = 8192;
  request.largest_runs = {{"linux,cma", 65536}, {"a b", 1}, {"", 2}, {"x=y", 3}, {"bad\n", 4}};
  request.deadline = std::chrono::seconds(30);
  EXPECT_EQ(probe_request_line(request),
            "--kinds host,dmabuf --frame 8192 --largest-run linux,cma=65536 --deadline 30 "
            "--progress\n");
}

TEST(ProbeRequest, ForcesAndBisectsOnlyWhenAsked) {
  ProbeRequest request;
  request.kinds = {"pinned"};
  request.any_heap = true;
  request.bisect_limit = 1U << 30;
  EXPECT_EQ(probe_request_line(request),
            "--kinds pinned --frame 12582912 --any-heap --bisect 1073741824 --deadline 60 "
            "--progress\n");
}

TEST(ProbeOutput, IsTakenApart) {
  const ProbeOutput output = split_probe_output(
      "jetmem-probe/1 pid 47\nat host - allocate 65536\nat dmabuf linux,cma map 12582912\n"
      "{\"schema\":1}\n");
  EXPECT_EQ(output.pid, 47U);
  ASSERT_TRUE(output.at);
  EXPECT_EQ(output.at->kind, "dmabuf");
  EXPECT_EQ(output.at->target, "linux,cma");
  EXPECT_EQ(output.at->step, "map");
  EXPECT_EQ(output.at->bytes, 12582912U);
  EXPECT_EQ(output.at->words(), "dmabuf linux,cma map 12582912 bytes");
  EXPECT_EQ(output.result, "{\"schema\":1}");
}

TEST(ProbeOutput, OfARunThatDiedSaysWhere) {
  const ProbeOutput output =
      split_probe_output("jetmem-probe/1 pid 47\nat conditions - before 0\nat pinned - allo");
  ASSERT_TRUE(output.at);
  EXPECT_EQ(output.at->words(), "conditions before");
  EXPECT_EQ(output.result, "");
}

TEST(ProbeOutput, AResultThatWasCutIsNone) {
  EXPECT_EQ(split_probe_output("{\"schema\":1}").result, "");
  EXPECT_EQ(split_probe_output("{\"schema\":1}\nat host - free 1\n").result, "");
  EXPECT_EQ(split_probe_output("{\"a\":1}\n{\"b\":1}\n").result, "{\"b\":1}");
  EXPECT_EQ(split_probe_output("").result, "");
}

TEST(ProbeOutput, ShowsNothingThatIsNotPrintable) {
  const ProbeOutput output = split_probe_output("at \x1b[2J " + std::string(4000, 'x') + " y 1\n");
  const std::string words = output.at->words();
  EXPECT_LE(words.size(), 170U);
  EXPECT_EQ(words.find('\x1b'), std::string::npos);
  EXPECT_EQ(split_probe_output("jetmem-probe/1 pid 99999999999999999999999\n").pid, 0U);
}

}  // namespace
}  // namespace jetmem
