// SPDX-License-Identifier: Apache-2.0
// Options that all commands share.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "cli/exit_codes.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ConfigOption, TakesOneFileEachTime) {
  const TempDir files;
  const std::string settings = files.write("a.yaml", "log: {level: debug}\n");
  const std::string other = files.write("b.yaml", "log: {level: warning}\n");
  const std::string rules = files.write("rules.yaml", "thresholds: {}\n");
  // As a settings file it would be refused.
  const CommandRun checked = run_command({"rules", "check", "--config", settings, rules});
  EXPECT_EQ(checked.status, kExitOk) << checked.err;
  const CommandRun plan = run_command(
      {"plan", "--config", settings, files.write("plan.yaml", "device: orin-nano-8gb\n")});
  EXPECT_NE(plan.status, kExitUsage) << plan.err;
  const CommandRun past = run_command(
      {"--root", files.path(), "history", "--config", settings, "jetmem_memory_available_ratio"});
  EXPECT_EQ(past.status, kExitUnknown) << past.err;  // the tree has no history
  const CommandRun twice = run_command({"config", "show", "--config", settings, "--config", other});
  EXPECT_THAT(twice.out, HasSubstr("level: warning  # " + other));
  EXPECT_EQ(run_command({"config", "show", "--config", settings, other}).status, kExitUsage);
}

TEST(SharedOptions, MeanTheSameBeforeAndAfterTheCommand) {
  const std::string root = std::string(JETMEM_FIXTURES) + "/orin-nano-8gb";
  const CommandRun after = run_command({"cma", "--root", root, "--json"});
  EXPECT_EQ(after.status, kExitOk);
  EXPECT_EQ(after.out.front(), '{');
  EXPECT_EQ(run_command({"--json", "--root", root, "cma"}).out, after.out);
  const CommandRun rules = run_command({"rules", "list", "--json"});
  EXPECT_EQ(run_command({"rules", "--json", "list"}).out, rules.out);
  EXPECT_EQ(run_command({"--json", "rules", "list"}).out, rules.out);
  const TempDir files;
  const std::string first = files.write("a.yaml", "log: {level: debug}\n");
  const std::string second = files.write("b.yaml", "http: {listen: []}\n");
  const std::string both =
      run_command({"config", "show", "--config", first, "--config", second}).out;
  EXPECT_THAT(both, HasSubstr("level: debug"));
  EXPECT_EQ(run_command({"--config", first, "config", "show", "--config", second}).out, both);
  for (const char* command : {"status", "doctor", "sources", "metrics", "boots"}) {
    const CommandRun silent = run_command({"--daemon", "127.0.0.1:9", command});
    EXPECT_EQ(run_command({command, "--daemon", "127.0.0.1:9"}).err, silent.err) << command;
    EXPECT_THAT(silent.err, HasSubstr("127.0.0.1:9")) << command;
    EXPECT_EQ(run_command({"--daemon", "127.0.0.1:9", command, "--root", root}).status, kExitUsage);
  }
}

TEST(SharedOptions, ThatDoNotApplyAreRefused) {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"--json", "watch"},
                                                  {"--daemon", "127.0.0.1:9", "probe"},
                                                  {"--config", "/x.yaml", "compact"},
                                                  {"compact", "--root", "/"},
                                                  {"--root", "/", "config", "show"},
                                                  {"hash-password", "--json"}}) {
    const CommandRun run = run_command(command);
    EXPECT_EQ(run.status, kExitUsage) << command.front();
    EXPECT_THAT(run.err, HasSubstr("does not apply to jetmem ")) << command.front();
  }
}

