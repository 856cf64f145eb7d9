// SPDX-License-Identifier: Apache-2.0
// Runs one command of jetmem inside the test.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "tests/cli/texts.h"

namespace jetmem {

struct CommandRun {
  int status = 0;
  std::string out;
  std::string err;
};

inline CommandRun run_command(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  CommandRun run;
  run.status = CommandProgram().run(arguments);
  run.out = testing::internal::GetCapturedStdout();
  run.err = testing::internal::GetCapturedStderr();
  return run;
}

// It ended so, and printed these parts; nothing to stdout where it was typed wrongly.
inline testing::AssertionResult gives(const CommandRun& run, int status,
                                      std::initializer_list<std::string_view> out,
                                      std::initializer_list<std::string_view> err = {}) {
  if (run.status != status || (status == kExitUsage && !run.out.empty())) {
    return testing::AssertionFailure() << "status " << run.status << ", not " << status << ":\n"
                                       << run.out << run.err;
  }
  const testing::AssertionResult has = has_all(run.out, out);
  return has ? has_all(run.err, err) : has;
}

inline nlohmann::json json_of(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  return nlohmann::json::parse(run_command(arguments).out);
}

// The tree of a device of tests/fixtures.
inline std::string board(std::string_view name) { return JETMEM_FIXTURES "/" + std::string(name); }

inline std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

}  // namespace jetmem
