#include "cli/top_text.h"

#include <cmath>

#include "cli/budget_text.h"
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

std::string growth_text(const TopAnswer::Group& group) {
  // A line through hours tells more than the last minutes.
  if (group.trend) return rate_text(*group.trend);
  if (!group.growth) return "-";
  return std::fabs(*group.growth) < 1 ? "0" : rate_text(*group.growth);
}

// The unit says more than the container's number, where there is one.
std::string where_text(const TopAnswer::Group& group) {
  if (group.container.empty()) return group.unit;
  return group.unit.empty() ? group.container : group.unit + " " + group.container;
}

std::string groups_text(const TopAnswer& answer, const TextLook& look) {
  std::string out = told(look,
                         "PROCESSES, by name, unit and container; sorted by " +
                             std::string(top_sort_name(answer.sort)),
                         0);
  if (answer.groups.empty()) {
    return out + wrapped("not known: " + why_absent(answer.absent, "groups"), kIndent,
                         static_cast<std::size_t>(look.width));
  }
  Table table;
  table.column("NAME", Align::kLeft, Narrow::kCut);
  table.column("N", Align::kRight);
  table.column("TOTAL", Align::kRight);
  table.column("RESIDENT", Align::kRight);
  table.column("SHARED", Align::kRight);
  table.column("GPU", Align::kRight);
  table.column("DMABUF", Align::kRight);
  table.column("GROWTH", Align::kRight);
  if (look.width > 100) table.column("UNIT, CONTAINER", Align::kLeft, Narrow::kCut);
  for (const auto& group : answer.groups) {
    table.row({group.command, group.processes ? number_text(*group.processes) : "-",
               bytes_text(group.total), bytes_text(group.resident), bytes_text(group.shared),
               bytes_text(group.gpu), bytes_text(group.dmabuf), growth_text(group),
               where_text(group)});
  }
  out += table_text(table, look);
  if (answer.groups_left_out > 0) {
    out += wrapped(counted(answer.groups_left_out, "group") + " more: --limit", kIndent,
                   static_cast<std::size_t>(look.width));
  }
  if (answer.processes_left_out.value_or(0) > 0) {
    out += wrapped(number_text(*answer.processes_left_out) +
                       " processes could not be looked at and are in no figure",
                   kIndent, static_cast<std::size_t>(look.width));
  }
  out += wrapped(
      "TOTAL is RESIDENT + GPU + DMABUF. Do not add totals up: SHARED pages count in each process "
      "that maps them, a DMA-BUF in each that has it open.",
      kIndent, static_cast<std::size_t>(look.width));
  const std::string no_growth = why_absent(answer.absent, "growth");
  if (!no_growth.empty())
    out +=
        wrapped("GROWTH is not known: " + no_growth, kIndent, static_cast<std::size_t>(look.width));
  return out;
}

std::string heaps_text(const TopAnswer& answer, const TextLook& look) {
  std::string out = "\n" + told(look, "GPU AND CAMERA MEMORY (nvmap), by heap and process", 0);
  if (answer.heaps.empty()) {
    return out + wrapped("not known: " + why_absent(answer.absent, "nvmap"), kIndent,
                         static_cast<std::size_t>(look.width));
  }
  Table table;
  table.column("HEAP");
  table.column("HELD BY", Align::kLeft, Narrow::kCut);
  table.column("BYTES", Align::kRight);
  table.column("", Align::kLeft, Narrow::kCut);
  for (const auto& heap : answer.heaps) {
    table.row({heap.name, "(all)", bytes_text(heap.bytes),
               heap.carveout ? "of a carve-out of " + bytes_text(*heap.carveout) : ""});
    for (const auto& client : heap.clients)
      table.row({"", client.process, bytes_text(client.bytes)});
    if (!heap.orphans) {
      table.row({"", "(orphans)", "-", "the kernel does not tell"});
    } else if (*heap.orphans > 0) {
      std::string how = heap.orphan_handles ? number_text(*heap.orphan_handles) + " buffers, " : "";
      table.row({"", "(orphans)", bytes_text(heap.orphans), how + "no process holds them"},
                "\x1b[33m");
    }
  }
  return out + table_text(table, look);
}

void add_buffers(Table& table, const std::vector<TopAnswer::Buffers>& all, const char* what) {
  for (const auto& one : all) {
    table.row(
        {what, one.name, one.buffers ? number_text(*one.buffers) : "-", bytes_text(one.bytes)});
  }
}

