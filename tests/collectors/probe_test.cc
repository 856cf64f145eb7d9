// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "collectors/probe/source.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

// A run without CUDA: host went well; of a heap the second size could not be had.
constexpr std::string_view kMemory =
    R"({"schema":"jetmem-probe/1","version":"0.1.0","pid":77,)"
    R"("started":{"boot_microseconds":90000001,"wall_microseconds":1759145757000002},)"
    R"("seconds":0.25,"frame_bytes":262144,"conditions":{)"
    R"("before":{"absent":{}},"after":{"cpu_min_hertz":729600000,"cpu_max_hertz":1497600000,)"
    R"("temperature_celsius":-12.5,"hottest_zone":"tj-thermal","power_mode":0,)"
    R"("absent":{"emc_hertz":"/sys/kernel/debug: Permission denied"}}},"probes":[)"
    R"({"kind":"host","target":"","state":"ok",)"
    R"("warm_up":{"bytes":65536,"mismatches":0,"steps":[{"step":"allocate","seconds":0.5},)"
    R"({"step":"cpu_verify","seconds":0.25,"bytes_per_second":131072}]},)"
    R"("rungs":[{"bytes":65536,"mismatches":0,"steps":[{"step":"allocate","seconds":0.001,)"
    R"("calls":[{"call":"mmap","result":"ok"}]}]},)"
    R"({"bytes":262144,"mismatches":0,"steps":[{"step":"allocate","seconds":0.002},)"
    R"({"step":"cpu_verify","seconds":0.004,"bytes_per_second":6.5e7}]}],"ratios":[]},)"
    R"({"kind":"dmabuf","target":"linux,cma","state":"failed","reason":"no memory",)"
    R"("failed_step":"cpu_write","failed_bytes":262144,"error":"ENOMEM","rungs":[)"
    R"({"bytes":65536,"mismatches":0,"steps":[{"step":"allocate","seconds":0.003}]},)"
    R"({"bytes":262144,"steps":[{"step":"allocate","seconds":0.005},)"
    R"({"step":"cpu_write","seconds":9,"bytes_per_second":1},)"
    R"({"step":"free","seconds":0.006}]}],"ratios":[]}]})";

constexpr std::string_view kCuda =
    R"({"schema":"jetmem-probe/1","version":"0.1.0","pid":78,)"
    R"("started":{"boot_microseconds":5,"wall_microseconds":6},)"
    R"("seconds":1.5,"frame_bytes":65536,"conditions":{"before":{},"after":{}},)"
    R"("gpu":{"state":"ok","driver":"12.8","name":"Orin",)"
    R"("compute_capability":"8.7","integrated":true,"can":{"x":true},"start":[)"
    R"({"step":"context","seconds":0.3},{"step":"kernels","seconds":0.01}]},"probes":[)"
    R"({"kind":"pinned","target":"","state":"mismatch","reason":"3 words","failed_step":)"
    R"("cpu_verify","failed_bytes":65536,"error":"mismatch","rungs":[{"bytes":65536,)"
    R"("mismatches":3,"steps":[{"step":"cpu_verify","seconds":0.125}]}],"ratios":[)"
    R"({"ratio":"a","value":4.5,"expected":"above 1","judgement":"as_expected"},)"
    R"({"ratio":"b","value":0.1,"expected":"above 1","judgement":"worse_than_expected"},)"
    R"({"ratio":"c","value":2,"expected":"","judgement":"unknown"},)"
    R"({"ratio":"d","value":null,"expected":"","judgement":"unknown"}]},)"
    R"({"kind":"managed","target":"","state":"unsupported","reason":"none","rungs":[],"ratios":[]},)"
    R"({"kind":"device","target":"","state":"denied","reason":"no","rungs":[],"ratios":[]},)"
    R"({"kind":"registered","target":"","state":"skipped","reason":"no","rungs":[],"ratios":[]}]})";

