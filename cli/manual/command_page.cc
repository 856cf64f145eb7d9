// SPDX-License-Identifier: Apache-2.0
#include "cli/manual/command_page.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>

#include "base/version.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"

namespace jetmem {
namespace {

bool is_path(const std::string& type) {
  constexpr std::array<std::string_view, 9> kTypes{"FILE", "DIR",      "PATH",   "BUNDLE", "TREE",
                                                   "A",    "DIR|FILE", "BEFORE", "AFTER"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

std::string join(std::span<const std::string> words, const char* separator = " ") {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : separator) + word;
  return out;
}

CommandPage::Option option_of(const CLI::Option& from) {
  CommandPage::Option out;
  out.is_positional = from.nonpositional() == false;
  if (out.is_positional) {
    out.names = {from.get_single_name()};
  } else {
    for (const std::string& name : from.get_snames()) out.names.push_back("-" + name);
    for (const std::string& name : from.get_lnames()) out.names.push_back("--" + name);
  }
  if (from.get_items_expected_max() > 0) out.type = from.get_type_name();
  out.text = from.get_description();
  std::replace(out.text.begin(), out.text.end(), '\n', ' ');
  out.is_required = from.get_required();
  out.takes_path = is_path(out.type) || (out.is_positional && is_path(out.names.front()));
  return out;
}

void add(const CLI::App& app, std::vector<std::string> path, std::vector<CommandPage>& out) {
  path.push_back(app.get_name());
  CommandPage page;
  page.path = path;
  page.text = app.get_description();
  page.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    page.options.push_back(option_of(*option));
  }
  const std::vector<const CLI::App*> below =
      app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
  for (const CLI::App* each : below) {
    page.commands.push_back(each->get_name());
    page.command_texts.push_back(each->get_description());
    page.command_groups.push_back(each->get_group());
  }
  out.push_back(std::move(page));
  for (const CLI::App* each : below) add(*each, path, out);
}

}  // namespace

std::string CommandPage::name() const { return join(path, "-"); }

std::vector<CommandPage> command_pages(const CLI::App& app) {
  std::vector<CommandPage> out;
  add(app, {}, out);
  return out;
}

namespace {

// What roff would take for its own: backslashes, hyphens that are to be typed, and what a line of a
// request begins with.
std::string escaped(std::string_view text) {
  std::string out;
  bool at_line = true;
  for (const char c : text) {
    if (at_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_line = c == '\n';
  }
  return out;
}

// Lines that belong together become one: the width is man's.
std::string filled(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const bool is_example = line.starts_with("  ");
    while (line.starts_with(' ')) line.remove_prefix(1);
    if (line.empty()) {
      if (!out.empty() && !text.empty()) out += ".PP\n";
    } else {
      if (is_example && !out.empty() && !out.ends_with(".PP\n")) out += ".br\n";
      out += escaped(line) + "\n";
    }
  }
  return out;
}

std::string synopsis(const CommandPage& page) {
  std::string out = ".B " + escaped(join(page.path)) + "\n";
  const bool has_options = std::any_of(page.options.begin(), page.options.end(),
                                       [](const auto& each) { return !each.is_positional; });
  if (has_options) out += "[\\fIOPTIONS\\fR]\n";
  for (const CommandPage::Option& option : page.options) {
    if (!option.is_positional) continue;
    const std::string name = "\\fI" + escaped(option.names.front()) + "\\fR";
    out += (option.is_required ? name : "[" + name + "]") + "\n";
  }
  if (!page.commands.empty()) out += "\\fICOMMAND\\fR ...\n";
  return out;
}

std::string options(const CommandPage& page) {
  std::string out;
  for (const CommandPage::Option& option : page.options) {
    out += ".TP\n";
    std::string names;
    for (const std::string& name : option.names) {
      names += (names.empty() ? "" : ", ") + std::string("\\fB") + escaped(name) + "\\fR";
    }
    if (!option.is_positional && !option.type.empty()) {
      names += " \\fI" + escaped(option.type) + "\\fR";
    }
    out += names + "\n" + filled(option.text.empty() ? "See above." : option.text);
  }
  return out;
}

std::string exit_codes() {
  std::string out;
  for (const ExitCode& each : kExitCodes) {
    out += ".TP\n\\fB" + std::to_string(each.code) + "\\fR " + escaped(each.name) + "\n" +
           escaped(each.meaning) + "\n";
  }
  return out;
}

}  // namespace

std::string man_page(const CommandPage& page, std::span<const CommandPage> all) {
  const std::string name = page.name();
  std::string summary = page.text.substr(0, page.text.find('\n'));
  while (summary.ends_with('.')) summary.pop_back();
  std::string out = ".TH " + upper_case(escaped(name)) + " 1 \"\" \"jetmem " + kVersion +
                    "\" \"jetmem\"\n.SH NAME\n" + escaped(name) + " \\- " + escaped(summary) +
                    "\n.SH SYNOPSIS\n" + synopsis(page);
  const std::size_t status = page.footer.find("Exit status:");
  out += ".SH DESCRIPTION\n" + filled(page.text);
  if (const std::string rest = page.footer.substr(0, status); !rest.empty()) {
    out += ".PP\n" + filled(rest);
  }
  if (!page.commands.empty()) {
    out += ".SH COMMANDS\n";
    for (std::size_t i = 0; i < page.commands.size(); ++i) {
      const std::string& group = page.command_groups[i];
      if (i == 0 ? group != page.command_groups.back() : group != page.command_groups[i - 1]) {
        out += ".SS " + escaped(group) + "\n";
      }
      out += ".TP\n\\fB" + escaped(page.commands[i]) + "\\fR\n" + filled(page.command_texts[i]);
    }
  }
  if (!page.options.empty()) out += ".SH OPTIONS\n" + options(page);
  if (page.path.size() == 1) {
    out += ".SH EXIT STATUS\nThe same for all commands:\n" + exit_codes();
  } else if (status != std::string::npos) {
    out += ".SH EXIT STATUS\n" + filled(page.footer.substr(status + 13));
  }
  out += ".SH SEE ALSO\n";
  std::string others;
  for (const CommandPage& other : all) {
    const bool is_near = other.path.size() <= page.path.size() + 1 && other.path.size() <= 2;
    if (other.name() == name || !is_near) continue;
    others += (others.empty() ? "" : ",\n") + std::string(".BR ") + escaped(other.name()) + " (1)";
  }
  // A request takes its line whole, the comma too.
  for (std::size_t at = others.find(" (1),"); at != std::string::npos;
       at = others.find(" (1),", at + 1)) {
    others.replace(at, 5, " (1) ,");
  }
  return out + others + "\n";
}

std::string completions(std::span<const CommandPage> pages, const std::vector<std::string>& words) {
  const std::string current = words.empty() ? "" : words.back();
  const CommandPage* page = &pages.front();
  // Those of the program hold for its commands too (--root).
  const auto options = [&] {
    std::vector<CommandPage::Option> out = page->options;
    if (page != &pages.front()) {
      out.insert(out.end(), pages.front().options.begin(), pages.front().options.end());
    }
    std::erase_if(out, [](const CommandPage::Option& option) { return option.is_positional; });
    return out;
  };
  std::optional<CommandPage::Option> open;  // its value comes next
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (open) {
      // bash makes three words of --root=DIR.
      if (word != "=") open.reset();
      continue;
    }
    for (const CommandPage::Option& option : options()) {
      const auto& names = option.names;
      const bool is_it = std::find(names.begin(), names.end(), word) != names.end();
      if (is_it && !open && !option.type.empty()) open = option;
    }
    std::vector<std::string> below = page->path;
    below.push_back(word);
    const auto found = std::find_if(pages.begin(), pages.end(),
                                    [&](const CommandPage& each) { return each.path == below; });
    if (found != pages.end()) page = &*found;
  }
  constexpr const char* kPath = "/\n";
  if (open) return open->takes_path ? kPath : "";
  std::string out;
  const auto offer = [&](const std::string& name, const std::string& text) {
    const std::string line = name + "\t" + text.substr(0, text.find('\n')) + "\n";
    if (name.starts_with(current) && out.find(line) == std::string::npos) out += line;
  };
  if (current.starts_with("-")) {
    for (const CommandPage::Option& option : options()) {
      for (const std::string& name : option.names) offer(name, option.text);
    }
    return out;
  }
  for (std::size_t i = 0; i < page->commands.size(); ++i) {
    offer(page->commands[i], page->command_texts[i]);
  }
  const bool takes_paths =
      std::any_of(page->options.begin(), page->options.end(),
                  [](const auto& each) { return each.is_positional && each.takes_path; });
  return page->commands.empty() && takes_paths ? kPath : out;
}

}  // namespace jetmem
