// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "base/text/print_error.h"
#include "base/text/text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/draw/terminal.h"
#include "cli/suggestion.h"

namespace jetmem {
namespace {

// Paragraphs as lines of a terminal; examples, which begin with blanks, as they are.
std::string broken(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == ' ') {
      out.append(line).append("\n");
    } else {
      out += wrapped(line, 0);
    }
  }
  if (!out.empty()) out.pop_back();
  return out;
}

// The right column of the list of options.
std::string help_column(const char* help) {
  constexpr std::size_t kColumns = 50;
  std::string out = wrapped(help, 0, kColumns);
  if (!out.empty()) out.pop_back();
  return out;
}

void add_access_options(const Command& program, ClientAccess& access) {
  program
      .option("--cacert", access.ca_file, "FILE",
              "With --daemon https://...: trust certificates signed by this CA")
      .needs("--daemon");
  program
      .option("--cert", access.certificate_file, "FILE",
              "With --daemon https://...: the client certificate; needs --key")
      .needs("--daemon")
      .needs("--key");
  program.option("--key", access.key_file, "FILE", "The private key of --cert").needs("--cert");
  program
      .option("--user", access.user, "NAME",
              "With --daemon: log in as this user; the password comes from --password-file or the "
              "variable JETMEM_PASSWORD")
      .needs("--daemon");
  program
      .option("--password-file", access.password_file, "FILE", "File with the password of --user")
      .needs("--user");
}

// Of messages: a folder and its name, and what the commands that they suggest look at.
struct MessageContext {
  std::string folder;
  std::string name;
  Target target;
};
MessageContext& message_context() {
  static MessageContext context;
  return context;
}

// What the first argument that nobody expected was probably meant to be: "status" for "statsu".
// Empty: no idea, or none was unexpected.
std::string probably_meant(const CLI::App& program) {
  const std::vector<std::string> unexpected = program.remaining(true);
  if (unexpected.empty()) return {};
  const bool is_option = unexpected.front().starts_with("-");
  std::vector<std::string> names;
  const CLI::App* app = &program;
  while (true) {
    const auto options =
        app->get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
    for (const CLI::Option* option : options) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::vector<CLI::App*> given = app->get_subcommands();
    if (given.empty()) break;
    app = given.front();
  }
  if (!is_option) {
    names.clear();
    const auto listed = [](const CLI::App* command) { return !command->get_group().empty(); };
    for (const CLI::App* command : app->get_subcommands(listed)) {
      names.push_back(command->get_name());
    }
  }
  const std::string_view typed = std::string_view(unexpected.front()).substr(0, 100);
  return std::string(nearest_name(typed.substr(0, typed.find('=')), names));
}

// "jetmem status --json" for an option of the command that stood before it. Empty: the command has
// none of that name.
std::string place_for(const CLI::App& program, const std::string& option) {
  if (option.empty()) return {};
  std::string out = "jetmem";
  const CLI::App* app = &program;
  for (auto given = app->get_subcommands(); !given.empty(); given = app->get_subcommands()) {
    app = given.front();
    out += " " + app->get_name();
  }
  return app->get_option_no_throw(option) == nullptr ? std::string() : out + " " + option;
}

}  // namespace

CommandOption& CommandOption::required() {
  option_->required();
  return *this;
}

CommandOption& CommandOption::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

CommandOption& CommandOption::range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

CommandOption& CommandOption::separated_by_commas() {
  option_->delimiter(',');
  return *this;
}

CommandOption& CommandOption::show_default() {
  option_->capture_default_str();
  return *this;
}

CommandOption& CommandOption::hidden() {
  option_->group("");
  return *this;
}

CommandOption& CommandOption::only_alone() {
  context_->only_alone.push_back(option_);
  return *this;
}

CommandOption& CommandOption::excludes(std::initializer_list<const char*> others) {
  for (const char* other : others) {
    context_->option_rules.push_back({command_, option_->get_name(), other, true});
  }
  return *this;
}

CommandOption& CommandOption::needs(const char* other) {
  context_->option_rules.push_back({command_, option_->get_name(), other, false});
  return *this;
}