class ProbeTest : public SourceTest<ProbeSource> {
 protected:
  void text(std::string_view text) { fixture.only("/jetmem/probe", text); }
  // One line, in which this stands in place of that.
  void with(std::string_view line, std::string_view from, std::string_view to) {
    text(changed(line, from, to) + "\n");
  }
  static std::string changed(std::string_view line, std::string_view from, std::string_view to) {
    std::string out(line);
    const std::size_t at = out.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) out.replace(at, from.size(), to);
    return out;
  }
  // The message of the error that a line gives, or "ok".
  std::string outcome(std::string_view line) {
    const auto ok = parse_probe_run(line, run);
    return ok ? "ok" : ok.error().message;
  }
  std::string outcome_with(std::string_view from, std::string_view to) {
    return outcome(changed(kMemory, from, to));
  }
  void expect(const std::string& series) { fixture.expect("jetmem_probe_", series); }
  // "name=7 name{step=x}=none" of one kind of memory.
  void expect_of(const std::string& labels, const std::string& series) {
    fixture.expect("jetmem_probe_", series, "{" + labels + "}");
  }
  ProbeRun run;
};

std::string line(std::string_view text) { return std::string(text) + "\n"; }

TEST_F(ProbeTest, FromTextToSamples) {
  text(line(kMemory));
  ASSERT_TRUE(fixture.run());
  const std::vector<std::string> expected{
      R"(jetmem_probe_success{kind="host",target=""})",
      R"(jetmem_probe_state{kind="host",state="ok",target=""})",
      R"(jetmem_probe_last_mismatched_words{kind="host",target=""})",
      R"(jetmem_probe_step_seconds{kind="host",step="allocate",target=""})",
      R"(jetmem_probe_step_seconds{kind="host",step="cpu_verify",target=""})",
      R"(jetmem_probe_step_bytes_per_second{kind="host",step="cpu_verify",target=""})",
      R"(jetmem_probe_allocate_seconds{bytes="65536",kind="host",target=""})",
      R"(jetmem_probe_allocate_seconds{bytes="262144",kind="host",target=""})",
      R"(jetmem_probe_warm_up_seconds{kind="host",target=""})",
      R"(jetmem_probe_success{kind="dmabuf",target="linux,cma"})",
      R"(jetmem_probe_state{kind="dmabuf",state="failed",target="linux,cma"})",
      R"(jetmem_probe_failed_bytes{error="ENOMEM",kind="dmabuf",step="cpu_write",target="linux,cma"})",
      R"(jetmem_probe_last_mismatched_words{kind="dmabuf",target="linux,cma"})",
      R"(jetmem_probe_step_seconds{kind="dmabuf",step="allocate",target="linux,cma"})",
      R"(jetmem_probe_step_seconds{kind="dmabuf",step="free",target="linux,cma"})",
      R"(jetmem_probe_allocate_seconds{bytes="65536",kind="dmabuf",target="linux,cma"})",
      R"(jetmem_probe_allocate_seconds{bytes="262144",kind="dmabuf",target="linux,cma"})",
      R"(jetmem_probe_frame_bytes{group="memory"})",
      R"(jetmem_probe_run_seconds{group="memory"})",
      R"(jetmem_probe_conditions_cpu_min_hertz{group="memory"})",
      R"(jetmem_probe_conditions_cpu_max_hertz{group="memory"})",
      R"(jetmem_probe_conditions_temperature_celsius{group="memory"})",
      R"(jetmem_probe_conditions_power_mode{group="memory"})",
  };
  EXPECT_EQ(fixture.keys(), expected) << "the step that failed has no time";
  const double values[] = {1,     1,      0,    0.002,     0.004,      6.5e7, 0.001, 0.002,
                           0.75,  0,      1,    262144,    0,          0.005, 0.006, 0.003,
                           0.005, 262144, 0.25, 729600000, 1497600000, -12.5, 0};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(value(expected[i]), values[i]) << i;
  EXPECT_EQ(absent("gpu_clock_unknown"), 1U);
  EXPECT_EQ(absent("emc_clock_unknown"), 1U);
  EXPECT_EQ(absent("temperature_unknown"), 0U);
  EXPECT_EQ(absent("frame_not_reached"), 0U);
}

