// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/notifier.h"

#include <gmock/gmock.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/daemon/running_program.h"

namespace jetmem {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

AlertNotification notification(std::string alert = "JetmemCmaExhausted",
                               Change change = Change::kFiring, std::string severity = "critical") {
  AlertNotification made;
  made.alert = std::move(alert);
  made.severity = std::move(severity);
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

TEST(AlertNotificationTest, AsJson) {
  const std::string line = alert_json(notification());
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
  AlertNotification blind = notification("A", Change::kUnknown);
  blind.value = std::nan("");
  blind.reason = "source thermal is denied";
  const json unknown = json::parse(alert_json(blind));
  EXPECT_TRUE(unknown["value"].is_null());
  EXPECT_EQ(unknown["state"], "unknown");
  EXPECT_EQ(unknown["reason"], "source thermal is denied");
  EXPECT_THAT(alert_environment(blind), testing::Contains("JETMEM_VALUE="));
}

TEST(AlertNotificationTest, LongTextsAreCut) {
  AlertNotification much = notification();
  much.summary.assign(100'000, 'x');
  much.labels.assign(1000, {"l", std::string(10'000, '\xff')});
  EXPECT_LT(alert_json(much).size(), 32U << 10);
  EXPECT_LE(alert_environment(much).size(), 7 + AlertNotification::kMaxLabels);
}

TEST(AlertNotificationTest, OfATransition) {
  Rule rule;
  rule.name = "JetmemX";
  rule.severity = Severity::kWarning;
  Transition transition;
  transition.rule = &rule;
  transition.change = Change::kResolved;
  transition.value = 3;
  transition.at = std::chrono::seconds(100);
  transition.active_since = std::chrono::seconds(40);
  const AlertNotification made = alert_notification(transition);
  EXPECT_EQ(made.alert, "JetmemX");
  EXPECT_EQ(made.severity, "warning");
  EXPECT_EQ(change_name(made.change), "resolved");
  EXPECT_EQ(made.since, std::chrono::seconds(60));
}

class NotifierTest : public ProgramRunning {
 protected:
  void SetUp() override { settings.deadline = std::chrono::milliseconds(3000); }
  void make() {
    hook = std::make_unique<Notifier>(clock, spawner, log, options);
    ASSERT_TRUE(hook->start(loop));
    hook->apply(settings);
  }
  void use_script(const std::string& body) {
    settings.program = script(body);
    make();
  }
  // One notification, for which this script runs.
  void notify_with(const std::string& body) {
    use_script(body);
    hook->notify(notification());
  }
  double value(const std::string& key) { return value_of(*hook, key); }
  double calls(const std::string& result) {
    return value("jetmem_notifications_total{result=\"" + result + "\"}");
  }
  bool comes_to(const std::string& result, double count = 1) {
    return run_until([&] { return calls(result) == count; });
  }
  // An engine in which these alerts fire.
  static std::unique_ptr<RuleEngine> firing(const std::vector<std::string>& alerts) {
    RuleSet rules;
    for (const std::string& alert : alerts) {
      Rule rule;
      rule.name = alert;
      rule.when.emplace_back().metric = "x";
      rule.when[0].comparison = Comparison::kAbove;
      rules.rules.push_back(rule);
    }
    auto engine = std::make_unique<RuleEngine>(std::move(rules), RuleEngine::Options());
    const auto series = engine->series("x", {{"area", "linux,cma"}});
    engine->begin(std::chrono::hours(1));
    engine->set(*series, 1);
    engine->evaluate();
    return engine;
  }
  // One that fires, of this severity.
  static AlertNotification of(std::string alert, std::string severity) {
    return notification(std::move(alert), Change::kFiring, std::move(severity));
  }
  double drops(const std::string& reason) {
    return value("jetmem_notifications_dropped_total{reason=\"" + reason + "\"}");
  }

  NotifierOptions options;
  AlertsSettings settings;
  std::unique_ptr<Notifier> hook;
};

TEST_F(NotifierTest, TheProgramGetsItAll) {
  ::setenv("JETMEM_SECRET", "of the daemon", 1);
  notify_with("cd " + directory + "; cat > in; env > out; echo $# > args\n");
  EXPECT_EQ(calls("ok"), 0) << "nothing within notify()";
  ASSERT_TRUE(comes_to("ok"));
  EXPECT_EQ(read("in"), alert_json(notification()));
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
  // It may send its output elsewhere and go on.
  notify_with("exec > " + directory + "/out 2>&1; sleep 0.6; echo done");
  ASSERT_TRUE(comes_to("ok"));
  EXPECT_EQ(read("out"), "done\n");
  EXPECT_TRUE(log.entries.empty());
}

TEST_F(NotifierTest, OnlyFiringAndItsEndAreSent) {
  use_script("exit 0");
  for (const Change change : {Change::kPending, Change::kCleared})
    hook->notify(notification("A", change));
  for (const Change change : {Change::kFiring, Change::kResolved, Change::kUnknown}) {
    hook->notify(notification(std::string(change_name(change)), change));
  }
  ASSERT_TRUE(comes_to("ok", 3));
  run_for(100);
  EXPECT_EQ(calls("ok"), 3);
}

TEST_F(NotifierTest, OneThatFailsIsLoggedWithItsWords) {
  notify_with("echo 'connecting to pager'; echo 'second line'; echo 'no route' >&2; exit 3");
  ASSERT_TRUE(comes_to("failed"));
  ASSERT_EQ(log.entries.size(), 1U);
  EXPECT_THAT(log.entries[0].message, HasSubstr("JetmemCmaExhausted (firing)"));
  EXPECT_THAT(log.entries[0].message, HasSubstr("ended with status 3: no route"));
  EXPECT_THAT(log.entries[0].message, HasSubstr("it printed: connecting to pager"));
  EXPECT_THAT(log.entries[0].message, Not(HasSubstr("second")));
  // A storm is none in the log.
  for (int i = 0; i < 200; ++i) hook->notify(notification(std::to_string(i)));
  ASSERT_TRUE(comes_to("failed", Notifier::kPerWindow));
  EXPECT_LE(log.entries.size(), 7U);
  EXPECT_EQ(hook->suppressed() + log.entries.size(), 184 + Notifier::kPerWindow);
}

TEST_F(NotifierTest, MissingProgram) {
  settings.program = directory + "/nothing";
  make();
  EXPECT_EQ(log.count("alerts.program"), 1U) << "at the start";
  hook->notify(notification());
  ASSERT_TRUE(comes_to("not_started"));
  EXPECT_TRUE(log.has("nothing"));
  // And the next is tried.
  hook->notify(notification());
  EXPECT_TRUE(comes_to("not_started", 2));
}

TEST_F(NotifierTest, OneThatHangsOrFloodsIsKilled) {
  settings.deadline = std::chrono::milliseconds(300);
  notify_with("echo waiting >&2; while :; do sleep 1000; done");
  ASSERT_TRUE(run_until([&] { return hook->pid() > 0; }));
  const std::string program = settings.program;
  settings.program = directory + "/nowhere";
  hook->apply(settings);
  ASSERT_TRUE(comes_to("timeout"));
  EXPECT_TRUE(log.has(program + " did not end within 300ms and was killed: waiting"));
  EXPECT_FALSE(log.has("nowhere did not end")) << "the one that ran is named";
  EXPECT_EQ(value("jetmem_notifier_wedged"), 0);
  settings.deadline = std::chrono::seconds(5);
  settings.program = script("yes something");
  hook->apply(settings);
  hook->notify(notification());
  ASSERT_TRUE(comes_to("flood"));
  EXPECT_TRUE(log.has("; it printed: something"));
  settings.program = script("exit 0");
  hook->apply(settings);
  hook->notify(notification());
  EXPECT_TRUE(comes_to("ok")) << "the next has its turn";
}

TEST_F(NotifierTest, OneAtATimeAndOfEqualsTheOldestGoesWhenTooManyWait) {
  use_script("mkdir " + directory + "/alone || echo overlap >> " + directory +
             "/sent; echo $JETMEM_ALERT >> " + directory + "/sent; sleep 0.02; rmdir " + directory +
             "/alone");
  for (int i = 0; i < 20; ++i) hook->notify(notification("Alert" + std::to_string(i)));
  EXPECT_EQ(value("jetmem_notification_queue_length"), AlertQueue::kMost);
  EXPECT_EQ(drops("queue_full"), 4);
  EXPECT_TRUE(log.has("Alert3 dropped"));
  ASSERT_TRUE(comes_to("ok", Notifier::kPerWindow));
  std::string expected;
  for (int i = 4; i < 14; ++i) expected += "Alert" + std::to_string(i) + "\n";
  EXPECT_EQ(read("sent"), expected);
  run_for(150);
  EXPECT_EQ(calls("ok"), Notifier::kPerWindow) << "the rest has to wait";
  EXPECT_EQ(value("jetmem_notification_queue_length"), 6);
  hook->stop();
  EXPECT_EQ(value("jetmem_notification_queue_length"), 0);
  EXPECT_EQ(drops("disabled"), 6);
}

TEST_F(NotifierTest, TenEachMinute) {
  options.window = std::chrono::milliseconds(1500);
  use_script("exit 0");
  const Nanoseconds begin = clock.mono();
  for (int i = 0; i < 12; ++i) hook->notify(notification(std::to_string(i)));
  ASSERT_TRUE(comes_to("ok", 12));
  EXPECT_GE(clock.mono() - begin, std::chrono::milliseconds(1500));
}

// A tracer, itself a process, holds the first back on its way out, SIGKILL or not: as one that
// hangs in the kernel.
class HoldingSpawner final : public Spawner {
 public:
  ~HoldingSpawner() override { let_go(); }
  Result<Child> spawn(const SpawnRequest& request) override {
    auto child = spawner_.spawn(request);
    if (child && tracer_ == 0) hold_back(child->pid);
    return child;
  }
  void let_go() {
    if (tracer_ > 0) {
      ::kill(tracer_, SIGKILL);
      ::waitpid(tracer_, nullptr, 0);
    }
    tracer_ = -1;
  }
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
  }
  pid_t tracer_ = 0;  // -1: it has let go
  SystemSpawner spawner_;
};

TEST_F(NotifierTest, OneThatCannotBeKilledIsLeftBehind) {
  settings.deadline = std::chrono::milliseconds(200);
  settings.program = script("exec sleep 1000");
  HoldingSpawner holding;
  hook = std::make_unique<Notifier>(clock, holding, log);
  ASSERT_TRUE(hook->start(loop));
  hook->apply(settings);
  hook->notify(notification());
  hook->notify(notification("JetmemOther"));
  ASSERT_TRUE(comes_to("timeout"));
  if (holding.held <= 0) GTEST_SKIP() << "no process may be traced here";
  ASSERT_TRUE(run_until([&] { return log.has("cannot be killed"); }));
  run_for(300);
  EXPECT_EQ(value("jetmem_notifier_wedged"), 1);
  EXPECT_EQ(value("jetmem_notification_queue_length"), 1) << "no other is started beside it";
  EXPECT_TRUE(exists(holding.held));
  settings.program = script("exit 0");
  hook->apply(settings);
  holding.let_go();
  EXPECT_TRUE(run_until([&] { return calls("ok") == 1; }, 10'000));
  EXPECT_EQ(value("jetmem_notifier_wedged"), 0);
}

TEST_F(NotifierTest, OffByDefaultAndDisabledWhileOneRuns) {
  make();
  EXPECT_FALSE(hook->on());
  hook->notify(notification());
  run_for(50);
  EXPECT_TRUE(std::isnan(value("jetmem_notification_queue_length"))) << "no samples while disabled";
  EXPECT_TRUE(log.entries.empty());
  notify_with("sleep 1000");
  hook->notify(notification("JetmemOther"));
  ASSERT_TRUE(run_until([&] { return hook->pid() > 0; }));
  const pid_t pid = hook->pid();
  hook->apply({});
  EXPECT_FALSE(hook->on());
  EXPECT_TRUE(run_until([&] { return !exists(pid); })) << "killed and reaped";
  hook->apply(settings);
  EXPECT_EQ(drops("disabled"), 2);
}

TEST_F(NotifierTest, TheMostSevereFirstAndTheLeastSevereGoes) {
  use_script("echo $JETMEM_ALERT >> " + directory + "/sent");
  hook->notify(notification("Ended", Change::kResolved, "info"));
  hook->notify(of("Info", "info"));
  hook->notify(of("Critical", "critical"));
  for (int i = 0; i < 13; ++i) hook->notify(of("Warning" + std::to_string(i), "warning"));
  EXPECT_EQ(drops("queue_full"), 0);
  hook->notify(of("Late", "critical"));
  EXPECT_TRUE(log.has("Ended dropped"));
  hook->notify(notification("Later", Change::kResolved));
  EXPECT_TRUE(log.has("Info dropped"));
  hook->notify(of("Pointless", "info"));
  EXPECT_TRUE(log.has("Pointless dropped")) << "the new one may be the least";
  ASSERT_TRUE(comes_to("ok", 10));
  EXPECT_EQ(read("sent"),
            "Critical\nLate\nLater\nWarning0\nWarning1\nWarning2\nWarning3\nWarning4\n"
            "Warning5\nWarning6\n");
}

TEST_F(NotifierTest, SomeTurnsAreForCriticalOnes) {
  use_script("exit 0");
  for (int i = 0; i < 9; ++i) hook->notify(of("Info" + std::to_string(i), "info"));
  ASSERT_TRUE(comes_to("ok", 7));
  run_for(100);
  EXPECT_EQ(calls("ok"), 7);
  for (int i = 0; i < 4; ++i) hook->notify(of("Critical" + std::to_string(i), "critical"));
  ASSERT_TRUE(comes_to("ok", 10));
  run_for(100);
  EXPECT_EQ(calls("ok"), 10);
  EXPECT_EQ(value("jetmem_notification_queue_length"), 3);
}

TEST_F(NotifierTest, ANewerChangeOfTheSameIsReportedInstead) {
  use_script("echo $JETMEM_ALERT $JETMEM_STATE >> " + directory + "/sent");
  AlertNotification other = notification("A");
  other.labels = {{"area", "other"}};
  hook->notify(notification("A"));
  hook->notify(notification("B"));
  hook->notify(notification("A", Change::kResolved));
  hook->notify(other);
  EXPECT_EQ(drops("superseded"), 1);
  ASSERT_TRUE(comes_to("ok", 3));
  EXPECT_EQ(read("sent"), "A resolved\nB firing\nA firing\n");
}

TEST_F(NotifierTest, WhatWaitsAtTheEndIsReportedAfterTheRestart) {
  options.runtime_directory = directory;
  options.boot_id = "this-boot";
  use_script("sleep 1000");
  const auto of_area = [](std::string alert, Change change = Change::kFiring) {
    AlertNotification made = notification(std::move(alert), change);
    made.labels = {{"area", "linux,cma"}};
    return made;
  };
  hook->notify(of_area("Runs"));
  ASSERT_TRUE(run_until([&] { return value("jetmem_notification_queue_length") == 0; }));
  hook->notify(of_area("Waits"));
  hook->notify(of_area("Over", Change::kResolved));
  hook->notify(notification("Other"));
  run_for(20);
  // As after a kill, too: it is on file before the end.
  const std::string file = read("pending-notifications.json");
  EXPECT_THAT(file, testing::AllOf(HasSubstr("Runs"), HasSubstr("Waits"), Not(HasSubstr("Over"))));
  EXPECT_EQ(std::filesystem::status(directory + "/pending-notifications.json").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  hook->finish();
  ASSERT_EQ(log.entries.size(), 1U);
  EXPECT_THAT(log.entries[0].message, HasSubstr("4 notifications unsent"));
  EXPECT_THAT(log.entries[0].message, HasSubstr("Runs (firing), Waits (firing), Over (resolved)"));
  EXPECT_EQ(drops("stopping"), 4);
  EXPECT_EQ(drops("disabled"), 0);
  EXPECT_EQ(read("pending-notifications.json"), file);
  EXPECT_EQ(value("jetmem_state_file_failures_total{file=\"pending-notifications.json\"}"), 0);
  settings.program = script("echo $JETMEM_ALERT >> " + directory + "/sent");
  hook = std::make_unique<Notifier>(clock, spawner, log, options);
  hook->apply(settings);
  // All of them fire now.
  const auto engine = firing({"Runs", "Waits", "Over", "Other", "New"});
  hook->begin_with(*engine);
  hook->begin_with(*engine);
  ASSERT_TRUE(hook->start(loop)) << "in the daemon's order";
  ASSERT_TRUE(comes_to("ok", 2));
  run_for(20);
  EXPECT_EQ(calls("ok"), 2);
  EXPECT_EQ(drops("superseded"), 0) << "reported once";
  EXPECT_EQ(read("sent"), "Runs\nWaits\n");
  ASSERT_TRUE(run_until(
      [&] { return read("pending-notifications.json").find("Waits") == std::string::npos; }));
}

TEST(PendingAlertsTest, HostileContentIsRefused) {
  const std::string good = R"("JetmemX\nzone=DMA")";
  const auto one = parse_pending_alerts("[" + good + "]");
  ASSERT_TRUE(one);
  EXPECT_EQ(*one, std::vector{alert_key("JetmemX", {{"zone", "DMA"}})});
  std::string many = good;
  for (int i = 0; i < 32; ++i) many += "," + good;
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("7"), std::string("[7]"),
        R"({"a":)" + good + "}", "[[" + good + "]]", "[" + many + "]",
        "[\"" + std::string(4097, 'A') + "\"]", "[" + good, std::string(8000, '[')}) {
    EXPECT_FALSE(parse_pending_alerts(text)) << text.substr(0, 100);
  }
}

TEST_F(NotifierTest, WhatIsLeftRunningKeepsTheNextFromStarting) {
  options.snapshot = std::chrono::milliseconds(50);
  use_script("setsid sleep 1000 > /dev/null 2>&1 < /dev/null &\necho $! > " + directory +
             "/pid; sleep 0.05");
  hook->notify(notification("A"));
  hook->notify(notification("B"));
  ASSERT_TRUE(comes_to("ok"));
  ASSERT_TRUE(run_until([&] { return log.has("running (sleep "); }));
  run_for(200);
  EXPECT_EQ(calls("ok"), 1);
  EXPECT_EQ(value("jetmem_notifier_orphan_processes"), 1);
  EXPECT_EQ(value("jetmem_notification_queue_length"), 1);
  settings.program = script("exit 0");
  hook->apply(settings);
  const pid_t left = std::stoi(read("pid"));
  EXPECT_TRUE(exists(left));
  ::kill(left, SIGKILL);
  EXPECT_TRUE(run_until([&] { return calls("ok") == 2; }, 10'000));
  EXPECT_TRUE(run_until([&] { return value("jetmem_notifier_orphan_processes") == 0; }));
}

}  // namespace
}  // namespace jetmem
