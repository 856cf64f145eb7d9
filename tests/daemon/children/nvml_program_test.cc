// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/nvml_program.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <csignal>

#include "tests/daemon/running_program.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;

class NvmlProgramTest : public ProgramRunning {
 protected:
  void make(NvmlProgramOptions options) {
    options.socket = directory + "/socket";
    options.driver = directory + "/version";
    std::ofstream(options.driver) << "NVRM version\n";
    ProgramContext context{
        clock, spawner, log,
        [this](std::string_view source, Result<const Snapshot*> snapshot, Nanoseconds) {
          EXPECT_EQ(source, "nvml");
          ++answers;
          error = {};
          text.clear();
          if (!snapshot) {
            error = snapshot.error();
          } else {
            text = (*snapshot)->find("/jetmem/nvml").text;
          }
        }};
    program = std::make_unique<NvmlProgram>(context, std::move(options));
    ASSERT_TRUE(program->start(loop));
    section = table.add_section("self");
  }
  static NvmlProgramOptions with(const std::string& behaviour) {
    NvmlProgramOptions options;
    options.program = JETMEM_NVML;
    options.arguments = {"--library", FAKE_NVML + behaviour + ".so"};
    return options;
  }
  NvmlProgramOptions with_script(const std::string& body) {
    NvmlProgramOptions options;
    options.program = script(body);
    return options;
  }
  bool answered(int count) {
    return run_until([&] { return answers >= count; });
  }
  double figure(const std::string& key) {
    SampleWriter out(table, section, clock.boot());
    program->write(out);
    out.finish();
    return table.value_of(key);
  }
  double failures(const std::string& reason) {
    return figure("jetmem_program_failures_total{program=\"jetmem-nvml\",reason=\"" + reason +
                  "\"}");
  }
  // Serves one connection of the socket with this text, as systemd would; stays open if told so.
  UniqueFd listen() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (directory + "/socket").copy(address.sun_path, sizeof address.sun_path - 1);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd.get(), 4), 0);
    return fd;
  }

  std::unique_ptr<NvmlProgram> program;
  SampleTable table;
  std::size_t section = 0;
  int answers = 0;
  Error error;
  std::string text;
};

TEST_F(NvmlProgramTest, StartedForEachReading) {
  make(with("thor"));
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.message, "");
  EXPECT_EQ(text.substr(0, 14), "jetmem-nvml 1\n");
  EXPECT_EQ(text.substr(text.size() - 4), "end\n");
  EXPECT_EQ(program->pid(), -1);
  program->due();
  ASSERT_TRUE(answered(2));
  EXPECT_EQ(figure("jetmem_program_starts_total{program=\"jetmem-nvml\"}"), 2);
  // Said once, not each time.
  ASSERT_EQ(log.entries.size(), 1U);
  EXPECT_EQ(log.entries[0].rfind("jetmem-nvml runs with the daemon's own rights: connect to ", 0),
            0U);
}

// Denied, or out of memory: then nobody knows whether it is there.
TEST_F(NvmlProgramTest, ADriverThatCannotBeLookedForIsNotAbsent) {
  make(with("thor"));
  std::filesystem::remove(directory + "/version");
  std::filesystem::create_symlink("version", directory + "/version");
  program->due();
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(error.code, Errc::kIo);
}

TEST_F(NvmlProgramTest, WithoutTheDriverNothingIsStarted) {
  make(with("thor"));
  std::filesystem::remove(directory + "/version");
  program->due();
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(error.code, Errc::kAbsent);
  EXPECT_EQ(figure("jetmem_program_starts_total{program=\"jetmem-nvml\"}"), 0);
}

TEST_F(NvmlProgramTest, WhereThereIsNothingItIsNotAskedAgainForLong) {
  make(with("orin"));
  program->due();
  ASSERT_TRUE(answered(1));
  program->due();
  run_for(100);
  EXPECT_EQ(answers, 1);
  program->apply({});
  program->due();
  EXPECT_TRUE(answered(2)) << "a reload asks at once";
}

