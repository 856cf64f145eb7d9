// SPDX-License-Identifier: Apache-2.0
#include "cli/manual/command_page.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/version.h"

namespace jetmem {
namespace {

bool is_path(const std::string& type) {
  constexpr std::array<std::string_view, 9> kTypes{"FILE", "DIR",      "PATH",   "BUNDLE", "TREE",
                                                   "A",    "DIR|FILE", "BEFORE", "AFTER"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
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
      app.get_subcommands([](const CLI::App* each) { return !each->get_name().empty(); });
  for (const CLI::App* each : below) {
    page.commands.push_back(each->get_name());
    page.command_texts.push_back(each->get_description());
  }
  out.push_back(std::move(page));
  for (const CLI::App* each : below) add(*each, path, out);
}

}  // namespace

std::string CommandPage::name() const {
  std::string out;
  for (const std::string& word : path) out += (out.empty() ? "" : "-") + word;
  return out;
}

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

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
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
  std::string words;
  for (const std::string& word : page.path) words += (words.empty() ? "" : " ") + word;
  std::string out = ".B " + escaped(words) + "\n";
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

}  // namespace

std::string man_page(const CommandPage& page, std::span<const CommandPage> all) {
  const std::string name = page.name();
  std::string summary = page.text.substr(0, page.text.find('\n'));
  while (summary.ends_with('.')) summary.pop_back();
  std::string out = ".TH " + upper(escaped(name)) + " 1 \"\" \"jetmem " + kVersion +
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
      out += ".TP\n\\fB" + escaped(page.commands[i]) + "\\fR\n" + filled(page.command_texts[i]);
    }
  }
  if (!page.options.empty()) out += ".SH OPTIONS\n" + options(page);
  if (status != std::string::npos) {
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

namespace {

// Behind the program's name: "rules check"; empty: the program itself.
std::string words_of(const CommandPage& page) {
  std::string out;
  for (std::size_t i = 1; i < page.path.size(); ++i) {
    out += (out.empty() ? "" : " ") + page.path[i];
  }
  return out;
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Those of the program hold for its commands too (--root).
std::vector<std::string> options_of(const CommandPage& page, const CommandPage& program) {
  std::vector<std::string> out;
  for (const CommandPage* each : {&page, &program}) {
    for (const CommandPage::Option& option : each->options) {
      if (option.is_positional) continue;
      for (const std::string& name : option.names) {
        if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
      }
    }
    if (&page == &program) break;
  }
  return out;
}

// Options that take a value: a path, or something that cannot be completed.
void values_of(std::span<const CommandPage> pages, std::vector<std::string>& paths,
               std::vector<std::string>& others) {
  for (const CommandPage& page : pages) {
    for (const CommandPage::Option& option : page.options) {
      if (option.is_positional || option.type.empty()) continue;
      std::vector<std::string>& out = option.takes_path ? paths : others;
      for (const std::string& name : option.names) {
        if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
      }
    }
  }
  // One that takes a path somewhere is completed as one everywhere.
  std::erase_if(others, [&](const std::string& name) {
    return std::find(paths.begin(), paths.end(), name) != paths.end();
  });
}

std::string alternatives(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : "|") + name;
  return out.empty() ? "--" : out;
}

bool takes_paths(const CommandPage& page) {
  return std::any_of(page.options.begin(), page.options.end(),
                     [](const auto& each) { return each.is_positional && each.takes_path; });
}

std::string in_single_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out + "'";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The body that bash and zsh (through its bash completions) share.
std::string cases(std::span<const CommandPage> pages) {
  std::string out;
  for (const CommandPage& page : pages) {
    out += "    " + in_single_quotes(words_of(page)) +
           ")\n      commands=" + in_single_quotes(join(page.commands)) +
           "\n      options=" + in_single_quotes(join(options_of(page, pages.front()))) +
           "\n      files=" + (takes_paths(page) ? "1" : "0") + "\n      ;;\n";
  }
  return out;
}

// Options that take a value: the next word is not a command.
std::vector<std::string> all_values(std::span<const CommandPage> pages) {
  std::vector<std::string> out;
  std::vector<std::string> others;
  values_of(pages, out, others);
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

std::string all_paths(std::span<const CommandPage> pages) {
  std::string out;
  for (const CommandPage& page : pages) {
    if (page.path.size() > 1) out += (out.empty() ? "'" : "|'") + words_of(page) + "'";
  }
  return out;
}

}  // namespace

std::string bash_completion(std::span<const CommandPage> pages) {
  std::vector<std::string> paths;
  std::vector<std::string> others;
  values_of(pages, paths, others);
  return "# bash completion of jetmem\n"
         "_jetmem() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local path='' longer word i commands='' options='' files=0\n"
         "  # --root=DIR is three words.\n"
         "  if [[ $current == = ]]; then current='' before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
         "  case $before in\n"
         "    " +
         alternatives(paths) +
         ") mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n"
         "    " +
         alternatives(others) +
         ") COMPREPLY=(); return ;;\n"
         "  esac\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=${COMP_WORDS[i]}\n"
         "    case $word in\n"
         "      " +
         alternatives(all_values(pages)) +
         ") i=$((i + 1)); [[ ${COMP_WORDS[i]} != = ]] || i=$((i + 1)); continue ;;\n"
         "    esac\n"
         "    longer=${path:+$path }$word\n"
         "    case $longer in " +
         all_paths(pages) +
         ") path=$longer ;; esac\n"
         "  done\n"
         "  case $path in\n" +
         cases(pages) +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
         "  elif [[ -n $commands ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$current\")\n"
         "  elif [[ $files == 1 ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _jetmem jetmem\n";
}

std::string zsh_completion(std::span<const CommandPage> pages) {
  std::vector<std::string> paths;
  std::vector<std::string> others;
  values_of(pages, paths, others);
  return "#compdef jetmem\n"
         "_jetmem() {\n"
         "  local path_= longer word commands options files=0 before=${words[CURRENT-1]}\n"
         "  local -i i\n"
         "  case $before in\n"
         "    " +
         alternatives(paths) +
         ") _files; return ;;\n"
         "    " +
         alternatives(others) +
         ") return ;;\n"
         "  esac\n"
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    case ${words[i]} in\n"
         "      " +
         alternatives(all_values(pages)) +
         ") i=$((i + 1)); continue ;;\n"
         "    esac\n"
         "    longer=${path_:+$path_ }${words[i]}\n"
         "    case $longer in " +
         all_paths(pages) +
         ") path_=$longer ;; esac\n"
         "  done\n"
         "  case $path_ in\n" +
         cases(pages) +
         "  esac\n"
         "  if [[ $PREFIX == -* ]]; then\n"
         "    compadd -- ${=options}\n"
         "  elif [[ -n $commands ]]; then\n"
         "    compadd -- ${=commands}\n"
         "  elif [[ $files == 1 ]]; then\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "_jetmem \"$@\"\n";
}

std::string fish_completion(std::span<const CommandPage> pages) {
  std::string cases;
  for (const CommandPage& page : pages) {
    if (page.path.size() > 1) cases += " " + in_single_quotes(words_of(page));
  }
  // fish's own __fish_use_subcommand takes an option's value for a command.
  std::string out =
      "# fish completion of jetmem\n"
      "function __jetmem_at --description 'Whether this command of jetmem is being written'\n"
      "  set -l words (commandline -opc)\n"
      "  set -e words[1]\n"
      "  set -l path ''\n"
      "  set -l value 0\n"
      "  for word in $words\n"
      "    if test $value = 1\n"
      "      set value 0\n"
      "      continue\n"
      "    end\n"
      "    switch $word\n"
      "      case " +
      join(all_values(pages)) +
      "\n"
      "        set value 1\n"
      "        continue\n"
      "    end\n"
      "    set -l longer (string trim -- \"$path $word\")\n"
      "    switch $longer\n"
      "      case" +
      cases +
      "\n"
      "        set path $longer\n"
      "    end\n"
      "  end\n"
      "  test \"$path\" = \"$argv\"\n"
      "end\n"
      "complete -c jetmem -f\n";
  for (const CommandPage& page : pages) {
    const std::string seen =
        page.path.size() > 1 ? "__jetmem_at " + words_of(page) : std::string("__jetmem_at");
    for (std::size_t i = 0; i < page.commands.size(); ++i) {
      out += "complete -c jetmem -n " + in_single_quotes(seen) + " -a " + page.commands[i] +
             " -d " + in_single_quotes(first_line(page.command_texts[i])) + "\n";
    }
    if (takes_paths(page)) out += "complete -c jetmem -n " + in_single_quotes(seen) + " -F\n";
    for (const CommandPage::Option& option : page.options) {
      if (option.is_positional) continue;
      out += "complete -c jetmem";
      if (page.path.size() > 1) out += " -n " + in_single_quotes(seen);
      for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.type.empty()) out += option.takes_path ? " -r -F" : " -x";
      out += " -d " + in_single_quotes(first_line(option.text)) + "\n";
    }
  }
  return out;
}

}  // namespace jetmem
