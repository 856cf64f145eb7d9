// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collectors/jetson/nvml/source.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

constexpr std::string_view kThor =
    "jetmem-nvml 1\n"
    "pid 3120\n"
    "library ok libnvidia-ml.so.1\n"
    "init ok\n"
    "driver ok 580.00\n"
    "gpus ok 1\n"
    "gpu 0 name ok NVIDIA Thor\n"
    "gpu 0 memory error NOT_SUPPORTED Not Supported\n"
    "gpu 0 bar1 error NOT_SUPPORTED Not Supported\n"
    "gpu 0 utilization ok 37 0\n"
    "gpu 0 compute ok 2 v3\n"
    "gpu 0 process compute 2460 42949672960\n"
    "gpu 0 process compute 1840 734003200\n"
    "gpu 0 graphics ok 2 v3\n"
    "gpu 0 process graphics 1377 0\n"
    "gpu 0 process graphics 1840 734003200\n"
    "gpu 0 mps error NOT_SUPPORTED Not Supported\n"
    "end\n";

class NvmlTest : public SourceTest<NvmlSource> {
 protected:
  void text(std::string_view text) { fixture.only("/jetmem/nvml", text); }
  // kThor with one line's text replaced.
  void with(std::string_view line, std::string_view by) {
    std::string changed(kThor);
    const std::size_t at = changed.find(line);
    ASSERT_NE(at, std::string::npos) << line;
    changed.replace(at, line.size(), by);
    text(changed);
  }
  // "name=7", of the first GPU.
  void expect(const std::string& series) { fixture.expect("jetmem_nvml_", series, "{gpu=0}"); }
  bool is_whole() { return fixture.reading().processes_whole; }
};

TEST_F(NvmlTest, FromTextToSamples) {
  text(kThor);
  ASSERT_TRUE(fixture.run());
  const std::vector<std::string> expected{
      R"(jetmem_nvml_gpu_info{driver="580.00",gpu="0",name="NVIDIA Thor"})",
      R"(jetmem_nvml_gpu_integrated{gpu="0"})",
      R"(jetmem_nvml_utilization_ratio{gpu="0"})",
      R"(jetmem_nvml_processes{gpu="0"})",
      R"(jetmem_nvml_process_memory_bytes{gpu="0"})",
  };
  EXPECT_EQ(fixture.keys(), expected) << "what Thor does not tell of its memory is not 0";
  expect("gpu_integrated=1 utilization_ratio=0.37 processes=3 process_memory_bytes=43683676160");
  EXPECT_EQ(absent("memory_not_supported"), 1U);
  const std::vector<Nvml::Process> processes{
      {0, 1377, 0}, {0, 1840, 734003200}, {0, 2460, 42949672960}};
  EXPECT_EQ(fixture.reading().processes, processes);
  EXPECT_EQ(fixture.reading().integrated, true);
}

TEST_F(NvmlTest, AllProcessesAreKnownOnlyWhenEveryListIs) {
  text(kThor);
  EXPECT_TRUE(is_whole());
  EXPECT_TRUE(fixture.reading().has_lists);
  const std::pair<const char*, const char*> bad[] = {
      {"compute ok 2 v3", "compute error NO_PERMISSION x"},
      {"graphics ok 2 v3", "graphics error NO_PERMISSION x"},
      {"compute ok 2 v3", "compute ok 5000 v3"},
      {"compute ok 2 v3", "compute ok many"},
      {"compute 2460 42949672960", "compute 2460 N/A"},
      {"compute 2460 42949672960", "compute 2460 x"},
      {"gpus ok 1", "gpus ok 2"},
  };
  for (const auto& [line, by] : bad) {
    with(line, by);
    ASSERT_TRUE(fixture.run()) << by;
    EXPECT_FALSE(is_whole()) << by;
    EXPECT_TRUE(fixture.reading().has_lists) << by;
    EXPECT_EQ(fixture.reading().integrated, true) << by;
  }
  // As Orin's driver may answer.
  text(
      "jetmem-nvml 1\nlibrary ok x\ninit ok\ngpus ok 1\ngpu 0 utilization ok 3 0\n"
      "gpu 0 compute error NOT_SUPPORTED x\nend\n");
  EXPECT_FALSE(is_whole());
  EXPECT_FALSE(fixture.reading().has_lists);
}

TEST_F(NvmlTest, IntegratedOrACardOrNotKnown) {
  with(
      "gpu 0 memory error NOT_SUPPORTED Not Supported\ngpu 0 bar1 error NOT_SUPPORTED Not "
      "Supported\n",
      "gpu 0 memory ok 25757220864 N/A 24683479040\ngpu 0 bar1 ok 268435456\n");
  expect("memory_bytes=25757220864 memory_free_bytes=24683479040 memory_used_bytes=none");
  EXPECT_EQ(absent("memory_not_available"), 1U);
  EXPECT_EQ(fixture.reading().integrated, false);
  // Whether it is integrated is not guessed.
  // Memory of its own, and no window into it: GH200 answers so.
  with("gpu 0 memory error NOT_SUPPORTED Not Supported", "gpu 0 memory ok 100 10 90");
  EXPECT_EQ(fixture.reading().integrated, std::nullopt);
  with("gpu 0 memory error NOT_SUPPORTED Not Supported", "gpu 0 memory error NO_PERMISSION x");
  EXPECT_EQ(fixture.reading().integrated, std::nullopt);
  EXPECT_EQ(absent("memory_denied"), 1U);
  with("end\n",
       "gpu 1 memory ok 100 10 90\ngpu 1 bar1 ok 5\ngpu 1 utilization ok 1 1\ngpu 1 compute ok 0 "
       "v3\nend\n");
  EXPECT_EQ(fixture.reading().integrated, std::nullopt) << "one is, the other is not";
  EXPECT_EQ(value("jetmem_nvml_gpu_integrated{gpu=1}"), 0);
}

