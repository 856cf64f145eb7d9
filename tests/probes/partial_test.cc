// SPDX-License-Identifier: Apache-2.0
#include "probes/partial.h"

#include <gmock/gmock.h>

#include "collectors/probe/source.h"
#include "probes/request.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;

const std::string kBegun =
    "begun {\"schema\":\"jetmem-probe/1\",\"version\":\"9.1\",\"pid\":47,\"started\":"
    "{\"boot_microseconds\":5,\"wall_microseconds\":6},\"frame_bytes\":65536,"
    "\"before\":{\"gpu_hertz\":7e8,\"absent\":{\"emc_hertz\":\"not told\"}}}\n";
const std::string kGpu = "gpu {\"state\":\"ok\",\"name\":\"Orin\",\"start\":[]}\n";

std::string done(const std::string& kind, const std::string& more = "") {
  return "done {\"kind\":\"" + kind + "\",\"target\":\"\",\"state\":\"ok\"" + more +
         ",\"rungs\":[{\"bytes\":65536,\"mismatches\":0,\"steps\":[{\"step\":\"allocate\","
         "\"seconds\":1.25e-05}]}],\"ratios\":[]}\n";
}

// What it makes of the pieces, as everybody reads it.
ProbeRun run_of(const std::string& text) {
  const std::string line = partial_probe_result(text, milliseconds(1500));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  ProbeRun run;
  const auto parsed = parse_probe_run(line, run);
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  return run;
}

std::vector<std::string> kinds_of(const std::string& text) {
  std::vector<std::string> kinds;
  for (const ProbeRun::Probe& probe : run_of(text).probes) kinds.push_back(probe.kind);
  return kinds;
}

bool is_nothing(const std::string& text) {
  return partial_probe_result(text, milliseconds(1)).empty();
}

TEST(PartialProbe, IsAResultOfWhatWasDone) {
  const ProbeRun run = run_of("jetmem-probe/1 pid 47\nat conditions - before 0\n" + kBegun +
                              "at pinned - start 0\n" + kGpu + done("pinned") + done("device") +
                              "at nvbufsurface - start 0\n");
  EXPECT_EQ(run.version, "9.1");
  EXPECT_EQ(run.pid, 47U);
  EXPECT_EQ(run.started_boot, std::chrono::microseconds(5));
  EXPECT_EQ(run.started_wall, std::chrono::microseconds(6));
  EXPECT_EQ(run.seconds, 1.5);
  EXPECT_EQ(run.frame_bytes, 65536U);
  EXPECT_EQ(run.before.gpu_hertz, 7e8);
  ASSERT_EQ(run.before.absent.size(), 1U);
  EXPECT_EQ(run.group(), "cuda");
  ASSERT_TRUE(run.gpu);
  EXPECT_EQ(run.gpu->name, "Orin");
  ASSERT_EQ(run.probes.size(), 2U);
  ASSERT_EQ(run.probes[0].size_steps.size(), 1U);
  EXPECT_EQ(run.probes[0].size_steps[0].steps[0].seconds, 1.25e-05);
  EXPECT_EQ(run.probes[1].kind, "device");
}

TEST(PartialProbe, WhatWasNotReadAtItsEndIsAbsentWithAReason) {
  const ProbeRun run = run_of(kBegun + done("host"));
  EXPECT_EQ(run.group(), "memory");
  EXPECT_FALSE(run.after.gpu_hertz) << "not that of the beginning";
  ASSERT_EQ(run.after.absent.size(), 6U);
  for (const auto& [what, why] : run.after.absent) {
    EXPECT_EQ(why, "the run did not come to its end") << what;
  }
}

TEST(PartialProbe, OfNothingIsNothing) {
  EXPECT_TRUE(is_nothing(""));
  EXPECT_TRUE(is_nothing("jetmem-probe/1 pid 47\nat host - allocate 65536\n"));
  EXPECT_TRUE(is_nothing(kBegun + kGpu)) << "nothing was done";
  EXPECT_TRUE(is_nothing(done("host"))) << "nobody knows when and where";
  EXPECT_TRUE(is_nothing(done("host") + kBegun)) << "not in this order";
}

