// Runs one command of jetmem inside the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace jetmem {

struct CommandRun {
  int status = 0;
  std::string out;
  std::string err;
};

inline CommandRun run_command(void (*add)(CLI::App&, CommandContext&),
                              std::vector<std::string> arguments) {
  CLI::App app("", "jetmem");
  app.fallthrough();
  CommandContext context;
  app.add_option("--root", context.root);
  add(app, context);
  std::reverse(arguments.begin(), arguments.end());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    context.status = app.exit(error);
  }
  CommandRun run;
  run.status = context.status;
  run.out = testing::internal::GetCapturedStdout();
  run.err = testing::internal::GetCapturedStderr();
  return run;
}

}  // namespace jetmem
