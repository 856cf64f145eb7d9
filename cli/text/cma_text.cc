// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "cli/draw/bars.h"
#include "cli/draw/number_text.h"
#include "cli/draw/table.h"
#include "cli/text/answer_text.h"
#include "cli/text/status_text.h"
#include "report/diagnosis/format.h"

namespace jetmem {
namespace {

// Of the owners by rank; those beyond share the last.
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ+";
constexpr std::size_t kMapColumns = 64;
constexpr std::size_t kMapRows = 6;

char letter_of(const CmaAnswer::Area::Block& block) {
  using State = CmaAnswer::Area::BlockState;
  if (block.state == State::kUnknown) return '?';
  if (block.state == State::kBefore) return '#';
  return kLetters[std::min<std::size_t>(block.owner, kLetters.size() - 1)];
}

// One letter for each of so many equal parts: of whoever has most of it, small where a part of it
// is free.
std::string drawn(const CmaAnswer::Area& area, double size) {
  constexpr std::size_t kCells = kMapColumns * kMapRows;
  const double step = size / static_cast<double>(kCells);
  std::string out;
  std::size_t first = 0;
  for (std::size_t i = 0; i < kCells; ++i) {
    const double begin = static_cast<double>(i) * step;
    std::map<char, double> shares;
    double sum = 0;
    for (std::size_t b = first; b < area.blocks.size(); ++b) {
      const auto& block = area.blocks[b];
      if (block.offset_bytes >= begin + step) break;
      const double end = block.offset_bytes + block.bytes;
      if (end <= begin) {
        first = b + 1;
        continue;
      }
      const double part = std::min(end, begin + step) - std::max(block.offset_bytes, begin);
      shares[letter_of(block)] += part;
      sum += part;
    }
    const auto most = std::max_element(shares.begin(), shares.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    char cell = most == shares.end() ? '.' : most->first;
    if (sum < step * 0.999 && cell >= 'A' && cell <= 'Z') cell = static_cast<char>(cell + 32);
    if (i % kMapColumns == 0) {
      const std::string at = bytes_text(begin);
      out += "  " + std::string(at.size() < 9 ? 9 - at.size() : 0, ' ') + at + " ";
    }
    out += cell;
    if (i % kMapColumns == kMapColumns - 1) out += "\n";
  }
  return out;
}

std::string owners_text(const CmaAnswer::Area& area, bool with_map, const ScreenStyle& style) {
  std::string out;
  const std::string why = absence_reason(area.absent, "owners");
  if (!why.empty()) return labelled(style, "  owners", "not known: " + why);
  if (with_map && !area.blocks.empty() && area.bytes && area.unknown_bytes) {
    out += drawn(area, *area.bytes);
    out += paragraph(style,
                     ". free, # allocated before jetmem looked, ? unknown; a small letter: partly "
                     "free; each stands for " +
                         bytes_text(*area.bytes / static_cast<double>(kMapColumns * kMapRows)),
                     2);
  }
  Table table{{with_map ? "" : "#", Table::Align::kRight},
              {"ALLOCATED BY", Table::Align::kLeft, Table::Narrow::kWrap},
              {"BYTES", Table::Align::kRight},
              {"BLOCKS", Table::Align::kRight},
              {"OLDEST", Table::Align::kRight},
              {"WITHOUT IT", Table::Align::kRight},
              {"THROUGH", Table::Align::kLeft, Table::Narrow::kWrap}};
  for (std::size_t i = 0; i < area.owners.size(); ++i) {
    const CmaAnswer::Area::Owner& owner = area.owners[i];
    const std::string letter(1, kLetters[std::min(i, kLetters.size() - 1)]);
    table.row({with_map ? letter : std::to_string(i + 1), owner_name(owner),
               bytes_text(owner.bytes), std::to_string(owner.blocks),
               owner.oldest_seconds ? duration_text(*owner.oldest_seconds) : "-",
               bytes_text(owner.largest_run_without_bytes), owner.function});
  }
  if (area.before_bytes.value_or(0) > 0) {
    table.row(
        {with_map ? "#" : "", "before jetmem looked: unknown", bytes_text(*area.before_bytes)});
  }
  if (area.unknown_bytes.value_or(0) > 0) {
    table.row({with_map ? "?" : "", "unknown whether allocated", bytes_text(*area.unknown_bytes)});
  }
  out += table.text(style, 2);
  for (const CmaAnswer::Area::Owner& owner : area.owners) {
    const std::string holders = holder_names(owner);
    if (holders.empty()) continue;
    out += labelled(
        style, "  held",
        holders + " may hold what " + owner_name(owner) + " allocated: DMA-BUFs of the same sizes");
  }
  if (table.rows() == 0) out += labelled(style, "  owners", "nobody: all of it is free");
  if (area.splitter) {
    const CmaAnswer::Area::Splitter& block = *area.splitter;
    out += labelled(
        style, "  split",
        "one block of " + bytes_text(block.bytes) + " of " + owner_name(area.owners[block.owner]) +
            (block.age_seconds ? ", " + duration_text(*block.age_seconds) + " old" : "") +
            ": without it the largest free run is " + bytes_text(block.largest_run_without_bytes));
  }
  return out;
}

std::string area_text(const CmaAnswer::Area& area, bool with_map, const ScreenStyle& style) {
  std::string out = painted(style, Paint::kBold, "area " + area.name) + "\n";
  Paint paint = Paint::kNone;
  if (area.frame_fit_ratio) paint = *area.frame_fit_ratio < 1 ? Paint::kBad : Paint::kGood;
  std::string used = bar(style, area.used_ratio, 40, paint) + " " + ratio_text(area.used_ratio);
  out +=
      labelled(style, "  used",
               used + " (" + bytes_text(area.used_bytes) + " of " + bytes_text(area.bytes) + ")");
  const std::string why = absence_reason(area.absent, "largest_run_bytes");
  out +=
      labelled(style, "  free",
               bytes_text(area.available_bytes) + ", largest block " +
                   bytes_text(area.largest_run_bytes) + (why.empty() ? "" : "; not known: " + why));
  if (area.frame_fit_ratio && area.required_bytes) {
    const bool fits = *area.frame_fit_ratio >= 1;
    out += labelled(style, "  needed",
                    bytes_text(*area.required_bytes) +
                        " in one block: " + painted(style, paint, fits ? "fits" : "does NOT fit") +
                        " (the block is " + number_text(*area.frame_fit_ratio) +
                        " of it); the larger of a frame and the largest request that failed");
  } else if (area.frame_fit_ratio) {
    out += labelled(style, "  needed", painted(style, paint, "no block is free: nothing fits"));
  } else if (why.empty()) {
    out += labelled(style, "  needed", not_known(area.absent, "frame_fit_ratio"));
  }
  if (area.pages_refused) {
    out += labelled(style, "  pages",
                    (area.pages_allocated ? number_text(*area.pages_allocated) : "-") +
                        " allocated, " + number_text(*area.pages_refused) + " refused since boot");
  }
  return out + owners_text(area, with_map, style);
}

std::string failure_text(const CmaAnswer::Failure& failure, const CmaAnswer& answer,
                         const ScreenStyle& style) {
  std::string when;
  if (failure.wall) {
    when = moment_text(*failure.wall, answer.from.wall);
  } else if (failure.since_boot) {
    when = duration_text(*failure.since_boot) + " after boot";
  } else {
    when = "at an unknown time";
  }
  std::string text = when + ": " + failure.summary;
  if (failure.count > 1) {
    text += " (" + doctor::repeated(failure.count, failure.lasted_seconds) + ")";
  }
  return labelled(style, "", text, 3);
}

}  // namespace

std::string cma_text(const CmaAnswer& answer, const ScreenStyle& style, bool with_map) {
  std::string out = labelled(style, "seen", snapshot_age_text(answer.from), 2);
  const bool has_cma = answer.has_cma.value_or(false);
  if (!has_cma) {
    out += labelled(style, "cma",
                    answer.has_cma ? "none: " + answer.none : not_known(answer.absent, "has_cma"));
    if (!answer.failures.empty()) out += labelled(style, "refused", "nevertheless:");
  } else {
    out += labelled(
        style, "cma",
        bytes_text(answer.total_bytes) + " in " +
            (answer.areas.empty() ? "areas not known: " + absence_reason(answer.absent, "areas")
                                  : counted(answer.areas.size() + answer.areas_omitted, "area")) +
            "; " + bytes_text(answer.free_bytes) +
            " free now (programs borrow what drivers do not use)");
  }
  if (!answer.reservation.empty()) {
    out += labelled(style, "", painted(style, Paint::kBad, answer.reservation));
  }
  for (const CmaAnswer::Area& area : answer.areas) out += area_text(area, with_map, style);
  if (answer.areas_omitted > 0) {
    out += counted(answer.areas_omitted, "more area") + " not shown\n";
  }
  if (answer.calls_failed) {
    out += labelled(style, "calls",
                    (answer.calls_succeeded ? number_text(*answer.calls_succeeded) : "-") +
                        " succeeded, " + number_text(*answer.calls_failed) + " failed, since boot");
  }
  if (answer.largest_request_bytes) {
    out += labelled(style, "largest",
                    bytes_text(*answer.largest_request_bytes) + " is the largest refused request");
  }
  const std::string unseen = absence_reason(answer.absent, "failures");
  if (!unseen.empty()) {
    out += labelled(style, "log", "refusals are not known: " + unseen);
  } else if (answer.failures.empty() && has_cma) {
    out += labelled(style, "log", "no refusal in the recorded events");
  } else if (!answer.failures.empty()) {
    out += labelled(style, "log", "refused, newest first:");
    for (const CmaAnswer::Failure& failure : answer.failures) {
      out += failure_text(failure, answer, style);
    }
    if (answer.failures_omitted > 0) {
      out += labelled(style, "", std::to_string(answer.failures_omitted) + " more: jetmem events");
    }
  }
  for (const std::string& advice : answer.advice) out += labelled(style, "advice", advice);
  for (const std::string& note : answer.from.notes) out += labelled(style, "note", note, 2);
  return out;
}

}  // namespace jetmem
