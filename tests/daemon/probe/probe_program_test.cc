// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_program.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmath>
#include <csignal>
#include <sstream>

#include "collectors/proc/meminfo.h"
#include "tests/daemon/running_program.h"

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// In front of every stand-in: `$kinds` as asked for, and what a sound jetmem-probe says. result
// STATE... gives one line, in which the kinds named have that state in place of "ok".
constexpr const char* kPrologue = R"(
here=$(dirname "$0")
echo "$@" >> "$here/starts"
kinds=$2
is_cuda() { case $kinds in pinned*) return 0;; esac; return 1; }
begin() { echo "jetmem-probe/1 pid $$"; echo "at conditions - before 0"; }
result() {
  printf '{"schema":"jetmem-probe/1","version":"t","pid":%d,' $$
  printf '"started":{"boot_microseconds":1,"wall_microseconds":1},"seconds":0.1,'
  printf '"frame_bytes":65536,"conditions":{"before":{"absent":{}},"after":{"absent":{}}},'
  printf '"probes":['
  separator=
  for kind in $(echo "$kinds" | tr , ' '); do
    state=ok
    [ "$kind" = "$1" ] && state=$2
    printf '%s{"kind":"%s","target":"","state":"%s"' "$separator" "$kind" "$state"
    [ $state = failed ] && printf ',"reason":"out","failed_step":"allocate","failed_bytes":65536'
    [ $state = failed ] && printf ',"error":"ENOMEM"'
    printf ',"rungs":[],"ratios":[]}'
    separator=,
  done
  printf ']}\n'
}
# The pieces of one, as far as they are told before it ends.
begun() {
  printf 'begun {"schema":"jetmem-probe/1","version":"t","pid":%d,' $$
  printf '"started":{"boot_microseconds":1,"wall_microseconds":1},'
  printf '"frame_bytes":65536,"before":{"absent":{}}}\n'
}
through() {
  printf 'done {"kind":"%s","target":"","state":"ok","rungs":[{"bytes":65536,"mismatches":0,' $1
  printf '"steps":[{"step":"allocate","seconds":0.5}]}],"ratios":[]}\n'
}
)";
constexpr const char* kSound = "begin; result\n";

