// SPDX-License-Identifier: Apache-2.0
#include "probes/program/run.h"

#include <gmock/gmock.h>

#include <cerrno>

namespace jetmem::probe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

TEST(ProbeLadder, GoesFromSixtyFourKibibytesToTheFrame) {
  EXPECT_THAT(ladder(12U << 20), ElementsAre(64U << 10, 256U << 10, 1U << 20, 4U << 20, 12U << 20));
  EXPECT_THAT(ladder(64U << 10), ElementsAre(64U << 10));
  // A frame is whole pages.
  const std::uint64_t page = page_size();
  EXPECT_THAT(ladder(1), ElementsAre(page));
  EXPECT_EQ(ladder((12U << 20) + 1).back(), (12U << 20) + page);
}

TEST(ProbeErrno, HasNamesAndNumbersForTheRest) {
  EXPECT_EQ(errno_name(ENOMEM), "ENOMEM");
  EXPECT_EQ(errno_name(ENOTTY), "ENOTTY");
  EXPECT_EQ(errno_name(512), "errno 512");
}

struct ProbeRun : testing::Test {
  Options options;
  probe::Run run{options};
};

std::vector<std::string> steps_of(const SizeStep& size_step) {
  std::vector<std::string> names;
  for (const Step& step : size_step.steps) names.emplace_back(step.step);
  return names;
}

TEST_F(ProbeRun, ClimbsWithAWarmUpFirst) {
  options.frame_bytes = 1U << 20;
  std::vector<std::uint64_t> sizes;
  const Result& result = run.run_ladder("host", "", [&](Recorder& recorder, std::uint64_t bytes) {
    sizes.push_back(bytes);
    recorder.step(step::kAllocate, 0, [] { return true; });
  });
  EXPECT_EQ(result.state, State::kOk);
  EXPECT_THAT(sizes, ElementsAre(64U << 10, 64U << 10, 256U << 10, 1U << 20));
  ASSERT_TRUE(result.warm_up);
  EXPECT_EQ(result.size_steps.size(), 3U);
}

TEST_F(ProbeRun, AFailureEndsTheClimbAndStillGivesBack) {
  const Result& result = run.run_ladder("host", "", [](Recorder& recorder, std::uint64_t bytes) {
    recorder.step(step::kAllocate, 0, [&] { return recorder.call_errno("mmap", 0); });
    recorder.step(step::kMap, 0,
                  [&] { return recorder.call_errno("mmap", bytes > (256U << 10) ? ENOMEM : 0); });
    recorder.step(step::kCpuWrite, bytes, [] { return true; });
    recorder.cleanup(step::kFree, [&] { return recorder.call_errno("munmap", 0); });
  });
  EXPECT_EQ(result.state, State::kFailed);
  EXPECT_EQ(result.failed_step, "map");
  EXPECT_EQ(result.failed_bytes, 1U << 20);
  EXPECT_EQ(result.error, "ENOMEM");
  EXPECT_THAT(result.reason, StartsWith("mmap: "));
  ASSERT_EQ(result.size_steps.size(), 3U);
  EXPECT_THAT(steps_of(result.size_steps[2]), ElementsAre("allocate", "map", "free"));
}

TEST_F(ProbeRun, TheFirstFailureIsTheReason) {
  const Result& result = run.run_ladder("host", "", [](Recorder& recorder, std::uint64_t) {
    recorder.step(step::kMap, 0, [&] { return recorder.call_errno("mmap", ENODEV); });
    recorder.cleanup(step::kFree, [&] { return recorder.call_errno("close", EBADF); });
  });
  EXPECT_EQ(result.failed_step, "map");
  EXPECT_EQ(result.error, "ENODEV");
}

TEST_F(ProbeRun, OnceIsTheFrameAloneAndNoWarmUp) {
  std::vector<std::uint64_t> sizes;
  const Result& result = run.run_once(
      "dmabuf", "reserved", [&](Recorder&, std::uint64_t bytes) { sizes.push_back(bytes); });
  EXPECT_THAT(sizes, ElementsAre(12U << 20));
  EXPECT_FALSE(result.warm_up);
  EXPECT_EQ(result.size_steps.size(), 1U);
}

TEST_F(ProbeRun, AMismatchIsNeverOk) {
  const Result& result = run.run_once("pinned", "", [](Recorder& recorder, std::uint64_t) {
    recorder.step(step::kCpuVerify, 0, [&] {
      recorder.mismatches(3);
      return true;
    });
    recorder.step(step::kExport, 0, [] { return true; });
    recorder.cleanup(step::kFree, [] { return true; });
  });
  EXPECT_EQ(result.state, State::kMismatch);
  EXPECT_EQ(result.size_steps[0].mismatches, 3U);
  EXPECT_THAT(steps_of(result.size_steps[0]), ElementsAre("cpu_verify", "free"));
}

TEST_F(ProbeRun, WhatIsFoundUnsupportedIsNoFailure) {
  const Result& result = run.run_once("registered", "", [](Recorder& recorder, std::uint64_t) {
    recorder.step(step::kAllocate, 0, [&] {
      recorder.end_as(State::kUnsupported, "not on this GPU");
      return recorder.call("cuMemHostRegister", false, "CUDA_ERROR_NOT_SUPPORTED");
    });
  });
  EXPECT_EQ(result.state, State::kUnsupported);
  EXPECT_EQ(result.reason, "not on this GPU");
  EXPECT_THAT(result.failed_step, IsEmpty());
}

}  // namespace
}  // namespace jetmem::probe