TEST_F(NvmlProgramTest, OneThatHangsIsKilled) {
  NvmlProgramOptions options = with("hang");
  options.deadline = milliseconds(300);
  make(std::move(options));
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.code, Errc::kTimeout);
  EXPECT_EQ(error.message, "jetmem-nvml did not end within 300ms");
  EXPECT_EQ(failures("timeout"), 1);
  EXPECT_EQ(failures("wedged"), 0);
  program->due();
  run_for(100);
  EXPECT_EQ(answers, 1) << "not again at once";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "it was reaped";
}

TEST_F(NvmlProgramTest, OneThatDies) {
  make(with_script("echo 'jetmem-nvml 1'; echo 'no symbol' >&2; exit 127"));
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.code, Errc::kUnavailable);
  EXPECT_EQ(error.message, "jetmem-nvml ended with status 127: no symbol");
  EXPECT_EQ(failures("exited"), 1);
}

// At boot the driver is there before its device nodes: no reason to look away for an hour.
TEST_F(NvmlProgramTest, WhereTheDeviceNodesAreNotYet) {
  make(with_script(
      "printf 'jetmem-nvml 1\\nlibrary ok x\\ninit error DRIVER_NOT_LOADED x\\nend\\n'"));
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.message, "") << "the source tells it from the text";
  Nvml nvml;
  const auto ok = parse_nvml(text, nvml);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, Errc::kUnavailable);
  EXPECT_EQ(failures("exited"), 0) << "it did what it should";
  program->due();
  run_for(50);
  EXPECT_EQ(answers, 1) << "not again at once";
  clock.ahead = std::chrono::seconds(61);
  program->due();
  ASSERT_TRUE(answered(2)) << "but in a minute";
  clock.ahead = std::chrono::seconds(122);
  program->due();
  run_for(50);
  EXPECT_EQ(answers, 2) << "ever more slowly";
}

TEST_F(NvmlProgramTest, OneThatEndsWellInTheMiddle) {
  make(with_script("echo 'jetmem-nvml 1'; echo 'library ok x'"));
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.code, Errc::kUnavailable);
  EXPECT_EQ(error.message, "jetmem-nvml ended after 2 lines: the text was cut");
  EXPECT_EQ(failures("exited"), 1);
}

TEST_F(NvmlProgramTest, OneThatPrintsWithoutEnd) {
  make(with_script("while :; do echo gpu gpu gpu gpu gpu gpu gpu gpu gpu gpu gpu gpu; done"));
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.code, Errc::kTooLarge);
  EXPECT_EQ(failures("flood"), 1);
}

TEST_F(NvmlProgramTest, SwitchedOffItIsGone) {
  make(with("hang"));
  program->due();
  run_for(50);
  program->stop();
  run_for(50);
  EXPECT_EQ(answers, 0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(NvmlProgramTest, TheSocketComesFirst) {
  make(with("thor"));
  const UniqueFd listener = listen();
  program->due();
  UniqueFd connection(::accept(listener.get(), nullptr, nullptr));
  ASSERT_GT(::write(connection.get(), "jetmem-nvml 1\npid 0\nend\n", 24), 0);
  run_for(50);
  EXPECT_EQ(answers, 0) << "not before the end";
  connection.reset();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(text, "jetmem-nvml 1\npid 0\nend\n");
  EXPECT_TRUE(log.entries.empty());
}

TEST_F(NvmlProgramTest, ASocketThatSaysNothing) {
  make(with("thor"));
  const UniqueFd listener = listen();
  program->due();
  UniqueFd(::accept(listener.get(), nullptr, nullptr)).reset();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.code, Errc::kUnavailable);
  EXPECT_NE(error.message.find("ended without a word"), std::string::npos);
}

// It crashed, and only its text says so.
TEST_F(NvmlProgramTest, BehindASocketOneThatCrashes) {
  make(with("thor"));
  const UniqueFd listener = listen();
  const auto serve = [&](std::string_view what) {
    const UniqueFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_EQ(::write(connection.get(), what.data(), what.size()),
              static_cast<ssize_t>(what.size()));
  };
  program->due();
  serve("jetmem-nvml 1\npid 0\nlibrary ok x\ninit ok\n");
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.code, Errc::kUnavailable);
  EXPECT_NE(error.message.find("ended after 4 lines: the text was cut"), std::string::npos)
      << error.message;
  EXPECT_EQ(failures("exited"), 1);
  program->due();
  run_for(50);
  EXPECT_EQ(figure("jetmem_program_starts_total{program=\"jetmem-nvml\"}"), 1)
      << "not again at once";
  clock.ahead = std::chrono::seconds(61);
  program->due();
  serve("jetmem-nvml 1\npid 0\nlibrary ok x\ninit ok\nen");
  ASSERT_TRUE(answered(2));
  EXPECT_EQ(failures("exited"), 2);
  clock.ahead = std::chrono::seconds(122);
  program->due();
  run_for(50);
  EXPECT_EQ(figure("jetmem_program_starts_total{program=\"jetmem-nvml\"}"), 2)
      << "ever more slowly";
}