CommandOption& CommandOption::check(std::function<std::string(const std::string&)> problem) {
  option_->check(CLI::Validator(
      [problem = std::move(problem)](std::string& value) { return problem(value); }, "", ""));
  return *this;
}

Command Command::add(const char* name, const char* help) const {
  return {*app_->add_subcommand(name, help)->group(group_), *context_};
}

void Command::alias(const char* name) const { app_->alias(name); }

void Command::require_command() const {
  app_->require_subcommand(0, 1);
  // Alone it lists what there is.
  on_run([app = app_] {
    put(app->help());
    return kExitOk;
  });
}

CommandOption Command::flag(const char* name, bool& target, const char* help) const {
  return {app_, app_->add_flag(name, target, help_column(help)), context_};
}

template <class Value>
CommandOption Command::option(const char* name, Value& target, const char* type,
                              const char* help) const {
  CLI::Option* const option = app_->add_option(name, target, help_column(help))->type_name(type);
  // One value each time it is given: the word behind it is the command's.
  if (std::is_same_v<Value, std::vector<std::string>> && *name == '-') {
    option->expected(1)->allow_extra_args(false)->take_all();
  }
  return {app_, option, context_};
}
template CommandOption Command::option(const char*, std::string&, const char*, const char*) const;
template CommandOption Command::option(const char*, std::optional<std::string>&, const char*,
                                       const char*) const;
template CommandOption Command::option(const char*, std::vector<std::string>&, const char*,
                                       const char*) const;
template CommandOption Command::option(const char*, int&, const char*, const char*) const;
template CommandOption Command::option(const char*, std::uint32_t&, const char*, const char*) const;
template CommandOption Command::option(const char*, std::size_t&, const char*, const char*) const;

CommandOption Command::json(const char* help) const { return flag("--json", context_->json, help); }

CommandOption Command::daemon() const {
  return option(
      "--daemon", context_->daemon, "ADDRESS",
      "Ask only the jetmemd at this address or name (127.0.0.1:10743, orin-7, unix:/path, "
      "https://HOST:PORT)");
}

CommandOption Command::config(const char* help) const {
  return option("--config", context_->config_after, "FILE", help);
}

void Command::device() const {
  daemon();
  config("Settings file, for http.listen and the rules (default: those of jetmemd)");
}

void Command::footer(const std::string& text) const { app_->footer(broken(text)); }

void Command::exit_status(const std::string& meaning) const {
  std::string text = app_->get_footer();
  if (!text.empty()) text += "\n";
  app_->footer(text + broken("Exit status: " + meaning +
                             "; 64 and above: it could not do its work (`jetmem --help` lists "
                             "these)."));
}

void Command::on_run(std::function<int()> run) const {
  app_->callback([app = app_, context = context_, run = std::move(run)] {
    if (app->get_subcommands().empty()) context->status = run();
  });
}

void warn(std::string_view command, std::string_view text) {
  const auto& [folder, name, target] = message_context();
  std::string shown = with_target(target, text);
  for (std::size_t at = 0; !folder.empty() && (at = shown.find(folder, at)) != std::string::npos;) {
    shown.replace(at, folder.size(), name);
    at += name.size();
  }
  print_error("jetmem " + std::string(command) + ": " + shown);
}

void set_folder_name(std::string folder, const std::string& name) {
  message_context().folder = std::move(folder);
  message_context().name = printable(name, 300);
}

int failed(std::string_view command, const Error& error) {
  warn(command, printable(error.message, 1000));
  return exit_code(error.code);
}

int failed_past(std::string_view command, const Error& error) {
  const int status = failed(command, error);
  return error.code == Errc::kAbsent ? kExitUnknown : status;
}

