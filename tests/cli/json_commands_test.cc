// SPDX-License-Identifier: Apache-2.0
// Commands whose JSON is their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

const std::vector<std::string> kJsonTrees{
    std::string(JETMEM_FIXTURES) + "/thor", std::string(JETMEM_FIXTURES) + "/orin",
    std::string(JETMEM_FIXTURES) + "/nano-4gb", std::string(JETMEM_FIXTURES) + "/raspberry-pi-5",
    std::string(JETMEM_FIXTURES) + "/x86-pc"};

TEST(JsonCommands, MetricsHaveEachSample) {
  const TempDir root;
  root.write("proc/meminfo", "MemTotal:        7993344 kB\nMemFree:          100000 kB\n");
  const CommandRun run =
      run_command({"--root", root.path(), "metrics", "--only", "meminfo", "--json"});
  EXPECT_EQ(run.status, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["samples"]["jetmem_meminfo_MemFree_bytes"], 100000.0 * 1024);
}

// The floats of a document as they are written.
struct Floats : nlohmann::json_sax<nlohmann::json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t value, const string_t& text) override {
    if (std::trunc(value) == value && std::fabs(value) < 9e18) whole.push_back(last + ": " + text);
    return true;
  }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t& name) override {
    last = name;
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  std::string last;
  std::vector<std::string> whole;
};

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
                                                       {"diff", kJsonTrees[0]}};
  std::size_t documents = 0;
  for (const std::string& board : kJsonTrees) {
    for (std::vector<std::string> command : commands) {
      command.insert(command.begin(), {"--root", board});
      command.emplace_back("--json");
      std::istringstream text(run_command(command).out);
      Floats floats;
      while (text >> std::ws && !text.eof()) {
        ASSERT_TRUE(nlohmann::json::sax_parse(text, &floats, nlohmann::json::input_format_t::json,
                                              /*strict=*/false))
            << command[2];
        ++documents;
      }
      EXPECT_THAT(floats.whole, testing::IsEmpty()) << board << " " << command[2];
    }
  }
  EXPECT_GE(documents, kJsonTrees.size() * 15);
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
