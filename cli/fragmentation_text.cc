#include "cli/fragmentation_text.h"

#include "cli/event_text.h"
#include "cli/figures.h"
#include "cli/status_text.h"
#include "cli/table.h"

namespace jetmem {
namespace {

using Answer = FragmentationAnswer;

std::string zone_text(const Answer::Zone& zone, const ScreenLook& look) {
  std::string out =
      "\n" + painted(look, Paint::kBold, "node " + zone.node + ", zone " + zone.zone) + ": " +
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
  for (const Answer::Order& order : zone.orders) {
    table.row({std::to_string(order.order), bytes_text(order.block_bytes),
               order.free_blocks ? number_text(*order.free_blocks) : "-",
               bytes_text(order.free_bytes), ratio_text(order.share),
               ratio_text(order.unusable_ratio), ratio_text(order.unusable_with_cma_ratio)});
  }
  out += table.text(Table::Look{look.width, true, false, 2});
  std::string line;
  if (zone.largest_bytes_outside_cma) {
    line = "a driver is sure to get " + bytes_text(*zone.largest_bytes_outside_cma) +
           " in one piece, no more";
  } else {
    line = "what a driver gets in one piece is not known: " +
           why_absent(zone.absent, "largest_order_outside_cma");
  }
  if (zone.above_min_bytes && zone.above_low_bytes) {
    line += "; free for drivers: " + bytes_text(*zone.above_low_bytes) +
            " above the low watermark, " + bytes_text(*zone.above_min_bytes) + " above min";
    if (*zone.above_min_bytes < 0) line += painted(look, Paint::kBad, " (BELOW min)");
  }
  if (zone.watermark_boost_bytes.value_or(0) > 0) {
    line += "; watermarks boosted by " + bytes_text(*zone.watermark_boost_bytes) +
            ": fragmentation in the making";
  }
  out += wrapped(line, 2, static_cast<std::size_t>(look.width));
  std::string types;
  for (const auto& [type, blocks] : zone.pageblocks) {
    types += (types.empty() ? "" : ", ") + type + " " + number_text(blocks);
  }
  const std::string why = why_absent(zone.absent, "pageblocks");
  if (!types.empty())
    out += wrapped("pageblocks by mobility: " + types, 2, static_cast<std::size_t>(look.width));
  if (!why.empty())
    out += wrapped("pageblocks by mobility: not known: " + why, 2,
                   static_cast<std::size_t>(look.width));
  return out;
}

std::string since_boot(const std::optional<double>& count) {
  return count ? number_text(*count) : "-";
}

}  // namespace

std::string fragmentation_text(const FragmentationAnswer& answer, const ScreenLook& look) {
  std::string out = labelled(look, "seen", looked_text(answer.from), 2);
  if (answer.zones.empty()) {
    return out + labelled(look, "free", "not known: " + why_absent(answer.absent, "zones"));
  }
  if (answer.best_bytes) {
    out += labelled(look, "drivers",
                    "get at most " + bytes_text(*answer.best_bytes) +
                        " in one piece now, whichever zone it is from; what is "
                        "larger takes compaction, CMA or a reboot");
  } else if (answer.best_order && *answer.best_order < 0) {
    out += labelled(
        look, "drivers",
        painted(look, Paint::kBad, "get nothing: ") + "no zone has a free block outside CMA");
  } else {
    out += labelled(look, "drivers", "not known: " + why_absent(answer.absent, "best_order"));
  }
  out += heat_map_text(answer, look, Answer::kMaxZones);
  out += labelled(look, "",
                  look.utf8 ? "share of the zone's free memory: · none, ░ under 3%, ▒ under 10%, "
                              "▓ under 25%, █ more"
                            : "share of the zone's free memory: - none, . under 3%, : under 10%, "
                              "+ under 25%, # more");
  out += labelled(look, "kernel",
                  "compactions that programs waited for: " + since_boot(answer.compact_stall) +
                      " (" + since_boot(answer.compact_success) + " made the block, " +
                      since_boot(answer.compact_fail) +
                      " did not); programs that reclaimed "
                      "themselves: " +
                      since_boot(answer.allocstall) +
                      "; huge pages refused: " + since_boot(answer.thp_fallback) + "; since boot");
  if (answer.evidence) {
    out +=
        labelled(look, "evidence",
                 *answer.evidence > 0 ? number_text(*answer.evidence) +
                                            " kinds within ten minutes that somebody "
                                            "suffers from it"
                                      : std::string("nobody suffered from it within ten minutes"));
  }
  for (const Answer::Zone& zone : answer.zones) out += zone_text(zone, look);
  if (answer.zones_left_out > 0) out += counted(answer.zones_left_out, "more zone") + "\n";
  out += "\n" + wrapped(
                    "UNUSABLE: share of the zone's free memory in blocks too small for a request "
                    "of that order, free CMA pages left out, as a driver meets it; WITH CMA: "
                    "as the kernel counts.",
                    0, static_cast<std::size_t>(look.width));
  for (const std::string& note : answer.from.notes)
    out += wrapped(note, 0, static_cast<std::size_t>(look.width));
  return out;
}

}  // namespace jetmem
