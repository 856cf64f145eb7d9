// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace jetmem {

void add_all_commands(const Command& program) {
  add_status_command(program);
  add_doctor_command(program);
  add_watch_command(program);
  add_alerts_command(program);
  add_events_commands(program);
  add_history_command(program);
  add_view_commands(program);
  add_nvmap_command(program);
  add_boots_command(program);
  add_capture_command(program);
  add_diff_command(program);
  add_plan_command(program);
  add_probe_command(program);
  add_sources_command(program);
  add_metrics_command(program);
  add_mark_command(program);
  add_compact_command(program);
  add_rules_command(program);
  add_messages_command(program);
  add_config_command(program);
  add_hash_password_command(program);
  add_decode_command(program);
}

}  // namespace jetmem
