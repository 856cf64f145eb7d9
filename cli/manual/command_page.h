// SPDX-License-Identifier: Apache-2.0
// The description of one command, taken from the command line's own declarations, so that man pages
// and completions always agree with it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace jetmem {

struct CommandPage {
  struct Option {
    std::vector<std::string> names;  // "-o", "--output"; of a positional its own: "FILE"
    std::string type;                // "FILE"; empty: a flag
    std::string text;
    bool is_positional = false;
    bool is_required = false;
    bool takes_path = false;
  };

  std::vector<std::string> path;  // {"jetmem", "rules", "check"}
  std::string text;
  std::string footer;
  std::vector<Option> options;
  std::vector<std::string> commands;  // below it
  std::vector<std::string> command_texts;
  std::vector<std::string> command_groups;  // their headings

  std::string name() const;  // "jetmem-rules-check"
};

// The program's own first, then each command and those below it.
std::vector<CommandPage> command_pages(const CLI::App& app);

// A command's page for man(1).

// `all`: for SEE ALSO.
std::string man_page(const CommandPage& page, std::span<const CommandPage> all);

// What the last of these words behind `jetmem` may become: a line for each candidate, with what it
// means behind a tab. The one line "/": a path.
std::string completions(std::span<const CommandPage> pages, const std::vector<std::string>& words);

}  // namespace jetmem
