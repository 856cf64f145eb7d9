// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "cli/draw/number_text.h"
#include "cli/draw/table.h"
#include "cli/text/answer_text.h"
#include "cli/text/status_text.h"

namespace jetmem {
namespace {

std::string zone_text(const FragmentationAnswer::Zone& zone, const ScreenStyle& style) {
  std::string out =
      "\n" + painted(style, Paint::kBold, "node " + zone.node + ", zone " + zone.zone) + ": " +
      bytes_text(zone.free_bytes) + " free of " + bytes_text(zone.managed_bytes);
  if (zone.free_cma_bytes.value_or(0) > 0) {
    out += ", " + bytes_text(*zone.free_cma_bytes) + " of it CMA";
  }
  out += "\n";
  Table table;
  const auto right = Table::Align::kRight;
  table.column("ORDER", right);
  table.column("BLOCK", right);
  table.column("FREE BLOCKS", right);
  table.column("FREE", right);
  table.column("SHARE", right);
  table.column("UNUSABLE", right);
  table.column("WITH CMA", right);
  for (const FragmentationAnswer::Order& order : zone.orders) {
    table.row({std::to_string(order.order), bytes_text(order.block_bytes),
               order.free_blocks ? number_text(*order.free_blocks) : "-",
               bytes_text(order.free_bytes), ratio_text(order.share),
               ratio_text(order.unusable_ratio), ratio_text(order.unusable_with_cma_ratio)});
  }
  out += table.text(style, 2);
  std::string line;
  if (zone.largest_bytes_outside_cma) {
    line =
        "a driver can get at most " + bytes_text(*zone.largest_bytes_outside_cma) + " in one block";
  } else {
    line = "the largest block for a driver is not known: " +
           absence_reason(zone.absent, "largest_order_outside_cma");
  }
  if (zone.above_min_bytes && zone.above_low_bytes) {
    const auto distance = [](double bytes) {
      return bytes_text(std::fabs(bytes)) + (bytes < 0 ? " below" : " above");
    };
    line += "; free for drivers: " + distance(*zone.above_low_bytes) + " the low watermark, " +
            distance(*zone.above_min_bytes) + " min";
    if (*zone.above_min_bytes < 0) line += painted(style, Paint::kBad, " (BELOW min)");
  }
  if (zone.watermark_boost_bytes.value_or(0) > 0) {
    line += "; watermarks boosted by " + bytes_text(*zone.watermark_boost_bytes) +
            ": fragmentation is increasing";
  }
  out += paragraph(style, line);
  std::string types;
  for (const auto& [type, blocks] : zone.pageblocks) {
    types += (types.empty() ? "" : ", ") + type + " " + number_text(blocks);
  }
  const std::string why = absence_reason(zone.absent, "pageblocks");
  if (!types.empty()) out += paragraph(style, "pageblocks by mobility: " + types);
  if (!why.empty()) out += paragraph(style, "pageblocks by mobility: not known: " + why);
  return out;
}

std::string since_boot(const std::optional<double>& count) {
  return count ? number_text(*count) : "-";
}

}  // namespace

std::string fragmentation_text(const FragmentationAnswer& answer, const ScreenStyle& style) {
  std::string out = labelled(style, "seen", snapshot_age_text(answer.from), 2);
  if (answer.zones.empty()) {
    return out + labelled(style, "free", not_known(answer.absent, "zones"));
  }
  if (answer.best_bytes && *answer.best_bytes > 0) {
    out += labelled(style, "drivers",
                    "get at most " + bytes_text(*answer.best_bytes) +
                        " in one block now, from any zone; more takes "
                        "compaction, CMA or a reboot");
  } else if (answer.best_bytes) {
    out += labelled(
        style, "drivers",
        painted(style, Paint::kBad, "get nothing: ") + "no zone has a free block outside CMA");
  } else {
    out += labelled(style, "drivers", not_known(answer.absent, "best_bytes"));
  }
  out += heat_map_text(answer, style, FragmentationAnswer::kMaxZones);
  out += labelled(style, "",
                  style.utf8 ? "share of the zone's free memory: · none, ░ under 3%, ▒ under 10%, "
                               "▓ under 25%, █ more"
                             : "share of the zone's free memory: - none, . under 3%, : under 10%, "
                               "+ under 25%, # more");
  out += labelled(style, "kernel",
                  "direct-compaction stalls: " + since_boot(answer.compact_stall) + " (" +
                      since_boot(answer.compact_success) + " succeeded, " +
                      since_boot(answer.compact_fail) +
                      " failed); direct-reclaim stalls: " + since_boot(answer.allocstall) +
                      "; huge pages refused: " + since_boot(answer.thp_fallback) + "; since boot");
  if (answer.evidence) {
    out += labelled(style, "evidence",
                    *answer.evidence > 0 ? number_text(*answer.evidence) +
                                               " kinds of failures from fragmentation "
                                               "in 10 min"
                                         : std::string("no failures from fragmentation in 10 min"));
  }
  for (const FragmentationAnswer::Zone& zone : answer.zones) out += zone_text(zone, style);
  if (answer.zones_omitted > 0) out += counted(answer.zones_omitted, "more zone") + "\n";
  out += "\n" +
         paragraph(style,
                   "UNUSABLE: share of the zone's free memory in blocks too small for a request "
                   "of that order without free CMA pages, as for a driver; WITH CMA: as the kernel "
                   "counts.",
                   0);
  for (const std::string& note : answer.from.notes) out += paragraph(style, note, 0);
  return out;
}

}  // namespace jetmem
