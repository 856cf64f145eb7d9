// SPDX-License-Identifier: Apache-2.0
#include "cli/manual/command_page.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

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

namespace {

// Behind the program's name: "rules check"; empty: the program itself.
std::string words_of(const CommandPage& page) { return join(std::span(page.path).subspan(1)); }

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
  return names.empty() ? "--" : join(names, "|");
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

// A shell's script, with what is between '@' replaced.
std::string completion(std::string script, std::span<const CommandPage> pages) {
  std::vector<std::string> paths;
  std::vector<std::string> others;
  values_of(pages, paths, others);
  std::vector<std::string> both = paths;
  both.insert(both.end(), others.begin(), others.end());
  std::string commands;
  std::string words;
  for (const CommandPage& page : pages) {
    if (page.path.size() < 2) continue;
    const std::string quoted = in_single_quotes(words_of(page));
    commands += (commands.empty() ? "" : "|") + quoted;
    words += (words.empty() ? "" : " ") + quoted;
  }
  for (const auto& [name, text] :
       {std::pair("@PATHS@", alternatives(paths)), std::pair("@OTHERS@", alternatives(others)),
        std::pair("@VALUES@", alternatives(both)), std::pair("@VALUE_WORDS@", join(both)),
        std::pair("@COMMANDS@", commands), std::pair("@COMMAND_WORDS@", words),
        std::pair("@CASES@", cases(pages))}) {
    if (const std::size_t at = script.find(name); at != std::string::npos) {
      script.replace(at, std::string_view(name).size(), text);
    }
  }
  return script;
}

}  // namespace

std::string bash_completion(std::span<const CommandPage> pages) {
  return completion(R"(# bash completion of jetmem
_jetmem() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local path='' longer word i commands='' options='' files=0
  # --root=DIR is three words.
  if [[ $current == = ]]; then current='' before=${COMP_WORDS[COMP_CWORD-1]}
  elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  case $before in
    @PATHS@) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    @OTHERS@) COMPREPLY=(); return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      @VALUES@) i=$((i + 1)); [[ ${COMP_WORDS[i]} != = ]] || i=$((i + 1)); continue ;;
    esac
    longer=${path:+$path }$word
    case $longer in @COMMANDS@) path=$longer ;; esac
  done
  case $path in
@CASES@  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ -n $commands ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  elif [[ $files == 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _jetmem jetmem
)",
                    pages);
}

std::string zsh_completion(std::span<const CommandPage> pages) {
  return completion(R"(#compdef jetmem
_jetmem() {
  local path_= longer word commands options files=0 before=${words[CURRENT-1]}
  local -i i
  case $before in
    @PATHS@) _files; return ;;
    @OTHERS@) return ;;
  esac
  for ((i = 2; i < CURRENT; i++)); do
    case ${words[i]} in
      @VALUES@) i=$((i + 1)); continue ;;
    esac
    longer=${path_:+$path_ }${words[i]}
    case $longer in @COMMANDS@) path_=$longer ;; esac
  done
  case $path_ in
@CASES@  esac
  if [[ $PREFIX == -* ]]; then
    compadd -- ${=options}
  elif [[ -n $commands ]]; then
    compadd -- ${=commands}
  elif [[ $files == 1 ]]; then
    _files
  fi
}
_jetmem "$@"
)",
                    pages);
}

std::string fish_completion(std::span<const CommandPage> pages) {
  // fish's own __fish_use_subcommand takes an option's value for a command.
  std::string out = completion(R"(# fish completion of jetmem
function __jetmem_at --description 'Whether this command of jetmem is being written'
  set -l words (commandline -opc)
  set -e words[1]
  set -l path ''
  set -l value 0
  for word in $words
    if test $value = 1
      set value 0
      continue
    end
    switch $word
      case @VALUE_WORDS@
        set value 1
        continue
    end
    set -l longer (string trim -- "$path $word")
    switch $longer
      case @COMMAND_WORDS@
        set path $longer
    end
  end
  test "$path" = "$argv"
end
complete -c jetmem -f
)",
                               pages);
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
