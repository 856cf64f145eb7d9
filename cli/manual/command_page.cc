#include "cli/manual/command_page.h"

#include <algorithm>
#include <array>

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

}  // namespace jetmem
