// SPDX-License-Identifier: Apache-2.0
// jetmem alerts and jetmem rules without a daemon: what one look can tell, and what it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "cli/client/daemon_client.h"
#include "cli/exit_codes.h"
#include "cli/text/alerts_text.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kMeminfo =
    "MemTotal:        1048576 kB\nMemFree:          524288 kB\nMemAvailable:     700000 kB\n";

class Alerts : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_.write("root/proc/meminfo", kMeminfo);
    directory_.write("settings.yaml",
                     "rules: {shipped: false, directory: " + directory_.file("rules") + "}\n");
  }
  // One rule on the conditions given.
  void rule(const std::string& when, const std::string& more = "") {
    directory_.write("rules/test.yaml",
                     "rules:\n  - alert: TestRule\n    severity: warning\n"
                     "    when: [" +
                         when + "]\n" + more +
                         "    summary: \"{{ value }}\"\n    cause: the cause\n"
                         "    remedy: the remedy\n    runbook: test\n");
  }
  CommandRun run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--root", directory_.file("root")});
    return run_here(std::move(arguments));
  }
  CommandRun run_here(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--config", directory_.file("settings.yaml")});
    return run_command(arguments);
  }
  // What one look says of the rule.
  nlohmann::json first_rule() {
    last_ = run({"alerts", "--json"});
    return nlohmann::json::parse(last_.out)["rules"][0];
  }

  static constexpr const char* kHolds = "{metric: jetmem_meminfo_MemFree_bytes, above: 1MiB}";
  static constexpr const char* kDoesNot = "{metric: jetmem_meminfo_MemFree_bytes, above: 1GiB}";
  static constexpr const char* kWindow =
      "{metric: jetmem_meminfo_MemFree_bytes, function: average, window: 5m, above: 1MiB}";
  TempDir directory_;
  CommandRun last_;
};

TEST_F(Alerts, TrueConditionFires) {
  rule(kHolds);
  const CommandRun text = run({"alerts"});
  EXPECT_EQ(text.status, kExitWarning);
  EXPECT_EQ(text.err, "");
  EXPECT_EQ(text.out,
            "FIRING  warning  TestRule\n    512 MiB\n    Value 512 MiB now.\n    Cause: the cause\n"
            "    Remedy: the remedy\n    Runbook: " +
                std::string(kDocDirectory) +
                "/runbooks/test.md\n\n"
                "1 rule: 1 firing. Evaluated on one reading, without jetmemd.\n");
  EXPECT_EQ(first_rule()["state"], "firing");
}

TEST_F(Alerts, FalseConditionIsInactive) {
  rule(kDoesNot);
  const CommandRun text = run({"alerts"});
  EXPECT_EQ(text.status, kExitOk);
  EXPECT_THAT(text.out, HasSubstr("1 inactive"));
  EXPECT_THAT(run({"alerts", "--all"}).out,
              HasSubstr("inactive warning  TestRule\n    jetmem_meminfo_MemFree_bytes is above "
                        "1 GiB: now 512 MiB\n"));
}

TEST_F(Alerts, ForGivesPending) {
  rule(kHolds, "    for: 10m\n");
  EXPECT_EQ(first_rule()["state"], "pending");
  EXPECT_EQ(last_.status, kExitWarning);
  EXPECT_THAT(run({"alerts"}).out, HasSubstr("10m"));
}

TEST_F(Alerts, WindowsAreUnknownOnOneReading) {
  rule(kWindow);
  const auto json = first_rule();
  EXPECT_EQ(json["state"], "unknown");
  EXPECT_EQ(json["needs_history"],
            "avg_over_time(jetmem_meminfo_MemFree_bytes[5m]) needs 5m of history");
  EXPECT_EQ(json["alerts"].size(), 0U);
  EXPECT_EQ(json["conditions"][0]["worst"], nullptr);
  EXPECT_EQ(last_.status, kExitUnknown);
  // Unless something else certainly does not hold.
  rule(std::string(kWindow) + ", " + kDoesNot);
  EXPECT_EQ(first_rule()["state"], "inactive");
  EXPECT_EQ(last_.status, kExitOk);
}

