// SPDX-License-Identifier: Apache-2.0
// jetmem-nvml with stand-ins for NVIDIA's library, and what the source makes of its text.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "collectors/jetson/nvml/source.h"

namespace jetmem {
namespace {

struct Ran {
  std::string text;
  int status = 0;
};

Ran run(const std::string& arguments) {
  Ran ran;
  FILE* pipe = ::popen((std::string(JETMEM_NVML) + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  char bytes[4096];
  for (std::size_t n = 0; (n = std::fread(bytes, 1, sizeof bytes, pipe)) > 0;) {
    ran.text.append(bytes, n);
  }
  ran.status = ::pclose(pipe);
  return ran;
}

Ran run_with(const std::string& behaviour) {
  return run("--library " FAKE_NVML + behaviour + ".so");
}

Nvml reading_of(const std::string& behaviour) {
  const Ran ran = run_with(behaviour);
  EXPECT_EQ(ran.status, 0) << ran.text;
  Nvml nvml;
  const auto ok = parse_nvml(ran.text, nvml);
  EXPECT_TRUE(ok) << (ok ? "" : ok.error().message) << "\n" << ran.text;
  return nvml;
}

Error error_of(const std::string& text) {
  Nvml nvml;
  const auto ok = parse_nvml(text, nvml);
  EXPECT_FALSE(ok) << text;
  return ok ? Error{} : ok.error();
}

// 1840 is in two lists, and the bytes of 2215 are not reported.
const std::vector<Nvml::Process> kProcesses{
    {0, 1377, 0}, {0, 1840, 734003200}, {0, 2460, 42949672960}};

TEST(NvmlProgram, Thor) {
  const Nvml nvml = reading_of("thor");
  ASSERT_EQ(nvml.gpus.size(), 1U);
  const Nvml::Gpu& gpu = nvml.gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA Thor");
  EXPECT_EQ(nvml.driver, "580.00");
  EXPECT_FALSE(gpu.total || gpu.used || gpu.process_bytes);
  EXPECT_EQ(gpu.utilization_percent, 37U);
  EXPECT_EQ(nvml.integrated, true);
  EXPECT_EQ(nvml.processes, kProcesses);
  EXPECT_EQ(gpu.processes, 4U);
}

TEST(NvmlProgram, EveryVersionOfTheListsIsUnderstood) {
  for (const auto& [behaviour, version] : {std::pair("v1", "v1"), {"v2", "v2"}, {"long", "v3"}}) {
    const Nvml nvml = reading_of(behaviour);
    EXPECT_EQ(nvml.processes, kProcesses) << behaviour;
    EXPECT_EQ(nvml.integrated, false) << behaviour;
    const std::string line = std::string("gpu 0 compute ok 3 ") + version + "\n";
    EXPECT_NE(run_with(behaviour).text.find(line), std::string::npos) << behaviour;
  }
  const Nvml cards = reading_of("card");
  ASSERT_EQ(cards.gpus.size(), 2U);
  EXPECT_EQ(cards.gpus[1].total, 25757220864U);
  EXPECT_EQ(cards.gpus[1].used, 1073741824U);
  EXPECT_EQ(cards.gpus[1].name, "NVIDIA \"Test\"??[31m GPU");
  EXPECT_EQ(cards.processes.size(), 6U);
  EXPECT_EQ(cards.integrated, false);
}

TEST(NvmlProgram, ACrowdIsCountedNotStored) {
  const Ran ran = run_with("crowd");
  EXPECT_LT(ran.text.size(), 256U << 10);
  Nvml nvml;
  ASSERT_TRUE(parse_nvml(ran.text, nvml));
  // 3000 of the first list, what there is room for of the second; both lists are the same.
  EXPECT_EQ(nvml.processes.size(), 3000U);
  EXPECT_EQ(nvml.gpus[0].processes, std::nullopt);
}

TEST(NvmlProgram, ErrorsAreReported) {
  const auto code = [](const Ran& ran) {
    EXPECT_EQ(ran.status, 0) << ran.text;
    return error_of(ran.text).code;
  };
  EXPECT_EQ(code(run_with("orin")), Errc::kAbsent) << "supports nothing";
  EXPECT_EQ(code(run("--library /nonexistent/libnvidia-ml.so.1")), Errc::kAbsent);
  // Something else in its place is no NVML, and no reason to think that there is none.
  EXPECT_EQ(error_of(run("--library /proc/self/exe").text).code, Errc::kIo);
  const Error denied = error_of(run_with("denied").text);
  EXPECT_EQ(denied.code, Errc::kDenied);
  EXPECT_EQ(denied.message, "NVML: nvmlInit: NO_PERMISSION Insufficient Permissions");
  const Error lost = error_of(run_with("lost").text);
  EXPECT_EQ(lost.code, Errc::kIo);
  EXPECT_EQ(lost.message, "NVML: GPU_IS_LOST GPU is lost");
}

TEST(NvmlProgram, ACrashLeavesACutText) {
  const Ran ran = run_with("crash");
  EXPECT_TRUE(WIFSIGNALED(ran.status) || WEXITSTATUS(ran.status) == 134);
  EXPECT_EQ(error_of(ran.text.substr(0, ran.text.find("Aborted"))).code, Errc::kMalformed);
}

TEST(NvmlProgram, Arguments) {
  EXPECT_EQ(WEXITSTATUS(run("--frobnicate").status), 64);
  // Only a path from the root: nothing is searched for.
  EXPECT_EQ(WEXITSTATUS(run("--library libevil.so").status), 64);
  EXPECT_EQ(run("--version").text.substr(0, 12), "jetmem-nvml ");
  EXPECT_EQ(run("--help").text.substr(0, 6), "Usage:");
}

}  // namespace
}  // namespace jetmem
