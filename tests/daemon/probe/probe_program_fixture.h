// SPDX-License-Identifier: Apache-2.0
// The probe's program with scripts in place of jetmem-probe, for tests of it.
#pragma once

#include <sys/wait.h>

#include <cmath>
#include <sstream>

#include "collectors/proc/meminfo.h"
#include "daemon/probe/probe_program.h"
#include "tests/daemon/running_program.h"

namespace jetmem {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// In front of every stand-in: `$kinds` as asked for, and what a sound jetmem-probe says. result
// STATE... gives one line, in which the kinds named have that state in place of "ok".
inline constexpr const char* kPrologue = R"(
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
inline constexpr const char* kSound = "begin; result\n";

class ProbeProgramTest : public SourceProgramTest {
 protected:
  explicit ProbeProgramTest(bool cuda = false) : SourceProgramTest("probe") {
    settings.probe.cuda = cuda;
  }

  void SetUp() override {
    options.schedule.first_memory = options.schedule.first_memory_spread = Nanoseconds(0);
    options.schedule.first_cuda = options.schedule.first_cuda_spread = Nanoseconds(0);
    options.schedule.most_jitter = Nanoseconds(0);
    options.schedule.after_reload = options.schedule.between_runs = Nanoseconds(0);
    options.settle = milliseconds(20);
    settings.probe.socket = socket_path;
    settings.probe.deadline = seconds(5);
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
  void write_program(const std::string& body) {
    const std::string path = script(kPrologue + body);
    std::filesystem::rename(path, directory + "/jetmem-probe");
    settings.probe.program = directory + "/jetmem-probe";
  }
  void make(const std::string& body = kSound) {
    write_program(body);
    make_with_program(settings.probe.program);
  }
  void make_and_run(const std::string& body = kSound, int runs_of_groups = 1) {
    make(body);
    ASSERT_TRUE(due_and_answered(runs_of_groups));
  }
  // One of CUDA a day later, while the kernel's log grows by so many events.
  void run_cuda(std::uint64_t new_events) {
    later(hours(25));
    ASSERT_TRUE(comes_to_run("cuda"));
    *events += new_events;
    ASSERT_TRUE(comes_to_run("cuda", false));
    run_for(100);
  }
  void make_with_program(const std::string& path) {
    settings.probe.program = path;
    ProgramContext inputs = context();
    inputs.readings = &readings;
    inputs.probe_window = {[this](Nanoseconds) { windows += "("; },
                           [this](Nanoseconds) { windows += ")"; }, [this] { return events; }};
    inputs.source_states = [this](std::string_view) { return others; };
    inputs.runtime_directory = runtime_directory;
    program = std::make_unique<ProbeProgram>(std::move(inputs), options);
    program->apply(settings);
    ASSERT_TRUE(program->start(loop));
  }
  // The next time that the source is due.
  void later(Nanoseconds by = minutes(5)) {
    clock.ahead += by;
    program->due();
  }
  bool later_answered(int count, Nanoseconds by = minutes(5)) {
    later(by);
    return answered(count);
  }
  double skips(const std::string& group, const std::string& reason) {
    return figure("jetmem_probe_skips_total{group=\"" + group + "\",reason=\"" + reason + "\"}");
  }
  double interval(const std::string& group) {
    return figure("jetmem_probe_interval_seconds{group=\"" + group + "\"}");
  }
  double lost(const std::string& kind, const std::string& error_name,
              const std::string& target = "") {
    return figure("jetmem_probe_failures_total{error=\"" + error_name + "\",kind=\"" + kind +
                  "\",target=\"" + target + "\"}");
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
  bool is_running(const std::string& group) {
    return figure("jetmem_probe_running{group=\"" + group + "\"}") == 1;
  }
  bool comes_to_run(const std::string& group, bool running = true) {
    return run_until([&] { return is_running(group) == running; });
  }
  bool tells_of(const std::string& kind) const {
    return text.find("\"" + kind + "\"") != std::string::npos;
  }
  // It did not end well: that is counted once, nothing is left of it, and it is tried again later.
  void failed_as(const std::string& reason) {
    EXPECT_EQ(failures(reason), 1) << error.message;
    double all = 0;
    for (const char* each :
         {"not_started", "exited", "timeout", "flood", "wedged", "invalid_output"}) {
      all += failures(each);
    }
    EXPECT_EQ(all, 1) << "that and nothing else";
    EXPECT_TRUE(log.has("; probes of memory are tried again in 5m"));
    EXPECT_TRUE(run_until([] { return ::waitpid(-1, nullptr, WNOHANG) == -1; })) << "reaped";
    const double before = starts();
    later(minutes(2));
    run_for(50);
    EXPECT_EQ(starts(), before) << "not again at once";
    EXPECT_EQ(skips("memory", "backoff"), 1);
    // Mended, it is well at the next try.
    write_program(kSound);
    settings.probe.socket = directory + "/none";
    text.clear();
    program->apply(settings);
    ASSERT_TRUE(run_until([this] { return !text.empty(); }));
    EXPECT_EQ(interval("memory"), 300);
  }

  std::string runtime_directory = directory;
  ProbeProgramOptions options;
  Settings settings;
  MeminfoSource meminfo;
  Readings readings;
  std::string windows;
  std::optional<std::uint64_t> events = 0;
  SourceState others = SourceState::kAbsent;  // throttle, pressure
};

class ProbeProgramCudaTest : public ProbeProgramTest {
 protected:
  ProbeProgramCudaTest() : ProbeProgramTest(true) {}
};

}  // namespace jetmem
