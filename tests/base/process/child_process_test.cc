// SPDX-License-Identifier: Apache-2.0
#include "base/process/child_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/process/poll_loop.h"
#include "tests/named_process.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

// As on kernels before 5.3, which have no pidfds.
class OldSpawner final : public Spawner {
 public:
  Result<Child> spawn(const SpawnRequest& request) override {
    auto child = spawner_.spawn(request);
    if (child) child->pidfd.reset();
    return child;
  }

 private:
  SystemSpawner spawner_;
};

class ChildProcessTest : public testing::Test {
 protected:
  void SetUp() override { make(spawner); }
  void make(Spawner& by, std::function<bool()> packets = {}) {
    ChildProcess::Callbacks callbacks;
    callbacks.packets = std::move(packets);
    if (!callbacks.packets) callbacks.output = [this](std::string_view bytes) { take(bytes); };
    callbacks.ended = [this](ChildEnd end) {
      ++ends;
      well = end.well;
      how = std::move(end.how);
    };
    child = std::make_unique<ChildProcess>(clock, by, std::move(callbacks));
    ASSERT_TRUE(child->attach(loop));
  }
  void take(std::string_view bytes) {
    ++calls;
    total += bytes.size();
    if (text.size() < 1000) text.append(bytes);
    if (kill_at_output) child->kill();
  }
  Result<void> start(const std::string& body, bool own_process_group = true) {
    SpawnRequest request;
    request.argv = {script(body)};
    request.own_process_group = own_process_group;
    return child->start(std::move(request));
  }
  // Its process; 0: it was not started.
  pid_t started(const std::string& body) {
    ends = 0;
    const bool ok = start(body).has_value();
    EXPECT_TRUE(ok);
    return ok ? child->pid() : 0;
  }
  pid_t run(const std::string& body) {
    const pid_t pid = started(body);
    EXPECT_TRUE(ended());
    return pid;
  }
  bool goes() {
    return run_until([this] { return !child->is_terminating(); });
  }
  bool ended() {
    return run_until([this] { return ends == 1; });
  }
  std::string script(const std::string& body) const {
    std::string path = directory.path() + "/program";
    std::ofstream(path) << "#!/bin/sh\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  bool run_until(const std::function<bool()>& condition) {
    return loop.run_until(condition, std::chrono::seconds(30));
  }
  void run_for(int milliseconds) {
    loop.run_until([] { return false; }, std::chrono::milliseconds(milliseconds));
  }
  // How often the loop has something to do within this time.
  int wakes_within(std::chrono::milliseconds time) {
    int wakes = 0;
    const Nanoseconds end = clock.mono() + time;
    while (clock.mono() < end) wakes += loop.run_once(end - clock.mono()) ? 1 : 0;
    return wakes;
  }
  // Nothing of it is left, not even a zombie.
  static bool is_reaped(pid_t pid) { return pid > 0 && !exists(pid); }

  // Of this process, which systemd started, is its connection.
  UniqueFd connected_to(const NamedProcess& peer, std::chrono::milliseconds may_live) {
    UniqueFd theirs = connected();
    child->set_peer_process(peer.pid(), "jetmem-probe", clock.mono() + may_live);
    return theirs;
  }
  // The other end of a connection that it reads from.
  UniqueFd connected() {
    int both[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both), 0);
    EXPECT_TRUE(child->read_from(UniqueFd(both[0])));
    return UniqueFd(both[1]);
  }

  SystemClock clock;
  SystemSpawner spawner;
  PollLoop loop;
  TempDir directory;
  std::unique_ptr<ChildProcess> child;
  std::string text;
  std::size_t total = 0;
  int calls = 0;
  int ends = 0;
  bool well = false;
  bool kill_at_output = false;
  std::string how;
};

