// SPDX-License-Identifier: Apache-2.0
// Commands whose JSON is their own.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

TEST(JsonCommands, MetricsHaveEachSample) {
  const TempDir root;
  root.write("proc/meminfo", "MemTotal:        7993344 kB\nMemFree:          100000 kB\n");
  const CommandRun run =
      run_command({"--root", root.path(), "metrics", "--only", "meminfo", "--json"});
  EXPECT_EQ(run.status, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["samples"]["jetmem_meminfo_MemFree_bytes"], 100000.0 * 1024);
}

TEST(JsonCommands, RulesAndSettings) {
  const TempDir files;
  const std::string settings = files.write("jetmem.yaml", "");
  const CommandRun show = run_command({"config", "show", "--json", settings});
  EXPECT_EQ(show.status, 0) << show.err;
  EXPECT_TRUE(nlohmann::json::parse(show.out)["settings"].size() > 10);
  EXPECT_NE(run_command({"config", "check", "--json", settings}).status, 0);
}

}  // namespace
}  // namespace jetmem
