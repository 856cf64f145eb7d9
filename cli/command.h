// SPDX-License-Identifier: Apache-2.0
// Declares commands and their options. CLI11, which parses them, is included by command.cc and
// manual/command_page.cc alone: its headers are large.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "cli/daemon_address.h"
#include "cli/exit_codes.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace jetmem {

// What a command looks at, by the options of `jetmem` itself. They mean the same before and after
// the command; one that does not apply to the command is refused.
struct Target {
  std::string root;       // --root; empty: the live machine. A bundle: the folder it is unpacked in
  std::string root_name;  // --root as given, for messages
  std::string daemon;     // only this one is queried; empty: the usual addresses
  ClientAccess access;    // to the daemon that --daemon names
  std::vector<std::string> config;  // settings files
  bool json = false;
};

struct CommandContext : Target {
  // What one option of a command says of another, by their names.
  struct OptionRule {
    const CLI::App* command;
    std::string option;
    std::string other;
    bool excludes;  // else it needs the other
  };

  int status = 0;
  std::vector<OptionRule> option_rules;
  std::vector<std::string> config_after;  // the command
  std::vector<CLI::Option*> only_alone;
  std::set<const CLI::App*> without_root;
};

class CommandOption {
 public:
  CommandOption(CLI::App* command, CLI::Option* option, CommandContext* context)
      : command_(command), option_(option), context_(context) {}

  CommandOption& required();
  CommandOption& one_of(const std::vector<std::string>& values);
  CommandOption& range(int least, int most);
  // "a,b" is two values.
  CommandOption& separated_by_commas();
  // The target's value now is shown as the default.
  CommandOption& show_default();
  CommandOption& hidden();
  // Of `jetmem` itself: refused where a command is given, which has its own.
  CommandOption& only_alone();
  // Refused beside any of these options of the command or of `jetmem`: "--csv", "TEXT".
  CommandOption& excludes(std::initializer_list<const char*> others);
  // Refused without it.
  CommandOption& needs(const char* other);
  // `problem` gives a message for a value that is refused, and else nothing.
  CommandOption& check(std::function<std::string(const std::string&)> problem);

 private:
  CLI::App* command_;
  CLI::Option* option_;
  CommandContext* context_;
};

class Command {
 public:
  Command(CLI::App& app, CommandContext& context, const char* group = "Commands")
      : app_(&app), context_(&context), group_(group) {}

  // Commands that are added to the result stand under this heading in the help.
  Command group(const char* heading) const { return {*app_, *context_, heading}; }
  Command add(const char* name, const char* help) const;
  // An earlier name of a command with an option: it works, and no help lists it.
  Command add_hidden(const char* name, const char* help) const { return group("").add(name, help); }
  void alias(const char* name) const;
  void require_command() const;

  CommandOption flag(const char* name, bool& target, const char* help = "") const;
  // A name without dashes is positional. `type` stands for the value in the help ("FILE"). An
  // option whose target is a list may be given more than once.
  template <class Value>
  CommandOption option(const char* name, Value& target, const char* type,
                       const char* help = "") const;
  // The options of Target that apply to the command, with what they do there.
  CommandOption json(const char* help) const;
  CommandOption daemon() const;
  CommandOption config(const char* help = "Settings file (default: those of jetmemd)") const;
  void device() const;  // --daemon and --config
  // --root does not apply.
  void without_root() const { context_->without_root.insert(app_); }
  // Paragraphs end with a newline; the layer breaks lines, except those that begin with blanks.
  void footer(const std::string& text) const;
  // Below the footer: what 0 to 3 of exit_codes.h mean here; what is above is added.
  void exit_status(const std::string& meaning) const;

  // Called if the command is given without a command below it; the result is the exit status.
  void on_run(std::function<int()> run) const;
  // The same for a function that takes options, which live as long as the program.
  template <class Options>
  Options& runs(int (*run)(const Options&)) const {
    auto options = std::make_shared<Options>();
    on_run([options, run, target = static_cast<const Target*>(context_)] {
      if constexpr (std::is_base_of_v<Target, Options>) static_cast<Target&>(*options) = *target;
      (void)target;
      return run(*options);
    });
    return *options;
  }

 private:
  CLI::App* app_;
  CommandContext* context_;
  const char* group_;  // of commands that are added
};

// "jetmem COMMAND: TEXT" on standard error.
void warn(std::string_view command, std::string_view text);
// The same with an error's message. Returns its exit status.
int failed(std::string_view command, const Error& error);
// The same for a command that shows the past: what was never recorded is unknown (3).
int failed_past(std::string_view command, const Error& error);
// From here on messages call `folder`, where a bundle is unpacked, by its `name`.
void set_folder_name(std::string folder, const std::string& name);

// `jetmem` with all its commands.
class CommandProgram {
 public:
  CommandProgram();
  ~CommandProgram();
  CommandProgram(const CommandProgram&) = delete;
  CommandProgram& operator=(const CommandProgram&) = delete;

  // `before` runs between the reading of the command line and the command, which does not run
  // unless it returns 0. Returns the exit status.
  int run(const std::vector<std::string>& arguments,
          const std::function<int(CommandContext&)>& before = {});
  const CLI::App& app() const { return *app_; }

 private:
  // Completes the target, and refuses options that do not apply to the command or to each other.
  void settle();

  CommandContext context_;
  std::unique_ptr<CLI::App> app_;
  std::string misplaced_;  // an option of `jetmem` alone that stood before a command
};

}  // namespace jetmem
