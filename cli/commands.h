// One function per subcommand: declares its options and what running it does.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/daemon_place.h"

namespace jetmem {

// What every command shares: options of `jetmem` itself, and the exit status.
struct CommandContext {
  std::string root;  // --root; empty: the live machine. Of a bundle the folder it lies unpacked in
  std::string root_name;  // --root as it was given, to be shown
  ClientAccess access;    // to a daemon that is named with --daemon
  int status = 0;
};

void add_metrics_command(CLI::App& app, CommandContext& context);
void add_sources_command(CLI::App& app, CommandContext& context);
void add_config_command(CLI::App& app, CommandContext& context);
void add_decode_command(CLI::App& app, CommandContext& context);
void add_events_command(CLI::App& app, CommandContext& context);
void add_faults_command(CLI::App& app, CommandContext& context);
void add_nvmap_command(CLI::App& app, CommandContext& context);
void add_boots_command(CLI::App& app, CommandContext& context);
void add_mark_command(CLI::App& app, CommandContext& context);
void add_probe_command(CLI::App& app, CommandContext& context);
void add_compact_command(CLI::App& app, CommandContext& context);
void add_alerts_command(CLI::App& app, CommandContext& context);
void add_rules_command(CLI::App& app, CommandContext& context);
void add_status_command(CLI::App& app, CommandContext& context);
void add_doctor_command(CLI::App& app, CommandContext& context);
void add_watch_command(CLI::App& app, CommandContext& context);
void add_history_command(CLI::App& app, CommandContext& context);
void add_fragmentation_command(CLI::App& app, CommandContext& context);
void add_cma_command(CLI::App& app, CommandContext& context);
void add_top_command(CLI::App& app, CommandContext& context);
void add_map_command(CLI::App& app, CommandContext& context);
void add_thermal_command(CLI::App& app, CommandContext& context);
void add_plan_command(CLI::App& app, CommandContext& context);
void add_diff_command(CLI::App& app, CommandContext& context);
void add_capture_command(CLI::App& app, CommandContext& context);
void add_hash_password_command(CLI::App& app, CommandContext& context);

// Every command, in the order of `jetmem --help`: what the program, its man pages and its
// completions are made of.
void add_all_commands(CLI::App& app, CommandContext& context);
// The program's name and options, and all commands.
void set_up_program(CLI::App& app, CommandContext& context);

}  // namespace jetmem