// Each is refused before anything is read, whichever side of the command it stands on.
TEST(SharedOptions, ContradictionsAreRefused) {
  struct Case {
    std::vector<std::string> command;
    const char* message;
  };
  const Case cases[] = {
      {{"status", "--root", "/", "--daemon", "a"}, "--root excludes --daemon"},
      {{"--daemon", "a", "status", "--root", "/"}, "--root excludes --daemon"},
      {{"--brief", "--all"}, "--brief excludes --all"},
      {{"status", "--follow", "--brief"}, "--brief excludes --follow"},
      {{"status", "--interval", "5s"}, "--interval requires --follow"},
      {{"--interval", "5s"}, "--interval requires --follow"},
      {{"events", "--ring", "--daemon", "a"}, "--ring excludes --daemon"},
      {{"--daemon", "a", "faults", "--ring"}, "--ring excludes --daemon"},
      {{"events", "--follow", "--until", "1h"}, "--follow excludes --until"},
      {{"events", "--follow", "--ring"}, "--follow excludes --ring"},
      {{"events", "--faults", "--kind", "oom_kill"}, "--faults excludes --kind"},
      {{"history", "--csv", "--json"}, "--csv excludes --json"},
      {{"--json", "history", "--csv"}, "--csv excludes --json"},
      {{"history", "x", "--table", "--openmetrics"}, "--openmetrics excludes --table"},
      {{"history", "x", "--label", "a=b"}, "--label requires --openmetrics"},
      {{"history", "--list", "--since", "1h"}, "--list excludes --since"},
      {{"history", "x", "--height", "5", "--csv"}, "--height excludes --csv"},
      {{"boots", "--state-dir", "/", "--daemon", "a"}, "--state-dir excludes --daemon"},
      {{"sources", "--local", "--daemon", "a"}, "--local excludes --daemon"},
      {{"metrics", "--only", "cma", "--daemon", "a"}, "--only excludes --daemon"},
      {{"mark", "text", "--list"}, "TEXT excludes --list"},
      {{"mark", "text", "--json"}, "TEXT excludes --json"},
      {{"--root", "/", "mark", "text"}, "TEXT excludes --root"},
      {{"config", "show", "a.yaml", "--config", "b.yaml"}, "FILE excludes --config"},
      {{"--config", "b.yaml", "config", "check", "a.yaml"}, "FILE excludes --config"},
      {{"top", "--gpu", "--sort", "growth"}, "--gpu excludes --sort"},
      {{"top", "--maps"}, "--maps requires --gpu"},
      {{"top", "--gpu", "--maps", "--daemon", "a"}, "--maps excludes --daemon"},
      {{"nvmap", "--maps", "--daemon", "a"}, "--maps excludes --daemon"},
      {{"cma", "--map", "--json"}, "--map excludes --json"},
      {{"plan", "--list-devices", "--model", "x"}, "--list-devices excludes --model"},
      {{"plan", "x.yaml", "--context", "8k"}, "--context requires --model"},
      {{"capture", "--no-history", "--history", "1h"}, "--no-history excludes --history"},
      {{"probe", "--limit", "1GiB"}, "--limit requires --bisect"},
      {{"probe", "--bisect"}, "--bisect requires --kind"},
      {{"probe", "--force", "--root", "/"}, "--force excludes --root"},
      {{"probe", "--kind", "host", "--root", "/"}, "--kind excludes --root"},
      {{"probe", "--kind", "pined"}, "did you mean 'pinned'?"},
      {{"rules", "check", "--with-shipped"}, "--with-shipped requires PATH"},
      {{"decode", "kernel-log", "--causes"}, "--causes requires --json"},
      {{"status", "--user", "a"}, "--user requires --daemon"},
      {{"status", "--daemon", "https://a", "--cert", "c"}, "--cert requires --key"},
      {{"status", "--daemon", "https://a", "--password-file", "c"},
       "--password-file requires --user"},
  };
  for (const Case& each : cases) {
    const CommandRun run = run_command(each.command);
    EXPECT_EQ(run.status, kExitUsage) << each.message;
    EXPECT_EQ(run.out, "") << each.message;
    EXPECT_THAT(run.err, HasSubstr(each.message));
  }
}

TEST(ConfigCheck, NamesTheSettingOfAFileThatIsMissing) {
  const TempDir files;
  const std::string pager = files.write("a.yaml", "alerts:\n  program: /nope/pager\n");
  const CommandRun warned = run_command({"config", "check", pager});
  EXPECT_EQ(warned.status, kExitOk) << "it may come later";
  EXPECT_THAT(warned.err, HasSubstr(pager + ":2: alerts.program: "));
  EXPECT_THAT(warned.err, HasSubstr("/nope/pager"));
  EXPECT_EQ(warned.out, "ok\n");
  const std::string web = files.write("b.yaml", "http:\n  web_config: /nope.yml\n");
  const CommandRun refused = run_command({"config", "check", web});
  EXPECT_EQ(refused.status, kExitData);
  EXPECT_THAT(refused.err, HasSubstr(web + ":2: http.web_config: /nope.yml: "));
  const std::string fine = files.write("c.yaml", "alerts: {program: /bin/sh}\n");
  EXPECT_EQ(run_command({"config", "check", fine}).err, "");
}

TEST(ConfigOption, OfADeniedFileIsNoStateOfTheDevice) {
  // A file that even root may not read.
  const std::string denied = "/proc/sys/vm/compact_memory";
  if (UniqueFd(::open(denied.c_str(), O_RDONLY | O_CLOEXEC)).valid() || errno != EACCES) {
    GTEST_SKIP() << "needs " << denied;
  }
  for (const char* command : {"status", "doctor", "alerts", "history"}) {
    const CommandRun run = run_command({command, "--config", denied});
    EXPECT_EQ(run.status, kExitDenied) << command << ": " << run.err;
    EXPECT_THAT(run.err, Not(HasSubstr("invalid"))) << command;
  }
}

}  // namespace
}  // namespace jetmem