class ProbeProgramTest : public ProgramRunning {
 protected:
  void SetUp() override {
    options.schedule.first_memory = options.schedule.first_memory_spread = Nanoseconds(0);
    options.schedule.first_cuda = options.schedule.first_cuda_spread = Nanoseconds(0);
    options.schedule.most_jitter = Nanoseconds(0);
    options.schedule.after_reload = options.schedule.between_runs = Nanoseconds(0);
    options.settle = milliseconds(20);
    settings.probe.socket = directory + "/socket";
    settings.probe.deadline = seconds(5);
    settings.probe.cuda = false;
    options.root = directory;
    settings.sources.push_back({"probe", true, minutes(5)});
    readings.add(meminfo.reading_tag(), meminfo.reading_address());
    memory(4U << 20);
    // Whatever the machine's: the gates ask how long it has been up.
    clock.ahead = hours(1);
  }
  void memory(std::uint64_t kilobytes) {
    const std::string lines = "MemFree: " + std::to_string(kilobytes) +
                              " kB\nMemAvailable: " + std::to_string(kilobytes) + " kB\n";
    Snapshot snapshot;
    snapshot.add("/proc/meminfo", lines, 0);
    ASSERT_TRUE(meminfo.parse(snapshot, Nanoseconds(0)));
    readings.set_valid(0, true);
  }
  // A new one in the old one's place, as an update does it.
  void write_child_process_stats(const std::string& body) {
    const std::string path = script(kPrologue + body);
    std::filesystem::rename(path, directory + "/jetmem-probe");
    settings.probe.program = directory + "/jetmem-probe";
  }
  void make(const std::string& body = kSound) {
    write_child_process_stats(body);
    make_with_program(settings.probe.program);
  }
  void make_with_program(const std::string& path) {
    settings.probe.program = path;
    ProgramContext context{
        clock,
        spawner,
        log,
        [this](std::string_view source, Result<const Snapshot*> snapshot, Nanoseconds) {
          EXPECT_EQ(source, "probe");
          ++answers;
          error = {};
          text.clear();
          if (snapshot) {
            text = (*snapshot)->find("/jetmem/probe").text;
          } else {
            error = snapshot.error();
          }
        },
        &readings,
        {[this](Nanoseconds) { windows += "("; }, [this](Nanoseconds) { windows += ")"; },
         [this] { return events; }},
        [this](std::string_view) { return others; },
        runtime_directory};
    program = std::make_unique<ProbeProgram>(context, options);
    program->apply(settings);
    ASSERT_TRUE(program->start(loop));
    section = table.add_section("self");
  }
  bool answered(int count) {
    return run_until([&] { return answers >= count; });
  }
  // The next time that the source is due.
  void later(Nanoseconds by = minutes(5)) {
    clock.ahead += by;
    program->due();
  }
  double figure(const std::string& key) {
    SampleWriter out(table, section, clock.boot());
    program->write(out);
    out.finish();
    return table.value_of(key);
  }
  double starts() { return figure("jetmem_program_starts_total{program=\"jetmem-probe\"}"); }
  double failures(const std::string& reason) {
    return figure("jetmem_program_failures_total{program=\"jetmem-probe\",reason=\"" + reason +
                  "\"}");
  }
  double skips(const std::string& group, const std::string& reason) {
    return figure("jetmem_probe_skips_total{group=\"" + group + "\",reason=\"" + reason + "\"}");
  }
  double interval(const std::string& group) {
    return figure("jetmem_probe_interval_seconds{group=\"" + group + "\"}");
  }
  double lost(const std::string& kind, const std::string& error_name) {
    return figure("jetmem_probe_failures_total{error=\"" + error_name + "\",kind=\"" + kind +
                  "\",target=\"\"}");
  }
  double runs(const std::string& kind, const std::string& state) {
    return figure("jetmem_probe_runs_total{kind=\"" + kind + "\",state=\"" + state +
                  "\",target=\"\"}");
  }
  // The kinds that its text tells of.
  std::vector<std::string> source_has() const {
    std::vector<std::string> kinds;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ProbeRun run;
      EXPECT_TRUE(parse_probe_run(line, run)) << line;
      for (const ProbeRun::Probe& probe : run.probes) kinds.push_back(probe.kind);
    }
    return kinds;
  }
  std::vector<std::string> requested() const {
    std::vector<std::string> lines;
    std::ifstream file(directory + "/starts");
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  UniqueFd listen() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    settings.probe.socket.copy(address.sun_path, sizeof address.sun_path - 1);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd.get(), 4), 0);
    return fd;
  }
  static void log_message(const UniqueFd& connection, const std::string& what) {
    ASSERT_EQ(::write(connection.get(), what.data(), what.size()),
              static_cast<ssize_t>(what.size()));
  }
  // It did not end well, and nothing is left of it.
  void failed_as(const std::string& reason, const std::string& words) {
    ASSERT_TRUE(answered(1));
    // Said, and in the source's state where nothing is known of any kind.
    EXPECT_TRUE(log.has(words) || error.message.find(words) != std::string::npos)
        << words << ": " << error.message;
    EXPECT_EQ(failures(reason), 1);
    double all = 0;
    for (const char* other :
         {"not_started", "exited", "timeout", "flood", "wedged", "invalid_output"}) {
      all += failures(other);
    }
    EXPECT_EQ(all, 1) << "that and nothing else";
    EXPECT_TRUE(log.has("; probes of memory are tried again in 5m")) << "it is said";
    run_until([] { return ::waitpid(-1, nullptr, WNOHANG) == -1; }, 1000);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "it was reaped";
    const double before = starts();
    later(minutes(2));
    run_for(50);
    EXPECT_EQ(starts(), before) << "not again at once";
    EXPECT_EQ(skips("memory", "backoff"), 1);
    // Mended, it is well at the next try.
    write_child_process_stats(kSound);
    settings.probe.socket = directory + "/none";
    program->apply(settings);
    ASSERT_TRUE(run_until([this] { return !text.empty(); }));
    EXPECT_EQ(interval("memory"), 300);
  }

  std::string runtime_directory = directory;
  ProbeProgramOptions options;
  Settings settings;
  MeminfoSource meminfo;
  Readings readings;
  std::unique_ptr<ProbeProgram> program;
  SampleTable table;
  std::size_t section = 0;
  int answers = 0;
  Error error;
  std::string text;
  std::string windows;
  std::optional<std::uint64_t> events = 0;
  SourceState others = SourceState::kAbsent;  // throttle, pressure
};

TEST_F(ProbeProgramTest, ItsLineIsTheSourcesText) {
  make();
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.message, "");
  ProbeRun run;
  ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  ASSERT_TRUE(parse_probe_run(text.substr(0, text.size() - 1), run));
  ASSERT_EQ(run.probes.size(), 2U);
  EXPECT_EQ(requested(),
            std::vector<std::string>{"--kinds host,dmabuf --frame 12582912 --deadline 4 "
                                     "--progress"});
  EXPECT_EQ(starts(), 1);
  EXPECT_EQ(figure("jetmem_probe_runs_total{kind=\"host\",state=\"ok\",target=\"\"}"), 1);
  EXPECT_EQ(figure("jetmem_probe_running{group=\"memory\"}"), 0);
  EXPECT_TRUE(std::isnan(interval("cuda"))) << "switched off";
  EXPECT_EQ(windows, "()");
  ASSERT_EQ(log.entries.size(), 2U);
  EXPECT_EQ(log.entries[0].rfind("jetmem-probe runs with the daemon's own rights: connect to", 0),
            0U);
  EXPECT_EQ(log.entries[1], "probe, first results of memory: host ok, dmabuf ok");
  later();
  ASSERT_TRUE(answered(2));
  EXPECT_EQ(log.entries.size(), 2U) << "no news";
}

TEST_F(ProbeProgramTest, ABootIsLeftAlone) {
  options.schedule.first_memory = milliseconds(300);
  make();
  program->due();
  run_for(150);
  EXPECT_EQ(starts(), 0);
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(starts(), 1);
}

