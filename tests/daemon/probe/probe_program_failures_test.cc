// SPDX-License-Identifier: Apache-2.0
// What jetmem-probe may do wrong, started by the daemon and behind systemd's socket.
#include "tests/daemon/probe/probe_program_fixture.h"

namespace jetmem {
namespace {

struct BadEnd {
  const char* name;
  const char* body;
  const char* reason;
  // The kind that is shown as failed rather than omitted as if it had never been tried.
  const char* kind = nullptr;
  const char* target = "";
  const char* error = "";
  bool host_is_kept = false;  // what was finished before is not lost with it
};
class ProbeProgramEnds : public ProbeProgramTest, public testing::WithParamInterface<BadEnd> {};

TEST_P(ProbeProgramEnds, AreFailuresWithAReason) {
  const BadEnd& end = GetParam();
  settings.probe.deadline = seconds(2);
  make_and_run(end.body);
  if (end.kind != nullptr) {
    EXPECT_EQ(lost(end.kind, end.error, end.target), 1);
    EXPECT_NE(text.find("\"state\":\"failed\""), std::string::npos) << text;
  }
  const double kept = runs("host", "ok");
  EXPECT_EQ(kept == 1, end.host_is_kept) << kept;
  EXPECT_EQ(end.host_is_kept && tells_of("host"), end.host_is_kept) << text;
  failed_as(end.reason);
}

INSTANTIATE_TEST_SUITE_P(
    All, ProbeProgramEnds,
    testing::Values(
        BadEnd{"HalfALine", "begin; echo 'at host - free 65536'; result | head -c 200\n", "exited"},
        BadEnd{"Garbage", "printf 'Segmentation fault\\n\\033[31mcore'; exit 0\n",
               "invalid_output"},
        BadEnd{"OtherJson", "begin; echo '{\"schema\":\"jetmem-probe/1\",\"probes\":[1]}'\n",
               "invalid_output"},
        BadEnd{"OtherKinds", "begin; kinds=host,pinned; result\n", "invalid_output"},
        BadEnd{"MoreKinds", "begin; kinds=host,dmabuf,pinned; result\n", "invalid_output"},
        BadEnd{"Hang",
               "trap '' TERM; begin; echo 'at host - allocate 65536'; sleep 100; sleep 100\n",
               "timeout", "host", "", "timeout"},
        BadEnd{"Crash", "begin; echo 'at host - first_touch 65536'; kill -SEGV $$\n", "exited",
               "host", "", "exited"},
        BadEnd{"MemoryRunsShort", "begin; echo 'at dmabuf system allocate 65536'; kill -KILL $$\n",
               "exited", "dmabuf", "system", "killed"},
        BadEnd{"FloodAfterAResult",
               "begin; begun; through host; yes 'at host - allocate 65536' | head -c 4000000\n",
               "flood"},
        BadEnd{"CrashAtTheSecondKind",
               "begin; begun; echo 'at host - free 65536'; through host; echo 'at dmabuf - start "
               "0'; kill -SEGV $$\n",
               "exited", "dmabuf", "", "exited", true},
        BadEnd{"CrashBetweenKinds",
               "begin; begun; echo 'at host - free 65536'; through host; kill -SEGV $$\n", "exited",
               nullptr, "", "", true},
        // A crash while the process ends, in a driver say, is a crash; what it found was found.
        BadEnd{"CrashAfterTheResult", "begin; result; kill -ABRT $$\n", "exited", nullptr, "", "",
               true},
        BadEnd{"ThroughWithWhatNobodyAskedFor",
               "begin; begun; through host; through pinned; kill -SEGV $$\n", "exited"}),
    [](const auto& test) { return test.param.name; });

TEST_F(ProbeProgramTest, ItIsMissing) {
  make_with_program(directory + "/nowhere");
  program->due();
  failed_as("not_started");
}

// The one place for its words.
TEST_F(ProbeProgramTest, ItsEndIsLoggedWithItsStep) {
  make_and_run("begin; echo 'at host - first_touch 65536'; kill -SEGV $$\n");
  EXPECT_TRUE(log.has("crashed with SIGSEGV, while at \"host first_touch 65536 bytes\""));
  EXPECT_TRUE(log.has("probe: host is failed; at first_touch of 65536 bytes; exited"));
}

TEST_F(ProbeProgramCudaTest, ItHangsAtItsLastKindOfCuda) {
  settings.probe.deadline = seconds(1);
  make_and_run(
      "begin; is_cuda || { result; exit; }; begun; echo 'gpu {\"state\":\"ok\"}'; for kind in "
      "pinned managed device; do through $kind; done; echo 'at eglstream - allocate 65536'; "
      "sleep 100\n",
      2);
  EXPECT_EQ(failures("timeout"), 1);
  EXPECT_EQ(source_has(), (std::vector<std::string>{"host", "dmabuf", "pinned", "managed", "device",
                                                    "eglstream"}));
  EXPECT_EQ(runs("device", "ok"), 1);
  EXPECT_EQ(lost("eglstream", "timeout"), 1);
}

TEST_F(ProbeProgramCudaTest, WhatCudaBreaksCostsNothingElse) {
  make_and_run(
      "begin; is_cuda && [ -e $here/broken ] && { echo 'at pinned - allocate 65536'; kill -SEGV "
      "$$; }; result\n",
      2);
  std::ofstream(directory + "/broken") << "";
  later(hours(1));
  ASSERT_TRUE(run_until([this] { return failures("exited") == 1; }));
  EXPECT_EQ(error.message, "") << "the source has what it had";
  EXPECT_TRUE(tells_of("host"));
  EXPECT_EQ(lost("pinned", "exited"), 1);
  EXPECT_EQ(runs("pinned", "failed"), 1);
  EXPECT_EQ(interval("memory"), 300);
  later(hours(1));
  ASSERT_TRUE(run_until([this] { return failures("exited") == 2; }));
  EXPECT_EQ(interval("cuda"), 7200) << "ever more slowly";
  later(hours(1));
  EXPECT_TRUE(run_until([this] { return skips("cuda", "backoff") == 1; }));
  EXPECT_EQ(failures("exited"), 2);
}

// ---- behind systemd's socket

class ProbeProgramSocket : public ProbeProgramTest {
 protected:
  void SetUp() override {
    ProbeProgramTest::SetUp();
    make();
    listener = listen();
  }
  // A run that stands for a process of this number, at its first step.
  UniqueFd run_of(pid_t pid) {
    program->due();
    return accept(listener,
                  "jetmem-probe/1 pid " + std::to_string(pid) + "\nat host - allocate 65536\n");
  }