TEST_F(ProbeTest, EveryStateAsItIs) {
  text(line(kCuda));
  expect_of("kind=pinned,target=", "success=0 last_mismatched_words=3");
  expect("step_seconds{kind=pinned,step=cpu_verify,target=}=0.125");  // looking was done
  expect(
      "state{kind=pinned,state=mismatch,target=}=1 state{kind=managed,state=unsupported,target=}=1 "
      "state{kind=device,state=denied,target=}=1 state{kind=registered,state=skipped,target=}=1");
  for (const std::string kind : {"managed", "device", "registered"}) {
    expect_of("kind=" + kind + ",target=", "success=none last_mismatched_words=none");
  }
  expect_of("kind=pinned,ratio=a,target=", "ratio=4.5 worse_than_expected=0");
  expect_of("kind=pinned,ratio=b,target=", "worse_than_expected=1");
  expect_of("kind=pinned,ratio=c,target=", "ratio=2 worse_than_expected=none");
  expect_of("kind=pinned,ratio=d,target=", "ratio=none");
  EXPECT_EQ(absent("ratio_not_judged"), 1U);
  EXPECT_EQ(absent("ratio_without_value"), 1U);
  expect(
      "gpu_start_seconds{step=context}=0.3 run_seconds{group=cuda}=1.5 "
      "gpu_info{compute_capability=8.7,driver=12.8,name=Orin}=1");
}

TEST_F(ProbeTest, KernelsApartFromMemory) {
  constexpr std::string_view kStart = R"("start":[)";
  with(kCuda, kStart,
       R"("kernels":{"state":"ok","seconds":0.25,"resident_bytes":4096,"gpu_bytes":0},"start":[)");
  expect(
      "kernels_loaded=1 kernels_seconds=0.25 kernels_memory_bytes{memory=resident}=4096 "
      "kernels_memory_bytes{memory=gpu}=0 kernels_memory_bytes{memory=peak}=none "
      "gpu_start_seconds{step=kernels}=0.01");
  EXPECT_EQ(absent("kernel_memory_unknown"), 1U);
  with(kCuda, kStart,
       R"("kernels":{"state":"unsupported","reason":"none","error":"E","seconds":9},"start":[)");
  expect("kernels_loaded=0 kernels_seconds=none gpu_start_seconds{step=kernels}=none");
  EXPECT_EQ(absent("kernels_not_loaded"), 1U);
}

TEST_F(ProbeTest, MoreGpusAreReadToo) {
  ProbeRun more;
  ASSERT_TRUE(parse_probe_run(
      changed(
          kCuda, R"("probes":[)",
          R"("more_gpus":[{"state":"ok","driver":"12.8","name":"Card","compute_capability":"8.6",)"
          R"("integrated":false,"can":{},"start":[]}],"omitted_gpus":2,"probes":[)"),
      more));
  EXPECT_EQ(more.omitted_gpus, 2U);
  ASSERT_EQ(more.more_gpus.size(), 1U);
  EXPECT_EQ(more.more_gpus[0].name, "Card");
  EXPECT_EQ(more.more_gpus[0].integrated, false);
  EXPECT_EQ(more.gpu->name, "Orin");
}

TEST_F(ProbeTest, WhatThePoolHolds) {
  with(kMemory, R"("state":"ok",)",
       R"("state":"ok","pool":{"allocated":{"reserved_bytes":8,"used_bytes":4},)"
       R"("trimmed":{"reserved_bytes":2,"used_bytes":0}},)");
  expect(
      "pool_reserved_bytes{moment=allocated}=8 pool_used_bytes{moment=allocated}=4 "
      "pool_reserved_bytes{moment=trimmed}=2 pool_reserved_bytes{moment=freed}=none");
  EXPECT_EQ(absent("pool_use_unknown"), 1U);
}

