// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/gather.h"
#include "collectors/device/boot/reset_reason.h"
#include "collectors/device/boot/source.h"
#include "tests/fuzz/snapshot_input.h"

namespace {

constexpr std::array<std::string_view, 15> kFiles{
    "/proc/sys/kernel/osrelease",
    "/proc/cmdline",
    "/etc/nv_tegra_release",
    "/var/lib/nvpmodel/status",
    "/var/lib/jetmem/boots.json",
    "/var/lib/jetmem/marks.jsonl",
    "/sys/module/pstore/parameters/backend",
    "/sys/devices/platform/bus@0/c360000.pmc/reset_reason",
    "/sys/kernel/pmc/tegra_reset_level",
    "/sys/fs/pstore/dmesg-ramoops-*",
    "/sys/fs/pstore/console-ramoops-*",
    "jetmem:end of /sys/fs/pstore/dmesg-ramoops-*",
    "/var/lib/systemd/pstore/*/dmesg.txt",
    "jetmem:pstore records omitted",
    "jetmem:archived records omitted",
};

bool is_same(const jetmem::BootFacts& a, const jetmem::BootFacts& b) {
  return a.values == b.values && a.reset_reason == b.reset_reason &&
         a.reset_level == b.reset_level && a.backend == b.backend &&
         a.pstore_listed == b.pstore_listed && a.archive_listed == b.archive_listed &&
         a.pstore_cut == b.pstore_cut && a.archive_cut == b.archive_cut && a.records == b.records &&
         a.history == b.history && a.history_error.has_value() == b.history_error.has_value() &&
         a.marks == b.marks && a.starts == b.starts && a.uptime == b.uptime &&
         a.clock_synchronized == b.clock_synchronized;
}

void check_facts(const jetmem::BootFacts& facts) {
  using jetmem::BootFacts;
  using jetmem::boot::History;
  if (facts.records.size() > BootFacts::kMaxRecords) __builtin_trap();
  for (const jetmem::PstoreRecord& record : facts.records) {
    if (record.line.size() > jetmem::PstoreRecord::kMaxLine) __builtin_trap();
    for (const char c : record.name + record.line) {
      if (c < ' ' || c >= 0x7f) __builtin_trap();
    }
  }
  if (facts.history_error) return;
  if (facts.history.boots.size() > History::kMaxBoots) __builtin_trap();
  // What was understood is written so that it is understood again.
  History again;
  if (!parse_history(to_text(facts.history), again)) __builtin_trap();
  if (again != facts.history) __builtin_trap();
  const auto down = seconds_down(facts.history);
  if (down && *down < 0) __builtin_trap();
}

}  // namespace

// A whole history or one record, or what the source is given as a snapshot.
FUZZ(input) {
  static BootFacts reused;
  static BootSource source;
  Snapshot snapshot;
  if (!input.empty() &&
      (input[0] == '{' || input[0] == 'P' || input[0] == 'O' || input[0] == '[')) {
    snapshot.add(kFiles[4], input, 0);
    snapshot.add(kFiles[5], input, 0);
    snapshot.add("/sys/fs/pstore", {}, 0);
    snapshot.add("/sys/fs/pstore/dmesg-ramoops-0", input, 0);
    snapshot.add("jetmem:end of /sys/fs/pstore/dmesg-ramoops-0", input, 0);
    snapshot.add("/sys/fs/pstore/console-ramoops-0", input, 0);
  } else {
    snapshot = snapshot_of(input, kFiles);
  }
  BootFacts fresh;
  const bool ok = parse_boot(snapshot, true, fresh).has_value();
  if (parse_boot(snapshot, true, reused).has_value() != ok) __builtin_trap();
  if (source.parse(snapshot, {}).has_value() != ok) __builtin_trap();
  if (!ok) return;
  if (!is_same(fresh, reused) || !is_same(fresh, source.reading())) __builtin_trap();
  check_facts(fresh);
}