TEST_F(Alerts, UnknownBetweenTheThresholds) {
  rule("{metric: jetmem_meminfo_MemFree_bytes, above: 1GiB, clear: 1MiB}");
  EXPECT_EQ(first_rule()["state"], "unknown");
  EXPECT_EQ(last_.status, kExitUnknown);
}

TEST_F(Alerts, AbsentIsInactiveAndFailedIsUnknown) {
  rule("{metric: jetmem_pressure_stall_ratio, above: 0}");
  EXPECT_EQ(first_rule()["state"], "inactive");
  EXPECT_EQ(last_.status, kExitOk);
  EXPECT_EQ(first_rule()["no_series"], nlohmann::json{"jetmem_pressure_stall_ratio"});
  EXPECT_THAT(run({"alerts"}).out, HasSubstr("1 not applicable here"));
  EXPECT_THAT(run({"alerts", "--all"}).out, HasSubstr("jetmem_pressure_stall_ratio\n"));
  directory_.write("root/proc/pressure/memory", "garbage\n");
  const auto json = first_rule();
  EXPECT_EQ(json["state"], "unknown");
  EXPECT_EQ(json["unknown_reason"], "source pressure is failed");
  EXPECT_EQ(last_.status, kExitUnknown);
}

TEST_F(Alerts, RuleErrorsMakeTheStatusUnknown) {
  rule(kDoesNot);
  directory_.write("rules/wrong.yaml", "rules:\n  - alert: Wrong\n");
  const CommandRun text = run({"alerts"});
  EXPECT_EQ(text.status, kExitUnknown);
  EXPECT_THAT(text.out, HasSubstr("wrong.yaml:2:"));
}

TEST_F(Alerts, NoRulesAreUnknown) {
  const CommandRun text = run({"alerts"});
  EXPECT_EQ(text.status, kExitUnknown);
  EXPECT_THAT(text.out, HasSubstr("There are no rules"));
}

TEST_F(Alerts, CheckCountsConfigErrors) {
  rule("{metric: jetmem_presure_stall_ratio, above: 1}");
  const CommandRun wrong = run_here({"rules", "check"});
  EXPECT_EQ(wrong.status, kExitData);
  EXPECT_EQ(wrong.out, "");
  EXPECT_THAT(wrong.err, HasSubstr("rules/test.yaml:4:"));
  EXPECT_THAT(wrong.err, HasSubstr("0 rules in 1 file\n"));
  // A part must not pass for all.
  const CommandRun refused = run_here({"rules", "export"});
  EXPECT_EQ(refused.status, kExitData);
  EXPECT_EQ(refused.out, "");
  rule(kHolds);
  EXPECT_EQ(run_here({"rules", "check"}).out, "ok: 1 rule in 1 file\n");
  const CommandRun nowhere = run_here({"rules", "check", directory_.file("nowhere")});
  EXPECT_EQ(nowhere.status, kExitNoInput);
  EXPECT_THAT(nowhere.err, HasSubstr("there is no such file"));
}

TEST_F(Alerts, ExplainShowsValuesAndPromQl) {
  directory_.write("rules/a.yaml", "thresholds:\n  much: {value: 1MiB, description: A little.}\n");
  rule("{metric: jetmem_meminfo_MemFree_bytes, above: $much}", "    for: 1m\n");
  const CommandRun run = this->run({"rules", "explain", "TestRule"});
  EXPECT_EQ(run.status, kExitOk);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, HasSubstr("1m:\n  1. "
                                 "jetmem_meminfo_MemFree_bytes is above 1 MiB (much)\n     now "
                                 "512 MiB; true for 1 of 1 series\n"));
  EXPECT_THAT(run.out, HasSubstr("  much = 1MiB, set in "));
  EXPECT_THAT(run.out, HasSubstr("PromQL:\n  jetmem_meminfo_MemFree_bytes > 1048576\n"));
  EXPECT_THAT(run.out, HasSubstr("Now: pending: "));
  const CommandRun typo = this->run({"rules", "explain", "TestRul"});
  EXPECT_EQ(typo.status, kExitUsage);
  EXPECT_THAT(typo.err, HasSubstr("did you mean 'TestRule'?"));
}

