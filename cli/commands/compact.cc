// SPDX-License-Identifier: Apache-2.0
// jetmem compact: has the kernel compact memory now, and shows what it brought.

#include "cli/commands/compact.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/json/fields.h"
#include "base/root/small_file.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "base/unique_fd.h"
#include "cli/commands.h"
#include "cli/draw/table.h"
#include "cli/exit_codes.h"
#include "collectors/proc/buddyinfo.h"
#include "collectors/proc/zoneinfo.h"
#include "health/memory/fragmentation.h"

namespace jetmem {
namespace {

constexpr int kFormat = 1;

FreeBlocks free_blocks(Buddyinfo::Zone zone, const Zoneinfo& zoneinfo) {
  FreeBlocks free;
  const Zoneinfo::Zone* const info = zoneinfo.find(zone.id);
  if (info == nullptr || !info->free_cma) return free;
  without_cma({zone.blocks.data(), zone.orders}, *info->free_cma);
  free.largest_order = zone.largest_free_order();
  for (std::size_t i = 0; i < kCompactionOrders.size(); ++i) {
    if (kCompactionOrders[i] >= zone.orders) continue;
    free.unusable[i] = unusable_index(zone.counts(), kCompactionOrders[i]);
  }
  return free;
}

// What they have now, as `before`.
Result<std::vector<CompactionReport::Zone>> read_zones(const CompactFiles& files) {
  Buddyinfo buddyinfo;
  Zoneinfo zoneinfo;
  const auto blocks = read_small_file(files.buddyinfo);
  if (!blocks) return tl::unexpected(blocks.error());
  if (auto ok = parse_buddyinfo(*blocks, buddyinfo); !ok) {
    return tl::unexpected(std::move(ok.error()).within(files.buddyinfo));
  }
  const auto zones = read_small_file(files.zoneinfo);
  if (!zones) return tl::unexpected(zones.error());
  if (auto ok = parse_zoneinfo(*zones, zoneinfo); !ok) {
    return tl::unexpected(std::move(ok.error()).within(files.zoneinfo));
  }
  std::vector<CompactionReport::Zone> all;
  for (const Buddyinfo::Zone& zone : buddyinfo.zones) {
    all.push_back({zone.id, free_blocks(zone, zoneinfo), {}});
  }
  return all;
}

std::string words_of(std::optional<unsigned> order) { return order ? std::to_string(*order) : "-"; }

std::string words_of(std::optional<double> ratio) {
  if (!ratio) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f%%", *ratio * 100);
  return text.data();
}

void print_text(const CompactionReport& report) {
  std::printf("Compacted memory in %.3g s.\n\n", to_seconds(report.elapsed));
  constexpr auto kRight = Table::Align::kRight;
  Table table{{"NODE", kRight}, {"ZONE"}, {"LARGEST FREE ORDER", kRight}};
  for (const std::size_t order : kCompactionOrders) {
    table.column("UNUSABLE AT ORDER " + std::to_string(order), kRight);
  }
  const auto change = [](const auto& before, const auto& after) {
    return words_of(before) + " -> " + words_of(after);
  };
  for (const CompactionReport::Zone& zone : report.zones) {
    std::vector<std::string> cells{std::to_string(zone.id.node), zone.id.name,
                                   change(zone.before.largest_order, zone.after.largest_order)};
    for (std::size_t i = 0; i < kCompactionOrders.size(); ++i) {
      cells.push_back(change(zone.before.unusable[i], zone.after.unusable[i]));
    }
    table.row(std::move(cells));
  }
  put(table.text());
  const bool unknown =
      std::any_of(report.zones.begin(), report.zones.end(),
                  [](const CompactionReport::Zone& zone) { return !zone.before.unusable.front(); });
  std::printf("\nFree CMA pages are omitted.%s\n",
              unknown ? " -: nothing is free, or unknown without them." : "");
}

int run_compact(const Target& options) {
  const auto report = compact_memory({}, SystemClock());
  if (!report) {
    // A reader of the JSON may not see stderr.
    if (options.json) {
      put(json::write_document(-1, [&](json::Fields& v) {
        v.output("format", kFormat);
        v.output("error", printable(report.error().message, 500));
      }));
    }
    return failed("compact", report.error());
  }
  if (options.json) {
    put(compaction_json(*report));
  } else {
    print_text(*report);
  }
  return kExitOk;
}

}  // namespace

Result<CompactionReport> compact_memory(const CompactFiles& files, const Clock& clock) {
  const UniqueFd trigger(::open(files.trigger.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!trigger.valid()) {
    Error error = errno_error("open", files.trigger, errno);
    if (error.code == Errc::kDenied) error.message += ": only root may; try sudo jetmem compact";
    if (error.code == Errc::kAbsent) {
      error.code = Errc::kUnavailable;
      error.message += ": this kernel cannot compact memory";
    }
    return tl::unexpected(std::move(error));
  }
  const auto before = read_zones(files);
  if (!before) return tl::unexpected(before.error());
  const Nanoseconds begin = clock.mono();
  if (::write(trigger.get(), "1", 1) != 1) {
    return tl::unexpected(errno_error("write to", files.trigger, errno));
  }
  const Nanoseconds elapsed = clock.mono() - begin;
  auto after = read_zones(files);
  if (!after) {
    return tl::unexpected(std::move(after.error()).within("after compaction"));
  }
  CompactionReport report{elapsed, {}};
  for (const CompactionReport::Zone& zone : *before) {
    const auto same = std::find_if(after->begin(), after->end(),
                                   [&](const auto& other) { return other.id == zone.id; });
    if (same != after->end()) report.zones.push_back({zone.id, zone.before, same->before});
  }
  return report;
}

static void describe(json::Fields& v, FreeBlocks& free) {
  std::optional<double> largest(free.largest_order);
  v.null_if_absent("largest_order", largest);
  v.object("unusable_ratio", [&](json::Fields& w) {
    for (std::size_t i = 0; i < kCompactionOrders.size(); ++i) {
      w.null_if_absent(std::to_string(kCompactionOrders[i]).c_str(), free.unusable[i]);
    }
  });
}

static void describe(json::Fields& v, CompactionReport::Zone& zone) {
  v.output("node", std::uint64_t{zone.id.node});
  v("zone", zone.id.name);
  v("before", zone.before);
  v("after", zone.after);
}

static void describe(json::Fields& v, CompactionReport& report) {
  v.output("format", kFormat);
  v("seconds", report.elapsed);
  v("zones", report.zones);
}

std::string compaction_json(const CompactionReport& report) { return json::write(report, -1); }

void add_compact_command(const Command& program) {
  const Command command =
      program.add("compact", "Compact memory now and show the effect (needs root)");
  command.runs(run_compact);
  command.json("As JSON on one line");
  command.without_root();
  command.footer(
      "Compaction moves pages so that free ones become contiguous. While it runs, allocations may "
      "wait and cameras may drop frames. Drivers' memory cannot be moved, so it may change "
      "nothing. Shows for each zone the order of the largest free block, and the share of free "
      "memory in blocks smaller than an order.");
  command.exit_status("0 if memory was compacted, whatever it brought");
}

}  // namespace jetmem
