// SPDX-License-Identifier: Apache-2.0
#include "health/probe_baseline.h"

#include <gtest/gtest.h>

#include "tests/health/sample_cycle.h"

namespace jetmem {
namespace {

using std::chrono::minutes;

constexpr std::string_view kHost = "jetmem_probe_slowness_ratio{kind=\"host\",target=\"\"}";
constexpr std::uint64_t kFrame = 12U << 20;

class ProbeBaselineTest : public testing::Test {
 protected:
  ProbeBaselineTest() {
    fixture.set(&reading);
    after.cpu_max_hertz = 1.5e9;
    after.power_mode = 2;
  }

  // One run later; its whole frame takes this long, in two steps.
  void run(double seconds) {
    fixture.now += minutes(5);
    ProbeRun one;
    one.pid = 100;
    one.started_boot = fixture.now;
    one.frame_bytes = kFrame;
    one.after = after;
    one.has_gpu = has_gpu;
    ProbeRun::Probe probe;
    probe.kind = "host";
    probe.state = state;
    probe.size_steps.resize(2);
    probe.size_steps[0].bytes = 4096;
    probe.size_steps[0].steps = {{"allocate", 100, {}}};
    probe.size_steps[1].bytes = frame;
    probe.size_steps[1].steps = {{"allocate", seconds / 4, {}},
                                 {"first_touch", seconds * 3 / 4, {}}};
    if (more_steps) probe.size_steps[1].steps.push_back({"verify", 0, {}});
    one.probes.push_back(probe);
    reading.runs = {one};
    fixture.write();
  }
  void runs(int count, double seconds) {
    for (int i = 0; i < count; ++i) run(seconds);
  }

  ProbeReading reading;
  ProbeRun::Conditions after;
  ProbeState state = ProbeState::kOk;
  std::uint64_t frame = kFrame;
  bool has_gpu = false;
  bool more_steps = false;
  DerivedCycle<ProbeBaseline> fixture;
};

TEST_F(ProbeBaselineTest, SlowAgainstItsOwnPast) {
  for (const double seconds : {0.010, 0.011, 0.009, 0.5, 0.010}) {
    run(seconds);
    EXPECT_FALSE(fixture.has(kHost));
    EXPECT_EQ(fixture.left_out("too_few_comparable_runs"), 1U);
  }
  run(0.035);
  EXPECT_NEAR(fixture.sample(kHost), 3.5, 1e-9) << "the median: one that was slow moves nothing";
  run(0.011);
  EXPECT_NEAR(fixture.sample(kHost), 1.1, 1e-9) << "what was slow is not among them";
  run(0.011);
  EXPECT_NEAR(fixture.sample(kHost), 1, 1e-9) << "of an even number the upper middle";
}

TEST_F(ProbeBaselineTest, ARunIsTakenOnce) {
  for (int i = 0; i < 3; ++i) {
    run(0.01);
    for (int n = 0; n < 100; ++n) fixture.write();
  }
  EXPECT_FALSE(fixture.has(kHost)) << "three runs, however often they are reported";
  runs(3, 0.01);
  EXPECT_TRUE(fixture.has(kHost));
}

TEST_F(ProbeBaselineTest, OnlyEqualConditionsAreCompared) {
  const auto is_compared = [&] {
    run(0.03);
    const bool was = fixture.has(kHost);
    EXPECT_EQ(fixture.left_out("too_few_comparable_runs"), was ? 0U : 1U);
    return was;
  };
  const ProbeRun::Conditions usual = after;
  runs(6, 0.01);
  after.cpu_max_hertz = 1.4e9;
  EXPECT_TRUE(is_compared()) << "within a tenth";
  after.cpu_max_hertz = 1.2e9;
  EXPECT_FALSE(is_compared());
  after.cpu_max_hertz.reset();
  EXPECT_FALSE(is_compared()) << "unknown is not equal";
  after = usual;
  after.power_mode = 0;
  EXPECT_FALSE(is_compared());
  after.power_mode.reset();
  EXPECT_FALSE(is_compared());
  after = usual;
  after.emc_hertz = 2.1e9;
  EXPECT_FALSE(is_compared());
  after = usual;
  more_steps = true;
  EXPECT_FALSE(is_compared());
  more_steps = false;
  after.gpu_hertz = 3e8;
  EXPECT_TRUE(is_compared()) << "what the GPU's clock is does not matter without CUDA";
  has_gpu = true;
  EXPECT_FALSE(is_compared());
}

TEST_F(ProbeBaselineTest, OneThatFailedHasNoTime) {
  runs(6, 0.01);
  ASSERT_TRUE(fixture.has(kHost));
  state = ProbeState::kFailed;
  run(5);
  EXPECT_FALSE(fixture.has(kHost));
  EXPECT_EQ(fixture.left_out("no_whole_frame"), 1U);
  state = ProbeState::kOk;
  frame = kFrame / 2;
  run(0.005);
  EXPECT_FALSE(fixture.has(kHost)) << "half a frame is fast";
  EXPECT_EQ(fixture.left_out("no_whole_frame"), 1U);
  frame = kFrame;
  run(0.01);
  EXPECT_NEAR(fixture.sample(kHost), 1, 1e-9) << "and nothing of either is remembered";
  state = ProbeState::kUnsupported;
  run(0);
  EXPECT_FALSE(fixture.has(kHost));
  EXPECT_EQ(fixture.left_out("no_whole_frame"), 0U) << "nothing is missing";
}

TEST_F(ProbeBaselineTest, WhatIsSlowForLongIsNoBaselineForADay) {
  runs(10, 0.01);
  for (int i = 0; i < 288; ++i) {
    run(0.1);
    ASSERT_NEAR(fixture.sample(kHost), 10, 1e-9) << i;
  }
  run(0.1);
  EXPECT_FALSE(fixture.has(kHost)) << "a day of nothing else: that is how it is now";
  EXPECT_EQ(fixture.left_out("too_few_comparable_runs"), 1U);
  runs(5, 0.1);
  EXPECT_NEAR(fixture.sample(kHost), 1, 1e-9);
}

TEST_F(ProbeBaselineTest, ADayOfSlownessHasNoFastRunInIt) {
  runs(10, 0.01);
  for (int i = 0; i < 300; ++i) {
    run(i % 10 == 0 ? 0.01 : 0.1);
    ASSERT_NEAR(fixture.sample(kHost), i % 10 == 0 ? 1 : 10, 1e-9) << i;
  }
}

TEST_F(ProbeBaselineTest, TheOldIsForgotten) {
  runs(40, 0.01);
  runs(17, 0.019);
  run(0.019);
  EXPECT_NEAR(fixture.sample(kHost), 1, 1e-9) << "of the last 32 more than half took so long";
}

TEST_F(ProbeBaselineTest, NothingWithoutAReading) {
  runs(6, 0.01);
  fixture.lose(0);
  fixture.write();
  EXPECT_EQ(fixture.series(), 0U);
}

TEST_F(ProbeBaselineTest, TargetsAreBounded) {
  for (int i = 0; i < 200; ++i) {
    run(0.01);
    reading.runs[0].probes[0].target = "heap" + std::to_string(i);
    fixture.write();
  }
  // The usual one was seen each time, and is still known.
  EXPECT_NEAR((run(0.02), fixture.sample(kHost)), 2, 1e-9);
}

}  // namespace
}  // namespace jetmem