  UniqueFd listener;
};

TEST_F(ProbeProgramSocket, ComesFirst) {
  program->due();
  const UniqueFd connection = accept(listener);
  char request[512] = {};
  ASSERT_GT(::read(connection.get(), request, sizeof request - 1), 0);
  EXPECT_STREQ(request, "--kinds host,dmabuf --frame 12582912 --deadline 4 --progress\n");
  const std::string file = script(std::string(kPrologue) + "begin; result\n");
  FILE* pipe = ::popen((file + " --kinds host,dmabuf").c_str(), "r");
  char bytes[4096];
  const std::string answer(bytes, ::fread(bytes, 1, sizeof bytes, pipe));
  ::pclose(pipe);
  send(connection, answer.substr(0, answer.size() - 10));
  run_for(50);
  EXPECT_EQ(answers, 0) << "not before the end";
  EXPECT_EQ(windows, "(");
  send(connection, answer.substr(answer.size() - 10));
  ::shutdown(connection.get(), SHUT_RDWR);
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.message, "");
  EXPECT_EQ(windows, "()");
  EXPECT_EQ(log.entries.size(), 1U) << "its first results";
}

TEST_F(ProbeProgramSocket, OneThatDies) {
  run_of(0).reset();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(lost("host", "exited"), 1);
  EXPECT_EQ(failures("exited"), 1);
}

TEST_F(ProbeProgramSocket, OneThatIsBusy) {
  ::listen(listener.get(), 0);
  const UniqueFd other = unix_client(socket_path);
  ASSERT_TRUE(due_and_answered(1));
  EXPECT_EQ(failures("not_started"), 1) << "none is started beside it: " << error.message;
  EXPECT_TRUE(requested().empty());
}

// The result is there, and the process is on its way out, or stuck there.
TEST_F(ProbeProgramSocket, OneThatLivesOnIsAskedForLater) {
  settings.probe.deadline = seconds(60);
  make();
  NamedProcess probe("jetmem-probe");
  run_of(probe.pid()).reset();
  ASSERT_TRUE(answered(1));
  later(hours(1));
  EXPECT_EQ(skips("memory", "previous_run_unfinished"), 1);
  EXPECT_EQ(failures("wedged"), 0) << "it has a minute";
  EXPECT_EQ(failures("not_started"), 0);
  probe.end();
  later(hours(1));
  EXPECT_EQ(starts(), 2);
}

// One that hangs in a driver, and is not ours to kill: none is started before it is gone.
TEST_F(ProbeProgramSocket, OneThatIsWedgedIsLeftBehind) {
  settings.probe.deadline = seconds(1);
  options.window_timeout = milliseconds(600);
  make();
  NamedProcess probe("jetmem-probe");
  const UniqueFd connection = run_of(probe.pid());
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(failures("timeout"), 1);
  EXPECT_EQ(windows, "(") << "it is not gone";
  ASSERT_TRUE(run_until([this] { return windows == "()"; })) << "but not indefinitely";
  later(hours(1));
  EXPECT_EQ(error.code, Errc::kTimeout);
  later(hours(1));
  EXPECT_EQ(failures("wedged"), 1) << "one, however often it was looked at";
  EXPECT_EQ(skips("memory", "previous_run_unfinished"), 2);
  EXPECT_EQ(wedged(), 1);
  EXPECT_EQ(starts(), 1);
  probe.end();
  later(hours(1));
  EXPECT_EQ(starts(), 2);
  EXPECT_EQ(wedged(), 0);
}

// It outlives the daemon.
TEST_F(ProbeProgramSocket, OneLeftBehindByAnEarlierDaemonIsWaitedFor) {
  NamedProcess probe("jetmem-probe");
  const UniqueFd connection = run_of(probe.pid());
  // It is written down once it has said who it is.
  const std::string state = directory + "/probe.json";
  ASSERT_TRUE(run_until([&] {
    return read("probe.json").find("\"pid\":" + std::to_string(probe.pid())) != std::string::npos;
  }));
  // The daemon dies: nobody stops anything.
  std::filesystem::copy_file(state, directory + "/kept");
  program.reset();
  std::filesystem::rename(directory + "/kept", state);
  listener.reset();
  settings.probe.socket = directory + "/none";
  clock.ahead += hours(1);
  make();
  program->due();
  run_for(50);
  EXPECT_EQ(starts(), 0);
  EXPECT_EQ(skips("memory", "previous_run_unfinished"), 1);
  EXPECT_TRUE(log.has("jetmem-probe " + std::to_string(probe.pid()))) << "which one it is";
  clock.ahead += minutes(5);
  EXPECT_EQ(wedged(), 1);
  probe.end();
  const int before = answers;
  ASSERT_TRUE(due_and_answered(before + 1));
  EXPECT_EQ(starts(), 1);
  EXPECT_EQ(wedged(), 0);
}

}  // namespace
}  // namespace jetmem
