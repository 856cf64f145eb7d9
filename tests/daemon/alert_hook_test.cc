#include "daemon/alert_hook.h"

#include <gmock/gmock.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/daemon/program_running.h"

namespace jetmem {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

AlertNews news(std::string alert = "JetmemCmaExhausted", Change change = Change::kFiring) {
  AlertNews made;
  made.alert = std::move(alert);
  made.severity = "critical";
  made.change = change;
  made.value = 0.9625;
  made.labels = {{"area", "linux,cma"}, {"client", "vi\n$(reboot) \"x\""}};
  made.summary = "CMA area linux,cma is 96% taken\n";
  made.cause = "Cameras took it.";
  made.remedy = "Raise cma=.";
  made.runbook = "/usr/share/doc/jetmem/runbooks/cma-exhausted.md";
  made.since = std::chrono::milliseconds(61'500);
  made.at = std::chrono::seconds(4711);
  made.wall = std::chrono::seconds(1'760'000'000);
  return made;
}

TEST(AlertNewsTest, AsJson) {
  const std::string line = alert_json(news());
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
  const json out = json::parse(line);
  EXPECT_EQ(out["alert"], "JetmemCmaExhausted");
  EXPECT_EQ(out["severity"], "critical");
  EXPECT_EQ(out["state"], "firing");
  EXPECT_EQ(out["value"], 0.9625);
  EXPECT_EQ(out["labels"]["area"], "linux,cma");
  EXPECT_EQ(out["labels"]["client"], "vi?$(reboot) \"x\"") << "untrusted: no control characters";
  EXPECT_EQ(out["summary"], "CMA area linux,cma is 96% taken");
  EXPECT_EQ(out["cause"], "Cameras took it.");
  EXPECT_EQ(out["remedy"], "Raise cma=.");
  EXPECT_EQ(out["since_seconds"], 61.5);
  EXPECT_EQ(out["at"], "2025-10-09T08:53:20.000Z");
  EXPECT_EQ(out["at_boot_seconds"], 4711);
  EXPECT_FALSE(out.contains("reason"));
}

TEST(AlertNewsTest, ValuesThatAreNone) {
  AlertNews blind = news("A", Change::kUnknown);
  blind.value = std::nan("");
  blind.reason = "source thermal is denied";
  const json out = json::parse(alert_json(blind));
  EXPECT_TRUE(out["value"].is_null());
  EXPECT_EQ(out["state"], "unknown");
  EXPECT_EQ(out["reason"], "source thermal is denied");
  EXPECT_THAT(alert_environment(blind), testing::Contains("JETMEM_VALUE="));
}

TEST(AlertNewsTest, LongTextsAreCut) {
  AlertNews much = news();
  much.summary.assign(100'000, 'x');
  much.labels.assign(1000, {"l", std::string(10'000, '\xff')});
  EXPECT_LT(alert_json(much).size(), 32U << 10);
  EXPECT_LE(alert_environment(much).size(), 7 + AlertNews::kMaxLabels);
}

TEST(AlertNewsTest, OfATransition) {
  Rule rule;
  rule.name = "JetmemX";
  rule.severity = Severity::kWarning;
  Transition transition;
  transition.rule = &rule;
  transition.change = Change::kResolved;
  transition.value = 3;
  transition.at = std::chrono::seconds(100);
  transition.active_since = std::chrono::seconds(40);
  const AlertNews made = alert_news(transition);
  EXPECT_EQ(made.alert, "JetmemX");
  EXPECT_EQ(made.severity, "warning");
  EXPECT_EQ(change_name(made.change), "resolved");
  EXPECT_EQ(made.since, std::chrono::seconds(60));
}

class AlertHookTest : public ProgramRunning {
 protected:
  void SetUp() override {
    table.add_section("hook");
    settings.deadline = std::chrono::milliseconds(3000);
  }
  void make() { make(options); }
  void make(const AlertHookOptions& how) {
    hook = std::make_unique<AlertHook>(clock, spawner, log, how);
    ASSERT_TRUE(hook->start(event));
    hook->apply(settings);
  }
  void use_script(const std::string& body) {
    settings.program = script(body);
    make();
  }
  double value(const std::string& key) {
    SampleWriter out(table, 0, clock.boot());
    hook->write(out);
    out.finish();
    return table.value_of("jetmem_alert_hook_" + key);
  }
  double calls(const std::string& result) {
    return value("calls_total{result=\"" + result + "\"}");
  }
  bool comes_to(const std::string& result, double count = 1) {
    return run_until([&] { return calls(result) == count; });
  }
  std::string read(const std::string& name) {
    std::ifstream in(directory + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // A socket that systemd, or somebody's daemon, would have.
  UniqueFd listen(int backlog = 8) {
    settings.socket = directory + "/socket";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    settings.socket.copy(address.sun_path, sizeof address.sun_path - 1);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd.get(), backlog), 0);
    return fd;
  }
  UniqueFd accept(const UniqueFd& listener) {
    UniqueFd fd;
    run_until([&] {
      fd = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      return fd.valid();
    });
    return fd;
  }

  AlertNews of(std::string alert, std::string severity, Change change = Change::kFiring) {
    AlertNews made = news(std::move(alert), change);
    made.severity = std::move(severity);
    return made;
  }
  double drops(const std::string& reason) {
    return value("dropped_total{reason=\"" + reason + "\"}");
  }

  AlertHookOptions options;
  AlertsSettings settings;
  SampleTable table;
  std::unique_ptr<AlertHook> hook;
};

TEST_F(AlertHookTest, OffByDefault) {
  make();
  EXPECT_FALSE(hook->on());
  hook->tell(news());
  run_for(50);
  EXPECT_TRUE(std::isnan(value("waiting"))) << "nothing is said of what is switched off";
  EXPECT_TRUE(log.entries.empty());
}

TEST_F(AlertHookTest, TheProgramGetsItAll) {
  ::setenv("JETMEM_SECRET", "of the daemon", 1);
  use_script("cat > in; env > out; pwd > where\n");
  settings.program = script("cd " + directory + "; cat > in; env > out; echo $# > args\n");
  hook->apply(settings);
  hook->tell(news());
  EXPECT_EQ(calls("ok"), 0) << "nothing within tell()";
  ASSERT_TRUE(comes_to("ok"));
  EXPECT_EQ(read("in"), alert_json(news()));
  EXPECT_EQ(read("args"), "0\n");
  const std::string variables = read("out");
  for (const char* line :
       {"JETMEM_ALERT=JetmemCmaExhausted\n", "JETMEM_SEVERITY=critical\n", "JETMEM_STATE=firing\n",
        "JETMEM_VALUE=0.9625\n", "JETMEM_AT=2025-10-09T08:53:20.000Z\n",
        "JETMEM_SUMMARY=CMA area linux,cma is 96% taken\n",
        "JETMEM_RUNBOOK=/usr/share/doc/jetmem/runbooks/cma-exhausted.md\n",
        "JETMEM_LABEL_AREA=linux,cma\n", "JETMEM_LABEL_CLIENT=vi?$(reboot) \"x\"\n", "PATH="}) {
    EXPECT_THAT(variables, HasSubstr(line));
  }
  EXPECT_THAT(variables, Not(HasSubstr("JETMEM_SECRET"))) << "nothing else of the daemon's own";
  EXPECT_TRUE(log.entries.empty());
}

TEST_F(AlertHookTest, OnlyWhatMattersIsTold) {
  use_script("exit 0");
  for (const Change change : {Change::kPending, Change::kDropped}) hook->tell(news("A", change));
  for (const Change change : {Change::kFiring, Change::kResolved, Change::kUnknown}) {
    hook->tell(news(std::string(change_name(change)), change));
  }
  ASSERT_TRUE(comes_to("ok", 3));
  run_for(100);
  EXPECT_EQ(calls("ok"), 3);
}

TEST_F(AlertHookTest, OneThatFailsIsLoggedWithItsWords) {
  use_script("echo 'connecting to pager'; echo 'second line'; echo 'no route' >&2; exit 3");
  hook->tell(news());
  ASSERT_TRUE(comes_to("failed"));
  ASSERT_EQ(log.entries.size(), 1U);
  EXPECT_THAT(log.entries[0], HasSubstr("JetmemCmaExhausted (firing) was not told"));
  EXPECT_THAT(log.entries[0], HasSubstr("ended with status 3: no route"));
  EXPECT_THAT(log.entries[0], HasSubstr("it printed: connecting to pager"));
  EXPECT_THAT(log.entries[0], Not(HasSubstr("second")));
}

TEST_F(AlertHookTest, MissingProgram) {
  settings.program = directory + "/nothing";
  make();
  hook->tell(news());
  ASSERT_TRUE(comes_to("not_started"));
  EXPECT_TRUE(log.has("nothing"));
  // And the next is tried.
  hook->tell(news());
  EXPECT_TRUE(comes_to("not_started", 2));
}

TEST_F(AlertHookTest, OneThatHangsIsKilledWithWhatItStarted) {
  settings.deadline = std::chrono::milliseconds(300);
  use_script("trap '' TERM; sleep 1000 & echo $! > " + directory +
             "/pid; echo waiting >&2; while :; do sleep 1000; done");
  hook->tell(news());
  ASSERT_TRUE(comes_to("timeout"));
  EXPECT_TRUE(log.has("did not end within 300ms and was killed: waiting"));
  const pid_t grandchild = std::stoi(read("pid"));
  EXPECT_TRUE(run_until([&] {
    std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
    const std::string line(std::istreambuf_iterator<char>(stat), {});
    return line.empty() || line.find(") Z ") != std::string::npos;
  }));
  EXPECT_EQ(value("wedged"), 0);
  settings.program = script("exit 0");
  hook->apply(settings);
  hook->tell(news());
  EXPECT_TRUE(comes_to("ok")) << "the next has its turn";
}

TEST_F(AlertHookTest, OneThatPrintsWithoutEndIsKilled) {
  use_script("yes something");
  hook->tell(news());
  ASSERT_TRUE(comes_to("flood"));
  EXPECT_TRUE(log.has("printed more than 64KiB and was killed; it printed: something"));
}

TEST_F(AlertHookTest, OneMaySendItsOutputElsewhereAndGoOn) {
  use_script("exec > " + directory + "/out 2>&1; sleep 0.6; echo done");
  hook->tell(news());
  ASSERT_TRUE(comes_to("ok"));
  EXPECT_EQ(read("out"), "done\n");
}

TEST_F(AlertHookTest, OneAtATimeAndOfEqualsTheOldestGoesWhenTooManyWait) {
  use_script("mkdir " + directory + "/alone || echo overlap >> " + directory +
             "/told; echo $JETMEM_ALERT >> " + directory + "/told; sleep 0.02; rmdir " + directory +
             "/alone");
  for (int i = 0; i < 20; ++i) hook->tell(news("Alert" + std::to_string(i)));
  EXPECT_EQ(value("waiting"), AlertHook::kMaxWaiting);
  EXPECT_EQ(value("dropped_total{reason=\"queue_full\"}"), 4);
  EXPECT_TRUE(log.has("Alert3 was not told: too many alerts wait"));
  ASSERT_TRUE(comes_to("ok", AlertHook::kPerWindow));
  std::string expected;
  for (int i = 4; i < 14; ++i) expected += "Alert" + std::to_string(i) + "\n";
  EXPECT_EQ(read("told"), expected);
  run_for(150);
  EXPECT_EQ(calls("ok"), AlertHook::kPerWindow) << "the rest has to wait";
  EXPECT_EQ(value("waiting"), 6);
  hook->stop();
  EXPECT_EQ(value("waiting"), 0);
  EXPECT_EQ(value("dropped_total{reason=\"switched_off\"}"), 6);
}

TEST_F(AlertHookTest, TenEachMinute) {
  settings.program = script("exit 0");
  make({.window = std::chrono::milliseconds(1500)});
  const Nanoseconds begin = clock.mono();
  for (int i = 0; i < 12; ++i) hook->tell(news(std::to_string(i)));
  ASSERT_TRUE(comes_to("ok", 12));
  EXPECT_GE(clock.mono() - begin, std::chrono::milliseconds(1500));
}

TEST_F(AlertHookTest, AStormIsNotAStormInTheLog) {
  use_script("exit 1");
  for (int i = 0; i < 200; ++i) hook->tell(news(std::to_string(i)));
  ASSERT_TRUE(comes_to("failed", AlertHook::kPerWindow));
  EXPECT_LE(log.entries.size(), 6U);
  EXPECT_EQ(hook->withheld() + log.entries.size(), 184 + AlertHook::kPerWindow);
}

// A tracer, itself a process, holds each back on its way out, SIGKILL or not: as one that hangs in
// the kernel.
class HoldingSpawner final : public Spawner {
 public:
  ~HoldingSpawner() override { let_go(); }
  Result<Child> spawn(const SpawnRequest& request) override {
    auto child = spawner_.spawn(request);
    if (child && hold) hold_back(child->pid);
    return child;
  }
  void let_go() {
    hold = false;
    if (tracer_ <= 0) return;
    ::kill(tracer_, SIGKILL);
    ::waitpid(tracer_, nullptr, 0);
    tracer_ = -1;
  }
  bool hold = true;
  pid_t held = -1;

 private:
  void hold_back(pid_t pid) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    tracer_ = ::fork();
    if (tracer_ == 0) {
      const bool may = ::ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACEEXIT) == 0;
      (void)!::write(ends[1], may ? "y" : "n", 1);
      for (;;) ::pause();
    }
    char answer = 'n';
    EXPECT_EQ(::read(ends[0], &answer, 1), 1);
    ::close(ends[0]);
    ::close(ends[1]);
    if (answer == 'y') held = pid;
    hold = false;
  }
  pid_t tracer_ = -1;
  SystemSpawner spawner_;
};

TEST_F(AlertHookTest, OneThatCannotBeKilledIsLeftBehind) {
  settings.deadline = std::chrono::milliseconds(200);
  settings.program = script("exec sleep 1000");
  HoldingSpawner holding;
  hook = std::make_unique<AlertHook>(clock, holding, log);
  ASSERT_TRUE(hook->start(event));
  hook->apply(settings);
  hook->tell(news());
  hook->tell(news("JetmemOther"));
  ASSERT_TRUE(comes_to("timeout"));
  if (holding.held <= 0) GTEST_SKIP() << "no process may be traced here";
  ASSERT_TRUE(run_until([&] { return log.has("cannot be killed"); }));
  run_for(300);
  EXPECT_EQ(value("wedged"), 1);
  EXPECT_EQ(value("waiting"), 1) << "no other is started beside it";
  EXPECT_TRUE(exists(holding.held));
  settings.program = script("exit 0");
  hook->apply(settings);
  holding.let_go();
  EXPECT_TRUE(run_until([&] { return calls("ok") == 1; }, 10'000));
  EXPECT_EQ(value("wedged"), 0);
}

TEST_F(AlertHookTest, SocketGetsTheSameLine) {
  const UniqueFd listener = listen();
  make();
  hook->tell(news());
  const UniqueFd peer = accept(listener);
  ASSERT_TRUE(peer.valid());
  std::string text;
  bool over = false;
  ASSERT_TRUE(run_until([&] {
    char bytes[4096];
    const ssize_t n = ::read(peer.get(), bytes, sizeof bytes);
    if (n > 0) text.append(bytes, static_cast<std::size_t>(n));
    over = over || n == 0;
    return over;
  }));
  EXPECT_EQ(text, alert_json(news()));
  EXPECT_EQ(calls("ok"), 0) << "who listens has not ended yet";
  ::shutdown(peer.get(), SHUT_RDWR);
  EXPECT_TRUE(comes_to("ok"));
}

TEST_F(AlertHookTest, SocketAbsentOrRefusing) {
  settings.socket = directory + "/nowhere";
  make();
  hook->tell(news());
  ASSERT_TRUE(comes_to("not_started"));
  EXPECT_TRUE(log.has("connect to " + settings.socket + ": No such file"));
  { const UniqueFd gone = listen(); }  // the file stays, nobody listens
  hook->apply(settings);
  hook->tell(news());
  ASSERT_TRUE(comes_to("not_started", 2));
  EXPECT_TRUE(log.has("Connection refused"));
}

TEST_F(AlertHookTest, SocketClosedWithoutReading) {
  const UniqueFd listener = listen();
  make();
  hook->tell(news());
  {
    const UniqueFd peer = accept(listener);
    run_for(50);
  }
  ASSERT_TRUE(comes_to("failed")) << "as systemd does where MaxConnections= is reached";
  EXPECT_TRUE(log.has("without reading"));
}

TEST_F(AlertHookTest, SocketThatNobodyReads) {
  const UniqueFd listener = listen();
  settings.deadline = std::chrono::milliseconds(200);
  make();
  hook->tell(news());
  hook->tell(news("JetmemOther"));
  ASSERT_TRUE(comes_to("timeout", 2)) << "the one behind it has its turn";
  EXPECT_TRUE(log.has("did not end within 200ms"));
}

TEST_F(AlertHookTest, SocketWithoutRoomIsNotWaitedFor) {
  const UniqueFd listener = listen(0);
  settings.deadline = std::chrono::milliseconds(100);
  make();
  for (int i = 0; i < 3; ++i) hook->tell(news(std::to_string(i)));
  ASSERT_TRUE(run_until([&] { return calls("timeout") + calls("not_started") == 3; }));
  EXPECT_GE(calls("not_started"), 1) << "connect() says EAGAIN";
}

TEST_F(AlertHookTest, SocketThatAnswersWithoutEnd) {
  const UniqueFd listener = listen();
  make();
  hook->tell(news());
  const UniqueFd peer = accept(listener);
  const std::string bytes(4096, 'x');
  ASSERT_TRUE(run_until([&] {
    (void)!::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return calls("flood") == 1;
  }));
}

TEST_F(AlertHookTest, TheSocketGoesFirstAndThatIsSaid) {
  settings.program = script("touch " + directory + "/ran");
  settings.socket = directory + "/nowhere";
  make();
  EXPECT_TRUE(log.has("alerts.program is not run"));
  hook->tell(news());
  ASSERT_TRUE(comes_to("not_started"));
  EXPECT_FALSE(std::filesystem::exists(directory + "/ran"));
}

TEST_F(AlertHookTest, SwitchedOffWhileOneRuns) {
  use_script("sleep 1000");
  hook->tell(news());
  hook->tell(news("JetmemOther"));
  ASSERT_TRUE(run_until([&] { return hook->pid() > 0; }));
  const pid_t pid = hook->pid();
  hook->apply({});
  EXPECT_FALSE(hook->on());
  EXPECT_TRUE(run_until([&] { return !exists(pid); })) << "killed and reaped";
  hook->apply(settings);
  EXPECT_EQ(value("dropped_total{reason=\"switched_off\"}"), 2);
}

TEST_F(AlertHookTest, TheMostSevereFirstAndTheLeastSevereGoes) {
  use_script("echo $JETMEM_ALERT >> " + directory + "/told");
  hook->tell(of("Ended", "info", Change::kResolved));
  hook->tell(of("Info", "info"));
  hook->tell(of("Critical", "critical"));
  for (int i = 0; i < 13; ++i) hook->tell(of("Warning" + std::to_string(i), "warning"));
  EXPECT_EQ(drops("queue_full"), 0);
  hook->tell(of("Late", "critical"));
  EXPECT_TRUE(log.has("Ended was not told"));
  hook->tell(of("Later", "critical", Change::kResolved));
  EXPECT_TRUE(log.has("Info was not told"));
  hook->tell(of("Pointless", "info"));
  EXPECT_TRUE(log.has("Pointless was not told")) << "the new one may be the least";
  ASSERT_TRUE(comes_to("ok", 10));
  EXPECT_EQ(read("told"),
            "Critical\nLate\nLater\nWarning0\nWarning1\nWarning2\nWarning3\nWarning4\n"
            "Warning5\nWarning6\n");
}

TEST_F(AlertHookTest, SomeTurnsAreForCriticalOnes) {
  use_script("exit 0");
  for (int i = 0; i < 9; ++i) hook->tell(of("Info" + std::to_string(i), "info"));
  ASSERT_TRUE(comes_to("ok", 7));
  run_for(100);
  EXPECT_EQ(calls("ok"), 7);
  for (int i = 0; i < 4; ++i) hook->tell(of("Critical" + std::to_string(i), "critical"));
  ASSERT_TRUE(comes_to("ok", 10));
  run_for(100);
  EXPECT_EQ(calls("ok"), 10);
  EXPECT_EQ(value("waiting"), 3);
}

TEST_F(AlertHookTest, ANewerChangeOfTheSameIsToldInstead) {
  use_script("echo $JETMEM_ALERT $JETMEM_STATE >> " + directory + "/told");
  AlertNews other = news("A");
  other.labels = {{"area", "other"}};
  hook->tell(news("A"));
  hook->tell(news("B"));
  hook->tell(news("A", Change::kResolved));
  hook->tell(other);
  EXPECT_EQ(drops("superseded"), 1);
  ASSERT_TRUE(comes_to("ok", 3));
  EXPECT_EQ(read("told"), "A resolved\nB firing\nA firing\n");
}

TEST_F(AlertHookTest, WhatWaitsAtTheEndIsToldAfterTheRestart) {
  options.runtime_directory = directory;
  options.boot_id = "this-boot";
  use_script("sleep 1000");
  hook->tell(news("Runs"));
  ASSERT_TRUE(run_until([&] { return hook->pid() > 0; }));
  hook->tell(news("Waits"));
  hook->tell(news("Over", Change::kResolved));
  run_for(20);
  // As after a kill, too: it is on file before the end.
  const std::string file = read("alert-hook.json");
  EXPECT_THAT(file, testing::AllOf(HasSubstr("Runs"), HasSubstr("Waits"), Not(HasSubstr("Over"))));
  EXPECT_EQ(std::filesystem::status(directory + "/alert-hook.json").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  hook->finish();
  ASSERT_EQ(log.entries.size(), 1U);
  EXPECT_THAT(log.entries[0], HasSubstr("3 alerts were not told"));
  EXPECT_THAT(log.entries[0], HasSubstr("Runs (firing), Waits (firing), Over (resolved)"));
  EXPECT_EQ(drops("stopping"), 3);
  EXPECT_EQ(drops("switched_off"), 0);
  EXPECT_EQ(read("alert-hook.json"), file);
  settings.program = script("echo $JETMEM_ALERT >> " + directory + "/told");
  hook = std::make_unique<AlertHook>(clock, spawner, log, options);
  hook->apply(settings);
  EXPECT_TRUE(hook->was_untold("Runs", news().labels));
  EXPECT_TRUE(hook->was_untold("Waits", news().labels));
  EXPECT_FALSE(hook->was_untold("Waits", {}));
  EXPECT_FALSE(hook->was_untold("Over", news().labels));
  hook->tell(news("Waits"));
  hook->forget_untold();
  EXPECT_FALSE(hook->was_untold("Waits", news().labels));
  ASSERT_TRUE(hook->start(event)) << "in the daemon's order";
  ASSERT_TRUE(comes_to("ok"));
  EXPECT_EQ(read("told"), "Waits\n");
  ASSERT_TRUE(
      run_until([&] { return read("alert-hook.json").find("Waits") == std::string::npos; }));
}

TEST_F(AlertHookTest, AFileThatIsNotOursIsRefused) {
  options.runtime_directory = directory;
  options.boot_id = "this-boot";
  settings.program = script("exit 0");
  std::ofstream(directory + "/alert-hook.json") << std::string(100'000, '[');
  make();
  EXPECT_FALSE(hook->was_untold("A", {}));
  EXPECT_TRUE(log.has("not known"));
}

TEST(UntoldAlertsTest, HostileContentIsRefused) {
  const std::string head = R"({"format":1,"boot_id":"b","untold":)";
  const auto parse = [](const std::string& text) { return parse_untold_alerts(text, "b"); };
  const std::string good = R"({"alert":"A","labels":"0123456789abcdef"})";
  const auto one = parse(head + "[" + good + "]}");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->size(), 1U);
  const auto other = parse_untold_alerts(head + "[" + good + "]}", "another");
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->empty());
  std::string many = good;
  for (int i = 0; i < 32; ++i) many += "," + good;
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), head + "7}", head + "[7]}",
        head + "[" + many + "]}", head + R"([{"alert":"A"}]})",
        head + R"([{"alert":"A","labels":"xyz"}]})",
        head + R"([{"alert":"A\u001b[2J","labels":"0123456789abcdef"}]})",
        head + R"([{"alert":")" + std::string(101, 'A') + R"(","labels":"0123456789abcdef"}]})",
        head + "[" + good + "]", std::string(8000, '[')}) {
    EXPECT_FALSE(parse(text)) << text.substr(0, 100);
  }
}

TEST_F(AlertHookTest, WhatIsLeftRunningKeepsTheNextFromStarting) {
  options.look = std::chrono::milliseconds(50);
  use_script("setsid sleep 1000 > /dev/null 2>&1 < /dev/null &\necho $! > " + directory +
             "/pid; sleep 0.05");
  hook->tell(news("A"));
  hook->tell(news("B"));
  ASSERT_TRUE(comes_to("ok"));
  ASSERT_TRUE(run_until([&] { return log.has("run on (sleep "); }));
  EXPECT_TRUE(log.has("alerts.socket"));
  run_for(200);
  EXPECT_EQ(calls("ok"), 1);
  EXPECT_EQ(value("left_behind"), 1);
  EXPECT_EQ(value("waiting"), 1);
  settings.program = script("exit 0");
  hook->apply(settings);
  const pid_t left = std::stoi(read("pid"));
  EXPECT_TRUE(exists(left));
  ::kill(left, SIGKILL);
  EXPECT_TRUE(run_until([&] { return calls("ok") == 2; }, 10'000));
  EXPECT_TRUE(run_until([&] { return value("left_behind") == 0; }));
}

TEST_F(AlertHookTest, WhoeverWasAskedIsNamed) {
  settings.deadline = std::chrono::milliseconds(300);
  use_script("sleep 1000");
  const std::string program = settings.program;
  hook->tell(news());
  ASSERT_TRUE(run_until([&] { return hook->pid() > 0; }));
  settings.socket = directory + "/nowhere";
  hook->apply(settings);
  ASSERT_TRUE(comes_to("timeout"));
  EXPECT_TRUE(log.has("was not told: " + program + " did not end"));
  EXPECT_FALSE(log.has("nowhere did not end"));
}

}  // namespace
}  // namespace jetmem