TEST_F(ProbeTest, WhatWasReadIsWhole) {
  ASSERT_EQ(outcome(kMemory), "ok");
  EXPECT_EQ(run.version, "0.1.0");
  EXPECT_EQ(run.pid, 77U);
  EXPECT_EQ(run.started_boot, std::chrono::microseconds(90000001));
  EXPECT_EQ(run.started_wall, std::chrono::microseconds(1759145757000002));
  EXPECT_EQ(run.group(), "memory");
  EXPECT_EQ(run.after.hottest_zone, "tj-thermal");
  ASSERT_EQ(run.after.absent.size(), 1U);
  EXPECT_EQ(run.after.absent[0].second, "/sys/kernel/debug: Permission denied");
  ASSERT_EQ(run.probes.size(), 2U);
  EXPECT_EQ(run.probes[1].reason, "no memory");
  ASSERT_EQ(outcome(changed(kMemory, R"("state":"ok",)",
                            R"("state":"ok","bisection":{"largest_bytes":4096,"limit_bytes":8192,)"
                            R"("tries":7,"error":"ENOMEM"},)")),
            "ok");
  const ProbeRun::Bisection found{4096, 8192, 7, "ENOMEM"};
  EXPECT_EQ(run.probes[0].bisection, found);
  ASSERT_EQ(outcome(kCuda), "ok");
  EXPECT_EQ(run.group(), "cuda");
  EXPECT_EQ(run.gpu->integrated, true);
  EXPECT_EQ(run.probes[0].ratios[0].expected, "above 1");
}

TEST_F(ProbeTest, ASmallerBufferIsNoFrame) {
  text(line(changed(changed(kMemory, "\"frame_bytes\":262144", "\"frame_bytes\":12582912"),
                    "\"failed_bytes\":262144", "\"failed_bytes\":1048576")));
  expect(
      "step_seconds{kind=host,step=allocate,target=}=none "
      "allocate_seconds{bytes=262144,kind=host,target=}=0.002");
  EXPECT_EQ(absent("frame_not_reached"), 2U);
}

TEST_F(ProbeTest, WhatWasRefusedTookNoTime) {
  with(kMemory, R"("target":"linux,cma","state":"failed")",
       R"("target":"linux,cma","state":"unsupported")");
  for (const std::string step : {"allocate", "cpu_write", "free"}) {
    expect(R"(step_seconds{kind="dmabuf",step=")" + step + R"(",target="linux,cma"}=none)");
  }
  expect(R"(allocate_seconds{bytes="65536",kind="dmabuf",target="linux,cma"}=0.003)");
  // A failure before any size has none.
  with(kMemory, R"("failed_step":"cpu_write","failed_bytes":262144,)",
       R"("failed_step":"allocate","failed_bytes":0,)");
  expect(R"(success{kind="dmabuf",target="linux,cma"}=0)");
  for (const std::string& key : fixture.keys()) EXPECT_EQ(key.find("failed_bytes"), key.npos);
  EXPECT_EQ(absent("failed_before_any_size"), 1U);
  // Nor has a first buffer that failed a time.
  std::string failed = changed(
      kCuda, R"("state":"mismatch","reason":"3 words","failed_step":"cpu_verify",)",
      R"("state":"failed","reason":"x","warm_up":{"bytes":65536,"steps":[{"step":"allocate",)"
      R"("seconds":3}]},"failed_step":"allocate",)");
  text(line(failed));
  expect("warm_up_seconds{kind=pinned,target=}=3");
  const std::size_t at = failed.find("\"rungs\":[{");
  failed.replace(at, failed.find("],\"ratios\"", at) - at, "\"rungs\":[");
  text(line(failed));
  expect("warm_up_seconds{kind=pinned,target=}=none");
  // Of a GPU that did not start the last step is the one that failed.
  with(kCuda, R"("gpu":{"state":"ok",)", R"("gpu":{"state":"failed","reason":"x",)");
  expect("gpu_start_seconds{step=context}=0.3 gpu_start_seconds{step=kernels}=none");
}

