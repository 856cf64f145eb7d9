#include "cli/manual/completion.h"

#include <algorithm>

namespace jetmem {
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

// Options that take something: a path, or what nobody can complete.
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

// Options behind which a word stands that is no command, whatever it is.
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