TEST_F(ProbeProgramTest, AReloadAsksAgain) {
  make();
  program->due();
  ASSERT_TRUE(answered(1));
  program->apply(settings);
  ASSERT_TRUE(answered(2));
}

TEST_F(ProbeProgramTest, CudaComesAfterInAProcessOfItsOwn) {
  settings.probe.cuda = true;
  make();
  program->due();
  ASSERT_TRUE(answered(2));
  ASSERT_EQ(requested().size(), 2U);
  EXPECT_EQ(requested()[1].rfind("--kinds pinned,managed,device,registered,dmabuf_export,", 0), 0U);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << "both hold";
  EXPECT_NE(text.find("\"pinned\""), std::string::npos);
  EXPECT_EQ(windows, "()()") << "never both";
  later();
  ASSERT_TRUE(answered(3));
  run_for(100);
  EXPECT_EQ(requested().size(), 3U) << "with CUDA only each hour";
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  later(hours(1));
  EXPECT_TRUE(run_until([this] { return requested().size() == 5; }));
}

TEST_F(ProbeProgramTest, CudaSwitchedOffItsResultsAreGone) {
  settings.probe.cuda = true;
  make();
  program->due();
  ASSERT_TRUE(answered(2));
  settings.probe.cuda = false;
  program->apply(settings);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.find("\"pinned\""), std::string::npos);
}

TEST_F(ProbeProgramTest, CudaSwitchedOffWhileItRunsItIsKilled) {
  settings.probe.cuda = true;
  make("begin; is_cuda && sleep 100; result\n");
  program->due();
  ASSERT_TRUE(run_until([this] { return figure("jetmem_probe_running{group=\"cuda\"}") == 1; }));
  settings.probe.cuda = false;
  program->apply(settings);
  ASSERT_TRUE(run_until([this] { return windows == "()()()"; })) << windows;
  EXPECT_EQ(failures("exited") + failures("timeout"), 0);
  EXPECT_EQ(skips("cuda", "disabled"), 1);
  EXPECT_TRUE(log.has("the running probe of cuda was ended: it is disabled now"));
}

TEST_F(ProbeProgramTest, WhatIsTooOldIsDropped) {
  settings.probe.cuda = true;
  settings.probe.cuda_interval = minutes(10);
  make();
  program->due();
  ASSERT_TRUE(answered(2));
  memory(300U << 10);  // too little for CUDA only
  for (int i = 1; i <= 5; ++i) {
    later();
    ASSERT_TRUE(answered(2 + i));
    EXPECT_NE(text.find("\"pinned\""), std::string::npos) << i;
  }
  later();
  EXPECT_TRUE(run_until([this] {
    return text.find("\"pinned\"") == std::string::npos &&
           text.find("\"host\"") != std::string::npos;
  }));
}

// ---- what it may do wrong

TEST_F(ProbeProgramTest, ItIsMissing) {
  make_with_program(directory + "/nowhere");
  program->due();
  failed_as("not_started", "/nowhere: No such file or directory");
}

struct BadEnd {
  const char* name;
  const char* body;
  const char* reason;
  const char* words;
};
class ProbeProgramEnds : public ProbeProgramTest, public testing::WithParamInterface<BadEnd> {};