// A later jetmem-probe beside an older jetmemd.
TEST_F(ProbeTest, WhatLaterVersionsSayIsPassedOver) {
  with(kMemory, R"("state":"ok",)", R"("state":"ok","later":[{"x":[1,-2.5,null]}],)");
  ASSERT_TRUE(fixture.run());
  const ProbeReading reading = fixture.reading();
  text(line(kMemory));
  EXPECT_EQ(fixture.reading(), reading);
  with(kMemory, R"("state":"ok",)", R"("state":"recovered",)");
  EXPECT_EQ(absent("state_not_known"), 1U);
  expect(R"(success{kind="host",target=""}=none success{kind="dmabuf",target="linux,cma"}=0)");
  with(kCuda, R"("gpu":{"state":"ok",)", R"("gpu":{"state":"asleep",)");
  EXPECT_EQ(absent("state_not_known"), 1U);
  expect("run_seconds{group=cuda}=1.5");  // it is the run with CUDA
  EXPECT_EQ(outcome_with("jetmem-probe/1", "jetmem-probe/2"),
            "expected schema jetmem-probe/1, found \"jetmem-probe/2\"");
  EXPECT_EQ(outcome(R"({"schema":"jetmem-probe/12"})"),
            "expected schema jetmem-probe/1, found \"jetmem-probe/12\"");
}

TEST_F(ProbeTest, OneOfTwoThatTellTheSame) {
  // In two lines: the later.
  text(line(kMemory) +
       line(changed(changed(kMemory, "\"target\":\"linux,cma\"", "\"target\":\"system\""),
                    "\"seconds\":0.25,\"frame", "\"seconds\":0.75,\"frame")) +
       line(kCuda));
  ASSERT_EQ(fixture.reading().runs.size(), 3U);
  ASSERT_EQ(fixture.reading().runs[0].probes.size(), 1U);
  EXPECT_EQ(fixture.reading().runs[0].probes[0].target, "linux,cma");
  EXPECT_EQ(fixture.reading().runs[1].probes.size(), 2U);
  expect("run_seconds{group=memory}=0.75 run_seconds{group=cuda}=1.5");
  EXPECT_EQ(fixture.table.sections()[0].duplicates, 0U);
  // In one: the first, and that is counted.
  with(kCuda, R"("kind":"managed","target":"","state":"unsupported")",
       R"("kind":"pinned","target":"","state":"ok")");
  expect("success{kind=pinned,target=}=0");
  EXPECT_EQ(absent("reported_twice"), 1U);
  EXPECT_EQ(fixture.reading().runs[0].probes.size(), 3U);
}

// The ugly ladder.
TEST_F(ProbeTest, WhatWasCutIsRefused) {
  const std::string both = line(kMemory) + line(kCuda);
  for (std::size_t size = 0; size < both.size(); ++size) {
    if (size == kMemory.size() + 1) continue;  // one line and whole
    text(both.substr(0, size));
    const auto ok = fixture.run();
    ASSERT_FALSE(ok) << size;
    ASSERT_EQ(ok.error().code, Errc::kMalformed) << size;
  }
  text(kMemory);
  EXPECT_EQ(fixture.error_message(), "line 1: expected a newline at its end: it was cut");
  text("");
  EXPECT_EQ(fixture.error_message(), "expected a line of JSON, found nothing");
  text("\n");
  EXPECT_TRUE(fixture.run()) << "no result holds";
  EXPECT_TRUE(fixture.reading().runs.empty());
  text(line(kMemory) + "\n");
  EXPECT_EQ(fixture.error_message().substr(0, 16), "line 2: not JSON");
  text(line(kMemory) + line(kMemory) + line(kMemory) + line(kMemory) + line(kMemory));
  EXPECT_EQ(fixture.error_message(), "more than 4 lines");
}