TEST_F(ChildProcessTest, PrintsAndEnds) {
  ASSERT_TRUE(start("echo one; echo two"));
  EXPECT_TRUE(child->running());
  const pid_t pid = child->pid();
  ASSERT_TRUE(ended());
  EXPECT_EQ(text, "one\ntwo\n");
  EXPECT_TRUE(well);
  EXPECT_EQ(how, "ended with status 0");
  EXPECT_FALSE(child->running());
  EXPECT_FALSE(child->is_terminating());
  EXPECT_EQ(child->pid(), -1);
  EXPECT_TRUE(is_reaped(pid));
}

TEST_F(ChildProcessTest, HowItEnded) {
  run("echo 'no  such sensor' >&2; printf '\\033[31m\\n\\n' >&2; exit 7");
  EXPECT_FALSE(well);
  EXPECT_EQ(how, "ended with status 7: no  such sensor??[31m");
  run("kill -SEGV $$");
  EXPECT_EQ(how, "was killed by signal 11") << "the words of the one before are not its own";
  // Although another holds the pipe.
  run("echo one; sleep 1000 & exit 3");
  EXPECT_EQ(how, "ended with status 3");
}

TEST_F(ChildProcessTest, AllThatItPrintedComesBeforeItsEnd) {
  run("head -c 300000 /dev/zero; echo end");
  EXPECT_EQ(total, 300'004U);
}

TEST_F(ChildProcessTest, CannotBeStarted) {
  SpawnRequest request;
  request.argv = {directory.path() + "/nothing"};
  const auto started = child->start(request);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::kAbsent);
  EXPECT_FALSE(child->running());
  EXPECT_TRUE(start("echo one"));
  EXPECT_FALSE(start("echo two")) << "one at a time";
  EXPECT_TRUE(ended());
}

TEST_F(ChildProcessTest, KilledWithAllThatItStarted) {
  ASSERT_TRUE(start("trap '' TERM INT HUP; sleep 1000 & echo $!; while :; do sleep 1000; done"));
  ASSERT_TRUE(run_until([this] { return !text.empty() && text.back() == '\n'; }));
  const pid_t pid = child->pid();
  const pid_t grandchild = std::stoi(text);
  child->kill();
  EXPECT_FALSE(child->running());
  EXPECT_TRUE(goes());
  EXPECT_TRUE(is_reaped(pid));
  EXPECT_TRUE(run_until([&] {
    // Its own parent is whoever adopts orphans: perhaps nobody reaps there.
    std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
    const std::string line(std::istreambuf_iterator<char>(stat), {});
    return line.empty() || line.find(") Z ") != std::string::npos;
  }));
  EXPECT_EQ(ends, 0) << "who kills it needs no callback";
}

TEST_F(ChildProcessTest, KilledFromWithinItsOwnOutput) {
  kill_at_output = true;
  ASSERT_TRUE(start("while :; do echo one; done"));
  ASSERT_TRUE(run_until([this] { return calls > 0 && !child->is_terminating(); }));
  run_for(50);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(ends, 0);
}

TEST_F(ChildProcessTest, AnotherMayStartAsSoonAsItIsGone) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(start("echo one; sleep 1000"));
    child->kill();
    ASSERT_TRUE(goes()) << i;
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "no child is left, dead or alive";
}

TEST_F(ChildProcessTest, OneThatClosesItsOutputIsEnded) {
  const pid_t pid = run("exec >&-; sleep 1000");
  EXPECT_EQ(how, "closed stdout but is still running");
  EXPECT_TRUE(goes());
  EXPECT_TRUE(is_reaped(pid));
}

TEST_F(ChildProcessTest, AFloodWakesTheLoopSomeTimesASecond) {
  ASSERT_TRUE(start("while :; do echo one two three four five six seven eight nine ten; done"));
  run_for(1500);
  EXPECT_GT(child->flooding(), std::chrono::seconds(1));
  total = 0;
  calls = 0;
  run_for(2000);
  EXPECT_LE(calls, 40);
  EXPECT_LE(total, 10 * ChildProcess::kBytesPerWake);
  EXPECT_GT(total, 0U) << "it is read all the same";
}

