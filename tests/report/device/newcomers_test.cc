// SPDX-License-Identifier: Apache-2.0
#include "report/device/newcomers.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

TEST(Newcomers, AreTakenOutOfOther) {
  const std::vector<std::pair<std::string, double>> series{
      {R"(jetmem_process_group_resident_bytes{command="other",container="",unit=""})", 1000},
      {R"(jetmem_process_group_resident_bytes{command="a",container="",unit=""})", 5},
      {R"(jetmem_process_group_gpu_bytes{command="other",container="",unit=""})", 70},
      {R"(jetmem_process_group_processes{command="other",container="",unit=""})", 9},
      {"jetmem_processes", 10}};
  SampleSet samples = SampleSet::of(series);
  add_newcomers({}, samples);
  EXPECT_EQ(samples.all().size(), 5U);
  Processes::Newcomer huge;
  huge.key = {"huge", "x.service", ""};
  huge.pid = 4321;
  huge.processes = 1;
  huge.resident = 900;
  huge.gpu = 80;  // of another reading: no more than there is can be taken
  huge.dmabuf = 3;
  add_newcomers({huge}, samples);
  const auto of = [&](const char* family, const char* command) {
    return samples.value(std::string("jetmem_process_group_") + family, {{"command", command}});
  };
  EXPECT_EQ(of("resident_bytes", "huge"), 900);
  EXPECT_EQ(of("resident_bytes", "other"), 100);
  EXPECT_EQ(of("resident_bytes", "a"), 5);
  EXPECT_EQ(of("pid", "huge"), 4321);
  EXPECT_EQ(of("pid", "other"), std::nullopt);
  EXPECT_EQ(of("processes", "huge"), 1);
  EXPECT_EQ(of("processes", "other"), 8);
  EXPECT_EQ(of("gpu_bytes", "huge"), std::nullopt);
  EXPECT_EQ(of("gpu_bytes", "other"), 70);
  EXPECT_EQ(of("dmabuf_bytes", "huge"), std::nullopt) << "unknown of all groups";
  EXPECT_EQ(
      samples.find("jetmem_process_group_resident_bytes", {{"command", "huge"}})->label("unit"),
      "x.service");
}

}  // namespace
}  // namespace jetmem
