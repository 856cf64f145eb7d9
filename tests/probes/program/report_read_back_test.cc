// SPDX-License-Identifier: Apache-2.0
// The line that jetmem-probe writes of a run is read as what the run found: random ones, with
// whatever names and messages.
#include <gtest/gtest.h>

#include <set>

#include "base/text/text.h"
#include "collectors/probe/source.h"
#include "probes/program/report.h"
#include "tests/random_input.h"

namespace jetmem {
namespace {

using test::RandomInput;

void random_steps(RandomInput& random, probe::Recorder& recorder) {
  for (const char* name : {probe::step::kAllocate, probe::step::kFirstTouch,
                           probe::step::kCpuVerify, probe::step::kFree}) {
    recorder.step(name, random.one_in(2) ? 0 : random.number(1U << 30), [&] {
      if (random.one_in(3)) recorder.call("cuMemAlloc", true, "CUDA_SUCCESS");
      if (name == probe::step::kCpuVerify) recorder.mismatches(random.one_in(4) ? 7 : 0);
      return !random.one_in(10) || recorder.call_errno("mmap", random.one_in(2) ? ENOMEM : EIO);
    });
  }
}

void expect_same(const probe::Result& found, const ProbeRun::Probe& read) {
  EXPECT_EQ(read.kind, found.kind);
  EXPECT_EQ(read.target, printable(found.target, 64));
  EXPECT_EQ(probe_state_name(read.state), probe::state_name(found.state));
  EXPECT_EQ(read.failed_step, found.failed_step);
  EXPECT_EQ(read.failed_bytes, found.failed_bytes);
  EXPECT_EQ(read.error, found.error);
  ASSERT_EQ(read.size_steps.size(), found.size_steps.size());
  for (std::size_t i = 0; i < found.size_steps.size(); ++i) {
    EXPECT_EQ(read.size_steps[i].bytes, found.size_steps[i].bytes);
    EXPECT_EQ(read.size_steps[i].mismatches, found.size_steps[i].mismatches);
    ASSERT_EQ(read.size_steps[i].steps.size(), found.size_steps[i].steps.size());
    for (std::size_t n = 0; n < found.size_steps[i].steps.size(); ++n) {
      const probe::Step& step = found.size_steps[i].steps[n];
      EXPECT_EQ(read.size_steps[i].steps[n].step, step.step);
      EXPECT_NEAR(read.size_steps[i].steps[n].seconds, step.seconds, 1e-6 * (1 + step.seconds));
    }
  }
}

TEST(ProbeReadBack, ARunIsReadAsWhatItFound) {
  RandomInput random(80);
  // What a name may be made of: letters, and what JSON and terminals take amiss.
  constexpr std::string_view kAwkward = "ab\"\\/{}[]:,\n\t\x1b\x7f";
  for (int cycle = 0; cycle < 300; ++cycle) {
    probe::Options options;
    options.frame_bytes = 65536;
    probe::Run run(options);
    std::set<std::string> targets;
    for (std::uint64_t left = 1 + random.below(6); left > 0; --left) {
      const std::string target = std::to_string(left) + random.word(kAwkward, 12);
      if (!targets.insert(printable(target, 64)).second) continue;
      if (random.one_in(3)) {
        run.add_result("dmabuf", target, probe::State::kDenied, random.word(kAwkward, 100));
        continue;
      }
      run.run_once(
          random.one_in(2) ? "host" : "dmabuf", target,
          [&](probe::Recorder& recorder, std::uint64_t) { random_steps(random, recorder); });
    }
    run.finish_results();
    probe::RunTimes times;
    times.started_boot_seconds = static_cast<double>(random.below(1U << 20));
    times.started_wall_seconds = 1'790'000'000 + static_cast<double>(random.below(1U << 20));
    times.seconds = static_cast<double>(random.below(60'000)) / 1000;
    const std::string line = probe::report(run, times);
    ProbeRun read;
    const auto ok = parse_probe_run(line, read);
    ASSERT_TRUE(ok) << ok.error().message << "\n" << line;
    EXPECT_EQ(to_seconds(read.started_boot), times.started_boot_seconds);
    EXPECT_EQ(to_seconds(read.started_wall), times.started_wall_seconds);
    EXPECT_NEAR(read.seconds, times.seconds, 1e-6 * (1 + times.seconds));
    EXPECT_EQ(read.frame_bytes, options.frame_bytes);
    ASSERT_EQ(read.probes.size(), run.results().size());
    for (std::size_t i = 0; i < read.probes.size(); ++i) {
      expect_same(run.results()[i], read.probes[i]);
    }
  }
}

}  // namespace
}  // namespace jetmem
