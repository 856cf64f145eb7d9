// SPDX-License-Identifier: Apache-2.0
// jetmem messages list|explain|check|test: the messages that jetmem knows, and a site's own.

#include <cstdio>

#include "base/root/small_file.h"
#include "base/text/print_error.h"
#include "base/text/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "report/messages/message_check.h"

namespace jetmem {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  bool shipped = false;
};

int run_check(const CheckOptions& needed) {
  const MessageForm form = needed.shipped ? MessageForm::kShipped : MessageForm::kUser;
  MessageFile file;
  std::size_t errors = 0;
  std::vector<std::pair<std::string, std::size_t>> ends;
  for (const std::string& name : needed.files) {
    const auto text = read_small_file(name, kMaxYamlBytes);
    if (!text) {
      print_error(text.error().message);
      return exit_code(text.error().code);
    }
    read_messages(form, name, *text, file);
    ends.emplace_back(name, file.messages.size());
  }
  for (const ConfigError& error : file.errors) {
    std::printf("%s\n", describe(error).c_str());
    ++errors;
  }
  for (const MessageProblem& problem : check_messages(form, file)) {
    std::printf("%d: %s\n", problem.at.line, problem.message.c_str());
    ++errors;
  }
  std::printf("%zu messages, %zu examples, %zu errors\n", file.messages.size(), file.examples.size(),
              errors);
  return errors == 0 ? kExitOk : kExitData;
}

}  // namespace

void add_messages_command(const Command& program) {
  const Command command = program.add("messages", "Show, check and try messages that jetmem knows");
  const Command check = command.add("check", "Check files of messages and their examples");
  check.exit_status("0 if they are valid");
  auto& options = check.runs(run_check);
  check.option("FILE", options.files, "FILE", "Files of messages");
  check.flag("--shipped", options.shipped, "They are jetmem's own, instead of those built in");
}

}  // namespace jetmem
