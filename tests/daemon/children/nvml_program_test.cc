// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/nvml_program.h"

#include <sys/wait.h>

#include "tests/daemon/running_program.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class NvmlProgramTest : public SourceProgramTest {
 protected:
  NvmlProgramTest() : SourceProgramTest("nvml") {}

  void make(NvmlProgramOptions options) {
    options.socket = socket_path;
    options.driver = directory + "/version";
    std::ofstream(options.driver) << "NVRM version\n";
    program = std::make_unique<NvmlProgram>(context(), std::move(options));
    ASSERT_TRUE(program->start(loop));
  }
  static NvmlProgramOptions with(const std::string& behaviour,
                                 milliseconds deadline = NvmlProgramOptions{}.deadline) {
    return {.program = JETMEM_NVML,
            .arguments = {"--library", FAKE_NVML + behaviour + ".so"},
            .deadline = deadline};
  }
  NvmlProgramOptions with_script(const std::string& body) {
    return {.program = script(body), .arguments = {}};
  }
  // And asks for its first reading.
  void make_and_ask(NvmlProgramOptions options) {
    answers = 0;
    make(std::move(options));
    ASSERT_TRUE(due_and_answered(1));
  }
  // It is due, and nothing comes of it.
  void due_in_vain() {
    const int before = answers;
    program->due();
    run_for(50);
    EXPECT_EQ(answers, before);
  }
};

TEST_F(NvmlProgramTest, StartedForEachReading) {
  make_and_ask(with("thor"));
  EXPECT_EQ(error.message, "");
  EXPECT_EQ(text.substr(0, 14), "jetmem-nvml 1\n");
  EXPECT_EQ(text.substr(text.size() - 4), "end\n");
  EXPECT_EQ(program->pid(), -1);
  ASSERT_TRUE(due_and_answered(2));
  EXPECT_EQ(log.entries.size(), 1U) << "the daemon's own rights, once";
  // Without the driver nothing is started.
  std::filesystem::remove(directory + "/version");
  program->due();
  EXPECT_EQ(error.code, Errc::kAbsent);
  // One that cannot be looked for is not absent: denied, or out of memory.
  std::filesystem::create_symlink("version", directory + "/version");
  program->due();
  EXPECT_EQ(answers, 4);
  EXPECT_EQ(error.code, Errc::kIo);
  EXPECT_EQ(starts(), 2);
}

TEST_F(NvmlProgramTest, WhereThereIsNothingItIsNotAskedAgainForLong) {
  make_and_ask(with("orin"));
  due_in_vain();
  program->apply({});
  EXPECT_TRUE(due_and_answered(2)) << "a reload asks at once";
}

TEST_F(NvmlProgramTest, OneThatHangsIsKilledOrGoneOnceSwitchedOff) {
  make_and_ask(with("hang", milliseconds(300)));
  EXPECT_EQ(error.code, Errc::kTimeout);
  EXPECT_EQ(failures("timeout"), 1);
  EXPECT_EQ(failures("wedged"), 0);
  due_in_vain();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "it was reaped";
  make(with("hang"));
  program->due();
  program->stop();
  EXPECT_TRUE(run_until([] { return ::waitpid(-1, nullptr, WNOHANG) == -1; }));
  EXPECT_EQ(answers, 1);
}

TEST_F(NvmlProgramTest, HowOneMayEnd) {
  for (const auto& [body, code, reason] :
       {std::tuple{"echo 'jetmem-nvml 1'; echo 'no symbol' >&2; exit 127", Errc::kUnavailable,
                   "exited"},
        {"echo 'jetmem-nvml 1'; echo 'library ok x'", Errc::kUnavailable, "exited"},
        {"while :; do echo gpu gpu gpu gpu gpu gpu gpu gpu gpu; done", Errc::kTooLarge, "flood"}}) {
    SCOPED_TRACE(body);
    make_and_ask(with_script(body));
    EXPECT_EQ(error.code, code);
    EXPECT_EQ(failures(reason), 1);
  }
}

// At boot the driver is there before its device nodes: no reason to look away for an hour.
TEST_F(NvmlProgramTest, WhereTheDeviceNodesAreNotYet) {
  make_and_ask(with_script(
      "printf 'jetmem-nvml 1\\nlibrary ok x\\ninit error DRIVER_NOT_LOADED x\\nend\\n'"));
  EXPECT_EQ(error.message, "") << "the source tells it from the text";
  Nvml nvml;
  const auto ok = parse_nvml(text, nvml);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, Errc::kUnavailable);
  EXPECT_EQ(failures("exited"), 0) << "it did what it should";
  due_in_vain();
  clock.ahead = seconds(61);
  ASSERT_TRUE(due_and_answered(2)) << "but in a minute";
  clock.ahead = seconds(122);
  due_in_vain();  // ever more slowly
}

TEST_F(NvmlProgramTest, TheSocketComesFirst) {
  make(with("thor"));
  const UniqueFd listener = listen();
  program->due();
  UniqueFd connection = accept(listener, "jetmem-nvml 1\npid 0\nend\n");
  run_for(50);
  EXPECT_EQ(answers, 0) << "not before the end";
  connection.reset();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(text, "jetmem-nvml 1\npid 0\nend\n");
  EXPECT_TRUE(log.entries.empty());
}

// It crashed, and only its text says so.
TEST_F(NvmlProgramTest, BehindASocketOneThatCrashes) {
  make(with("thor"));
  const UniqueFd listener = listen();
  int times = 0;
  for (const char* cut : {"", "jetmem-nvml 1\npid 0\nlibrary ok x\ninit ok\nen"}) {
    program->due();
    accept(listener, cut);
    ASSERT_TRUE(answered(++times));
    EXPECT_EQ(error.code, Errc::kUnavailable);
    EXPECT_EQ(failures("exited"), times);
    due_in_vain();
    clock.ahead = seconds(61);
  }
  clock.ahead = seconds(122);
  due_in_vain();  // ever more slowly
  EXPECT_EQ(starts(), 2);
}

// One that hangs in the driver, and is not ours to kill: none is asked for before it is gone.
TEST_F(NvmlProgramTest, OneThatIsWedgedIsLeftBehind) {
  make(with("thor", milliseconds(200)));
  const UniqueFd listener = listen();
  NamedProcess nvml("jetmem-nvml");
  program->due();
  const UniqueFd connection =
      accept(listener, "jetmem-nvml 1\npid " + std::to_string(nvml.pid()) + "\nlibrary ok x\n");
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.code, Errc::kTimeout);
  run_for(250);
  program->apply({});
  program->due();
  EXPECT_EQ(answers, 2);
  program->due();
  EXPECT_EQ(failures("wedged"), 1) << "one, however often it was looked at";
  program->stop();
  EXPECT_EQ(wedged(), 1) << "switched off it hangs all the same";
  program->due();
  EXPECT_EQ(failures("wedged"), 2) << "enabled again, it is reported again";
  EXPECT_EQ(starts(), 1);
  program->stop();
  nvml.end();
  EXPECT_EQ(wedged(), 0) << "although nobody asks for it";
  program->due();
  EXPECT_EQ(starts(), 2);
}

}  // namespace
}  // namespace jetmem
