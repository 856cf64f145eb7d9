// SPDX-License-Identifier: Apache-2.0
#include "probes/program/bisect.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "probes/program/run.h"
#include "probes/program/small_file.h"
#include "tests/temp_dir.h"

namespace jetmem::probe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMiB = 1U << 20;

struct Searched {
  Sizes sizes;
  std::vector<std::uint64_t> tried;
};
// On a machine that has `there`.
Searched search(std::uint64_t frame, std::uint64_t limit, std::uint64_t there) {
  Searched result;
  result.sizes = search_largest(frame, limit, kPage, [&](std::uint64_t bytes) {
    result.tried.push_back(bytes);
    return bytes <= there ? Attempt::kAllocated : Attempt::kNotAllocated;
  });
  return result;
}

TEST(ProbeBisect, DoublesFromTheFrameAndThenClosesIn) {
  const Searched found = search(12 * kMiB, 1024 * kMiB, 55 * kMiB);
  ASSERT_GE(found.tried.size(), 5U);
  EXPECT_THAT(std::vector<std::uint64_t>(found.tried.begin(), found.tried.begin() + 5),
              ElementsAre(12 * kMiB, 24 * kMiB, 48 * kMiB, 96 * kMiB, 72 * kMiB));
  EXPECT_LE(found.sizes.largest, 55 * kMiB);
  EXPECT_GE(found.sizes.largest, 54 * kMiB);
  EXPECT_GT(found.sizes.smallest, 55 * kMiB);
  EXPECT_LE(found.sizes.smallest - found.sizes.largest, kMiB);
  EXPECT_EQ(found.sizes.tries, found.tried.size());
}

TEST(ProbeBisect, EndsAtTheLimitAndAtOnePage) {
  const Searched all = search(12 * kMiB, 100 * kMiB, 1024 * kMiB);
  EXPECT_THAT(all.tried, ElementsAre(12 * kMiB, 24 * kMiB, 48 * kMiB, 96 * kMiB, 100 * kMiB));
  EXPECT_EQ(all.sizes.largest, 100 * kMiB);
  EXPECT_EQ(all.sizes.smallest, 0U);
  EXPECT_THAT(search(12 * kMiB, 3 * kMiB + 5, 1024 * kMiB).tried, ElementsAre(3 * kMiB));
  EXPECT_THAT(search(12 * kMiB, kPage - 1, 1024 * kMiB).tried, IsEmpty());
  const Searched less = search(12 * kMiB, 1024 * kMiB, 5 * kMiB);
  EXPECT_EQ(less.tried[1], kPage);
  EXPECT_LE(less.sizes.largest, 5 * kMiB);
  EXPECT_GE(less.sizes.largest, 4 * kMiB);
  const Searched none = search(12 * kMiB, 1024 * kMiB, 0);
  EXPECT_THAT(none.tried, ElementsAre(12 * kMiB, kPage));
  EXPECT_EQ(none.sizes.largest, 0U);
  EXPECT_EQ(none.sizes.smallest, kPage);
}

TEST(ProbeBisect, IsBoundedWhateverIsThere) {
  for (const std::uint64_t page : {4096U, 16384U, 65536U}) {
    for (std::uint64_t there = 0; there < (1ULL << 44); there = there * 3 + 1001) {
      for (const std::uint64_t frame : {std::uint64_t{1}, 12 * kMiB, 256 * kMiB}) {
        const std::uint64_t limit = 1ULL << 43;
        unsigned tries = 0;
        const Sizes sizes = search_largest(frame, limit, page, [&](std::uint64_t bytes) {
          ++tries;
          EXPECT_EQ(bytes % page, 0U);
          EXPECT_GT(bytes, 0U);
          EXPECT_LE(bytes, limit);
          return bytes <= there ? Attempt::kAllocated : Attempt::kNotAllocated;
        });
        EXPECT_LE(tries, kMaxBisectTries);
        EXPECT_LE(sizes.largest, there);
      }
    }
  }
}

TEST(ProbeBisect, HalfAGibibyteIsLeftAlone) {
  EXPECT_EQ(bisect_bound(100 * kMiB, 2048 * kMiB, kPage), 100 * kMiB);
  EXPECT_EQ(bisect_bound(100 * kMiB, 572 * kMiB, kPage), 60 * kMiB);
  EXPECT_EQ(bisect_bound(100 * kMiB, 512 * kMiB, kPage), 0U);
  EXPECT_EQ(bisect_bound(100 * kMiB, 0, kPage), 0U);
  EXPECT_EQ(bisect_bound(100 * kMiB, std::nullopt, kPage), 100 * kMiB);
  EXPECT_EQ(bisect_bound(1, std::nullopt, kPage), kPage);
}

