// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cli/draw/number_text.h"
#include "cli/draw/shorten.h"
#include "cli/draw/table.h"
#include "cli/text/answer_text.h"
#include "cli/text/budget_text.h"

namespace jetmem {
namespace {

using Align = Table::Align;
using Narrow = Table::Narrow;

std::string growth_text(const TopAnswer::Group& group) {
  // A trend over hours is more reliable than the last minutes.
  if (group.trend) return rate_text(*group.trend);
  if (!group.growth) return "-";
  return std::fabs(*group.growth) < 1 ? "0" : rate_text(*group.growth);
}

// TASK_COMM_LEN without its NUL.
constexpr std::size_t kMostComm = 15;
constexpr std::size_t kGroupIndent = 2;

// The column that an order is of.
std::string_view column_of(TopSort sort) {
  switch (sort) {
    case TopSort::kResident:
      return "RESIDENT";
    case TopSort::kGpu:
      return "GPU";
    case TopSort::kDmabuf:
      return "DMABUF";
    case TopSort::kGrowth:
      return "GROWTH";
    case TopSort::kTotal:
      break;
  }
  return "TOTAL";
}

// PID, name, total and what they are sorted by are always there. `dropped`: names of the columns
// that have no room.
std::string groups_table(const TopAnswer& answer, const ScreenStyle& style, std::string& dropped) {
  const std::string_view sorted = column_of(answer.sort);
  Table table{{"PID", Align::kRight}, {"NAME"}};
  const auto add = [&](const char* name, std::size_t rank) {
    table.column({name, Align::kRight, Narrow::kKeep, name == sorted ? 0 : rank});
  };
  add("N", 4);
  add("TOTAL", 0);
  add("RESIDENT", 3);
  add("SHARED", 1);
  add("GPU", 6);
  add("DMABUF", 2);
  add("GROWTH", 5);
  const auto place_of = [](const TopAnswer::Group& group) {
    return place_text(group.unit, group.container, 400);
  };
  if (std::any_of(answer.groups.begin(), answer.groups.end(),
                  [&](const auto& group) { return !place_of(group).empty(); })) {
    table.column({"UNIT, CONTAINER", Align::kLeft, Narrow::kCut, 7, shortened_place});
  }
  for (const auto& group : answer.groups) {
    table.row({group.pid ? number_text(*group.pid) : "-", shortened(group.command, 16),
               group.processes ? number_text(*group.processes) : "-", bytes_text(group.total),
               bytes_text(group.resident), bytes_text(group.shared), bytes_text(group.gpu),
               bytes_text(group.dmabuf), growth_text(group), place_of(group)});
  }
  dropped = table.drop_columns(static_cast<std::size_t>(std::max(style.width, 20)) - kGroupIndent);
  return table.text(style, kGroupIndent);
}

std::string growth_note(const TopAnswer& answer, const ScreenStyle& style) {
  const std::string why = absence_reason(answer.absent, "growth");
  return why.empty() ? why : paragraph(style, "GROWTH is not known: " + why);
}

std::string groups_text(const TopAnswer& answer, const ScreenStyle& style) {
  std::string head = "PROCESSES, by name, unit and container; sorted by ";
  head += top_sort_name(answer.sort);
  if (answer.groups_unsorted > 0) {
    head += "; unknown for " + counted(answer.groups_unsorted, "group") + ", listed last by total";
  }
  std::string out = paragraph(style, head, 0);
  if (answer.groups.empty()) {
    return out + paragraph(style, not_known(answer.absent, "groups"));
  }
  std::string dropped;
  out += groups_table(answer, style, dropped);
  if (!dropped.empty()) {
    out += paragraph(style, "No room here for " + dropped + ": use a wider terminal, or --json.");
  }
  // "systemd-journal" is systemd-journald, or it is not.
  const auto full = std::find_if(answer.groups.begin(), answer.groups.end(), [](const auto& group) {
    return group.command.size() == kMostComm;
  });
  if (full != answer.groups.end()) {
    out += paragraph(style, "The kernel cuts names after 15 bytes: " +
                                shortened(full->command, kMostComm) + " may be longer.");
  }
  const bool several =
      std::any_of(answer.groups.begin(), answer.groups.end(),
                  [](const auto& group) { return group.pid && group.processes.value_or(0) > 1; });
  if (several) {
    out += paragraph(style, "Of several processes (N) PID is the one that holds most.");
  }
  if (answer.groups_omitted > 0) {
    out += paragraph(style, counted(answer.groups_omitted, "group") + " more: --limit");
  }
  if (!answer.incomplete.empty()) {
    out += paragraph(style, answer.incomplete + ".");
  } else if (answer.processes_omitted.value_or(0) > 0) {
    out += paragraph(style, number_text(*answer.processes_omitted) +
                                " processes could not be read and are not counted");
  }
  out += paragraph(style,
                   "TOTAL is RESIDENT + GPU + DMABUF, minus GPU buffers that are mapped and thus "
                   "in RESIDENT too. Do not add totals up: SHARED pages count in each process that "
                   "maps them, a DMA-BUF in each that has it open.");
  const bool has_gpu = std::any_of(answer.groups.begin(), answer.groups.end(),
                                   [](const auto& group) { return group.gpu.value_or(0) > 0; });
  if (has_gpu && !answer.drm.empty()) {
    return out + paragraph(style, "A buffer that is shared may count in GPU and in DMABUF.") +
           growth_note(answer, style);
  }
  const auto counts_twice = [](const auto& group) {
    return group.gpu.value_or(0) > 0 && !group.mapped;
  };
  const auto doubtful = std::find_if(answer.groups.begin(), answer.groups.end(), counts_twice);
  if (doubtful != answer.groups.end()) {
    out += paragraph(
        style,
        "Mappings of " + shortened(doubtful->command, 16) +
            (std::any_of(doubtful + 1, answer.groups.end(), counts_twice) ? " and others" : "") +
            " are not known: GPU buffers may count in RESIDENT too. TOTAL is then a lower bound.");
  }
  if (has_gpu) {
    out += paragraph(style,
                     "Two kinds of memory count twice, as no file tells them apart: what a program "
                     "gave to nvmap (NVMAP_IOC_FROM_VA) in RESIDENT and GPU, and a shared part of "
                     "a buffer in GPU and DMABUF.");
  }
  return out + growth_note(answer, style);
}

// What became of a client of this name.
std::string ended_text(const TopAnswer& answer, const std::string& process) {
  for (const auto& ended : answer.ended) {
    if (ended.process != process) continue;
    const std::string holder = ended.holder.empty() ? "a process that inherited it" : ended.holder;
    return ended.is_certain ? "ended; " + holder + " holds " + bytes_text(ended.bytes)
                            : "ended; " + bytes_text(ended.bytes) + " may be held by " + holder;
  }
  return {};
}

std::string clientless_text(const TopAnswer& answer, const ScreenStyle& style) {
  const auto& all = answer.clientless;
  if (all.bytes.value_or(0) <= 0) return {};
  std::string out = "Buffers without an nvmap client: " + bytes_text(*all.bytes) + ". ";
  if (!all.holders.empty()) {
    std::string holders;
    for (const auto& holder : all.holders) {
      holders += (holders.empty() ? "" : ", ") + holder.process + " " + bytes_text(holder.bytes);
    }
    out += "Held by descriptors or mappings of " + holders + ". ";
  }
  if (!all.orphaned) {
    out += "Whether processes have the rest open or mapped is not known: " +
           absence_reason(answer.absent, "nvmap_clientless.held_bytes");
  } else if (*all.orphaned > 0) {
    out +=
        "Orphaned: " + bytes_text(*all.orphaned) +
        ", held by drivers, not by processes alone, or freed by a client that keeps a part of it.";
  }
  return paragraph(style, out);
}

std::string heap_note(const TopAnswer::Heap& heap) {
  std::string out;
  if (heap.with_memory) {
    join(out, counted(static_cast<std::uint64_t>(std::max(*heap.with_memory, 0.0)), "client"));
  }
  if (!heap.orphans && heap.unattributed) join(out, bytes_text(heap.unattributed) + " of none");
  if (heap.carveout) {
    join(out, (heap.free ? bytes_text(heap.free) + " free of " : "carve-out of ") +
                  bytes_text(heap.carveout));
  }
  return out;
}

std::string drm_text(const TopAnswer& answer, const ScreenStyle& style) {
  std::string out = "\n" + paragraph(style, "GPU MEMORY (DRM), by driver, region and process", 0);
  Table table{{"REGION"}, {"HELD BY"}, {"BYTES", Align::kRight}, {"", Align::kLeft, Narrow::kWrap}};
  for (const auto& region : answer.drm) {
    std::string what;
    if (region.resident && region.total) join(what, bytes_text(*region.total) + " requested");
    if (region.shared.value_or(0) > 0) join(what, bytes_text(*region.shared) + " shared");
    table.row({region.driver + " " + region.region, "(all)",
               bytes_text(region.resident ? region.resident : region.total), what});
    for (const auto& client : region.clients) {
      table.row({"", shortened(client.process, 20), bytes_text(client.bytes), ""});
    }
  }
  out += table.text(style, 2);
  if (answer.drm_unreported) {
    out += paragraph(
        style, "Of " + counted(static_cast<std::uint64_t>(*answer.drm_unreported), "open file") +
                   " of a GPU or display the driver reports no memory.");
  }
  return out;
}

std::string heaps_text(const TopAnswer& answer, const ScreenStyle& style) {
  if (answer.heaps.empty() && !answer.drm.empty()) return drm_text(answer, style);
  std::string out =
      "\n" + paragraph(style, "GPU AND CAMERA MEMORY (nvmap), by heap and process", 0);
  if (answer.heaps.empty()) {
    return out + paragraph(style, not_known(answer.absent, "nvmap"));
  }
  Table table{{"HEAP"}, {"HELD BY"}, {"BYTES", Align::kRight}, {"", Align::kLeft, Narrow::kWrap}};
  for (const auto& heap : answer.heaps) {
    table.row({heap.name, "(all)", bytes_text(heap.bytes), heap_note(heap)});
    for (const auto& client : heap.clients) {
      table.row({"", shortened(client.process, 20), bytes_text(client.bytes),
                 ended_text(answer, client.process)});
    }
    if (!heap.orphans) {
      table.row({"", "(no client)", "-", "not known"});
    } else if (*heap.orphans > 0) {
      const std::string how =
          heap.orphan_handles
              ? counted(static_cast<std::uint64_t>(*heap.orphan_handles), "buffer") + ", "
              : "";
      table.row({"", "(no client)", bytes_text(heap.orphans), how + "see below"}, "\x1b[33m");
    }
  }
  out += table.text(style, 2);
  std::string totals;
  if (answer.nvmap_total) join(totals, "All heaps: " + bytes_text(*answer.nvmap_total));
  if (answer.nvmap_allocatable) {
    join(totals, "allocatable, as the driver reports it: " + bytes_text(*answer.nvmap_allocatable) +
                     " (jetmem doctor --all shows how this L4T release treats larger requests)");
  }
  const std::string omitted = absence_reason(answer.absent, "nvmap.values");
  if (!omitted.empty()) join(totals, "omitted: " + omitted);
  if (!totals.empty()) out += paragraph(style, totals + ".");
  out += clientless_text(answer, style);
  return answer.drm.empty() ? out : out + drm_text(answer, style);
}

void add_buffers(Table& table, const std::vector<TopAnswer::Buffers>& all, const char* what) {
  for (const auto& one : all) {
    table.row(
        {what, one.name, one.buffers ? number_text(*one.buffers) : "-", bytes_text(one.bytes)});
  }
}

std::string dmabuf_text(const TopAnswer& answer, const ScreenStyle& style) {
  const auto& dmabuf = answer.dmabuf;
  std::string out = "\nDMA-BUFS, by holder and exporter\n";
  if (!dmabuf.bytes && !dmabuf.held) {
    return out + paragraph(style, not_known(answer.absent, "dmabuf"));
  }
  Table table{{""},
              {"NAME", Align::kLeft, Narrow::kCut},
              {"BUFFERS", Align::kRight},
              {"BYTES", Align::kRight}};
  add_buffers(table, dmabuf.holders, "holder");
  add_buffers(table, dmabuf.exporters, "exporter");
  out += table.text(style, 2);
  std::string sums = "Total: " + (dmabuf.bytes ? bytes_text(*dmabuf.bytes) : "not known");
  if (dmabuf.held) sums += "; open in processes, each counted once: " + bytes_text(*dmabuf.held);
  if (dmabuf.shared) sums += "; in more than one: " + bytes_text(*dmabuf.shared);
  if (dmabuf.held_by_none) {
    sums += "; open in no process (held by drivers or nvmap clients): " +
            bytes_text(*dmabuf.held_by_none);
  } else {
    sums += "; open in no process: not known (" +
            absence_reason(answer.absent, "dmabuf.unowned_bytes") + ")";
  }
  sums += ". Holders overlap. nvmap's buffers are in its heaps too.";
  const auto& memory = dmabuf.allocated_by_nvmap;
  if (dmabuf.of_nvmap && memory && *memory < *dmabuf.of_nvmap) {
    sums += " nvmap's buffers have a total size of " + bytes_text(*dmabuf.of_nvmap) +
            ", but nvmap allocated only " + bytes_text(*memory) +
            ": handles without memory, read-only duplicates and parts of buffers count in full.";
  }
  return out + paragraph(style, sums);
}

std::string cgroups_text(const TopAnswer& answer, const ScreenStyle& style) {
  std::string out = "\n" + paragraph(style, "SERVICES AND CONTAINERS (control groups)", 0);
  if (answer.cgroups.empty()) return out + paragraph(style, not_known(answer.absent, "cgroups"));
  Table table{{"UNIT, CONTAINER", Align::kLeft, Narrow::kCut},
              {"MEMORY", Align::kRight},
              {"LIMIT", Align::kRight},
              {"USED", Align::kRight},
              {"SWAP", Align::kRight},
              {"WAITS", Align::kRight},
              {"KILLS", Align::kRight}};
  const auto ratio = [](const std::optional<double>& value) {
    return value ? ratio_text(*value) : std::string("-");
  };
  for (const auto& group : answer.cgroups) {
    const auto& limit = group.limit && group.high ? std::min(group.limit, group.high)
                        : group.limit             ? group.limit
                                                  : group.high;
    table.row({place_text(group.unit, group.container, 40), bytes_text(group.bytes),
               limit ? bytes_text(limit) : "none", ratio(group.used_ratio), bytes_text(group.swap),
               ratio(group.stall_ratio), group.oom_kills ? number_text(*group.oom_kills) : "-"});
  }
  return out + table.text(style, 2) +
         paragraph(style,
                   "MEMORY includes page cache. WAITS: share of the last minute in which a task "
                   "waited for memory. GPU and camera memory (nvmap) and most DMA-BUFs are charged "
                   "to no control group: no limit holds for them.");
}

std::string zram_text(const TopAnswer& answer, const ScreenStyle& style) {
  if (!answer.zram.used) return {};
  std::string out = "ZRAM holds ";
  out += answer.zram.original ? bytes_text(*answer.zram.original) : "an unknown amount";
  return "\n" +
         paragraph(style, out + " in " + bytes_text(*answer.zram.used) + " of the same memory.", 0);
}

}  // namespace

std::string memory_text(const MemoryBudget& memory, const ScreenStyle& style) {
  std::string out = "\nMEMORY OF LINUX";
  if (memory.bytes) out += ": MemTotal " + bytes_text(*memory.bytes);
  out += "\n";
  Table table{{"PART"},
              {"BYTES", Align::kRight},
              {"SHARE", Align::kRight},
              {"", Align::kLeft, Narrow::kWrap}};
  const auto share = [&](double bytes) {
    return memory.bytes && *memory.bytes > 0 && bytes >= 0 ? ratio_text(bytes / *memory.bytes)
                                                           : std::string("-");
  };
  for (const auto& part : memory.parts) {
    const std::string what = part.none             ? plain_reason(part.why)
                             : part.bytes          ? ""
                             : part.reported_bytes ? bytes_text(*part.reported_bytes) + " reported"
                                                   : "not known";
    table.row({part.what, bytes_text(part.bytes), part.bytes ? share(*part.bytes) : "-", what});
    for (const auto& piece : part.components) {
      table.row({"  " + piece.name, bytes_text(piece.bytes), share(piece.bytes), piece.what});
    }
  }
  if (memory.overlap_bytes > 0) {
    table.row({"counted twice", bytes_text(memory.overlap_bytes), share(memory.overlap_bytes),
               "the parts minus MemTotal"});
  } else if (memory.unaccounted_bytes) {
    const double left = *memory.unaccounted_bytes;
    table.row({memory.unaccounted_includes_unknown ? "not separable" : "unaccounted",
               bytes_text(left), share(left), "MemTotal minus the parts"});
  } else {
    table.row({"unaccounted", "-", "-", "MemTotal minus the parts"});
  }
  out += table.text(style, 2);
  if (!memory.bytes) return out + paragraph(style, "MemTotal is not known: " + memory.no_bytes);
  if (memory.overlap_bytes <= 0 && memory.contradiction.empty()) {
    out += paragraph(
        style,
        "The last row is an estimate, usually memory that drivers allocated: the values are read "
        "one after the other, and a few pages are counted twice or not at all.");
  }
  const std::string overlap = overlap_text(memory);
  if (!overlap.empty()) out += paragraph(style, "Note: " + overlap + ".");
  for (const auto& part : memory.parts) {
    if (part.none || part.why.empty()) continue;
    out += paragraph(style, "Included in the last row, as it is not known separately: " +
                                (part.bytes ? part.why : part.what + " (" + part.why + ")"));
  }
  return out;
}

std::string read_by_text(const AnswerFrom& from, const ScreenStyle& style) {
  std::string out = "\n";
  if (from.by == "daemon") {
    out += paragraph(style, "From jetmemd (" + from.from + ").", 0);
  } else {
    out += paragraph(style,
                     "From one reading" + (from.from.empty() ? "" : " of " + from.from) + ".", 0);
  }
  for (const std::string& note : from.notes) out += paragraph(style, "Note: " + note, 0);
  return out;
}

std::string gpu_text(const TopAnswer& answer, const ScreenStyle& style) {
  return groups_text(answer, style) + heaps_text(answer, style) + read_by_text(answer.from, style);
}

std::string holders_table(const TopAnswer& answer, const ScreenStyle& style) {
  std::string dropped;
  return groups_table(answer, style, dropped);
}

std::string top_text(const TopAnswer& answer, const ScreenStyle& style) {
  return groups_text(answer, style) + heaps_text(answer, style) + dmabuf_text(answer, style) +
         cgroups_text(answer, style) + zram_text(answer, style) +
         memory_text(answer.memory, style) + read_by_text(answer.from, style);
}

}  // namespace jetmem