TEST_P(ProbeProgramEnds, AreFailuresWithAReason) {
  settings.probe.deadline = seconds(2);
  make(GetParam().body);
  program->due();
  failed_as(GetParam().reason, GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(
    All, ProbeProgramEnds,
    testing::Values(
        BadEnd{"HalfALine", "begin; echo 'at host - free 65536'; result | head -c 200\n", "exited",
               "exited before its result was complete; it was at host free 65536"},
        BadEnd{"Nothing", "exit 0\n", "exited", "jetmem-probe exited without printing anything"},
        BadEnd{"OtherJson", "begin; echo '{\"schema\":\"jetmem-probe/1\",\"probes\":[1]}'\n",
               "invalid_output", "printed invalid output: "},
        BadEnd{"OtherKinds", "begin; kinds=host,pinned; result\n", "invalid_output",
               "no result for dmabuf"},
        BadEnd{"MoreKinds", "begin; kinds=host,dmabuf,pinned; result\n", "invalid_output",
               "pinned was not requested"},
        // It has an alarm of its own, a little before.
        BadEnd{"OwnAlarm", "begin; echo 'at host - allocate 65536'; sleep 1; kill -ALRM $$\n",
               "timeout", "did not end within 1s; it was at host allocate 65536 bytes"},
        BadEnd{"RefusedArguments",
               "echo \"jetmem-probe: unknown option '--progress'\" >&2; exit 2\n", "exited",
               "ended with status 2: jetmem-probe: unknown option '--progress'"}),
    [](const auto& test) { return test.param.name; });

TEST_F(ProbeProgramTest, ItCrashesAtAStep) {
  make("begin; echo 'at host - first_touch 65536'; kill -SEGV $$\n");
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(lost("host", "exited"), 1);
  EXPECT_TRUE(log.has("probe: host is failed; at first_touch of 65536 bytes; exited"))
      << "as a state";
  failed_as("exited", "was killed by signal 11; it was at host first_touch 65536 bytes");
}

TEST_F(ProbeProgramTest, ItIsKilledWhenMemoryRunsShort) {
  make("begin; echo 'at dmabuf system allocate 65536'; kill -KILL $$\n");
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(
      figure("jetmem_probe_failures_total{error=\"killed\",kind=\"dmabuf\",target=\"system\"}"), 1);
  failed_as("exited", "was killed by signal 9, not by jetmem: when memory runs short");
}

TEST_F(ProbeProgramTest, ItHangs) {
  settings.probe.deadline = seconds(1);
  make("trap '' TERM; begin; echo 'at host - allocate 65536'; sleep 100; sleep 100\n");
  program->due();
  ASSERT_TRUE(answered(1));
  // Shown as what failed, not left out as if it had never been tried.
  EXPECT_NE(text.find("\"state\":\"failed\""), std::string::npos) << text;
  EXPECT_EQ(lost("host", "timeout"), 1);
  failed_as("timeout", "did not end within 1s and was killed; it was at host allocate 65536 bytes");
}

TEST_F(ProbeProgramTest, ItPrintsMegabytes) {
  make(
      "begin; echo 'at host - allocate 65536'; yes 'at host - allocate 65536' | head -c 4000000\n");
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_NE(text.find("\"state\":\"failed\""), std::string::npos) << text;
  failed_as("flood", "printed more than 512KiB and was killed");
}

TEST_F(ProbeProgramTest, ItEndsWellWithGarbage) {
  make("printf 'Segmentation fault\\n\\033[31mcore'; exit 0\n");
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.code, Errc::kMalformed);
  failed_as("invalid_output", "exited with status 0 but printed no result");
}

// A crash while the process ends, in a driver say, is a crash; what it found was found.
TEST_F(ProbeProgramTest, ItCrashesAfterItsResult) {
  make("begin; result; kill -ABRT $$\n");
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(failures("exited"), 1);
  EXPECT_TRUE(log.has("was killed by signal 6"));
  EXPECT_TRUE(log.has("; probes of memory are tried again in 5m"));
  EXPECT_EQ(source_has(), (std::vector<std::string>{"host", "dmabuf"}));
  EXPECT_EQ(runs("host", "ok"), 1);
}

// What was finished before is not lost with it.
TEST_F(ProbeProgramTest, ItCrashesAtItsSecondKind) {
  make(
      "begin; begun; echo 'at host - free 65536'; through host; echo 'at dmabuf - start 0'; kill "
      "-SEGV $$\n");
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(source_has(), (std::vector<std::string>{"host", "dmabuf"}));
  EXPECT_NE(text.find("\"error\":\"exited\""), std::string::npos) << text;
  EXPECT_EQ(runs("host", "ok"), 1);
  EXPECT_LT(figure("jetmem_probe_since_success_seconds{kind=\"host\",target=\"\"}"), 60);
  EXPECT_EQ(runs("dmabuf", "failed"), 1);
  EXPECT_EQ(lost("dmabuf", "exited"), 1);
  EXPECT_TRUE(std::isnan(lost("host", "exited")));
  EXPECT_EQ(failures("exited"), 1);
  EXPECT_TRUE(log.has("was killed by signal 11; it was at dmabuf start"));
  EXPECT_TRUE(log.has("; probes of memory are tried again in 5m"));
  EXPECT_TRUE(log.has("probe: dmabuf is failed; at start; exited"));
  later(minutes(2));
  run_for(50);
  EXPECT_EQ(starts(), 1) << "not again at once";
}

TEST_F(ProbeProgramTest, ItHangsAtItsLastKindOfCuda) {
  settings.probe.cuda = true;
  settings.probe.deadline = seconds(1);
  make(
      "begin; is_cuda || { result; exit; }; begun; echo 'gpu {\"state\":\"ok\"}'; for kind in "
      "pinned managed device; do through $kind; done; echo 'at eglstream - allocate 65536'; "
      "sleep 100\n");
  program->due();
  ASSERT_TRUE(answered(2));
  EXPECT_EQ(failures("timeout"), 1);
  EXPECT_EQ(source_has(), (std::vector<std::string>{"host", "dmabuf", "pinned", "managed", "device",
                                                    "eglstream"}));
  EXPECT_EQ(runs("device", "ok"), 1);
  EXPECT_EQ(lost("eglstream", "timeout"), 1);
  EXPECT_TRUE(log.has("; probes of cuda are tried again in "));
}

TEST_F(ProbeProgramTest, WhatItWasThroughWithDidNotBreakIt) {
  make("begin; begun; echo 'at host - free 65536'; through host; kill -SEGV $$\n");
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(failures("exited"), 1);
  EXPECT_EQ(runs("host", "ok"), 1);
  EXPECT_EQ(runs("host", "failed"), 0);
}

TEST_F(ProbeProgramTest, ItWasThroughWithWhatNobodyAskedFor) {
  make("begin; begun; through host; through pinned; kill -SEGV $$\n");
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_TRUE(std::isnan(runs("host", "ok")));
  failed_as("exited", "was killed by signal 11");
}

TEST_F(ProbeProgramTest, OfAFloodNothingIsBelieved) {
  make("begin; begun; through host; yes 'at host - allocate 65536' | head -c 4000000\n");
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(runs("host", "ok"), 0);
  failed_as("flood", "printed more than 512KiB and was killed");
}

TEST_F(ProbeProgramTest, WhatCudaBreaksCostsNothingElse) {
  settings.probe.cuda = true;
  make(
      "begin; is_cuda && [ -e $here/broken ] && { echo 'at pinned - allocate 65536'; kill -SEGV "
      "$$; }; "
      "result\n");
  program->due();
  ASSERT_TRUE(answered(2));
  std::ofstream(directory + "/broken") << "";
  later(hours(1));
  ASSERT_TRUE(run_until([this] { return failures("exited") == 1; }));
  EXPECT_EQ(error.message, "") << "the source has what it had";
  EXPECT_NE(text.find("\"host\""), std::string::npos);
  EXPECT_NE(text.find("\"state\":\"failed\""), std::string::npos) << text;
  EXPECT_EQ(lost("pinned", "exited"), 1);
  EXPECT_EQ(figure("jetmem_probe_runs_total{kind=\"pinned\",state=\"failed\",target=\"\"}"), 1);
  EXPECT_TRUE(log.has("probe: pinned is failed, was ok; at allocate of 65536 bytes; exited"));
  EXPECT_TRUE(log.has("probes of cuda are tried again in 1h"));
  EXPECT_EQ(interval("memory"), 300);
  later(hours(1));
  ASSERT_TRUE(run_until([this] { return failures("exited") == 2; }));
  EXPECT_EQ(interval("cuda"), 7200) << "ever more slowly";
  later(hours(1));
  run_for(150);
  EXPECT_EQ(skips("cuda", "backoff"), 1);
  EXPECT_EQ(failures("exited"), 2);
}

// ---- when it is left alone

TEST_F(ProbeProgramTest, AClosedGateIsASkipAndSaidOnce) {
  memory(10U << 10);
  make();
  program->due();
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(error.code, Errc::kSkipped);
  EXPECT_EQ(error.message, "MemAvailable minus free CMA is 10 MiB; 64 MiB is needed");
  for (int i = 0; i < 3; ++i) later();
  EXPECT_EQ(skips("memory", "low_available"), 4);
  EXPECT_EQ(starts(), 0);
  ASSERT_EQ(log.entries.size(), 1U);
  EXPECT_EQ(
      log.entries[0],
      "probes of memory are skipped: MemAvailable minus free CMA is 10 MiB; 64 MiB is needed");
  readings.set_valid(0, false);
  later();
  EXPECT_EQ(skips("memory", "memory_unknown"), 1);
  EXPECT_EQ(log.entries.size(), 2U) << "another reason";
  memory(4U << 20);
  later();
  ASSERT_TRUE(run_until([this] { return !text.empty(); }));
  EXPECT_TRUE(log.has("probes of memory resume after 5 skipped"));
}

TEST_F(ProbeProgramTest, TooLittleForCudaIsEnoughForTheRest) {
  settings.probe.cuda = true;
  memory(300U << 10);
  make();
  program->due();
  ASSERT_TRUE(run_until([this] { return skips("cuda", "low_available") == 1; }));
  EXPECT_EQ(answers, 1) << "nothing is said against the source";
  EXPECT_EQ(error.message, "");
  EXPECT_EQ(starts(), 1);
  // Not an hour later but as soon as it can be.
  memory(4U << 20);
  later();
  ASSERT_TRUE(answered(3));
  EXPECT_EQ(starts(), 3);
}

TEST_F(ProbeProgramTest, WhatShouldBeKnownAndIsNotHoldsCuda) {
  settings.probe.cuda = true;
  others = SourceState::kFailed;
  make();
  program->due();
  ASSERT_TRUE(run_until([this] { return skips("cuda", "throttling_unknown") == 1; }));
  EXPECT_EQ(starts(), 1);
}

// Without the socket it is charged to the daemon.
TEST_F(ProbeProgramTest, WithinItsOwnLimitItIsNotStarted) {
  std::filesystem::create_directories(directory + "/proc/self");
  std::filesystem::create_directories(directory + "/sys/fs/cgroup");
  std::ofstream(directory + "/proc/self/cgroup") << "0::/\n";
  std::ofstream(directory + "/sys/fs/cgroup/memory.max") << (64U << 20) << "\n";
  std::ofstream(directory + "/sys/fs/cgroup/memory.current") << (4U << 20) << "\n";
  make();
  program->due();
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(error.code, Errc::kSkipped);
  EXPECT_EQ(error.message,
            "jetmemd's own unit leaves only 60MiB, and 88 are wanted: enable jetmem-probe.socket, "
            "which has limits of its own");
  EXPECT_EQ(skips("memory", "cgroup_headroom"), 1);
  EXPECT_EQ(starts(), 0);
  EXPECT_EQ(windows, "");
  const UniqueFd listener = listen();
  later();
  EXPECT_EQ(starts(), 1) << "systemd's is not";
}

TEST_F(ProbeProgramTest, NeverTwoAtATime) {
  make("begin; sleep 0.5; result\n");
  program->due();
  ASSERT_EQ(starts(), 1);
  later();
  EXPECT_EQ(skips("memory", "previous_run_unfinished"), 1);
  EXPECT_EQ(starts(), 1);
  ASSERT_TRUE(run_until([this] { return !text.empty(); }));
}

TEST_F(ProbeProgramTest, SwitchedOffItIsKilled) {
  make("begin; sleep 1000\n");
  program->due();
  run_for(50);
  settings.sources[0].enabled = false;
  program->apply(settings);
  program->stop();
  ASSERT_TRUE(run_until([this] { return windows == "()"; }));
  EXPECT_EQ(answers, 0);
  EXPECT_EQ(skips("memory", "disabled"), 1);
  EXPECT_TRUE(log.has("the running probe of memory was ended"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_TRUE(std::isnan(interval("memory")));
  write_child_process_stats(kSound);
  settings.sources[0].enabled = true;
  program->apply(settings);
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.message, "");
}

TEST_F(ProbeProgramTest, WhatTakesLongIsWorthShowing) {
  make("begin; sleep 2.5; result\n");
  program->due();
  run_for(300);
  EXPECT_EQ(program->pid(), -1);
  run_for(1900);
  EXPECT_GT(program->pid(), 0);
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(program->pid(), -1);
}

// ---- what is shown, and for how long

TEST_F(ProbeProgramTest, ItsAgeIsShown) {
  settings.probe.cuda = true;
  make("begin; [ -e $here/bad ] && exit 1; result\n");
  const auto age = [this](const std::string& group) {
    return figure("jetmem_probe_age_seconds{group=\"" + group + "\"}");
  };
  const auto since = [this] {
    return figure("jetmem_probe_since_success_seconds{kind=\"pinned\",target=\"\"}");
  };
  EXPECT_TRUE(std::isnan(age("memory")));
  program->due();
  ASSERT_TRUE(answered(2));
  clock.ahead += minutes(2);
  EXPECT_NEAR(age("memory"), 120, 2);
  EXPECT_NEAR(age("cuda"), 120, 2);
  EXPECT_NEAR(since(), 120, 2);
  settings.probe.cuda = false;
  program->apply(settings);
  EXPECT_TRUE(std::isnan(age("cuda")));
  EXPECT_TRUE(std::isnan(since())) << "it cannot succeed";
  ASSERT_TRUE(answered(4));  // without CUDA's, and anew
  EXPECT_LT(age("memory"), 60);
  std::ofstream(directory + "/bad") << "x";
  later();
  ASSERT_TRUE(answered(5));
  EXPECT_TRUE(std::isnan(age("memory"))) << "nothing is shown";
}

// Doubled for what it makes the driver print, its results are still as old as they are.
TEST_F(ProbeProgramTest, AResultIsWorthThreeOfTheIntervalsThatWereSet) {
  settings.probe.cuda = true;
  make("begin; is_cuda && sleep 0.2; result\n");
  for (int i = 0; i < 4; ++i) {
    later(hours(25));
    ASSERT_TRUE(run_until([this] { return figure("jetmem_probe_running{group=\"cuda\"}") == 1; }));
    events = *events + 1;
    ASSERT_TRUE(run_until([this] { return figure("jetmem_probe_running{group=\"cuda\"}") == 0; }));
    run_for(100);
  }
  EXPECT_EQ(interval("cuda"), 16 * 3600);
  const auto has = [this](const char* kind) { return text.find(kind) != std::string::npos; };
  text.clear();
  later(hours(2));
  ASSERT_TRUE(run_until([&] { return has("\"host\""); }));
  EXPECT_TRUE(has("\"pinned\""));
  text.clear();
  later(hours(1) + minutes(1));
  EXPECT_TRUE(run_until([&] { return has("\"host\""); }));
  EXPECT_FALSE(has("\"pinned\""));
}

// Each time another heap: hostile, or out of its mind.
TEST_F(ProbeProgramTest, NamesWithoutEndAreGarbage) {
  make("begin; result | sed \"s/\\\"dmabuf\\\",\\\"target\\\":\\\"/&$$/\"\n");
  int taken = 0;
  for (int i = 0; i < 40; ++i) {
    const int before = answers;
    later();
    ASSERT_TRUE(answered(before + 1));
    if (!error.message.empty()) break;
    ++taken;
  }
  EXPECT_EQ(taken, 32);
  EXPECT_EQ(
      error.message,
      "jetmem-probe printed invalid output: it names more new targets than are taken in a day");
  EXPECT_EQ(failures("invalid_output"), 1);
}

// ---- over a restart of the daemon

TEST_F(ProbeProgramTest, ARestartProbesNoEarlier) {
  settings.probe.cuda = true;
  make();
  program->due();
  ASSERT_TRUE(answered(2));
  clock.ahead += minutes(1);
  make();
  program->due();
  run_for(100);
  EXPECT_EQ(starts(), 0);
  clock.ahead += minutes(4);
  program->due();
  ASSERT_TRUE(answered(3));
  run_for(100);
  EXPECT_EQ(starts(), 1) << "without CUDA";
  make();
  program->apply(settings);
  ASSERT_TRUE(answered(4)) << "whoever reloads gets it";
  EXPECT_EQ(starts(), 1);
}

TEST_F(ProbeProgramTest, WithoutADirectoryNothingIsKept) {
  runtime_directory.clear();
  make();
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_FALSE(std::filesystem::exists("/probe.json"));
  make();
  program->due();
  ASSERT_TRUE(answered(2));
}

TEST_F(ProbeProgramTest, WhatWasKeptMayBeGarbageOrAnotherBoots) {
  std::ofstream(directory + "/probe.json") << "{\x1b";
  make();
  EXPECT_TRUE(log.has("restart lost the time of the last probe: " + directory + "/probe.json: "));
  program->due();
  ASSERT_TRUE(answered(1));
  SavedProbes state;
  state.schedule.groups[0] = {clock.boot(), hours(6), hours(6)};
  log.entries.clear();
  std::ofstream(directory + "/probe.json") << R"({"format":1,"boot_id":"another"})"
                                              "\n"
                                           << to_text(state);
  make();
  EXPECT_TRUE(log.entries.empty());
  program->due();
  ASSERT_TRUE(answered(2));
}

// Behind systemd's socket it outlives the daemon.
TEST_F(ProbeProgramTest, OneLeftBehindByAnEarlierDaemonIsWaitedFor) {
  make();
  UniqueFd listener = listen();
  const pid_t pid = start_named("jetmem-probe");
  program->due();
  UniqueFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  log_message(connection,
              "jetmem-probe/1 pid " + std::to_string(pid) + "\nat host - allocate 65536\n");
  run_for(1300);  // it is written down once it has said who it is
  // The daemon dies: nobody stops anything.
  std::filesystem::copy_file(directory + "/probe.json", directory + "/kept");
  program.reset();
  std::filesystem::rename(directory + "/kept", directory + "/probe.json");
  listener.reset();
  settings.probe.socket = directory + "/none";
  clock.ahead += hours(1);
  make();
  program->due();
  run_for(50);
  EXPECT_EQ(starts(), 0);
  EXPECT_EQ(skips("memory", "previous_run_unfinished"), 1);
  EXPECT_TRUE(
      log.has("jetmem-probe " + std::to_string(pid) + " of an earlier jetmemd is not gone"));
  clock.ahead += minutes(5);
  EXPECT_EQ(figure("jetmem_program_wedged{program=\"jetmem-probe\"}"), 1);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  const int before = answers;
  program->due();
  ASSERT_TRUE(answered(before + 1));
  EXPECT_EQ(starts(), 1);
  EXPECT_EQ(figure("jetmem_program_wedged{program=\"jetmem-probe\"}"), 0);
}

// ---- what it does to the kernel's log

TEST_F(ProbeProgramTest, ComplaintsOfTheDriverSlowCudaDown) {
  settings.probe.cuda = true;
  make("begin; is_cuda && sleep 0.2; result\n");
  const auto run = [&](std::uint64_t new_events) {
    later(hours(25));
    ASSERT_TRUE(run_until([this] { return figure("jetmem_probe_running{group=\"cuda\"}") == 1; }));
    *events += new_events;
    ASSERT_TRUE(run_until([this] { return figure("jetmem_probe_running{group=\"cuda\"}") == 0; }));
    run_for(100);
  };
  events = 7;  // of before
  run(0);
  EXPECT_EQ(interval("cuda"), 3600);
  run(3);
  EXPECT_EQ(interval("cuda"), 7200);
  EXPECT_TRUE(
      log.has("the probe with CUDA made the kernel log 3 events: the next ones come only "
              "every 2h"));
  run(1);
  EXPECT_EQ(interval("cuda"), 4 * 3600);
  run(0);
  EXPECT_EQ(interval("cuda"), 7200);
  EXPECT_TRUE(log.has("left no trace in the kernel's log: the next ones come every 2h"));
  run(0);
  EXPECT_EQ(interval("cuda"), 3600);
  EXPECT_EQ(figure("jetmem_probe_side_effects_total"), 11);
}

TEST_F(ProbeProgramTest, ALogThatNobodyFollowsSaysNothing) {
  settings.probe.cuda = true;
  events.reset();
  make("begin; is_cuda && sleep 0.2; result\n");
  program->due();
  ASSERT_TRUE(run_until([this] { return figure("jetmem_probe_running{group=\"cuda\"}") == 1; }));
  EXPECT_TRUE(std::isnan(figure("jetmem_probe_side_effects_total")));
  events = 5;  // of before: it is followed from now on
  ASSERT_TRUE(answered(2));
  run_for(100);
  EXPECT_EQ(interval("cuda"), 3600);
  EXPECT_EQ(figure("jetmem_probe_side_effects_total"), 5);
}

TEST_F(ProbeProgramTest, ComplaintsDuringTheRunWithoutCudaAreNotCudas) {
  settings.probe.cuda = true;
  make("begin; is_cuda || sleep 0.2; result\n");
  program->due();
  run_for(50);
  events = 5;
  ASSERT_TRUE(answered(2));
  run_for(100);
  EXPECT_EQ(interval("cuda"), 3600);
}

// ---- behind systemd's socket

TEST_F(ProbeProgramTest, TheSocketComesFirst) {
  make();
  const UniqueFd listener = listen();
  program->due();
  const UniqueFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  char request[512] = {};
  ASSERT_GT(::read(connection.get(), request, sizeof request - 1), 0);
  EXPECT_STREQ(request, "--kinds host,dmabuf --frame 12582912 --deadline 4 --progress\n");
  const std::string file = script(std::string(kPrologue) + "begin; result\n");
  const std::string answer = [&] {
    FILE* pipe = ::popen((file + " --kinds host,dmabuf").c_str(), "r");
    char bytes[4096];
    const std::size_t n = ::fread(bytes, 1, sizeof bytes, pipe);
    ::pclose(pipe);
    return std::string(bytes, n);
  }();
  log_message(connection, answer.substr(0, answer.size() - 10));
  run_for(50);
  EXPECT_EQ(answers, 0) << "not before the end";
  EXPECT_EQ(windows, "(");
  log_message(connection, answer.substr(answer.size() - 10));
  ::shutdown(connection.get(), SHUT_RDWR);
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.message, "");
  EXPECT_EQ(windows, "()");
  ASSERT_EQ(log.entries.size(), 1U);
  EXPECT_TRUE(log.has("first results"));
}

TEST_F(ProbeProgramTest, BehindASocketOneThatDies) {
  make();
  const UniqueFd listener = listen();
  program->due();
  UniqueFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  log_message(connection, "jetmem-probe/1 pid 0\nat host - allocate 65536\n");
  connection.reset();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(lost("host", "exited"), 1);
  EXPECT_TRUE(log.has("; it was at host allocate 65536 bytes; the journal of its unit"));
  EXPECT_EQ(failures("exited"), 1);
}

TEST_F(ProbeProgramTest, BehindASocketThatIsBusy) {
  make();
  const UniqueFd listener = listen();
  ::listen(listener.get(), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  settings.probe.socket.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd other(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ::connect(other.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(failures("not_started"), 1) << "none is started beside it: " << error.message;
  EXPECT_TRUE(requested().empty());
}

// The result is there, and the process is on its way out, or stuck there.
TEST_F(ProbeProgramTest, BehindASocketOneThatLivesOnIsAskedForLater) {
  settings.probe.deadline = seconds(60);
  make();
  const UniqueFd listener = listen();
  const pid_t pid = start_named("jetmem-probe");
  program->due();
  UniqueFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  log_message(connection,
              "jetmem-probe/1 pid " + std::to_string(pid) + "\nat host - allocate 65536\n");
  run_for(50);
  connection.reset();
  ASSERT_TRUE(answered(1));
  run_for(300);
  later(hours(1));
  EXPECT_EQ(skips("memory", "previous_run_unfinished"), 1);
  EXPECT_EQ(failures("wedged"), 0) << "it has a minute";
  EXPECT_EQ(failures("not_started"), 0);
  EXPECT_TRUE(log.has(", of the run before, has not ended yet"));
  EXPECT_FALSE(log.has("was killed"));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  later(hours(1));
  EXPECT_EQ(starts(), 2);
}

// One that hangs in a driver, and is not ours to kill: none is started before it is gone.
TEST_F(ProbeProgramTest, OneThatIsWedgedIsLeftBehind) {
  settings.probe.deadline = seconds(1);
  options.window_timeout = milliseconds(600);
  make();
  const UniqueFd listener = listen();
  const pid_t pid = start_named("jetmem-probe");
  program->due();
  const UniqueFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  log_message(connection,
              "jetmem-probe/1 pid " + std::to_string(pid) + "\nat host - allocate 65536\n");
  ASSERT_TRUE(answered(1));
  EXPECT_TRUE(log.has("did not end within 1s and was given up"));
  EXPECT_EQ(windows, "(") << "it is not gone";
  ASSERT_TRUE(run_until([this] { return windows == "()"; })) << "but not for ever";
  later(hours(1));
  EXPECT_EQ(error.code, Errc::kTimeout);
  EXPECT_NE(error.message.find("hangs in the kernel"), std::string::npos) << error.message;
  later(hours(1));
  EXPECT_EQ(failures("wedged"), 1) << "one, however often it was looked at";
  EXPECT_EQ(skips("memory", "previous_run_unfinished"), 2);
  EXPECT_EQ(figure("jetmem_program_wedged{program=\"jetmem-probe\"}"), 1);
  EXPECT_EQ(starts(), 1);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  later(hours(1));
  EXPECT_EQ(starts(), 2);
  EXPECT_EQ(figure("jetmem_program_wedged{program=\"jetmem-probe\"}"), 0);
}

}  // namespace
}  // namespace jetmem