TEST(ProbeBisect, WhatIsAvailable) {
  EXPECT_EQ(
      number_of("MemTotal:  4051336 kB\nMemAvailable:    1000 kB\nBuffers: 1 kB\n", "MemAvailable"),
      1000U << 10);
  EXPECT_EQ(number_of("MemAvailable:1 kB\n", "MemAvailable"), 1024U);
  for (const char* bad : {"", "MemAvailable:", "MemAvailable: kB\n", "MemAvailable: 12 MB\n",
                          "NotMemAvailable: 12 kB\n", "MemAvailable: 99999999999999999999 kB\n"}) {
    EXPECT_EQ(number_of(bad, "MemAvailable"), std::nullopt) << bad;
  }
}

// With a Work that has so many bytes; `failing` fails with it.
Result bisected(std::uint64_t there, const char* failing = step::kAllocate) {
  Options options;
  options.frame_bytes = 64U << 10;
  options.bisect_limit = 8 * kMiB;
  probe::Run run(options);
  return run.bisect("device", "", [&](Recorder& recorder, std::uint64_t bytes) {
    recorder.step(failing, 0,
                  [&] { return recorder.call_errno("cuMemAlloc", bytes <= there ? 0 : ENOMEM); });
  });
}

TEST(ProbeBisect, AnAllocationThatFailsIsTheEndAndNoFailure) {
  const Result result = bisected(5 * kMiB);
  EXPECT_EQ(result.state, State::kOk);
  EXPECT_THAT(result.error, IsEmpty());
  ASSERT_TRUE(result.bisection);
  EXPECT_EQ(result.bisection->error, "ENOMEM");
  EXPECT_EQ(result.bisection->limit_bytes, 8 * kMiB);
  EXPECT_LE(result.bisection->largest_bytes, 5 * kMiB);
  EXPECT_GE(result.bisection->largest_bytes, 4 * kMiB);
  ASSERT_EQ(result.size_steps.size(), 1U);
  EXPECT_EQ(result.size_steps[0].bytes, result.bisection->largest_bytes);
}

TEST(ProbeBisect, NothingAtAllIsAFailure) {
  const Result none = bisected(0);
  EXPECT_EQ(none.state, State::kFailed);
  EXPECT_EQ(none.failed_step, "allocate");
  EXPECT_EQ(none.failed_bytes, page_size());
  EXPECT_EQ(none.bisection->largest_bytes, 0U);
  EXPECT_EQ(none.bisection->error, "ENOMEM");
  // Memory that is not given back ends it, too.
  const Result kept = bisected(3 * kMiB, step::kFree);
  EXPECT_EQ(kept.state, State::kFailed);
  EXPECT_EQ(kept.failed_step, "free");
  EXPECT_EQ(kept.failed_bytes, 4 * kMiB);
  EXPECT_EQ(kept.bisection->largest_bytes, 2 * kMiB);
  EXPECT_EQ(kept.bisection->tries, 7U);
}

struct LimitedBisect : testing::Test {
  LimitedBisect() {
    options.frame_bytes = 64U << 10;
    options.bisect_limit = 8 * kMiB;
    options.deadline_seconds = 4;
    options.meminfo = directory.file("meminfo");
    available(1024 * kMiB);
  }
  void available(std::uint64_t bytes) const {
    directory.write("meminfo", "MemAvailable: " + std::to_string(bytes >> 10) + " kB\n");
  }
  const TempDir directory;
  Options options;
  probe::Run run{options};
};

// Half of the deadline is a run's, not each target's.
TEST_F(LimitedBisect, WhatIsNotReachedInTimeIsSkipped) {
  const auto slow = [](Recorder&, std::uint64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  };
  const Result first = run.bisect("device", "", slow);
  EXPECT_EQ(first.state, State::kOk);
  EXPECT_EQ(first.bisection->largest_bytes, 128U << 10);
  EXPECT_EQ(first.bisection->tries, 2U);
  EXPECT_EQ(first.bisection->error, "ETIMEDOUT");
  const Result second = run.bisect("pinned", "", slow);
  EXPECT_EQ(second.state, State::kSkipped);
  EXPECT_EQ(second.reason, "no time left");
  EXPECT_FALSE(second.bisection);
}

TEST_F(LimitedBisect, MemoryThatGoesMeanwhileIsALimit) {
  unsigned tries = 0;
  const Result result = run.bisect("device", "", [&](Recorder&, std::uint64_t) {
    if (++tries == 2) available(513 * kMiB);
  });
  EXPECT_EQ(result.state, State::kOk);
  EXPECT_EQ(result.bisection->largest_bytes, kMiB);
  EXPECT_EQ(result.bisection->limit_bytes, kMiB);
  EXPECT_EQ(result.bisection->tries, 5U);
  EXPECT_EQ(tries, 5U);
  EXPECT_THAT(result.bisection->error, IsEmpty());
}

TEST_F(LimitedBisect, WithoutKnowingWhatIsAvailableItStops) {
  const Result result = run.bisect(
      "device", "", [&](Recorder&, std::uint64_t) { directory.write("meminfo", "nothing"); });
  EXPECT_EQ(result.bisection->largest_bytes, 64U << 10);
  EXPECT_EQ(result.bisection->tries, 1U);
}

}  // namespace
}  // namespace jetmem::probe