std::string dmabuf_text(const TopAnswer& answer, const TextLook& look) {
  const auto& dmabuf = answer.dmabuf;
  std::string out = "\nDMA-BUFS, by holder and exporter\n";
  if (!dmabuf.bytes && !dmabuf.held) {
    return out + wrapped("not known: " + why_absent(answer.absent, "dmabuf"), kIndent,
                         static_cast<std::size_t>(look.width));
  }
  Table table;
  table.column("");
  table.column("NAME", Align::kLeft, Narrow::kCut);
  table.column("BUFFERS", Align::kRight);
  table.column("BYTES", Align::kRight);
  add_buffers(table, dmabuf.holders, "holder");
  add_buffers(table, dmabuf.exporters, "exporter");
  out += table_text(table, look);
  std::string sums = "All: " + (dmabuf.bytes ? bytes_text(*dmabuf.bytes) : "not known");
  if (dmabuf.held) sums += "; open in processes, each once: " + bytes_text(*dmabuf.held);
  if (dmabuf.shared) sums += "; in more than one: " + bytes_text(*dmabuf.shared);
  if (dmabuf.held_by_none) {
    sums += "; held by drivers and mappings only: " + bytes_text(*dmabuf.held_by_none);
  } else {
    sums += "; held by no process: not known (" +
            why_absent(answer.absent, "dmabuf.held_by_none_bytes") + ")";
  }
  return out + wrapped(sums + ". Holders overlap. nvmap's buffers are in its heaps too.", kIndent,
                       static_cast<std::size_t>(look.width));
}

std::string zram_text(const TopAnswer& answer, const TextLook& look) {
  if (!answer.zram.used) return {};
  std::string out = "ZRAM keeps ";
  out += answer.zram.original ? bytes_text(*answer.zram.original) : "an unknown amount";
  return "\n" +
         told(look, out + " in " + bytes_text(*answer.zram.used) + " of the same memory.", 0);
}

}  // namespace

std::string told(const TextLook& look, std::string_view text, std::size_t indent) {
  return wrapped(text, indent, static_cast<std::size_t>(look.width));
}

std::string memory_text(const MemoryBudget& memory, const TextLook& look) {
  std::string out = "\nMEMORY OF LINUX";
  if (memory.bytes) out += ": MemTotal " + bytes_text(*memory.bytes);
  out += "\n";
  Table table;
  table.column("PART");
  table.column("BYTES", Align::kRight);
  table.column("SHARE", Align::kRight);
  table.column("", Align::kLeft, Narrow::kCut);
  const auto share = [&](double bytes) {
    return memory.bytes && *memory.bytes > 0 && bytes >= 0 ? ratio_text(bytes / *memory.bytes)
                                                           : std::string("-");
  };
  for (const auto& part : memory.parts) {
    const std::string what = part.none         ? "none"
                             : part.bytes      ? ""
                             : part.told_bytes ? bytes_text(*part.told_bytes) + " is told"
                                               : "not known";
    table.row({part.what, bytes_text(part.bytes), part.bytes ? share(*part.bytes) : "-", what});
    for (const auto& piece : part.made_of) {
      table.row({"  " + piece.name, bytes_text(piece.bytes), share(piece.bytes), piece.what});
    }
  }
  if (memory.rest_bytes) {
    const double left = *memory.rest_bytes;
    table.row({memory.rest_holds_unknown ? "not told apart" : "counted nowhere",
               (left < 0 ? "-" : "") + bytes_text(std::fabs(left)), share(left),
               "MemTotal less the parts"});
  } else {
    table.row({"the rest", "-", "-", "MemTotal less the parts"});
  }
  out += table_text(table, look);
  if (!memory.bytes) return out + told(look, "MemTotal is not known: " + memory.no_bytes, kIndent);
  out +=
      told(look,
           "The rest is an estimate: mostly what drivers took, as the figures are read one after "
           "the other and a few pages are in two of them or in none.",
           kIndent);
  const std::string overlap = overlap_text(memory);
  if (!overlap.empty()) out += told(look, "Mind: " + overlap + ".", kIndent);
  for (const auto& part : memory.parts) {
    if (part.bytes || part.none) continue;
    out += told(look, "In the rest, as it is not known apart: " + part.what + " (" + part.why + ")",
                kIndent);
  }
  return out;
}

std::string read_by_text(const AnswerFrom& from, const TextLook& look) {
  std::string out = "\n";
  if (from.by == "daemon") {
    out += wrapped("Told by jetmemd (" + from.from + ").", 0, static_cast<std::size_t>(look.width));
  } else {
    out += wrapped("From one look" + (from.from.empty() ? "" : " at " + from.from) + ".", 0,
                   static_cast<std::size_t>(look.width));
  }
  for (const std::string& note : from.notes)
    out += wrapped("Note: " + note, 0, static_cast<std::size_t>(look.width));
  return out;
}

std::string top_text(const TopAnswer& answer, const TextLook& look) {
  return groups_text(answer, look) + heaps_text(answer, look) + dmabuf_text(answer, look) +
         zram_text(answer, look) + memory_text(answer.memory, look) +
         read_by_text(answer.from, look);
}

}  // namespace jetmem