TEST_F(NvmlTest, WhatIsNotReportedOfAProcessIsNoSumAndAListThatIsNotWholeNoCount) {
  with("gpu 0 process compute 2460 42949672960", "gpu 0 process compute 2460 N/A");
  expect("processes=3 process_memory_bytes=none");
  EXPECT_EQ(absent("process_memory_not_available"), 1U);
  EXPECT_EQ(fixture.reading().processes.size(), 2U);
  // The other list of a process may tell it.
  with("gpu 0 process graphics 1840 734003200", "gpu 0 process graphics 1840 18446744073709551615");
  EXPECT_EQ(fixture.reading().processes.size(), 3U);
  with("gpu 0 compute ok 2 v3", "gpu 0 compute error NO_PERMISSION Insufficient Permissions");
  expect("processes=none");
  EXPECT_EQ(absent("processes_denied"), 1U);
  with("gpu 0 compute ok 2 v3", "gpu 0 compute ok 5000 v3");
  expect("processes=none");
  EXPECT_EQ(absent("too_many_processes"), 4998U);
}

TEST_F(NvmlTest, WhyThereIsNothing) {
  const auto outcome = [&](std::string_view lines) {
    text("jetmem-nvml 1\npid 7\n" + std::string(lines) + "end\n");
    const auto ok = fixture.run();
    return ok ? std::string("ok")
              : std::string(errc_name(ok.error().code)) + ": " + ok.error().message;
  };
  // Where the driver is not loaded, it is there, else nobody would have asked: its device nodes are
  // not yet.
  constexpr const char* kRows[][2] = {
      {"library error MISSING libnvidia-ml.so.1: cannot open shared object file\n",
       "absent: NVML cannot be loaded: MISSING libnvidia-ml.so.1: cannot open shared object file"},
      {"library ok x\ninit error DRIVER_NOT_LOADED Driver Not Loaded\n",
       "unavailable: NVML: nvmlInit: DRIVER_NOT_LOADED Driver Not Loaded"},
      {"library ok x\ninit error DRIVER_NOT_LOADED Driver Not Loaded\ndevice error EPERM\n",
       "denied: NVML: nvmlInit: DRIVER_NOT_LOADED Driver Not Loaded"},
      {"library ok x\ninit error UNKNOWN Unknown Error\n",
       "io: NVML: nvmlInit: UNKNOWN Unknown Error"},
      {"library ok x\ninit ok\ngpus ok 0\n", "absent: NVML lists no GPU"},
      {"library ok x\ninit ok\ngpus ok 1\ngpu 0 handle error GPU_IS_LOST GPU is lost\n",
       "io: NVML: GPU_IS_LOST GPU is lost"},
      {"", "io: NVML cannot be loaded: jetmem-nvml does not report it"},
  };
  for (const auto& [lines, needed] : kRows) EXPECT_EQ(outcome(lines), needed);
}

// The ugly ladder.
TEST_F(NvmlTest, WhatWasCutIsRefused) {
  for (std::size_t size = 0; size < kThor.size(); ++size) {
    text(kThor.substr(0, size));
    const auto ok = fixture.run();
    ASSERT_FALSE(ok) << size;
    EXPECT_EQ(ok.error().code, Errc::kMalformed) << size;
  }
  text("");
  EXPECT_EQ(fixture.error_message(), "line 0: expected 'jetmem-nvml 1', found ''");
  text("jetmem-nvml 2\nend\n");
  EXPECT_EQ(fixture.error_message(), "line 1: expected 'jetmem-nvml 1', found 'jetmem-nvml 2'");
  text(std::string(kThor) + "gpu 1 name ok x\n");
  EXPECT_FALSE(fixture.run());
}

TEST_F(NvmlTest, SingleLinesThatAreWrongAreLeftOut) {
  constexpr const char* kProcess = "gpu 0 process graphics 1377 0";
  for (const auto& [line, by] :
       {std::pair("gpu 0 utilization ok 37 0", "gpu 0 utilization ok 101 0"),
        {kProcess, "gpu 0 process graphics 0 0"},
        {kProcess, "gpu 0 process graphics 1377 18446744073709551616"}}) {
    with(line, by);
    EXPECT_EQ(absent("malformed"), 1U) << by;
  }
  with("pid 3120", "something of a later version 7");
  EXPECT_EQ(absent("malformed"), 0U);
}

TEST_F(NvmlTest, BoundsHold) {
  std::string many = "jetmem-nvml 1\nlibrary ok x\ninit ok\ngpus ok 40\n";
  for (int gpu = 0; gpu < 40; ++gpu) {
    many += "gpu " + std::to_string(gpu) + " compute ok 500 v3\n";
    for (int i = 1; i <= 500; ++i) {
      many += "gpu " + std::to_string(gpu) + " process compute " + std::to_string(i) +
              " 18446744073709551614\n";
    }
  }
  text(many + "end\n");
  EXPECT_EQ(fixture.reading().gpus.size(), 16U);
  EXPECT_EQ(fixture.reading().processes.size(), 4096U);
  EXPECT_EQ(absent("too_many_gpus"), 24U);
  EXPECT_EQ(absent("too_many_processes"), 16U * 500 - 4096);
  expect("process_memory_bytes=none");  // a sum that does not fit is none
}

}  // namespace
}  // namespace jetmem
