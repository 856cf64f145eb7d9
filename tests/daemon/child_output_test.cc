#include "daemon/child_output.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "tests/daemon/program_running.h"

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

class ChildOutputTest : public ProgramRunning {
 protected:
  void SetUp() override { make(spawner); }
  void make(Spawner& by) {
    child = std::make_unique<ChildOutput>(
        clock, by,
        ChildOutput::Callbacks{[this](std::string_view bytes) {
                                 ++calls;
                                 total += bytes.size();
                                 if (text.size() < 1000) text.append(bytes);
                                 if (kill_at_output) child->kill();
                               },
                               [this](bool was_well, std::string words) {
                                 ++ends;
                                 well = was_well;
                                 how = std::move(words);
                               }});
    ASSERT_TRUE(child->attach(event));
  }
  Result<void> start(const std::string& body, bool stranger = true) {
    SpawnRequest request;
    request.argv = {script(body)};
    request.stranger = stranger;
    return child->start(std::move(request));
  }
  bool ended() {
    return run_until([this] { return ends == 1; });
  }
  // Nothing of it is left, not even a zombie.
  static bool is_reaped(pid_t pid) { return !exists(pid); }

  std::unique_ptr<ChildOutput> child;
  std::string text;
  std::size_t total = 0;
  int calls = 0;
  int ends = 0;
  bool well = false;
  bool kill_at_output = false;
  std::string how;
};

TEST_F(ChildOutputTest, PrintsAndEnds) {
  ASSERT_TRUE(start("echo one; echo two"));
  EXPECT_TRUE(child->running());
  const pid_t pid = child->pid();
  ASSERT_TRUE(ended());
  EXPECT_EQ(text, "one\ntwo\n");
  EXPECT_TRUE(well);
  EXPECT_EQ(how, "ended with status 0");
  EXPECT_FALSE(child->running());
  EXPECT_FALSE(child->leaving());
  EXPECT_EQ(child->pid(), -1);
  EXPECT_TRUE(is_reaped(pid));
}

