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

TEST(ConfigOption, TakesOneFileEachTime) {
  const TempDir files;
  const std::string settings = files.write("a.yaml", "log: {level: debug}\n");
  const std::string other = files.write("b.yaml", "log: {level: warning}\n");
  const std::string rules = files.write("rules.yaml", "thresholds: {}\n");
  // As a settings file it would be refused.
  EXPECT_TRUE(gives(run_command({"rules", "check", "--config", settings, rules}), kExitOk, {}));
  // The tree has no history.
  EXPECT_TRUE(gives(run_command({"--root", files.path(), "history", "--config", settings,
                                 "jetmem_memory_available_ratio"}),
                    kExitUnknown, {}));
  EXPECT_TRUE(gives(run_command({"config", "show", "--config", settings, "--config", other}),
                    kExitOk, {"level: warning  # " + other}));
  EXPECT_EQ(run_command({"config", "show", "--config", settings, other}).status, kExitUsage);
}

TEST(SharedOptions, MeanTheSameBeforeAndAfterTheCommand) {
  const std::string root = board("orin-nano-8gb");
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
                                                  {"config", "check", "--json"},
                                                  {"hash-password", "--json"}}) {
    EXPECT_TRUE(gives(run_command(command), kExitUsage, {}, {"does not apply to jetmem "}))
        << command.front();
  }
}

// Each is refused before anything is read, whichever side of the command it stands on.
TEST(SharedOptions, ContradictionsAreRefused) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
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
  for (const auto& [command, message] : cases) {
    EXPECT_TRUE(gives(run_command(command), kExitUsage, {}, {message}));
  }
}

TEST(ConfigCheck, NamesTheSettingOfAFileThatIsMissing) {
  const TempDir files;
  const std::string pager = files.write("a.yaml", "alerts:\n  program: /nope/pager\n");
  // It may come later.
  EXPECT_TRUE(gives(run_command({"config", "check", pager}), kExitOk, {"ok\n"},
                    {pager + ":2: alerts.program: ", "/nope/pager"}));
  const std::string web = files.write("b.yaml", "http:\n  web_config: /nope.yml\n");
  EXPECT_TRUE(gives(run_command({"config", "check", web}), kExitData, {},
                    {web + ":2: http.web_config: /nope.yml: "}));
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
    EXPECT_TRUE(gives(run, kExitDenied, {})) << command;
    EXPECT_TRUE(has_none(run.err, {"invalid"})) << command;
  }
}

}  // namespace
}  // namespace jetmem
