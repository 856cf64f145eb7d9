// SPDX-License-Identifier: Apache-2.0
#include "cli/suggestion.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text/text.h"
#include "report/doctor/next_command.h"

namespace jetmem {
namespace {

constexpr std::string_view kProgram = "jetmem ";

bool is_of_word(char c) { return (c >= 'a' && c <= 'z') || c == '-'; }

// "top" of "top shows what grows": a command that takes all these options. Empty: none is there.
std::string_view command_at(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_of_word);
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  if (word == "--all") return word;
  // Files of this machine are judged here.
  if (word == "rules") return {};
  const auto looking = looking_commands();
  return std::find(looking.begin(), looking.end(), word) == looking.end() ? std::string_view()
                                                                          : word;
}

std::string options_of(const Target& target) {
  std::string out;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) out.append(option).append(" ").append(shell_word(value)).append(" ");
  };
  add("--root", target.root_name.empty() ? target.root : target.root_name);
  add("--daemon", target.daemon);
  add("--cacert", target.access.ca_file);
  add("--cert", target.access.certificate_file);
  add("--key", target.access.key_file);
  add("--user", target.access.user);
  add("--password-file", target.access.password_file);
  for (const std::string& file : target.config) add("--config", file);
  return out;
}

}  // namespace

std::string shell_word(std::string_view word) {
  if (!word.empty() && is_plain_word(word)) return std::string(word);
  const bool is_printable = printable(word, word.size()) == word;
  std::string out = is_printable ? "'" : "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_printable) {
      out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    } else if (byte < ' ' || byte > '~' || c == '\'' || c == '\\') {
      std::array<char, 8> octal{};
      std::snprintf(octal.data(), octal.size(), "\\%03o", byte);
      out += octal.data();
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string with_target(const Target& target, std::string_view text) {
  const std::string options = options_of(target);
  if (options.empty()) return std::string(text);
  std::string out;
  for (std::size_t at = 0; (at = text.find(kProgram)) != std::string_view::npos;) {
    const bool begins = at == 0 || !(is_of_word(text[at - 1]) || text[at - 1] == '/');
    at += kProgram.size();
    out.append(text.substr(0, at));
    text.remove_prefix(at);
    if (begins && !command_at(text).empty()) out += options;
  }
  return out.append(text);
}

std::string commands_for(const Target& target, std::string_view commands) {
  if (target.root.empty() && target.daemon.empty()) return with_target(target, commands);
  std::string out;
  for (bool more = true; more;) {
    const std::size_t end = commands.find("; ");
    std::string_view command = commands.substr(0, end);
    more = end != std::string_view::npos;
    commands.remove_prefix(more ? end + 2 : commands.size());
    std::string_view bare = command;
    take_prefix(bare, "sudo ");
    // Files that were captured are the person's own.
    if (!target.root.empty()) command = bare;
    if (!take_prefix(bare, kProgram) || command_at(bare).empty()) continue;
    out.append(out.empty() ? "" : "; ").append(with_target(target, command));
  }
  return out;
}

}  // namespace jetmem
