// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_names.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

// As large as a line may be: every step, ratio and size has a name of its own.
ProbeRun run_of(const std::string& prefix, int steps) {
  ProbeRun run;
  ProbeRun::Probe& probe = run.probes.emplace_back();
  probe.kind = "host";
  probe.size_steps.emplace_back().bytes = 4096;
  for (int i = 0; i < steps; ++i) {
    probe.size_steps.back().steps.push_back({prefix + std::to_string(i), 0.1, {}});
  }
  return run;
}

TEST(ProbeNames, TheSameNamesAreTakenForEver) {
  ProbeNames names;
  const ProbeRun run = run_of("step", 600);
  Nanoseconds now = hours(1);
  for (int i = 0; i < 1'000; ++i, now += minutes(5)) ASSERT_TRUE(names.take(run, now)) << i;
}

TEST(ProbeNames, NewOnesOnlySoManyADay) {
  ProbeNames names;
  Nanoseconds now = hours(1);
  ASSERT_TRUE(names.take(run_of("genuine", 10), now));
  int taken = 0;
  for (int i = 0; i < 288; ++i, now += minutes(5)) {
    if (names.take(run_of(std::to_string(i) + "-", 32), now)) ++taken;
    ASSERT_TRUE(names.take(run_of("genuine", 10), now)) << "what was there before stays";
  }
  EXPECT_GE(taken * 32, 500);
  EXPECT_LE(taken * 32, 2 * static_cast<int>(ProbeNames::kNewPerDay)) << "two days begin in one";
  const auto refused = names.take(run_of("much", 700), now + hours(48));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "it has 700 names that were not there before, and not more than 640 are taken in a "
            "day");
  EXPECT_TRUE(names.take(run_of("little", 600), now + hours(48)))
      << "what is refused costs nothing";
}

TEST(ProbeNames, NewTargetsOnlyAFewADay) {
  ProbeNames names;
  const Nanoseconds now = hours(1);
  ProbeRun run;
  const auto add = [&](const char* kind, std::string target) {
    ProbeRun::Probe& probe = run.probes.emplace_back();
    probe.kind = kind;
    probe.target = std::move(target);
  };
  for (std::size_t i = 0; i < ProbeNames::kNewTargetsPerDay; ++i) add("dmabuf", std::to_string(i));
  add("host", "");
  add("dmabuf", "one too many");
  EXPECT_FALSE(names.take(run, now)) << "all or nothing";
  run.probes.pop_back();
  EXPECT_TRUE(names.take(run, now));
  EXPECT_TRUE(names.take(run, now)) << "known by now";
  run.probes.front().target = "another";
  EXPECT_FALSE(names.take(run, now));
  EXPECT_TRUE(names.take(run, now + hours(25)));
  add("dmabuf", "0");
  EXPECT_FALSE(names.take(run, now + hours(25))) << "known, but more than are kept";
  run.probes.clear();
  add("hosts", "");
  EXPECT_FALSE(names.take(run, now + hours(25)));
}

TEST(ProbeNames, EachLabelCounts) {
  const auto takes = [](auto change) {
    ProbeNames names;
    const Nanoseconds now = hours(1);
    ProbeRun run = run_of("step", 1);
    run.gpu = ProbeRun::Gpu{};
    for (std::size_t i = 0; i <= ProbeNames::kNewPerDay; ++i) {
      change(run, i);
      if (!names.take(run, now)) return false;
    }
    return true;
  };
  const auto word = [](std::size_t i) { return std::to_string(i); };
  EXPECT_TRUE(takes([](ProbeRun& run, std::size_t i) { run.seconds = static_cast<double>(i); }));
  EXPECT_FALSE(takes([&](ProbeRun& run, std::size_t i) { run.probes[0].target = word(i); }));
  EXPECT_FALSE(takes([&](ProbeRun& run, std::size_t i) { run.probes[0].error = word(i); }));
  EXPECT_FALSE(takes([&](ProbeRun& run, std::size_t i) { run.probes[0].failed_step = word(i); }));
  EXPECT_FALSE(takes([&](ProbeRun& run, std::size_t i) { run.probes[0].size_steps[0].bytes = i; }));
  EXPECT_FALSE(takes([&](ProbeRun& run, std::size_t i) {
    run.probes[0].ratios = {{word(i), 1.0, "", ""}};
  }));
  EXPECT_FALSE(takes([&](ProbeRun& run, std::size_t i) { run.gpu->driver = word(i); }));
  EXPECT_FALSE(takes([&](ProbeRun& run, std::size_t i) { run.gpu->start = {{word(i), 0.1, {}}}; }));
}

}  // namespace
}  // namespace jetmem
