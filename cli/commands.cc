// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace jetmem {

void add_all_commands(const Command& program) {
  const Command now = program.group("Now");
  add_status_command(program, now);
  add_doctor_command(now);
  add_watch_command(now);
  add_alerts_command(now);
  add_sources_command(now);
  add_metrics_command(now);
  const Command past = program.group("What happened");
  add_events_command(past);
  add_history_command(past);
  add_boots_command(past);
  add_diff_command(past);
  add_ack_command(past);
  add_capture_command(past);
  add_view_commands(now, program.group("Who holds memory"));
  const Command check = program.group("Check and change");
  add_plan_command(check);
  add_fits_command(check);
  add_make_room_command(check);
  add_probe_command(check);
  add_rules_command(check);
  add_messages_command(check);
  add_config_command(check);
  const Command tools = program.group("Tools");
  add_mark_command(tools);
  add_compact_command(tools);
  add_decode_command(tools);
  add_hash_password_command(tools);
}

}  // namespace jetmem