TEST_F(ProbeTest, NothingThereIsAbsent) {
  const auto ok = fixture.run();
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, Errc::kAbsent);
  EXPECT_EQ(ok.error().message, "nothing was probed when this was captured (no /jetmem/probe)");
  fixture.error("/jetmem/probe", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
}

TEST_F(ProbeTest, WrongTypesAreRefusedWithTheirPlace) {
  constexpr const char* kRows[][3] = {
      {R"("pid":77)", R"("pid":"77")", R"(pid: expected a count, found "77")"},
      {R"("pid":77,)", "", "pid: expected a count, found nothing"},
      {R"("pid":77)", R"("pid":-1)", "pid: expected a count, found -1"},
      {R"("pid":77)", R"("pid":18446744073709551616)",
       "pid: expected a count, found 1.8446744073709552e+19"},
      {"90000001", "9223372036854775807",
       "started.boot_microseconds: expected a count of at most 9223372036854775, found "
       "9223372036854775807"},
      {R"("seconds":0.25,"frame)", R"("seconds":-0.5,"frame)",
       "seconds: expected a number that is not below 0, found -0.5"},
      {R"("seconds":0.001)", R"("seconds":null)",
       "probes[0].rungs[0].steps[0].seconds: expected a number, found null"},
      {R"("bytes":262144,"mismatches":0)", R"("bytes":{},"mismatches":0)",
       "probes[0].rungs[1].bytes: expected a count, found an object"},
      {R"("mismatches":0)", R"("mismatches":[1])",
       "probes[0].warm_up.mismatches: expected a count, found a list"},
      {R"("state":"ok")", R"("state":1)", "probes[0].state: expected a text, found 1"},
      {R"("rungs":[{)", R"("rungs":7,"x":[{)", "probes[0].rungs: expected a list, found 7"},
      {R"("before":{"absent":{}})", R"("before":[])",
       "conditions.before: expected an object, found a list"},
      {R"("power_mode":0)", R"("power_mode":0.5)",
       "conditions.after.power_mode: expected a count, found 0.5"},
      {R"("probes":[)", R"("probe":[)", "probes: expected a list, found nothing"},
      {R"("emc_hertz":")", R"("emc_hertz":7,"x":")",
       "conditions.after.absent.emc_hertz: expected a text, found 7"},
      {"-12.5", "-300",
       "conditions.after.temperature_celsius: expected a number that is not below -274, found "
       "-300"},
  };
  for (const auto& [from, to, error] : kRows) {
    EXPECT_EQ(outcome_with(from, to), error) << to;
  }
  EXPECT_EQ(outcome("[]"), "expected an object, found a list");
  EXPECT_EQ(outcome("7"), "expected an object, found 7");
  text(line(kCuda) + line(changed(kMemory, "\"pid\":77", "\"pid\":true")));
  EXPECT_EQ(fixture.error_message(), "line 2: pid: expected a count, found true");
}

