// SPDX-License-Identifier: Apache-2.0
// One function per command, or family of commands: declares its options and what running it does.
#pragma once

#include "cli/command.h"

namespace jetmem {

void add_alerts_command(const Command& program);
void add_boots_command(const Command& program);
void add_capture_command(const Command& program);
void add_compact_command(const Command& program);
void add_config_command(const Command& program);
void add_decode_command(const Command& program);
void add_diff_command(const Command& program);
void add_doctor_command(const Command& program);
void add_events_command(const Command& program);
void add_hash_password_command(const Command& program);
void add_history_command(const Command& program);
void add_mark_command(const Command& program);
void add_ack_command(const Command& program);
void add_metrics_command(const Command& program);
void add_plan_command(const Command& program);
void add_fits_command(const Command& program);
void add_make_room_command(const Command& program);
void add_probe_command(const Command& program);
void add_messages_command(const Command& program);
void add_rules_command(const Command& program);
void add_sources_command(const Command& program);
// `program`: for what `jetmem` alone does.
void add_status_command(const Command& program, const Command& group);
// cma, fragmentation, thermal; top, map.
void add_view_commands(const Command& now, const Command& holders);
void add_watch_command(const Command& program);

// In the order of `jetmem --help`.
void add_all_commands(const Command& program);

}  // namespace jetmem
