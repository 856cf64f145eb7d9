#include "cli/manual/man_page.h"

#include <algorithm>

#include "base/version.h"

namespace jetmem {
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

}  // namespace jetmem