TEST_F(ChildProcessTest, AFloodThatIsOverIsOver) {
  ASSERT_TRUE(start("head -c 1000000 /dev/zero; sleep 2; echo last; sleep 1000"));
  ASSERT_TRUE(run_until([this] { return child->flooding() > Nanoseconds(0); }));
  ASSERT_TRUE(run_until([this] { return child->flooding() == Nanoseconds(0); }));
  EXPECT_TRUE(run_until([&] { return total == 1'000'005U; }));
}

// All of them are read, so nobody may say that they come faster than that.
TEST_F(ChildProcessTest, ManyShortLinesAreNoFlood) {
  ASSERT_TRUE(
      start("i=0; while [ $i -lt 100 ]; do echo $i; sleep 0.02; i=$((i+1)); done; "
            "echo last; sleep 1000"));
  Nanoseconds longest{0};
  ASSERT_TRUE(run_until([&] {
    longest = std::max(longest, child->flooding());
    return text.find("last") != std::string::npos;
  }));
  EXPECT_EQ(longest, Nanoseconds(0));
  EXPECT_LE(calls, 60) << "and still they wake the loop some times a second";
}

TEST_F(ChildProcessTest, ItGoesWithItsOwner) {
  const pid_t pid = started("trap '' TERM; echo one; while :; do sleep 1000; done");
  ASSERT_TRUE(run_until([this] { return calls > 0; }));
  child.reset();
  EXPECT_TRUE(is_reaped(pid));
}

TEST_F(ChildProcessTest, OneThatIsNoStrangerStaysInOurGroup) {
  ASSERT_TRUE(start("ps -o pgid= -p $$", false));
  ASSERT_TRUE(ended());
  EXPECT_EQ(std::stoi(text), ::getpgrp());
}

TEST_F(ChildProcessTest, FromASocket) {
  UniqueFd theirs = connected();
  ASSERT_EQ(::write(theirs.get(), "one\n", 4), 4);
  ASSERT_TRUE(run_until([this] { return calls > 0; }));
  theirs.reset();
  ASSERT_TRUE(ended());
  EXPECT_TRUE(well);
  EXPECT_EQ(text, "one\n");
}

// Systemd's to kill and to reap, and all the same no other is asked for before it is gone.
TEST_F(ChildProcessTest, FromASocketAProcessThatStaysIsWaitedFor) {
  NamedProcess probe("jetmem-probe");
  const UniqueFd theirs = connected_to(probe, std::chrono::milliseconds(400));
  child->kill();
  run_for(300);
  EXPECT_TRUE(child->is_terminating());
  EXPECT_FALSE(child->wedged()) << "so long it may live";
  run_for(400);
  EXPECT_TRUE(child->wedged());
  EXPECT_EQ(child->terminating_pid(), probe.pid());
  EXPECT_TRUE(exists(probe.pid())) << "it is not ours to kill";
  EXPECT_FALSE(start("echo one"));
  probe.kill();
  EXPECT_TRUE(goes());
  probe.end();
  EXPECT_TRUE(start("echo one"));
  EXPECT_TRUE(ended());
}

TEST_F(ChildProcessTest, FromASocketOneThatClosesItIsWaitedFor) {
  NamedProcess probe("jetmem-probe");
  connected_to(probe, std::chrono::seconds(60)).reset();
  ASSERT_TRUE(ended());
  EXPECT_TRUE(well);
  EXPECT_TRUE(child->is_terminating());
  EXPECT_FALSE(child->wedged());
  probe.kill();
  EXPECT_TRUE(goes());
  probe.end();
}

