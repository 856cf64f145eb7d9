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

auto parts(const jetmem::BootFacts& facts) {
  return std::tie(facts.values, facts.reset_reason, facts.reset_level, facts.backend,
                  facts.pstore_listed, facts.archive_listed, facts.pstore_cut, facts.archive_cut,
                  facts.records, facts.history, facts.marks, facts.starts, facts.uptime,
                  facts.clock_synchronized);
}

}  // namespace

// A whole history or one record, or what the source is given as a snapshot.
FUZZ(input) {
  using boot::History;
  static BootFacts reused;
  static BootSource source;
  Snapshot snapshot;
  if (!input.empty() && std::string_view("{PO[").find(input[0]) != std::string_view::npos) {
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
  check(parse_boot(snapshot, true, reused).has_value() == ok);
  check(source.parse(snapshot, {}).has_value() == ok);
  if (!ok) return;
  for (const BootFacts* other : {&std::as_const(reused), &source.reading()}) {
    check(parts(fresh) == parts(*other));
    check(fresh.history_error.has_value() == other->history_error.has_value());
  }
  check(fresh.records.size() <= BootFacts::kMaxRecords);
  for (const PstoreRecord& record : fresh.records) {
    check(record.line.size() <= PstoreRecord::kMaxLine);
    for (const char c : record.name + record.line) check(c >= ' ' && c < 0x7f);
  }
  if (fresh.history_error) return;
  check(fresh.history.boots.size() <= History::kMaxBoots);
  // What was understood is written so that it is understood again.
  History again;
  check(parse_history(to_text(fresh.history), again) && again == fresh.history);
  check(seconds_down(fresh.history).value_or(0) >= 0);
}
