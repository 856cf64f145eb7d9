// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cli/draw/number_text.h"
#include "cli/draw/table.h"
#include "cli/text/answer_text.h"

namespace jetmem {
namespace {

using Align = Table::Align;
using Narrow = Table::Narrow;

std::string share(double bytes, const std::optional<double>& of) {
  return of && *of > 0 ? ratio_text(bytes / *of) : "-";
}

std::string budget_text(const MapAnswer& answer, const ScreenStyle& style) {
  std::string out = "WHERE THE MEMORY WENT";
  if (!answer.model.empty()) out += ": " + answer.model;
  out = paragraph(style, out, 0);
  const auto whole = answer.module ? answer.module : answer.physical;
  if (answer.module) {
    out += paragraph(style, "Module: " + bytes_text(*answer.module) +
                                " (inferred: the device does not report it)");
  } else {
    out += paragraph(style, "Module: not known: " + absence_reason(answer.absent, "module_bytes"));
  }
  out += paragraph(style, answer.physical
                              ? "Physical memory known to Linux: " + bytes_text(*answer.physical) +
                                    " (" + answer.physical_source + ")"
                              : "Physical memory: not known: " +
                                    absence_reason(answer.absent, "physical_bytes"));
  if (answer.parts.empty()) {
    return out + paragraph(style, "Parts: not known: " + absence_reason(answer.absent, "parts"));
  }
  Table table{{"KIND"},
              {"PART"},
              {"BYTES", Align::kRight},
              {"SHARE", Align::kRight},
              {"", Align::kLeft, Narrow::kWrap}};
  for (const auto& part : answer.parts) {
    table.row({part.kind, part.name, bytes_text(part.bytes), share(part.bytes, whole), part.what});
  }
  if (answer.sum) table.row({"", "sum", bytes_text(*answer.sum), share(*answer.sum, whole)});
  out += table.text(style, 2);
  // A difference of one page is not reported.
  if (answer.missing && std::fabs(*answer.missing) >= 4096) {
    out += paragraph(style,
                     (*answer.missing > 0 ? "Missing from the sum: " : "Too much in the sum: ") +
                         bytes_text(std::fabs(*answer.missing)));
  }
  return out +
         paragraph(style, "Largest first: " + absence_reason(answer.absent, "addresses") + ".");
}

std::string areas_text(const MapAnswer& answer, const ScreenStyle& style) {
  std::string out = "\n" + paragraph(style, "CONTIGUOUS MEMORY (CMA), within MemTotal", 0);
  if (answer.cma.empty()) {
    out += paragraph(
        style, (answer.no_cma ? "none: " : "not known: ") + absence_reason(answer.absent, "cma"));
  } else {
    Table table{{"AREA", Align::kLeft, Narrow::kCut},
                {"BYTES", Align::kRight},
                {"DRIVERS HAVE", Align::kRight},
                {"LARGEST FREE", Align::kRight}};
    for (const auto& area : answer.cma) {
      table.row(
          {area.name, bytes_text(area.bytes), bytes_text(area.used), bytes_text(area.largest)});
    }
    out += table.text(style, 2);
  }
  for (const auto& area : answer.carveouts_of_nvmap) {
    out += paragraph(style, "Carve-out " + area.name + " of nvmap: " + bytes_text(area.bytes) +
                                ", used " + bytes_text(area.used));
  }
  return out;
}

std::string zones_text(const MapAnswer& answer, const ScreenStyle& style) {
  std::string out = "\nZONES\n";
  if (answer.zones.empty()) {
    return out + paragraph(style, not_known(answer.absent, "zones"));
  }
  Table table{{"NODE"},
              {"ZONE"},
              {"PRESENT", Align::kRight},
              {"MANAGED", Align::kRight},
              {"FREE", Align::kRight},
              {"CMA", Align::kRight}};
  for (const auto& zone : answer.zones) {
    table.row({zone.node, zone.name, bytes_text(zone.present), bytes_text(zone.managed),
               bytes_text(zone.free), bytes_text(zone.cma)});
  }
  out += table.text(style, 2);
  const auto& huge = answer.huge_pages;
  if (huge.total && huge.page_bytes) {
    out += paragraph(style, "Reserved huge pages: " + number_text(*huge.total) + " of " +
                                bytes_text(*huge.page_bytes) +
                                (huge.free ? ", " + number_text(*huge.free) + " free" : ""));
  }
  return out;
}

// Only where there is such a profile: most kernels have none.
std::string allocations_text(const MapAnswer& answer, const ScreenStyle& style) {
  if (!answer.allocated && answer.allocations.empty()) return {};
  constexpr std::size_t kMost = 10;
  std::string out = "\n" + paragraph(style,
                                     "ALLOCATED BY THE KERNEL'S CODE: " +
                                         (answer.allocated ? bytes_text(*answer.allocated)
                                                           : std::string("the sum is not known")),
                                     0);
  Table table{{"MODULE, OR FOLDER OF ITS SOURCE"}, {"BYTES", Align::kRight}};
  for (std::size_t i = 0; i < std::min(kMost, answer.allocations.size()); ++i) {
    const auto& each = answer.allocations[i];
    table.row({each.module ? "[" + each.part + "]" : each.part, bytes_text(each.bytes)});
  }
  return out + table.text(style, 2) +
         paragraph(style,
                   "mm/memory.c is programs' memory, mm/filemap.c and mm/readahead.c page cache. "
                   "Counted since allocation profiling was switched on; what was allocated before "
                   "is not in it.");
}

}  // namespace

std::string map_text(const MapAnswer& answer, const ScreenStyle& style) {
  return budget_text(answer, style) + areas_text(answer, style) + zones_text(answer, style) +
         allocations_text(answer, style) + memory_text(answer.memory, style) +
         read_by_text(answer.from, style);
}

}  // namespace jetmem
