// SPDX-License-Identifier: Apache-2.0
#include "base/process/bounded_child.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <functional>
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

// What it fails with.
Error failure_of(const ChildBounds& bounds, const std::function<std::string()>& work) {
  const auto answer = run_bounded(bounds, [&]() -> std::string { return work(); });
  EXPECT_FALSE(answer);
  return answer ? Error() : answer.error();
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
  Error error = failure_of(kShort, []() -> std::string { spin(); });
  EXPECT_EQ(error.code, Errc::kTooLarge);
  EXPECT_THAT(error.message, HasSubstr("1 s of CPU time"));
  // Nor does it sleep for ever.
  ChildBounds bounds = kShort;
  bounds.wall = std::chrono::seconds(1);
  error = failure_of(bounds, []() -> std::string {
    for (;;) ::pause();
  });
  EXPECT_EQ(error.code, Errc::kTimeout);
}

TEST(BoundedChild, SignalsThatAreBlockedHereEndIt) {
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &blocked, &before), 0);
  const Error error = failure_of(kShort, [] {
    ::raise(SIGTERM);
    return "alive";
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(error.code, Errc::kMalformed);
  EXPECT_THAT(error.message, HasSubstr("signal 15"));
}

TEST(BoundedChild, ItsMemoryIsBounded) {
  if (kSanitized) GTEST_SKIP() << "SKIPPED: sanitizers need all of the address space";
  const Error error = failure_of(kShort, [] {
    std::vector<std::string> all;
    for (int i = 0; i < 200; ++i) all.emplace_back(1U << 20, 'x');
    return all.back();
  });
  EXPECT_EQ(error.code, Errc::kTooLarge);
  EXPECT_THAT(error.message, HasSubstr("out of memory; 64 MiB at most"));
}

TEST(BoundedChild, ItsAnswerIsBounded) {
  EXPECT_EQ(failure_of(kShort, [] { return std::string(2U << 20, 'x'); }).code, Errc::kTooLarge);
}

TEST(BoundedChild, ALibraryThatExitsIsAnError) {
  EXPECT_THAT(failure_of(kShort, []() -> std::string { ::_exit(3); }).message,
              HasSubstr("status 3"));
}

}  // namespace
}  // namespace jetmem
