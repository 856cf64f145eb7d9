// SPDX-License-Identifier: Apache-2.0
// Commands whose JSON is their own.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/exit_codes.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

constexpr const char* kJsonBoards[] = {"thor", "orin", "nano-4gb", "raspberry-pi-5", "x86-pc"};

TEST(JsonCommands, MetricsHaveEachSample) {
  const TempDir root;
  root.write("proc/meminfo", "MemTotal:        7993344 kB\nMemFree:          100000 kB\n");
  const auto json = json_of({"--root", root.path(), "metrics", "--only", "meminfo"});
  EXPECT_EQ(json["samples"]["jetmem_meminfo_MemFree_bytes"], 100000.0 * 1024);
}

// Also of documents of several lines, one object each.
TEST(JsonCommands, WholeNumbersAreIntegersInEveryDocument) {
  const std::vector<std::vector<std::string>> commands{{"status"},
                                                       {"top"},
                                                       {"map"},
                                                       {"cma"},
                                                       {"sources"},
                                                       {"alerts"},
                                                       {"nvmap"},
                                                       {"thermal"},
                                                       {"boots"},
                                                       {"doctor"},
                                                       {"events"},
                                                       {"faults"},
                                                       {"metrics"},
                                                       {"config", "show"},
                                                       {"rules", "list"},
                                                       {"decode", "tegrastats"},
                                                       {"decode", "kernel-log"},
                                                       {"diff", board("thor")}};
  std::size_t documents = 0;
  for (const char* name : kJsonBoards) {
    for (std::vector<std::string> command : commands) {
      SCOPED_TRACE(name + (" " + command[0]));
      command.insert(command.begin(), {"--root", board(name)});
      command.emplace_back("--json");
      std::istringstream text(run_command(command).out);
      for (nlohmann::json document; text >> std::ws && !text.eof(); ++documents) {
        text >> document;
        const nlohmann::json flat = document.flatten();
        for (const auto& [key, value] : flat.items()) {
          if (!value.is_number_float()) continue;
          const double number = value;
          EXPECT_TRUE(std::trunc(number) != number || std::fabs(number) >= 9e18) << key << value;
        }
      }
    }
  }
  EXPECT_GE(documents, std::size(kJsonBoards) * 15);
}

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
      EXPECT_TRUE(has_all(json["absent"]["boots"].get<std::string>(), {"boots.json"}));
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
