// SPDX-License-Identifier: Apache-2.0
#include "probes/program/report.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "probes/program/gpu.h"
#include "probes/program/json.h"

namespace jetmem::probe {

// In place of what a build with or without CUDA has.
const Gpu& gpu() {
  static const Gpu none;
  return none;
}
bool gpu_was_queried() { return false; }
unsigned omitted_gpus() { return 0; }
const std::deque<Gpu>& used_gpus() {
  static const std::deque<Gpu> none;
  return none;
}

namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ProbeJson, CommasStandBetween) {
  JsonWriter out;
  out.begin_object().key("a").begin_array().value(true).value(std::uint64_t{1}).value(1.5);
  out.begin_object().end_object().end_array().member("b", "c").end_object();
  EXPECT_EQ(out.text(), R"({"a":[true,1,1.5,{}],"b":"c"})");
  // Text from outside stays one string.
  JsonWriter text;
  text.value(std::string("q\" b\\ n\n e\x1b[31m u\xc3\xa9 z\0 d\x7f", 25));
  EXPECT_EQ(text.text(), R"("q\" b\\ n? e?[31m u?? z? d?")");
}

TEST(ProbeJson, WhatIsNoNumberIsNull) {
  JsonWriter out;
  out.begin_array().value(std::nan("")).value(std::numeric_limits<double>::infinity());
  out.value(std::numeric_limits<std::uint64_t>::max()).value(std::int64_t{-5}).end_array();
  EXPECT_EQ(out.text(), "[null,null,18446744073709551615,-5]");
}

TEST(ProbeReport, IsOneLineAndSaysNothingOfWhatWasNotMeasured) {
  Options options;
  options.frame_bytes = 65536;
  probe::Run run(options);
  run.add_result("dmabuf", "na\nme", State::kDenied, "why \"not\"\n");
  run.run_once("host", "", [](Recorder& recorder, std::uint64_t bytes) {
    recorder.step(step::kAllocate, 0, [&] { return recorder.call_errno("mmap", 0); });
    recorder.step(step::kCpuVerify, bytes, [&] {
      recorder.mismatches(0);
      return true;
    });
  });
  RunTimes times;
  times.before.absent["gpu_hertz"] = "EAGAIN";
  const std::string line = report(run, times);
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  EXPECT_THAT(line, HasSubstr(R"({"schema":"jetmem-probe/1",)"));
  EXPECT_THAT(line, HasSubstr(R"("conditions":{"before":{"absent":{"gpu_hertz":"EAGAIN"}})"));
  EXPECT_THAT(line, HasSubstr(R"("target":"na?me","state":"denied","reason":"why \"not\"?",)"));
  EXPECT_THAT(line, HasSubstr(R"("rungs":[{"bytes":65536,"mismatches":0,"steps":[)"));
  EXPECT_THAT(line, HasSubstr(R"("calls":[{"call":"mmap","result":"ok"}])"));
  for (const char* none : {"\"gpu\":", "warm_up", "bisection", "failed_step", "null"}) {
    EXPECT_THAT(line, Not(HasSubstr(none)));
  }
}

TEST(ProbeReport, AReasonIsCutAndARatioWithoutValueIsNull) {
  Options options;
  probe::Run run(options);
  run.add_result("host", "", State::kFailed, std::string(300, 'a'));
  Result& result = run.add_result("pinned", "", State::kFailed, std::string(301, 'b'));
  result.ratios.push_back({"r", std::nullopt, "not measured: x", "unknown"});
  const std::string line = report(run, RunTimes());
  EXPECT_THAT(line, HasSubstr("\"reason\":\"" + std::string(300, 'a') + "\""));
  EXPECT_THAT(line, HasSubstr("\"reason\":\"" + std::string(297, 'b') + "...\""));
  EXPECT_THAT(line, HasSubstr(R"({"ratio":"r","value":null,"expected":"not measured: x",)"));
}

}  // namespace
}  // namespace jetmem::probe
