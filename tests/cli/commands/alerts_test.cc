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
}

TEST_F(Alerts, FalseConditionIsInactive) {
  rule(kDoesNot);
  EXPECT_TRUE(gives(run({"alerts"}), kExitOk, {"1 inactive"}));
  EXPECT_TRUE(gives(run({"alerts", "--all"}), kExitOk,
                    {"inactive warning  TestRule\n    jetmem_meminfo_MemFree_bytes is above 1 GiB: "
                     "now 512 MiB\n"}));
}

TEST_F(Alerts, WhatOneReadingTells) {
  struct Case {
    std::string when;
    const char* more;
    const char* state;
    int status;
  };
  for (const auto& [when, more, state, status] : {
           Case{kHolds, "", "firing", kExitWarning},
           Case{kDoesNot, "", "inactive", kExitOk},
           Case{kHolds, "    for: 10m\n", "pending", kExitWarning},
           Case{kWindow, "", "unknown", kExitUnknown},
           // Unless something else certainly does not hold.
           Case{std::string(kWindow) + ", " + kDoesNot, "", "inactive", kExitOk},
           // Between the thresholds.
           Case{"{metric: jetmem_meminfo_MemFree_bytes, above: 1GiB, clear: 1MiB}", "", "unknown",
                kExitUnknown},
       }) {
    rule(when, more);
    EXPECT_EQ(first_rule()["state"], state) << when;
    EXPECT_EQ(last_.status, status) << when;
  }
}

TEST_F(Alerts, WindowsNeedHistory) {
  rule(kWindow);
  const auto json = first_rule();
  EXPECT_EQ(json["needs_history"],
            "avg_over_time(jetmem_meminfo_MemFree_bytes[5m]) needs 5m of history");
  EXPECT_EQ(json["alerts"].size(), 0U);
  EXPECT_EQ(json["conditions"][0]["worst"], nullptr);
}

TEST_F(Alerts, AbsentIsInactiveAndFailedIsUnknown) {
  rule("{metric: jetmem_pressure_stall_ratio, above: 0}");
  EXPECT_EQ(first_rule()["state"], "inactive");
  EXPECT_EQ(last_.status, kExitOk);
  EXPECT_EQ(first_rule()["no_series"], nlohmann::json{"jetmem_pressure_stall_ratio"});
  EXPECT_TRUE(gives(run({"alerts"}), kExitOk, {"1 not applicable here"}));
  EXPECT_TRUE(gives(run({"alerts", "--all"}), kExitOk, {"jetmem_pressure_stall_ratio\n"}));
  directory_.write("root/proc/pressure/memory", "garbage\n");
  const auto json = first_rule();
  EXPECT_EQ(json["state"], "unknown");
  EXPECT_EQ(json["unknown_reason"], "source pressure is failed");
  EXPECT_EQ(last_.status, kExitUnknown);
}

TEST_F(Alerts, NoRulesAndErrorsInThemAreUnknown) {
  EXPECT_TRUE(gives(run({"alerts"}), kExitUnknown, {"There are no rules"}));
  rule(kDoesNot);
  directory_.write("rules/wrong.yaml", "rules:\n  - alert: Wrong\n");
  EXPECT_TRUE(gives(run({"alerts"}), kExitUnknown, {"wrong.yaml:2:"}));
}

TEST_F(Alerts, CheckCountsConfigErrors) {
  rule("{metric: jetmem_presure_stall_ratio, above: 1}");
  EXPECT_TRUE(gives(run_here({"rules", "check"}), kExitData, {},
                    {"rules/test.yaml:4:", "0 rules in 1 file\n"}));
  // A part must not pass for all.
  const CommandRun refused = run_here({"rules", "export"});
  EXPECT_EQ(refused.status, kExitData);
  EXPECT_EQ(refused.out, "");
  rule(kHolds);
  EXPECT_EQ(run_here({"rules", "check"}).out, "ok: 1 rule in 1 file\n");
}

TEST_F(Alerts, ExplainShowsValuesAndPromQl) {
  directory_.write("rules/a.yaml", "thresholds:\n  much: {value: 1MiB, description: A little.}\n");
  rule("{metric: jetmem_meminfo_MemFree_bytes, above: $much}", "    for: 1m\n");
  const CommandRun run = this->run({"rules", "explain", "TestRule"});
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(gives(run, kExitOk,
                    {"1m:\n  1. jetmem_meminfo_MemFree_bytes is above 1 MiB (much)\n"
                     "     now 512 MiB; true for 1 of 1 series\n",
                     "  much = 1MiB, set in ",
                     "PromQL:\n  jetmem_meminfo_MemFree_bytes > 1048576\n", "Now: pending: "}));
  EXPECT_TRUE(gives(this->run({"rules", "explain", "TestRul"}), kExitUsage, {},
                    {"did you mean 'TestRule'?"}));
}

TEST(AlertsOfADaemon, NoAnswerIsReported) {
  const TempDir directory;
  const std::string address = "unix:" + directory.file("none.socket");
  EXPECT_EQ(run_command({"alerts", "--daemon", address}).err,
            "jetmem alerts: no daemon answers at " + address +
                ": No such file or directory; is jetmemd running? See systemctl status jetmemd\n");
  EXPECT_EQ(run_command({"alerts", "--daemon", "1.2.3"}).status, kExitUsage);
}

TEST(AlertsOfADaemon, TheSocketComesFirst) {
  HttpSettings http;
  http.listen = {{.host = "127.0.0.1", .port = 10743}, {.host = "127.0.0.1", .port = 0}};
  const auto locations = must(daemon_addresses("", http, {}));
  ASSERT_EQ(locations.size(), 2U);
  EXPECT_EQ(locations[0].text(), "unix:/run/jetmem/api.socket");
  EXPECT_EQ(locations[1].text(), "127.0.0.1:10743");
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
  for (const auto& [state, severity, status] :
       {std::tuple("inactive", "", kExitOk), std::tuple("pending", "", kExitOk),
        std::tuple("unknown", "", kExitUnknown), std::tuple("on fire", "", kExitUnknown),
        std::tuple("firing", "critical", kExitCritical),
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
  EXPECT_TRUE(has_all(alerts_text(answer, {.color = true, .all = false, .from = "x"}),
                      {"\x1b[1;31mFIRING\x1b[0m  critical A\n"}));
  EXPECT_TRUE(has_none(alerts_text(answer, {.color = false, .all = false, .from = "x"}), {"\x1b"}));
}

}  // namespace
}  // namespace jetmem
