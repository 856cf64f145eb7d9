#include "cli/cma_text.h"

#include "cli/bars.h"
#include "cli/event_text.h"
#include "cli/figures.h"
#include "cli/status_text.h"

namespace jetmem {
namespace {

using Answer = CmaAnswer;

std::string area_text(const Answer::Area& area, const ScreenLook& look) {
  std::string out = painted(look, Paint::kBold, "area " + area.name) + "\n";
  Paint paint = Paint::kNone;
  if (area.frame_fit_ratio) paint = *area.frame_fit_ratio < 1 ? Paint::kBad : Paint::kGood;
  std::string used = bar(look, area.used_ratio, 40, paint) + " " + ratio_text(area.used_ratio);
  out +=
      labelled(look, "  used",
               used + " (" + bytes_text(area.used_bytes) + " of " + bytes_text(area.bytes) + ")");
  const std::string why = why_absent(area.absent, "largest_run_bytes");
  out +=
      labelled(look, "  free",
               bytes_text(area.available_bytes) + ", the largest piece " +
                   bytes_text(area.largest_run_bytes) + (why.empty() ? "" : "; not known: " + why));
  if (area.frame_fit_ratio && area.wanted_bytes) {
    const bool fits = *area.frame_fit_ratio >= 1;
    out += labelled(look, "  frame",
                    bytes_text(*area.wanted_bytes) + " is wanted in one piece: " +
                        painted(look, paint, fits ? "fits" : "does NOT fit") + " (the piece is " +
                        number_text(*area.frame_fit_ratio) + " of it)");
  } else if (why.empty()) {
    out += labelled(look, "  frame", "not known: " + why_absent(area.absent, "frame_fit_ratio"));
  }
  if (area.pages_refused) {
    out += labelled(look, "  pages",
                    (area.pages_allocated ? number_text(*area.pages_allocated) : "-") +
                        " handed out, " + number_text(*area.pages_refused) + " refused since boot");
  }
  return out;
}

std::string failure_text(const Answer::Failure& failure, const Answer& answer,
                         const ScreenLook& look) {
  std::string when;
  if (failure.wall) {
    when = moment_text(*failure.wall, answer.from.wall);
  } else if (failure.since_boot) {
    when = duration_text(*failure.since_boot) + " after boot";
  } else {
    when = "at a time not known";
  }
  std::string text = when + ": " + failure.summary;
  if (failure.count > 1) text += " (" + std::to_string(failure.count) + " times)";
  return labelled(look, "", text, 3);
}

}  // namespace

std::string cma_text(const CmaAnswer& answer, const ScreenLook& look) {
  std::string out = labelled(look, "seen", looked_text(answer.from), 2);
  const bool has_cma = answer.has_cma.value_or(false);
  if (!has_cma) {
    out += labelled(look, "cma",
                    answer.has_cma ? "none: " + answer.none
                                   : "not known: " + why_absent(answer.absent, "has_cma"));
    if (!answer.failures.empty()) out += labelled(look, "refused", "all the same:");
  } else {
    out += labelled(
        look, "cma",
        bytes_text(answer.total_bytes) + " in " +
            (answer.areas.empty() ? "areas not known: " + why_absent(answer.absent, "areas")
                                  : counted(answer.areas.size() + answer.areas_left_out, "area")) +
            "; " + bytes_text(answer.free_bytes) +
            " free just now (programs borrow what drivers do not use)");
  }
  for (const Answer::Area& area : answer.areas) out += area_text(area, look);
  if (answer.areas_left_out > 0) {
    out += counted(answer.areas_left_out, "more area") + " not shown\n";
  }
  if (answer.calls_failed) {
    out += labelled(look, "calls",
                    (answer.calls_succeeded ? number_text(*answer.calls_succeeded) : "-") +
                        " got their block, " + number_text(*answer.calls_failed) +
                        " did not, since boot");
  }
  if (answer.largest_request_bytes) {
    out += labelled(
        look, "largest",
        bytes_text(*answer.largest_request_bytes) + " is the largest request that was refused");
  }
  const std::string unseen = why_absent(answer.absent, "failures");
  if (!unseen.empty()) {
    out += labelled(look, "log", "refusals are not known: " + unseen);
  } else if (answer.failures.empty() && has_cma) {
    out += labelled(look, "log", "no refusal in the events at hand");
  } else if (!answer.failures.empty()) {
    out += labelled(look, "log", "refused, the last first:");
    for (const Answer::Failure& failure : answer.failures) {
      out += failure_text(failure, answer, look);
    }
    if (answer.failures_left_out > 0) {
      out += labelled(look, "", std::to_string(answer.failures_left_out) + " more: jetmem events");
    }
  }
  for (const std::string& advice : answer.advice) out += labelled(look, "advice", advice);
  for (const std::string& note : answer.from.notes) out += labelled(look, "note", note, 2);
  return out;
}

}  // namespace jetmem
