// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "probes/program/run.h"

namespace jetmem::probe {

void probe_memfd(Run& run);

TEST(MemfdProbe, TakesEachSizeUpToTheFrameAndFindsWhatItWrote) {
  Options options;
  options.frame_bytes = 1U << 20;
  probe::Run run(options);
  probe_memfd(run);
  ASSERT_EQ(run.results().size(), 1U);
  const Result& result = run.results().front();
  EXPECT_EQ(result.state, State::kOk) << result.reason;
  ASSERT_EQ(result.size_steps.size(), 3U);  // 64 KiB, 256 KiB, 1 MiB
  for (const SizeStep& size_step : result.size_steps) EXPECT_EQ(size_step.mismatches, 0U);
  EXPECT_EQ(result.size_steps.back().bytes, 1U << 20);
}

TEST(MemfdProbe, TellsWhichStepFailedAndWhy) {
  // No file may be larger than 128 KiB.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{128U << 10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  Options options;
  options.frame_bytes = 1U << 20;
  probe::Run run(options);
  probe_memfd(run);
  std::signal(SIGXFSZ, handler);
  ::setrlimit(RLIMIT_FSIZE, &before);

  const Result& result = run.results().front();
  EXPECT_EQ(result.state, State::kFailed);
  EXPECT_EQ(result.failed_step, "allocate");
  EXPECT_EQ(result.failed_bytes, 256U << 10);
  EXPECT_EQ(result.error, "EFBIG");
  EXPECT_EQ(result.size_steps.size(), 2U);
}

}  // namespace jetmem::probe
