// SPDX-License-Identifier: Apache-2.0
#include "probes/run_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/text/text.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr const char* kHead = "echo 'jetmem-probe/1 pid '$$; ";
constexpr const char* kAt = "echo 'at pinned - allocate 65536'; ";
constexpr const char* kLine =
    R"({"schema":"jetmem-probe/1","version":"t","pid":7,)"
    R"("started":{"boot_microseconds":1,"wall_microseconds":1},"seconds":0.1,"frame_bytes":65536,)"
    R"("conditions":{"before":{"absent":{}},"after":{"absent":{}}},"probes":[)"
    R"({"kind":"host","target":"","state":"ok","rungs":[],"ratios":[]}]})";
const std::string kResult = "echo '" + std::string(kLine) + "'; ";

// Stand-ins are lines of shell.
class RunProbe : public testing::Test {
 protected:
  ProbeEnd run(const std::string& script, milliseconds deadline = std::chrono::seconds(20)) {
    command_.program = dir_.write("probe", "#!/bin/sh\n" + script + "\n");
    ::chmod(command_.program.c_str(), 0755);
    command_.deadline = deadline;
    command_.request.deadline = std::chrono::ceil<std::chrono::seconds>(deadline);
    const auto begin = std::chrono::steady_clock::now();
    ProbeEnd end = run_probe(spawner_, command_);
    elapsed_ = std::chrono::steady_clock::now() - begin;
    return end;
  }
  // What went wrong; empty when nothing did.
  std::string error_of(const std::string& script,
                       milliseconds deadline = std::chrono::seconds(20)) {
    const ProbeEnd end = run(script, deadline);
    return end.failure ? end.failure->message : "";
  }

