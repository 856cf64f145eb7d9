#include "cli/map_text.h"

#include <cmath>

#include "cli/event_text.h"
#include "cli/figures.h"
#include "cli/table.h"

namespace jetmem {
namespace {

using Align = Table::Align;
using Narrow = Table::Narrow;

constexpr std::size_t kIndent = 2;

std::string table_text(const Table& table, const TextLook& look) {
  return table.text(Table::Look{look.width, true, look.color, kIndent});
}

std::string share(double bytes, const std::optional<double>& of) {
  return of && *of > 0 ? ratio_text(bytes / *of) : "-";
}

std::string budget_text(const MapAnswer& answer, const TextLook& look) {
  std::string out = "WHERE THE MEMORY WENT";
  if (!answer.model.empty()) out += ": " + answer.model;
  out = told(look, out, 0);
  const auto whole = answer.module ? answer.module : answer.physical;
  if (answer.module) {
    out += wrapped(
        "Module: " + bytes_text(*answer.module) + " (inferred: nothing on the device says it)",
        kIndent, static_cast<std::size_t>(look.width));
  } else {
    out += wrapped("Module: not known: " + why_absent(answer.absent, "module_bytes"), kIndent,
                   static_cast<std::size_t>(look.width));
  }
  out += wrapped(answer.physical
                     ? "Physical memory that Linux was told of: " + bytes_text(*answer.physical) +
                           " (" + answer.physical_source + ")"
                     : "Physical memory: not known: " + why_absent(answer.absent, "physical_bytes"),
                 kIndent, static_cast<std::size_t>(look.width));
  if (answer.parts.empty()) {
    return out + wrapped("Parts: not known: " + why_absent(answer.absent, "parts"), kIndent,
                         static_cast<std::size_t>(look.width));
  }
  Table table;
  table.column("KIND");
  table.column("PART");
  table.column("BYTES", Align::kRight);
  table.column("SHARE", Align::kRight);
  table.column("", Align::kLeft, Narrow::kCut);
  for (const auto& part : answer.parts) {
    table.row({part.kind, part.name, bytes_text(part.bytes), share(part.bytes, whole), part.what});
  }
  if (answer.sum) table.row({"", "sum", bytes_text(*answer.sum), share(*answer.sum, whole)});
  out += table_text(table, look);
  // A page more or less is no finding.
  if (answer.missing && std::fabs(*answer.missing) >= 4096) {
    out += wrapped((*answer.missing > 0 ? "Missing in the sum: " : "Too much in the sum: ") +
                       bytes_text(std::fabs(*answer.missing)),
                   kIndent, static_cast<std::size_t>(look.width));
  }
  return out + wrapped("Largest first: " + why_absent(answer.absent, "addresses") + ".", kIndent,
                       static_cast<std::size_t>(look.width));
}

std::string areas_text(const MapAnswer& answer, const TextLook& look) {
  std::string out = "\n" + told(look, "CONTIGUOUS MEMORY (CMA), within MemTotal", 0);
  if (answer.cma.empty()) {
    out += told(look, (answer.no_cma ? "none: " : "not known: ") + why_absent(answer.absent, "cma"),
                kIndent);
  } else {
    Table table;
    table.column("AREA", Align::kLeft, Narrow::kCut);
    table.column("BYTES", Align::kRight);
    table.column("DRIVERS HAVE", Align::kRight);
    table.column("LARGEST PIECE LEFT", Align::kRight);
    for (const auto& area : answer.cma) {
      table.row(
          {area.name, bytes_text(area.bytes), bytes_text(area.used), bytes_text(area.largest)});
    }
    out += table_text(table, look);
  }
  for (const auto& area : answer.carveouts_of_nvmap) {
    out += wrapped("Carve-out " + area.name + " of nvmap: " + bytes_text(area.bytes) + ", used " +
                       bytes_text(area.used),
                   kIndent, static_cast<std::size_t>(look.width));
  }
  return out;
}

std::string zones_text(const MapAnswer& answer, const TextLook& look) {
  std::string out = "\nZONES\n";
  if (answer.zones.empty()) {
    return out + wrapped("not known: " + why_absent(answer.absent, "zones"), kIndent,
                         static_cast<std::size_t>(look.width));
  }
  Table table;
  table.column("NODE");
  table.column("ZONE");
  table.column("PRESENT", Align::kRight);
  table.column("MANAGED", Align::kRight);
  table.column("FREE", Align::kRight);
  table.column("CMA", Align::kRight);
  for (const auto& zone : answer.zones) {
    table.row({zone.node, zone.name, bytes_text(zone.present), bytes_text(zone.managed),
               bytes_text(zone.free), bytes_text(zone.cma)});
  }
  out += table_text(table, look);
  const auto& huge = answer.huge_pages;
  if (huge.total && huge.page_bytes) {
    out += wrapped("Huge pages set aside: " + number_text(*huge.total) + " of " +
                       bytes_text(*huge.page_bytes) +
                       (huge.free ? ", " + number_text(*huge.free) + " free" : ""),
                   kIndent, static_cast<std::size_t>(look.width));
  }
  return out;
}

}  // namespace

std::string map_text(const MapAnswer& answer, const TextLook& look) {
  return budget_text(answer, look) + areas_text(answer, look) + zones_text(answer, look) +
         memory_text(answer.memory, look) + read_by_text(answer.from, look);
}

}  // namespace jetmem