CommandProgram::CommandProgram() : app_(std::make_unique<CLI::App>()) {
  app_->name("jetmem");
  app_->description("The memory health of a board whose CPU, GPU and camera share one DRAM.\n");
  app_->set_version_flag("-v,--version", std::string("jetmem ") + kVersion);
  app_->require_subcommand(0, 1);
  app_->fallthrough();
  const Command program(*app_, context_);
  program
      .option("--root", context_.root, "DIR|FILE",
              "Read below this directory, or from this bundle of `jetmem capture`, instead of /")
      .excludes({"--daemon"});
  program.daemon();
  program.option("--config", context_.config, "FILE",
                 "Settings file, for http.listen and the rules (default: those of jetmemd)");
  program.json("As JSON, for programs");
  add_access_options(program, context_.access);
  add_all_commands(program);
  program.footer(
      "Without a command: jetmem status, with its options. `jetmem --all` shows all that is "
      "known.");
  app_->footer(app_->get_footer() + "\n\nExit status: the same for all commands:\n" +
               exit_codes_text());
}

CommandProgram::~CommandProgram() = default;

void CommandProgram::settle() {
  context_.root_name = context_.root;
  auto& config = context_.config;
  config.insert(config.end(), context_.config_after.begin(), context_.config_after.end());
  message_context().target = context_;
  std::vector<const CLI::App*> given{app_.get()};
  std::string words = app_->get_name();
  for (auto below = app_->get_subcommands(); !below.empty();
       below = below.front()->get_subcommands()) {
    given.push_back(below.front());
    words += " " + below.front()->get_name();
  }
  const CLI::App* const command = given.back();
  if (command != app_.get()) {
    for (const CLI::Option* option : context_.only_alone) {
      if (option->count() == 0) continue;
      misplaced_ = "--" + option->get_lnames().front();
      throw CLI::ExtrasError(given[1]->get_name(), {misplaced_});
    }
  }
  const auto is_given = [&](const std::string& name) {
    return std::any_of(given.begin(), given.end(), [&](const CLI::App* each) {
      const CLI::Option* const option = each->get_option_no_throw(name);
      return option != nullptr && option->count() > 0;
    });
  };
  for (const CommandContext::OptionRule& rule : context_.option_rules) {
    if (std::find(given.begin(), given.end(), rule.command) == given.end()) continue;
    // Another command may have an option of that name.
    if (rule.command->get_option(rule.option)->count() == 0) continue;
    if (is_given(rule.other) != rule.excludes) continue;
    if (rule.excludes) throw CLI::ExcludesError(rule.option, rule.other);
    throw CLI::RequiresError(rule.option, rule.other);
  }
  if (command == app_.get()) return;
  for (const char* name : {"--root", "--daemon", "--config", "--json"}) {
    const bool applies = name == std::string_view("--root")
                             ? !context_.without_root.contains(command)
                             : command->get_option_no_throw(name) != nullptr;
    if (!applies && app_->get_option(name)->count() > 0) {
      throw CLI::ValidationError(name, "does not apply to " + words);
    }
  }
}

int CommandProgram::run(const std::vector<std::string>& arguments,
                        const std::function<int(CommandContext&)>& before) {
  app_->parse_complete_callback([&] {
    settle();
    const int status = before ? before(context_) : kExitOk;
    if (status != kExitOk) throw CLI::RuntimeError(status);
  });
  try {
    std::vector<std::string> words(arguments.rbegin(), arguments.rend());
    // "jetmem help doctor" is "jetmem doctor --help".
    if (!words.empty() && words.back() == "help") {
      words.pop_back();
      words.insert(words.begin(), "--help");
    }
    app_->parse(std::move(words));
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    // Help and version come this way too, with status 0.
    if (error.get_exit_code() == 0) {
      std::ostringstream text;
      const int status = app_->exit(error, text, text);
      put(text.str());
      return status;
    }
    print_error(error.what());
    print_error("Run with --help for more information.");
    if (const std::string meant = probably_meant(*app_); !meant.empty()) {
      print_error("jetmem: did you mean '" + meant + "'?");
    }
    if (const std::string where = place_for(*app_, misplaced_); !where.empty()) {
      print_error("jetmem: put " + misplaced_ + " after the command: " + where);
    }
    return kExitUsage;
  }
  return context_.status;
}

}  // namespace jetmem