TEST(AlertsOfADaemon, NoAnswerIsReported) {
  const TempDir directory;
  const std::string address = "unix:" + directory.file("none.socket");
  const CommandRun run = run_command({"alerts", "--daemon", address});
  EXPECT_EQ(run.status, kExitUnknown);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "jetmem alerts: no daemon answers at " + address +
                         ": No such file or directory; is jetmemd running? See systemctl status "
                         "jetmemd\n");
  const CommandRun typo = run_command({"alerts", "--daemon", "1.2.3"});
  EXPECT_EQ(typo.status, kExitUsage);
}

TEST(AlertsOfADaemon, TheSocketComesFirst) {
  const std::vector<ListenAddress> listen{{.host = "127.0.0.1", .port = 10743},
                                          {.host = "127.0.0.1", .port = 0}};
  HttpSettings http;
  http.listen = listen;
  const auto locations = daemon_addresses("", http, {});
  ASSERT_TRUE(locations);
  ASSERT_EQ(locations->size(), 2U);
  EXPECT_EQ((*locations)[0].text(), "unix:/run/jetmem/api.socket");
  EXPECT_EQ((*locations)[1].text(), "127.0.0.1:10743");
  // They want more than can be guessed.
  http.web_config = "/etc/jetmem/web.yaml";
  EXPECT_EQ(daemon_addresses("", http, {})->size(), 1U);
}

// Counted is what is known to be quiet, not what nobody complains of.
TEST(AlertsStatus, UnknownIsNotOk) {
  AlertsAnswer answer;
  EXPECT_EQ(alerts_status(answer), kExitUnknown);
  AlertsAnswer::Rule& rule = answer.rules.emplace_back();
  rule.state = "inactive";
  EXPECT_EQ(alerts_status(answer), kExitOk);
  rule.no_series = {"jetmem_x"};
  EXPECT_EQ(alerts_status(answer), kExitOk);
  rule.state = "pending";
  EXPECT_EQ(alerts_status(answer), kExitOk);
  rule.state = "unknown";
  EXPECT_EQ(alerts_status(answer), kExitUnknown);
  rule.state = "on fire";
  EXPECT_EQ(alerts_status(answer), kExitUnknown);
  for (const auto& [state, severity, status] :
       {std::tuple("firing", "critical", kExitCritical),
        std::tuple("firing", "warning", kExitWarning), std::tuple("firing", "info", kExitOk),
        std::tuple("pending", "critical", kExitWarning), std::tuple("pending", "warning", kExitOk),
        std::tuple("pending", "info", kExitOk)}) {
    rule.state = state;
    rule.severity = severity;
    EXPECT_EQ(alerts_status(answer), status) << state << " " << severity;
  }
  // Worse than what is not known.
  answer.rules.emplace_back().state = "unknown";
  EXPECT_EQ(alerts_status(answer), kExitUnknown);
  answer.rules.front().severity = "warning";
  answer.rules.front().state = "firing";
  EXPECT_EQ(alerts_status(answer), kExitWarning);
}

TEST(AlertsText, ColourMarksStatesOnly) {
  AlertsAnswer answer;
  AlertsAnswer::Rule& rule = answer.rules.emplace_back();
  rule.name = "A";
  rule.severity = "critical";
  rule.state = "firing";
  rule.alerts.emplace_back().state = "firing";
  EXPECT_THAT(alerts_text(answer, {.color = true, .all = false, .from = "x"}),
              HasSubstr("\x1b[1;31mFIRING\x1b[0m  critical A\n"));
  EXPECT_THAT(alerts_text(answer, {.color = false, .all = false, .from = "x"}),
              Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace jetmem
