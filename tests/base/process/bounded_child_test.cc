// SPDX-License-Identifier: Apache-2.0
#include "base/process/bounded_child.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "base/text/text.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

constexpr ChildBounds kShort{.cpu = std::chrono::seconds(1),
                             .wall = std::chrono::seconds(60),
                             .memory = 64U << 20,
                             .answer_bytes = 1U << 20};

[[noreturn]] void spin() {
  volatile unsigned n = 0;
  for (;;) {
    n = n + 1;
  }
}

TEST(BoundedChild, AnswersFromAnotherProcess) {
  const pid_t self = ::getpid();
  const auto answer = run_bounded({}, [] { return std::to_string(::getpid()); });
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_NE(**answer, std::to_string(self));
  const auto large = run_bounded({}, [] { return std::string(3U << 20, 'x'); });
  ASSERT_TRUE(large);
  EXPECT_EQ(**large, std::string(3U << 20, 'x'));
}

TEST(BoundedChild, ItsErrorKeepsItsCode) {
  const auto answer = run_bounded({}, [] { return fail(Errc::kInvalid, "no\nsuch"); });
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_FALSE(*answer);
  EXPECT_EQ(answer->error().code, Errc::kInvalid);
  EXPECT_EQ(answer->error().message, printable("no\nsuch"));
}

TEST(BoundedChild, ItsTimeIsBounded) {
  const auto answer = run_bounded(kShort, []() -> std::string { spin(); });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kTooLarge);
  EXPECT_THAT(answer.error().message, HasSubstr("1 s of CPU time"));
}

TEST(BoundedChild, NorDoesItSleepForEver) {
  ChildBounds bounds = kShort;
  bounds.wall = std::chrono::seconds(1);
  const auto answer = run_bounded(bounds, []() -> std::string {
    for (;;) ::pause();
  });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kTimeout);
}

TEST(BoundedChild, SignalsThatAreBlockedHereEndIt) {
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &blocked, &before), 0);
  const auto answer = run_bounded(kShort, []() -> std::string {
    ::raise(SIGTERM);
    return "alive";
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kMalformed);
  EXPECT_THAT(answer.error().message, HasSubstr("signal 15"));
}

TEST(BoundedChild, ItsMemoryIsBounded) {
  if (kSanitized) GTEST_SKIP() << "SKIPPED: sanitizers need all of the address space";
  const auto answer = run_bounded(kShort, [] {
    std::vector<std::string> all;
    for (int i = 0; i < 200; ++i) all.emplace_back(1U << 20, 'x');
    return all.back();
  });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kTooLarge);
  EXPECT_THAT(answer.error().message, HasSubstr("out of memory; 64 MiB at most"));
}

TEST(BoundedChild, ItsAnswerIsBounded) {
  const auto answer = run_bounded(kShort, [] { return std::string(2U << 20, 'x'); });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kTooLarge);
}

TEST(BoundedChild, ALibraryThatExitsIsAnError) {
  const auto answer = run_bounded(kShort, []() -> std::string { ::_exit(3); });
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("status 3"));
}

}  // namespace
}  // namespace jetmem
