// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

// A name of a directory is any bytes; what is printed is text.
TEST(Boots, InvalidUtf8InADirectoryName) {
  const TempDir directory;
  directory.write("root/proc/cmdline", "quiet\n");
  const std::string hostile = directory.path() + "/\xff\x1b[2J";
  for (const bool bad_file : {false, true}) {
    SCOPED_TRACE(bad_file);
    if (bad_file) directory.write("\xff\x1b[2J/boots.json", "\xff");
    for (const bool as_json : {true, false}) {
      std::vector<std::string> arguments{"boots", "--root", directory.file("root"), "--state-dir",
                                         hostile};
      if (as_json) arguments.emplace_back("--json");
      const CommandRun run = run_command(arguments);
      EXPECT_EQ(run.status, bad_file ? kExitData : kExitOk);
      EXPECT_EQ(run.out.find('\xff'), std::string::npos);
      EXPECT_EQ((run.out + run.err).find('\x1b'), std::string::npos);
      if (!as_json) continue;
      const auto json = nlohmann::json::parse(run.out);
      EXPECT_THAT(json["absent"]["boots"].get<std::string>(), HasSubstr("boots.json"));
    }
  }
}

TEST(Boots, NothingThatDescribesThemIsNoFailure) {
  const TempDir directory;
  directory.write("root/proc/meminfo", "MemTotal: 1 kB\n");
  const CommandRun run = run_command({"boots", "--root", directory.file("root")});
  EXPECT_EQ(run.status, kExitOk) << run.err;
}

}  // namespace
}  // namespace jetmem
