// SPDX-License-Identifier: Apache-2.0
// The second view: who has the memory.
#include <cmath>

#include "cli/draw/number_text.h"
#include "cli/watch/draw.h"
#include "cli/watch/views.h"

namespace jetmem::watch {
namespace {

constexpr std::size_t kName = 17;
constexpr std::size_t kCell = 10;

std::string growth_text(const TopAnswer::Group& group) {
  const auto growth = group.trend ? group.trend : group.growth;
  if (!growth) return "-";
  return std::fabs(*growth) < 1 ? "0" : rate_text(*growth);
}

std::string text_of(const std::optional<double>& bytes) { return bytes ? bytes_text(*bytes) : "-"; }

Line row(Glyphs glyphs, std::string_view name, const std::vector<std::string>& cells, Style style) {
  Line out(glyphs);
  out.left(name, kName, style);
  for (const std::string& cell : cells) out.right(cell, kCell, style);
  return out;
}

}  // namespace

Body holders_body(const Model& model, TopSort sort, std::size_t columns, Glyphs glyphs) {
  const TopAnswer answer = top_answer(*model.now(), {sort, 40});
  Body out;
  out.push_back(Line(glyphs).add("Processes by " + std::string(top_sort_name(sort)) +
                                     " (s: sort). Shared memory counts for each holder.",
                                 Style::kDim));
  if (answer.groups.empty()) {
    add_wrapped(out, "not known: " + absence_reason(answer.absent, "groups"), 2, columns, glyphs);
  } else {
    // Where there is little room the figure that is sorted by is what stays.
    if (columns < kName + 5 * kCell + 13) {
      out.push_back(row(glyphs, "NAME", {"TOTAL", "RESIDENT", "GPU", "DMABUF"}, Style::kBold));
      for (const auto& group : answer.groups) {
        out.push_back(row(glyphs, group.command,
                          {text_of(group.total), text_of(group.resident), text_of(group.gpu),
                           text_of(group.dmabuf)},
                          Style::kPlain));
      }
    } else {
      Line head =
          row(glyphs, "NAME", {"TOTAL", "RESIDENT", "SHARED", "GPU", "DMABUF"}, Style::kBold);
      out.push_back(head.right("GROWTH", 13, Style::kBold).add("  UNIT", Style::kBold));
      for (const auto& group : answer.groups) {
        Line line = row(glyphs, group.command,
                        {text_of(group.total), text_of(group.resident), text_of(group.shared),
                         text_of(group.gpu), text_of(group.dmabuf)},
                        Style::kPlain);
        line.right(growth_text(group), 13);
        out.push_back(line.add("  " + group.unit + " " + group.container, Style::kDim));
      }
    }
  }
  for (const auto& heap : answer.heaps) {
    std::string text = "nvmap " + heap.name + ": " + text_of(heap.bytes);
    const bool orphans = heap.orphans.value_or(0) > 0;
    if (orphans) text += ", held by no process: " + text_of(heap.orphans);
    out.push_back(Line(glyphs).add(text, orphans ? Style::kWarning : Style::kPlain));
  }
  const auto& dmabuf = answer.dmabuf;
  if (dmabuf.bytes || dmabuf.held) {
    std::string text = "DMA-BUFs: " + text_of(dmabuf.bytes) + ", open in processes " +
                       text_of(dmabuf.held) + ", in no process " + text_of(dmabuf.held_by_none);
    out.push_back(Line(glyphs).add(text));
  }
  if (answer.zram.used) {
    out.push_back(Line(glyphs).add("zram: " + text_of(answer.zram.original) + " in " +
                                   text_of(answer.zram.used)));
  }
  out.push_back(Line(glyphs));
  const MemoryBudget& memory = answer.memory;
  for (const auto& part : memory.parts) {
    const std::string what = part.none ? "  none" : part.bytes ? "" : "  not known: " + part.why;
    out.push_back(Line(glyphs)
                      .left(part.what, kName)
                      .right(text_of(part.bytes), kCell)
                      .add(what, Style::kDim));
    for (const auto& piece : part.components) {
      out.push_back(Line(glyphs)
                        .left("  " + piece.name, kName, Style::kDim)
                        .right(bytes_text(piece.bytes), kCell, Style::kDim)
                        .add("  " + piece.what, Style::kDim));
    }
  }
  if (const auto left = memory.unaccounted_bytes) {
    out.push_back(
        Line(glyphs)
            .left(memory.unaccounted_includes_unknown ? "not separable" : "unaccounted", kName)
            .right((*left < 0 ? "-" : "") + bytes_text(std::fabs(*left)), kCell)
            .add("  estimated: MemTotal minus the parts", Style::kDim));
  }
  return out;
}

}  // namespace jetmem::watch
