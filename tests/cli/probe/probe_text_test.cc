// SPDX-License-Identifier: Apache-2.0
#include "cli/probe/probe_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/exit_codes.h"
#include "cli/probe/probe_report.h"
#include "tests/cli/texts.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

constexpr const char* kMemory = R"json({"schema":"jetmem-probe/1","version":"0.1.0","pid":4711,
"started":{"boot_microseconds":1000000,"wall_microseconds":1700000000000000},"seconds":0.25,
"frame_bytes":12582912,"conditions":{
"before":{"cpu_min_hertz":729600000,"cpu_max_hertz":1510400000,"temperature_celsius":48.5,
  "hottest_zone":"tj-thermal","power_mode":2,"absent":{"emc_hertz":"debugfs is root's"}},
"after":{"cpu_min_hertz":1510400000,"cpu_max_hertz":1510400000,"absent":{}}},
"probes":[
{"kind":"host","target":"","state":"ok","rungs":[
  {"bytes":65536,"mismatches":0,"steps":[{"step":"allocate","seconds":0.5}]},
  {"bytes":12582912,"mismatches":0,"steps":[
    {"step":"allocate","seconds":0.000004},{"step":"first_touch","seconds":0.00481},
    {"step":"cpu_write","seconds":0.0123,"bytes_per_second":1e9},
    {"step":"cpu_verify","seconds":0.2},{"step":"free","seconds":1.25}]}],"ratios":[]},
{"kind":"dmabuf","target":"system","state":"denied","reason":"open: Permission denied (EACCES)","rungs":[],"ratios":[]},
{"kind":"dmabuf","target":"linux,cma","state":"skipped",
 "reason":"its largest free run is 20971520 bytes, less than four frames","rungs":[],"ratios":[]},
{"kind":"dmabuf","target":"a_heap_with_a_name_that_is_far_too_long","state":"failed",
 "reason":"DMA_HEAP_IOCTL_ALLOC: Cannot allocate memory (ENOMEM)","failed_step":"allocate",
 "failed_bytes":4194304,"error":"ENOMEM","rungs":[
  {"bytes":4194304,"steps":[{"step":"allocate","seconds":0.000999}]}],"ratios":[]},
{"kind":"dmabuf","target":"reserved","state":"ok","rungs":[],"ratios":[],
 "bisection":{"largest_bytes":222298112,"limit_bytes":536870912,"tries":14,"error":"ENOMEM"}}
]
})json";

constexpr const char* kCuda = R"json({"schema":"jetmem-probe/1","version":"0.1.0","pid":4712,
"started":{"boot_microseconds":2000000,"wall_microseconds":1700000001000000},"seconds":0.25,
"frame_bytes":12582912,"conditions":{"before":{"gpu_hertz":306000000,"absent":{}},
"after":{"gpu_hertz":918000000,"emc_hertz":3199000000,"absent":{}}},
"gpu":{"state":"ok","driver":"12.6","name":"Orin","compute_capability":"8.7",
 "integrated":true,"can":{},"start":[{"step":"context","seconds":0.312,"calls":[]}]},
"probes":[
{"kind":"pinned","target":"","state":"mismatch","reason":"7 of 1572864 words are not what was written",
 "failed_step":"cpu_verify","failed_bytes":12587008,"error":"mismatch","rungs":[
  {"bytes":12587008,"mismatches":7,"steps":[{"step":"allocate","seconds":0.002},
   {"step":"map","seconds":0.00002},{"step":"gpu_read_modify_write","seconds":0.00098}]}],
 "ratios":[{"ratio":"gpu_repeated_read_pinned_to_device","value":6.1234,
  "expected":"above 2: zero-copy is not cached by this GPU","judgement":"as_expected"}]},
{"kind":"managed","target":"","state":"unsupported","reason":"no such thing","rungs":[],"ratios":[]},
{"kind":"registered","target":"","state":"unsupported","reason":"no such thing","rungs":[],"ratios":[]},
{"kind":"eglstream","target":"","state":"unsupported","reason":"libEGL.so.1: cannot open shared object file","rungs":[],"ratios":[]}
]})json";

