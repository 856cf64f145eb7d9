// SPDX-License-Identifier: Apache-2.0
// Runs one command of jetmem inside the test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/command.h"

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

}  // namespace jetmem
