// SPDX-License-Identifier: Apache-2.0
#include "cli/suggestion.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

std::string by_shell(const std::string& word) {
  FILE* pipe = ::popen(("bash -c \"$(cat <<'E'\nprintf %s " + word + "\nE\n)\"").c_str(), "r");
  std::string out;
  std::array<char, 256> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    out.append(part.data(), n);
  }
  ::pclose(pipe);
  return out;
}

TEST(Suggestion, AWordIsWhatItWasForAShell) {
  EXPECT_EQ(shell_word("orin-7:10743"), "orin-7:10743");
  EXPECT_EQ(shell_word("my file"), "'my file'");
  for (const std::string word : {"a b", "it's", "$(reboot)", "a;b", "\"", "\\", "", "*", "~",
                                 "\x1b[31m'x\\", "a\nb", "caf\xc3\xa9", "\xff\xfe", "`id`"}) {
    EXPECT_EQ(by_shell(shell_word(word)), word);
    for (const char c : shell_word(word)) EXPECT_GE(static_cast<unsigned char>(c), ' ') << word;
  }
}

TEST(Suggestion, LooksAtTheSameDevice) {
  Target target;
  EXPECT_EQ(with_target(target, "sudo jetmem top shows it"), "sudo jetmem top shows it");
  EXPECT_EQ(commands_for(target, "jetmem cma; grep Cma /proc/meminfo"),
            "jetmem cma; grep Cma /proc/meminfo");
  target.config = {"my settings.yaml"};
  EXPECT_EQ(commands_for(target, "jetmem cma; systemctl status jetmemd"),
            "jetmem --config 'my settings.yaml' cma; systemctl status jetmemd");
  target.daemon = "https://orin-7:10743";
  target.access.user = "on call";
  EXPECT_EQ(commands_for(target, "sudo jetmem top --gpu; jetmem rules check; dmesg"),
            "sudo jetmem --daemon https://orin-7:10743 --user 'on call' --config "
            "'my settings.yaml' top --gpu");
  Target tree;
  tree.root = "/tmp/unpacked";
  tree.root_name = "an incident.tar.zst";
  EXPECT_EQ(commands_for(tree, "sudo jetmem events --faults"),
            "jetmem --root 'an incident.tar.zst' events --faults");
  EXPECT_EQ(with_target(tree, "see jetmem cma and jetmem top, jetmemd, or jetmem capture"),
            "see jetmem --root 'an incident.tar.zst' cma and jetmem --root 'an incident.tar.zst' "
            "top, jetmemd, or jetmem capture");
}

// Whatever prints a command: the doctor's remedies, the alerts', the next command, an error.
TEST(Suggestion, OfACommandKeepsItsOptions) {
  const std::string root = board("orin-nano-8gb");
  const TempDir files;
  const std::string settings = files.write("my settings.yaml", "http: {listen: []}\n");
  const std::string given = "jetmem --root " + shell_word(root) + " --config '" + settings + "' ";
  for (const char* command : {"status", "doctor", "alerts"}) {
    const CommandRun run = run_command({command, "--root", root, "--config", settings});
    std::istringstream words(run.out);
    std::string text;
    for (std::string word; words >> word;) text += word + " ";
    EXPECT_TRUE(has_all(text, {given})) << command;
    EXPECT_TRUE(has_none(text, {"jetmem top", "jetmem cma"})) << command;
  }
  const CommandRun none = run_command({"history", "nonsense", "--root", root});
  EXPECT_TRUE(has_none(none.err, {"`jetmem history`"}));
}

}  // namespace
}  // namespace jetmem
