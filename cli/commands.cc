#include "cli/commands.h"

#include "base/version.h"

namespace jetmem {
namespace {

// To a daemon that is not of this machine, or wants to know who asks.
void add_access_options(CLI::App& app, ClientAccess& access) {
  app.add_option("--cacert", access.ca_file,
                 "With --daemon https://...: trust certificates that this CA signed")
      ->type_name("FILE");
  app.add_option("--cert", access.certificate_file,
                 "With --daemon https://...: the certificate to show, with --key")
      ->type_name("FILE");
  app.add_option("--key", access.key_file, "The private key of --cert")->type_name("FILE");
  app.add_option("--user", access.user,
                 "With --daemon: ask as this user; the password comes from --password-file or\n"
                 "the variable JETMEM_PASSWORD")
      ->type_name("NAME");
  app.add_option("--password-file", access.password_file,
                 "A file that holds the password of --user")
      ->type_name("FILE");
}

}  // namespace

void add_all_commands(CLI::App& app, CommandContext& context) {
  add_status_command(app, context);
  add_doctor_command(app, context);
  add_watch_command(app, context);
  add_alerts_command(app, context);
  add_events_command(app, context);
  add_faults_command(app, context);
  add_history_command(app, context);
  add_top_command(app, context);
  add_cma_command(app, context);
  add_fragmentation_command(app, context);
  add_map_command(app, context);
  add_thermal_command(app, context);
  add_nvmap_command(app, context);
  add_boots_command(app, context);
  add_capture_command(app, context);
  add_diff_command(app, context);
  add_plan_command(app, context);
  add_probe_command(app, context);
  add_sources_command(app, context);
  add_metrics_command(app, context);
  add_mark_command(app, context);
  add_compact_command(app, context);
  add_rules_command(app, context);
  add_config_command(app, context);
  add_hash_password_command(app, context);
  add_decode_command(app, context);
}

void set_up_program(CLI::App& app, CommandContext& context) {
  app.name("jetmem");
  app.description("The memory health of a board whose CPU, GPU and camera share one DRAM.\n");
  app.set_version_flag("--version", std::string("jetmem ") + kVersion);
  // None of them: the state of the device.
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.add_option("--root", context.root,
                 "Read below this directory, or what this bundle of `jetmem capture` holds, "
                 "instead of /")
      ->type_name("DIR|FILE");
  add_access_options(app, context.access);
  add_all_commands(app, context);
}

}  // namespace jetmem