std::string one_line(std::string text) {
  std::erase(text, '\n');
  return text;
}

ProbeReport report_of(const std::vector<std::string>& lines) {
  ProbeReport reported;
  for (const std::string& line : lines) reported.take(one_line(line), "memory");
  for (const ProbeReport::Failed& each : reported.errors) ADD_FAILURE() << each.error;
  return reported;
}

std::string text_of_both(const std::string& grant = "") {
  return probe_text(report_of({kMemory, kCuda}).runs, grant);
}

TEST(ProbeText, ATableOfTheLargestBuffers) {
  // A name without room has a line of its own; so columns stay where they are.
  EXPECT_TRUE(
      has_all(text_of_both(),
              {"KIND TARGET     STATE        SIZE  ALLOC  TOUCH  WRITE    GPU VERIFY   FREE\n",
               "host            ok         12 MiB    4us 4.81ms 12.3ms      -  200ms  1.25s\n",
               "\ndmabuf a_heap_with_a_name_that_is_far_too_long\n"
               "                failed      4 MiB  999us      -",
               "pinned          mismatch   12 MiB 2.00ms      -      -  980us",
               "\nother steps:\n  pinned: map 20us\n"}));
}

TEST(ProbeText, FailuresAndSkipsHaveReasons) {
  EXPECT_TRUE(
      has_all(text_of_both("sudo make me"),
              {"\nfailed:\n  dmabuf a_heap_with_a_name_that_is_far_too_long: allocate of 4 MiB:\n"
               "  DMA_HEAP_IOCTL_ALLOC: Cannot allocate memory (ENOMEM)\n",
               "\nmismatch:\n  pinned: cpu verify of 12 MiB: 7 of 1572864 words",
               "\ndenied:\n  dmabuf system: open: Permission denied (EACCES)\n"
               "  to allow it: sudo make me\n",
               "\nunsupported:\n  managed, registered: no such thing\n  eglstream: libEGL.so.1",
               "\nskipped:\n  dmabuf linux,cma: its largest free run is",
               "\nlargest size:\n  dmabuf reserved: 212 MiB ",
               "pinned: gpu repeated read pinned to device 6.12, as expected"}));
  EXPECT_TRUE(has_none(probe_text(report_of({kMemory}).runs, ""), {"to allow it"}));
}

TEST(ProbeText, RunsAndTheirConditions) {
  EXPECT_TRUE(has_all(
      text_of_both(),
      {"memory before  730 to 1510        -        -   48.5  2     tj-thermal\n",
       "memory after   1510 ", "cuda after     -                918     3199      -  -     -\n",
       "  no emc hertz: debugfs is root's\n",
       "\nGPU: Orin, compute capability 8.7, integrated; driver for CUDA 12.6; start:\n"
       "context 312ms\n",
       "\nmemory: 2023-11-1", ", took 250ms, jetmem-probe 0.1.0\ncuda: 2023-11-1"}));
}

TEST(ProbeText, UnknownConditionsHaveNoRows) {
  std::string line = one_line(kMemory);
  const std::size_t begin = line.find("\"conditions\":");
  line.replace(begin, line.find("\"probes\":") - begin,
               R"("conditions":{"before":{"absent":{"cpu_min_hertz":"none","emc_hertz":"root's",
                  "cpu_max_hertz":"none"}},"after":{"absent":{}}},)");
  const std::string text = probe_text(report_of({line}).runs, "");
  EXPECT_TRUE(has_all(text, {"\nconditions: unknown\n  no cpu max hertz, cpu min hertz: none\n"
                             "  no emc hertz: root's\n"}));
  EXPECT_TRUE(has_none(text, {"CONDITIONS"}));
}