  // Whether a process whose number is in this file goes away.
  bool goes_away(const std::string& file) {
    std::string text;
    std::ifstream(file) >> text;
    const auto pid = parse_u64(text);
    if (!pid) return false;
    for (int i = 0; i < 500; ++i) {
      std::string stat;
      std::getline(std::ifstream("/proc/" + std::to_string(*pid) + "/stat"), stat);
      if (stat.empty() || stat.find(") Z") != std::string::npos) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }

  TempDir dir_;
  SystemSpawner spawner_;
  ProbeCommand command_;
  std::chrono::duration<double> elapsed_{0};
};

TEST_F(RunProbe, GivesTheResultOfOneThatEndsWell) {
  const ProbeEnd end = run(std::string(kHead) + kAt + kResult);
  EXPECT_FALSE(end.failure) << end.failure->message;
  EXPECT_EQ(end.line, kLine);
  EXPECT_FALSE(end.stopped);
  EXPECT_EQ(end.left_behind, -1);
  // Its arguments are handed over.
  command_.request.kinds = {"host"};
  EXPECT_EQ(
      error_of("echo \"$@\""),
      "jetmem-probe printed no result, its last: '--kinds host --frame 12582912 --deadline 20 "
      "--progress'");
}

TEST_F(RunProbe, WhatCannotBeStartedIsSaid) {
  command_.program = dir_.file("missing");
  EXPECT_THAT(run_probe(spawner_, command_).failure->message,
              HasSubstr("/missing: No such file or directory"));
  command_.program = dir_.write("probe", "#!/bin/sh\n");
  EXPECT_THAT(run_probe(spawner_, command_).failure->message,
              HasSubstr("/probe: Permission denied"));
}

TEST_F(RunProbe, ACrashSaysWhere) {
  EXPECT_EQ(
      error_of(std::string(kHead) + kAt + "echo no memory >&2; kill -SEGV $$"),
      "jetmem-probe crashed with SIGSEGV, while at \"pinned allocate 65536 bytes\": no memory");
  // SIGKILL from elsewhere may be the OOM killer's.
  const std::string error = error_of(std::string(kHead) + kAt + "kill -KILL $$");
  EXPECT_THAT(error, HasSubstr("was killed by SIGKILL, while at \"pinned"));
  EXPECT_THAT(error, HasSubstr("jetmem events"));
}

TEST_F(RunProbe, OneThatHangsIsKilledWithAllThatItStarted) {
  const ProbeEnd end =
      run(std::string(kHead) + kAt + "sleep 100 & echo $! > " + dir_.path() + "/child; wait",
          milliseconds(300));
  EXPECT_EQ(end.failure->code, Errc::kTimeout);
  EXPECT_THAT(end.failure->message,
              HasSubstr("did not end within 300ms, while at \"pinned allocate 65536 bytes\""));
  EXPECT_LT(elapsed_.count(), 3);
  EXPECT_TRUE(goes_away(dir_.file("child")));
  EXPECT_EQ(end.left_behind, -1);
  // Its own alarm is the same as ours.
  EXPECT_THAT(error_of("kill -ALRM $$"), HasSubstr("did not end within 20s"));
}

TEST_F(RunProbe, WhatItMeasuredBeforeItHungStands) {
  const ProbeEnd end = run(std::string(kHead) + kResult + "sleep 100", milliseconds(300));
  EXPECT_EQ(end.line, kLine);
  EXPECT_THAT(end.failure->message, HasSubstr("did not end within"));
}

TEST_F(RunProbe, AChildLeftBehindWithThePipeIsNotWaitedFor) {
  const ProbeEnd end = run("sleep 100 & echo $! > " + dir_.path() + "/child; " + kResult);
  EXPECT_FALSE(end.failure);
  EXPECT_EQ(end.line, kLine);
  EXPECT_LT(elapsed_.count(), 5);
  EXPECT_TRUE(goes_away(dir_.file("child")));
  // One that made itself a group of its own is out of reach, and holds nobody up either.
  EXPECT_FALSE(run("setsid sleep 3 & " + kResult).failure);
  EXPECT_LT(elapsed_.count(), 2.5);
}

TEST_F(RunProbe, AClosedOutputIsNoEnd) {
  EXPECT_THAT(error_of("exec >&- 2>&-; sleep 100", milliseconds(300)),
              HasSubstr("did not end within 300ms"));
  EXPECT_THAT(error_of("exec >&- 2>&-; sleep 0.2; exit 3"), HasSubstr("ended with status 3"));
}

TEST_F(RunProbe, AFloodEndsIt) {
  // Lines of 16 bytes: wherever it is cut, what comes last looks like a result.
  for (const char* to : {"", " >&2", " | head -c 540672"}) {
    const ProbeEnd end = run(std::string("yes '{\"schema\":1234}'") + to);
    ASSERT_TRUE(end.failure) << to;
    EXPECT_EQ(end.failure->code, Errc::kTooLarge);
    EXPECT_THAT(end.failure->message, HasSubstr("printed more than 512KiB"));
    EXPECT_EQ(end.line, "");
    EXPECT_LT(end.failure->message.size(), 400U);
  }
}

TEST_F(RunProbe, WhatIsNoResult) {
  EXPECT_EQ(error_of("printf 'all\\033[2J is well\\n'"),
            "jetmem-probe printed no result, its last: 'all?[2J is well'");
  EXPECT_EQ(error_of("true"), "jetmem-probe printed nothing");
  // Nor is one that something else came after.
  EXPECT_THAT(error_of(kResult + "echo bye"), HasSubstr("its last: 'bye'"));
  // Nor is half a line.
  EXPECT_EQ(error_of("printf '{\"schema\":\"jetmem-pro'"),
            "jetmem-probe ended in the middle of a line, its last: '{\"schema\":\"jetmem-pro'");
}

TEST_F(RunProbe, AStatusComesWithTheLastWords) {
  EXPECT_EQ(error_of("printf 'wrong\\tway\\033\\n\\n' >&2; exit 2"),
            "jetmem-probe ended with status 2: wrong?way?");
  const std::string error = error_of("yes too long | head -c 100000 >&2; echo end >&2; exit 1");
  EXPECT_THAT(error, HasSubstr("end"));
  EXPECT_LT(error.size(), 300U);
}

TEST_F(RunProbe, CanBeStopped) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  command_.stop_fd = ends[0];
  // Only once it says where it is: so that is seen, too.
  std::string where;
  command_.progress = [&](const std::string& now) {
    where = now;
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
  };
  const ProbeEnd end = run("echo $$ > " + dir_.path() + "/child; " + kHead + kAt + "sleep 100");
  EXPECT_TRUE(end.stopped);
  EXPECT_EQ(where, "pinned allocate 65536 bytes");
  EXPECT_THAT(end.failure->message, HasSubstr("was stopped, while at \"pinned"));
  EXPECT_LT(elapsed_.count(), 5);
  EXPECT_TRUE(goes_away(dir_.file("child")));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace jetmem