TEST(PartialProbe, APieceThatIsNoneIsLeftOut) {
  for (const char* broken :
       {"done {}\n", "done 7\n", "done {\"kind\":\"dmabuf\"\n", "done \n", "done\n",
        "done {\"kind\":\"dmabuf\",\"state\":\"ok\",\"rungs\":[{\"bytes\":-1,\"steps\":[]}]}\n",
        "done {\"kind\":\"dmabuf\",\"state\":7}\n",
        "done {\"kind\":\"\xff\",\"state\":\"ok\"}\n"}) {
    EXPECT_EQ(kinds_of(kBegun + done("host") + broken + done("pinned")),
              (std::vector<std::string>{"host", "pinned"}))
        << broken;
  }
  std::string deep = "done ";
  for (int i = 0; i < 5000; ++i) deep += "{\"kind\":";
  EXPECT_EQ(kinds_of(kBegun + done("host") + deep + "\n"), std::vector<std::string>{"host"});
}

TEST(PartialProbe, APieceThatWasCutIsLeftOut) {
  const std::string last = done("device");
  for (std::size_t left = 1; left <= last.size(); ++left) {
    EXPECT_EQ(kinds_of(kBegun + done("host") + last.substr(0, last.size() - left)),
              std::vector<std::string>{"host"})
        << left;
  }
}

TEST(PartialProbe, WithoutASoundBeginningThereIsNothing) {
  const auto with = [](std::string_view from, std::string_view to) {
    std::string text = kBegun;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string other = with("probe/1", "probe/2");
  EXPECT_TRUE(is_nothing(other + done("host")));
  EXPECT_EQ(kinds_of(other + kBegun + done("host")), std::vector<std::string>{"host"});
  EXPECT_TRUE(is_nothing(with("\"pid\"", "\"Pid\"") + done("host")));
  EXPECT_TRUE(is_nothing("begun []\n" + done("host")));
  EXPECT_TRUE(is_nothing(kBegun.substr(0, 60) + "\n" + done("host")));
  // Nor with a GPU that is none: the run would count as one without CUDA.
  for (const char* broken : {"gpu {\n", "gpu 1\n", "gpu {\"state\":1}\n", "gpu null\n"}) {
    EXPECT_TRUE(is_nothing(kBegun + broken + done("pinned"))) << broken;
  }
}

TEST(PartialProbe, IsBounded) {
  std::string text = kBegun;
  for (int i = 0; i < 100; ++i) text += done("kind" + std::to_string(i));
  EXPECT_EQ(run_of(text).probes.size(), 64U);
  text = kBegun + done("host");
  while (text.size() < kMaxProbeOutput) text += "done {}\n";
  text += done("pinned");
  EXPECT_EQ(kinds_of(text), std::vector<std::string>{"host"}) << "it does not look at all of them";
  EXPECT_TRUE(is_nothing(kBegun + done("host", ",\"x\":\"" + std::string(600000, 'x') + '"')));
}

TEST(PartialProbe, DoesNotChangeWhatElseIsTaken) {
  const std::string pieces =
      "jetmem-probe/1 pid 47\n" + kBegun + "at host - free 65536\n" + kGpu + done("host");
  EXPECT_EQ(split_probe_output(pieces).at->words(), "host free 65536 bytes");
  EXPECT_EQ(split_probe_output(pieces).result, "");
  EXPECT_EQ(split_probe_output(pieces + "{\"schema\":1}\n").result, "{\"schema\":1}");
}

TEST(ProbeRequest, IsACommandLine) {
  ProbeRequest request;
  request.kinds = {"host", "dmabuf"};
  request.frame_bytes = 8192;
  request.largest_runs = {{"linux,cma", 65536}, {"a b", 1}, {"", 2}, {"x=y", 3}, {"bad\n", 4}};
  request.deadline = std::chrono::seconds(30);
  EXPECT_EQ(probe_request_line(request),
            "--kinds host,dmabuf --frame 8192 --largest-run linux,cma=65536 --deadline 30 "
            "--progress\n");
  // It forces and bisects only when asked.
  request = {};
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
  // Of a run that died it says where.
  const ProbeOutput died =
      split_probe_output("jetmem-probe/1 pid 47\nat conditions - before 0\nat pinned - allo");
  ASSERT_TRUE(died.at);
  EXPECT_EQ(died.at->words(), "conditions before");
  EXPECT_EQ(died.result, "");
}

TEST(ProbeOutput, AResultThatWasCutIsNone) {
  for (const char* cut : {"{\"schema\":1}", "{\"schema\":1}\nat host - free 1\n", ""}) {
    EXPECT_EQ(split_probe_output(cut).result, "") << cut;
  }
  EXPECT_EQ(split_probe_output("{\"a\":1}\n{\"b\":1}\n").result, "{\"b\":1}");
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