// Whatever a connection says: for a thread of the kernel one would wait for ever.
TEST_F(ChildProcessTest, FromASocketNotAnyProcessIsWaitedFor) {
  for (const pid_t pid : {::getppid(), ::getpid(), 2}) {
    const UniqueFd theirs = connected();
    child->set_peer_process(pid, "jetmem-probe", Nanoseconds(0));
    child->kill();
    EXPECT_FALSE(child->is_terminating()) << pid;
  }
}

TEST_F(ChildProcessTest, MuchOnStderrHoldsNobodyUp) {
  run("head -c 300000 /dev/zero >&2; echo end >&2; echo one");
  EXPECT_EQ(text, "one\n");
  EXPECT_EQ(how.substr(how.size() - 3), "end") << "by a crash it would be the reason";
  EXPECT_LE(how.size(), ChildProcess::kErrorBytes + 30);
}

TEST_F(ChildProcessTest, AFloodOnStderrWakesTheLoopSomeTimesASecond) {
  ASSERT_TRUE(start("echo why >&2; sleep 0.2; echo one; yes >&2"));
  ASSERT_TRUE(run_until([this] { return calls > 0; }));
  const int events = wakes_within(std::chrono::seconds(2));
  EXPECT_GT(events, 0);
  EXPECT_LE(events, 20);
}

TEST_F(ChildProcessTest, QuietOnesWakeNobody) {
  started("echo why >&2; exec sleep 1000");
  run_for(800);
  EXPECT_EQ(wakes_within(std::chrono::seconds(1)), 0);
  ASSERT_FALSE(child->stderr_tail().empty());
  // Nor does one that closed stderr.
  child->kill();
  ASSERT_TRUE(goes());
  started("exec 2>&-; exec sleep 1000");
  run_for(500);
  EXPECT_EQ(wakes_within(std::chrono::milliseconds(500)), 0);
}

TEST_F(ChildProcessTest, WithoutPidfdsItIsReapedAllTheSame) {
  OldSpawner old;
  make(old);
  EXPECT_TRUE(is_reaped(run("echo one; echo why >&2; exit 7")));
  EXPECT_EQ(how, "ended with status 7: why");
  EXPECT_EQ(text, "one\n");

  pid_t pid = started("trap '' TERM; echo two; while :; do sleep 1000; done");
  ASSERT_TRUE(run_until([this] { return text == "one\ntwo\n"; }));
  child->kill();
  // Nobody asks whether it is gone: it is looked at all the same.
  run_for(300);
  EXPECT_TRUE(is_reaped(pid));

  pid = run("exec >&-; sleep 1000");
  EXPECT_EQ(how, "closed stdout but is still running");
  run_for(300);
  EXPECT_TRUE(is_reaped(pid));
  child.reset();
}

// One that talks in packets: each line that it writes to its socket is one.
TEST_F(ChildProcessTest, PacketsComeWholeAndBeforeItsEnd) {
  std::vector<std::string> packets;
  make(spawner, [&] {
    for (;;) {
      char bytes[64];
      const ssize_t n = ::recv(child->channel(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (n <= 0) return n < 0;
      packets.emplace_back(bytes, static_cast<std::size_t>(n));
    }
  });
  run("echo one >&3; echo two >&3; exit 3");
  EXPECT_EQ(packets, (std::vector<std::string>{"one\n", "two\n"}));
  EXPECT_EQ(how, "ended with status 3");
  run("exec 3>&-; exec sleep 1000");
  EXPECT_EQ(how, "closed its connection but is still running");
  EXPECT_TRUE(goes());
}

TEST(Backoff, DoublesUpToTheLongest) {
  Backoff backoff(std::chrono::seconds(1), std::chrono::seconds(5));
  for (const int seconds : {1, 2, 4, 5, 5}) {
    EXPECT_EQ(backoff.next(), std::chrono::seconds(seconds));
  }
  backoff.reset();
  EXPECT_EQ(backoff.next(), std::chrono::seconds(1));
}

}  // namespace
}  // namespace jetmem