TEST(ProbeText, FitsATerminal) {
  const std::string text = text_of_both(std::string(30, 'x'));
  EXPECT_LE(widest(text), 80U) << text;
  EXPECT_TRUE(has_none(text, {" \n"}));
}

TEST(ProbeText, NoRunsGiveNoText) { EXPECT_EQ(probe_text({}, "grant"), ""); }

TEST(ProbeText, Latencies) {
  for (const auto& [seconds, text] : {std::pair(0.0, "0us"),
                                      {0.9e-6, "1us"},
                                      {999.4e-6, "999us"},
                                      {999.6e-6, "1.00ms"},
                                      {9.994e-3, "9.99ms"},
                                      {9.996e-3, "10.0ms"},
                                      {99.96e-3, "100ms"},
                                      {0.9996, "1.00s"},
                                      {59.97, "60.0s"},
                                      {1e300, "9999s"},
                                      {-1.0, "?"}}) {
    EXPECT_EQ(latency_text(seconds), text);
  }
}

TEST(ProbeStatus, FailedOrNotTried) {
  const auto status = [](const std::string& state) {
    ProbeReport reported;
    std::string line = one_line(kMemory);
    line.replace(line.find("\"probes\":["), std::string::npos,
                 R"("probes":[{"kind":"host","target":"","state":")" + state +
                     R"(","reason":"x","rungs":[],"ratios":[]}]})");
    reported.take(line, "memory");
    EXPECT_TRUE(reported.errors.empty());
    return probe_exit_status(reported);
  };
  for (const auto& [state, expected] : {std::pair("ok", kExitOk),
                                        {"unsupported", kExitOk},
                                        {"failed", kExitWarning},
                                        {"mismatch", kExitCritical},
                                        {"denied", kExitUnknown},
                                        {"skipped", kExitUnknown}}) {
    EXPECT_EQ(status(state), expected) << state;
  }
  EXPECT_EQ(probe_exit_status({}), kExitUnknown);
  ProbeReport reported = report_of({kMemory});
  reported.runs[0].probes.resize(3);  // ok, denied, skipped
  EXPECT_EQ(probe_exit_status(reported), kExitOk);
  reported.skipped.push_back({"cuda", "low_free", "words"});
  EXPECT_EQ(probe_exit_status(reported), kExitOk);
  // One that is unsupported does not hide that the others were refused.
  reported.runs[0].probes[0].state = ProbeState::kUnsupported;
  EXPECT_EQ(probe_exit_status(reported), kExitUnknown);
  reported.errors.push_back({"cuda", "crashed"});
  EXPECT_EQ(probe_exit_status(reported), kExitUnknown);
}

TEST(ProbeStatus, InvalidOutputIsAnError) {
  ProbeReport reported;
  reported.take("{\"schema\":\"jetmem-probe/1\"}", "cuda");
  reported.take("{{{", "");
  EXPECT_TRUE(reported.runs.empty());
  EXPECT_TRUE(reported.lines.empty());
  ASSERT_EQ(reported.errors.size(), 2U);
  EXPECT_EQ(reported.errors[0].group, "cuda");
  EXPECT_THAT(reported.errors[0].error, HasSubstr("invalid output"));
  EXPECT_THAT(probe_json(reported), HasSubstr("\"group\": null"));
}

TEST(ProbeJson, KeepsUnknownMembers) {
  ProbeReport reported =
      report_of({std::string(kMemory).insert(1, "\"of_later_times\":[1.5,{}],")});
  reported.skipped.push_back({"cuda", "low_free", "MemFree is 1MiB, and 256MiB are wanted"});
  const std::string json = probe_json(reported);
  EXPECT_TRUE(has_all(json, {"\"of_later_times\": [", "\"reason\": \"low_free\""}));
  // In its own order.
  EXPECT_LT(json.find("\"version\""), json.find("\"pid\""));
  EXPECT_LT(json.find("\"pid\""), json.find("\"frame_bytes\""));
}

}  // namespace
}  // namespace jetmem