TEST_F(ChildOutputTest, HowItEnded) {
  ASSERT_TRUE(start("echo 'no  such sensor' >&2; printf '\\033[31m\\n\\n' >&2; exit 7"));
  ASSERT_TRUE(ended());
  EXPECT_FALSE(well);
  EXPECT_EQ(how, "ended with status 7: no  such sensor??[31m");
  ends = 0;
  ASSERT_TRUE(start("kill -SEGV $$"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(how, "was killed by signal 11") << "the words of the one before are not its own";
}

TEST_F(ChildOutputTest, OfStderrTheEndIsKept) {
  ASSERT_TRUE(
      start("i=0; while [ $i -lt 2000 ]; do echo \"line $i\" >&2; echo x; i=$((i+1)); done; "
            "exit 1"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(how.substr(how.size() - 9), "line 1999");
  EXPECT_LE(how.size(), ChildOutput::kErrorBytes + 30);
}

TEST_F(ChildOutputTest, AllThatItPrintedComesBeforeItsEnd) {
  ASSERT_TRUE(start("head -c 300000 /dev/zero; echo end"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(total, 300'004U);
}

TEST_F(ChildOutputTest, CannotBeStarted) {
  SpawnRequest request;
  request.argv = {directory + "/nothing"};
  const auto started = child->start(request);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::kAbsent);
  EXPECT_FALSE(child->running());
  EXPECT_TRUE(start("echo one"));
  EXPECT_FALSE(start("echo two")) << "one at a time";
  EXPECT_TRUE(ended());
}

TEST_F(ChildOutputTest, KilledWithAllThatItStarted) {
  ASSERT_TRUE(start("trap '' TERM INT HUP; sleep 1000 & echo $!; while :; do sleep 1000; done"));
  ASSERT_TRUE(run_until([this] { return !text.empty() && text.back() == '\n'; }));
  const pid_t pid = child->pid();
  const pid_t grandchild = std::stoi(text);
  child->kill();
  EXPECT_FALSE(child->running());
  EXPECT_TRUE(run_until([this] { return !child->leaving(); }));
  EXPECT_TRUE(is_reaped(pid));
  EXPECT_TRUE(run_until([&] {
    // Its own parent is whoever adopts orphans: perhaps nobody reaps there.
    std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
    const std::string line(std::istreambuf_iterator<char>(stat), {});
    return line.empty() || line.find(") Z ") != std::string::npos;
  }));
  EXPECT_EQ(ends, 0) << "who kills it needs not be told";
}

TEST_F(ChildOutputTest, KilledFromWithinItsOwnOutput) {
  kill_at_output = true;
  ASSERT_TRUE(start("while :; do echo one; done"));
  ASSERT_TRUE(run_until([this] { return calls > 0 && !child->leaving(); }));
  run_for(50);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(ends, 0);
}

TEST_F(ChildOutputTest, AnotherMayStartAsSoonAsItIsGone) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(start("echo one; sleep 1000"));
    child->kill();
    ASSERT_TRUE(run_until([this] { return !child->leaving(); })) << i;
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "no child is left, dead or alive";
}

TEST_F(ChildOutputTest, ItsEndIsSeenAlthoughAnotherHoldsThePipe) {
  ASSERT_TRUE(start("echo one; sleep 1000 & exit 3"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(how, "ended with status 3");
}

TEST_F(ChildOutputTest, OneThatClosesItsOutputIsEnded) {
  ASSERT_TRUE(start("exec >&-; sleep 1000"));
  const pid_t pid = child->pid();
  ASSERT_TRUE(ended());
  EXPECT_EQ(how, "closed its output and lives on");
  EXPECT_TRUE(run_until([this] { return !child->leaving(); }));
  EXPECT_TRUE(is_reaped(pid));
}

TEST_F(ChildOutputTest, AFloodWakesTheLoopSomeTimesASecond) {
  ASSERT_TRUE(start("while :; do echo one two three four five six seven eight nine ten; done"));
  run_for(1500);
  EXPECT_GT(child->flooding(), std::chrono::seconds(1));
  total = 0;
  calls = 0;
  run_for(2000);
  EXPECT_LE(calls, 40);
  EXPECT_LE(total, 10 * ChildOutput::kBytesPerWake);
  EXPECT_GT(total, 0U) << "it is read all the same";
}

TEST_F(ChildOutputTest, AFloodThatIsOverIsOver) {
  ASSERT_TRUE(start("head -c 1000000 /dev/zero; sleep 2; echo last; sleep 1000"));
  ASSERT_TRUE(run_until([this] { return child->flooding() > Nanoseconds(0); }));
  ASSERT_TRUE(run_until([this] { return child->flooding() == Nanoseconds(0); }));
  turns = 0;
  EXPECT_TRUE(run_until([&] { return total == 1'000'005U; }));
}

// All of them are read, so nobody may say that they come faster than that.
TEST_F(ChildOutputTest, ManyShortLinesAreNoFlood) {
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

TEST_F(ChildOutputTest, ItGoesWithItsOwner) {
  ASSERT_TRUE(start("trap '' TERM; echo one; while :; do sleep 1000; done"));
  ASSERT_TRUE(run_until([this] { return calls > 0; }));
  const pid_t pid = child->pid();
  child.reset();
  EXPECT_TRUE(is_reaped(pid));
}

TEST_F(ChildOutputTest, OneThatIsNoStrangerStaysInOurGroup) {
  ASSERT_TRUE(start("ps -o pgid= -p $$", false));
  ASSERT_TRUE(ended());
  EXPECT_EQ(std::stoi(text), ::getpgrp());
}

TEST_F(ChildOutputTest, FromASocket) {
  int ends_of_it[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_of_it), 0);
  ASSERT_TRUE(child->read_from(UniqueFd(ends_of_it[0])));
  UniqueFd theirs(ends_of_it[1]);
  ASSERT_EQ(::write(theirs.get(), "one\n", 4), 4);
  ASSERT_TRUE(run_until([this] { return calls > 0; }));
  theirs.reset();
  ASSERT_TRUE(ended());
  EXPECT_TRUE(well);
  EXPECT_EQ(text, "one\n");
}

// Systemd's to kill and to reap, and all the same no other is asked for before it is gone.
TEST_F(ChildOutputTest, FromASocketAProcessThatStaysIsWaitedFor) {
  const pid_t pid = start_named("jetmem-probe");
  int ends_of_it[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_of_it), 0);
  const UniqueFd theirs(ends_of_it[1]);
  ASSERT_TRUE(child->read_from(UniqueFd(ends_of_it[0])));
  child->know_process(pid, "jetmem-probe", clock.mono() + std::chrono::milliseconds(400));
  child->kill();
  run_for(300);
  EXPECT_TRUE(child->leaving());
  EXPECT_FALSE(child->wedged()) << "so long it may live";
  run_for(400);
  EXPECT_TRUE(child->wedged());
  EXPECT_EQ(child->leaving_pid(), pid);
  EXPECT_TRUE(exists(pid)) << "it is not ours to kill";
  EXPECT_FALSE(start("echo one"));
  ::kill(pid, SIGKILL);
  EXPECT_TRUE(run_until([this] { return !child->leaving(); }));
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(start("echo one"));
  EXPECT_TRUE(ended());
}

TEST_F(ChildOutputTest, FromASocketOneThatClosesItIsWaitedFor) {
  const pid_t pid = start_named("jetmem-probe");
  int ends_of_it[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_of_it), 0);
  UniqueFd theirs(ends_of_it[1]);
  ASSERT_TRUE(child->read_from(UniqueFd(ends_of_it[0])));
  child->know_process(pid, "jetmem-probe", clock.mono() + std::chrono::seconds(60));
  theirs.reset();
  ASSERT_TRUE(ended());
  EXPECT_TRUE(well);
  EXPECT_TRUE(child->leaving());
  EXPECT_FALSE(child->wedged());
  ::kill(pid, SIGKILL);
  EXPECT_TRUE(run_until([this] { return !child->leaving(); }));
  ::waitpid(pid, nullptr, 0);
}

// Whatever a connection says: for a thread of the kernel one would wait for ever.
TEST_F(ChildOutputTest, FromASocketNotAnyProcessIsWaitedFor) {
  for (const pid_t pid : {::getppid(), ::getpid(), 2}) {
    int ends_of_it[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_of_it), 0);
    const UniqueFd theirs(ends_of_it[1]);
    ASSERT_TRUE(child->read_from(UniqueFd(ends_of_it[0])));
    child->know_process(pid, "jetmem-probe", Nanoseconds(0));
    child->kill();
    EXPECT_FALSE(child->leaving()) << pid;
  }
}

TEST_F(ChildOutputTest, MuchOnStderrHoldsNobodyUp) {
  ASSERT_TRUE(start("head -c 300000 /dev/zero >&2; echo end >&2; echo one"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(text, "one\n");
  EXPECT_EQ(how.substr(how.size() - 3), "end") << "by a crash it would be the reason";
}

TEST_F(ChildOutputTest, AFloodOnStderrWakesTheLoopSomeTimesASecond) {
  ASSERT_TRUE(start("echo why >&2; sleep 0.2; echo one; yes >&2"));
  ASSERT_TRUE(run_until([this] { return calls > 0; }));
  turns = 0;
  int events = 0;
  const Nanoseconds end = clock.mono() + std::chrono::seconds(2);
  while (clock.mono() < end) events += sd_event_run(event, 10'000) > 0 ? 1 : 0;
  EXPECT_GT(events, 0);
  EXPECT_LE(events, 20);
}

TEST_F(ChildOutputTest, QuietOnesWakeNobody) {
  ASSERT_TRUE(start("echo why >&2; exec sleep 1000"));
  run_for(800);
  int events = 0;
  const Nanoseconds end = clock.mono() + std::chrono::seconds(1);
  while (clock.mono() < end) events += sd_event_run(event, 10'000) > 0 ? 1 : 0;
  EXPECT_EQ(events, 0);
  ASSERT_FALSE(child->last_words().empty());
}

TEST_F(ChildOutputTest, ClosedStderrWakesNobody) {
  ASSERT_TRUE(start("exec 2>&-; exec sleep 1000"));
  run_for(500);
  int events = 0;
  const Nanoseconds end = clock.mono() + std::chrono::milliseconds(500);
  while (clock.mono() < end) events += sd_event_run(event, 10'000) > 0 ? 1 : 0;
  EXPECT_EQ(events, 0);
}

TEST_F(ChildOutputTest, WithoutPidfdsItIsReapedAllTheSame) {
  OldSpawner old;
  make(old);
  ASSERT_TRUE(start("echo one; echo why >&2; exit 7"));
  pid_t pid = child->pid();
  ASSERT_TRUE(ended());
  EXPECT_EQ(how, "ended with status 7: why");
  EXPECT_EQ(text, "one\n");
  EXPECT_TRUE(is_reaped(pid));

  ASSERT_TRUE(start("trap '' TERM; echo two; while :; do sleep 1000; done"));
  pid = child->pid();
  ASSERT_TRUE(run_until([this] { return text == "one\ntwo\n"; }));
  child->kill();
  // Nobody asks whether it is gone: it is looked at all the same.
  run_for(300);
  EXPECT_TRUE(is_reaped(pid));

  ends = 0;
  ASSERT_TRUE(start("exec >&-; sleep 1000"));
  pid = child->pid();
  ASSERT_TRUE(ended());
  EXPECT_EQ(how, "closed its output and lives on");
  run_for(300);
  EXPECT_TRUE(is_reaped(pid));
  child.reset();
}

TEST(Backoff, DoublesUpToTheLongest) {
  Backoff backoff(std::chrono::seconds(1), std::chrono::seconds(5));
  EXPECT_EQ(backoff.next(), std::chrono::seconds(1));
  EXPECT_EQ(backoff.next(), std::chrono::seconds(2));
  EXPECT_EQ(backoff.next(), std::chrono::seconds(4));
  EXPECT_EQ(backoff.next(), std::chrono::seconds(5));
  EXPECT_EQ(backoff.next(), std::chrono::seconds(5));
  backoff.reset();
  EXPECT_EQ(backoff.next(), std::chrono::seconds(1));
}

}  // namespace
}  // namespace jetmem
