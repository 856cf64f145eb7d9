// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/bars.h"
#include "cli/draw/number_text.h"
#include "cli/text/answer_text.h"
#include "cli/text/events/event_text.h"
#include "cli/text/status_text.h"
#include "report/diagnosis/format.h"

namespace jetmem {
namespace {

std::string area_text(const CmaAnswer::Area& area, const ScreenStyle& style) {
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
  return out;
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

std::string cma_text(const CmaAnswer& answer, const ScreenStyle& style) {
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
  for (const CmaAnswer::Area& area : answer.areas) out += area_text(area, style);
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
