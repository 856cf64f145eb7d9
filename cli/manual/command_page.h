// What is to be told of one command, taken from the command line's own description of itself, so
// that man pages and completions cannot say anything else.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

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

  std::string name() const;  // "jetmem-rules-check"
};

// The program's own first, then each command and those below it.
std::vector<CommandPage> command_pages(const CLI::App& app);

}  // namespace jetmem
