// One function per subcommand: declares its options and what running it does.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace jetmem {

// What every command shares: options of `jetmem` itself, and the exit status.
struct CommandContext {
  std::string root;  // --root; empty: the live machine
  int status = 0;
};

void add_metrics_command(CLI::App& app, CommandContext& context);
void add_sources_command(CLI::App& app, CommandContext& context);
void add_config_command(CLI::App& app, CommandContext& context);
void add_decode_command(CLI::App& app, CommandContext& context);
void add_events_command(CLI::App& app, CommandContext& context);
void add_nvmap_command(CLI::App& app, CommandContext& context);
void add_boots_command(CLI::App& app, CommandContext& context);
void add_mark_command(CLI::App& app, CommandContext& context);
void add_probe_command(CLI::App& app, CommandContext& context);
void add_compact_command(CLI::App& app, CommandContext& context);
void add_alerts_command(CLI::App& app, CommandContext& context);
void add_rules_command(CLI::App& app, CommandContext& context);

}  // namespace jetmem