TEST_F(ProbeTest, BoundsHold) {
  const auto many = [](std::string_view item, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out.append(i == 0 ? "" : ",").append(item);
    return out;
  };
  const auto probes = [](std::string_view items) {
    return changed(kMemory.substr(0, kMemory.find("{\"kind\"")), "\"probes\":[",
                   "\"probes\":[" + std::string(items) + "]}");
  };
  std::string kinds;
  for (int i = 0; i < 65; ++i) {
    kinds += (i == 0 ? "" : ",") + (R"({"kind":"k)" + std::to_string(i) + R"(","state":"ok"})");
  }
  EXPECT_EQ(outcome(probes(kinds)), "probes: 65 entries, expected at most 64");
  EXPECT_EQ(outcome(probes(kinds.substr(0, kinds.rfind(",{")))), "ok");
  EXPECT_EQ(run.probes.size(), 64U);
  const auto with = [&](std::string_view members) {
    return outcome(probes(R"({"kind":"k","state":"ok",)" + std::string(members) + "}"));
  };
  const std::string size_step = R"({"bytes":1,"steps":[]})";
  EXPECT_EQ(with("\"rungs\":[" + many(size_step, 16) + "]"), "ok");
  EXPECT_EQ(with("\"rungs\":[" + many(size_step, 17) + "]"),
            "probes[0].rungs: 17 entries, expected at most 16");
  const auto with_steps = [&](std::string_view steps) {
    return with(R"("warm_up":{"bytes":1,"steps":[)" + std::string(steps) + "]}");
  };
  const std::string step = R"({"step":"s","seconds":1})";
  EXPECT_EQ(with_steps(many(step, 32)), "ok");
  EXPECT_EQ(with_steps(many(step, 33)), "probes[0].warm_up.steps: 33 entries, expected at most 32");
  const std::string ratio = R"({"ratio":"r","value":1,"judgement":"unknown"})";
  EXPECT_EQ(with("\"ratios\":[" + many(ratio, 33) + "]"),
            "probes[0].ratios: 33 entries, expected at most 32");
  // Calls tell nothing that is measured.
  EXPECT_EQ(with_steps(R"({"step":"s","seconds":1,"calls":[)" +
                       many(R"({"call":"c","result":"ok"})", 40) + "]}"),
            "ok");
  // Words.
  const std::string name(65, 'n');
  EXPECT_EQ(outcome_with("linux,cma", name), "ok");
  EXPECT_EQ(run.probes[1].target, std::string(61, 'n') + "...");
  EXPECT_EQ(outcome_with("linux,cma", name.substr(1)), "ok");
  EXPECT_EQ(run.probes[1].target, name.substr(1));
  EXPECT_EQ(outcome_with("no memory", std::string(5000, 'r')), "ok");
  EXPECT_EQ(run.probes[1].reason.size(), 300U);
  EXPECT_EQ(outcome_with("linux,cma", R"(a\u001b[31m\u202eb\u0000\n)"), "ok");
  EXPECT_EQ(run.probes[1].target,
            "a?[31m\xef\xbf\xbd"
            "b??");
}

TEST_F(ProbeTest, HostileTextIsOnlyAnError) {
  EXPECT_EQ(outcome(std::string(100000, '[')), "nested deeper than 16");
  const auto nested = [](std::size_t depth) {
    return "\"pid\":77,\"x\":" + std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(outcome_with("\"pid\":77", nested(15)), "ok");
  EXPECT_EQ(outcome_with("\"pid\":77", nested(16)), "nested deeper than 16");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  EXPECT_EQ(outcome(deep), "nested deeper than 16");
  std::string wide = "[0";
  for (int i = 0; i < 70000; ++i) wide += ",0";
  EXPECT_EQ(outcome(wide + "]"), "more than 65536 names and values");
  EXPECT_EQ(outcome(std::string(600 << 10, ' ')), "614400 bytes, expected at most 524288");
  for (const char* number :
       {"1e999", "-1e999", "NaN", "Infinity", "nan", "0x10", "1.", "+1", "01"}) {
    EXPECT_EQ(outcome_with("\"pid\":77", std::string("\"pid\":") + number).substr(0, 18),
              "not JSON from byte")
        << number;
  }
  EXPECT_EQ(outcome_with("\"seconds\":0.25", "\"seconds\":1e-400"), "ok");
  EXPECT_EQ(outcome_with("\"pid\":77", "\"pid\":1,\"pid\":2"), "ok") << "the later of two counts";
  EXPECT_EQ(run.pid, 2U);
  EXPECT_EQ(outcome_with("no memory", "\xff\xfe").substr(0, 18), "not JSON from byte");
  EXPECT_EQ(outcome(std::string_view("\0", 1)).substr(0, 8), "not JSON");
  EXPECT_EQ(outcome(std::string(kMemory) + "x").substr(0, 18), "not JSON from byte");
}

}  // namespace
}  // namespace jetmem