// Nobody asks for it any more, and still the page does not say that it hangs when it does not.
TEST_F(NvmlProgramTest, OneThatWasWedgedWhenItWasSwitchedOff) {
  NvmlProgramOptions options = with("thor");
  options.deadline = milliseconds(200);
  make(std::move(options));
  const UniqueFd listener = listen();
  const pid_t pid = start_named("jetmem-nvml");
  program->due();
  const UniqueFd connection(::accept(listener.get(), nullptr, nullptr));
  const std::string head = "jetmem-nvml 1\npid " + std::to_string(pid) + "\nlibrary ok x\n";
  ASSERT_GT(::write(connection.get(), head.data(), head.size()), 0);
  ASSERT_TRUE(answered(1));
  run_for(250);
  const std::string wedged = "jetmem_program_wedged{program=\"jetmem-nvml\"}";
  program->apply({});
  program->due();
  EXPECT_EQ(failures("wedged"), 1);
  program->stop();
  EXPECT_EQ(figure(wedged), 1) << "switched off it hangs all the same";
  program->due();
  EXPECT_EQ(failures("wedged"), 2) << "switched on again, it is told again";
  program->stop();
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(figure(wedged), 0);
}

// One that hangs in the driver, and is not ours to kill: none is asked for before it is gone.
TEST_F(NvmlProgramTest, OneThatIsWedgedIsLeftBehind) {
  NvmlProgramOptions options = with("thor");
  options.deadline = milliseconds(200);
  make(std::move(options));
  const UniqueFd listener = listen();
  const pid_t pid = start_named("jetmem-nvml");
  program->due();
  const UniqueFd connection(::accept(listener.get(), nullptr, nullptr));
  const std::string head = "jetmem-nvml 1\npid " + std::to_string(pid) + "\nlibrary ok x\n";
  ASSERT_GT(::write(connection.get(), head.data(), head.size()), 0);
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.code, Errc::kTimeout);
  run_for(250);
  program->apply({});
  program->due();
  ASSERT_EQ(answers, 2);
  EXPECT_NE(error.message.find("hangs in the GPU's driver"), std::string::npos) << error.message;
  program->due();
  EXPECT_EQ(failures("wedged"), 1) << "one, however often it was looked at";
  EXPECT_EQ(figure("jetmem_program_wedged{program=\"jetmem-nvml\"}"), 1);
  EXPECT_EQ(figure("jetmem_program_starts_total{program=\"jetmem-nvml\"}"), 1);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  program->due();
  EXPECT_EQ(figure("jetmem_program_starts_total{program=\"jetmem-nvml\"}"), 2);
  EXPECT_EQ(figure("jetmem_program_wedged{program=\"jetmem-nvml\"}"), 0);
}

}  // namespace
}  // namespace jetmem
