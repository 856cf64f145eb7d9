// SPDX-License-Identifier: Apache-2.0
#include "cli/text/judgement_text.h"

#include <array>

#include "cli/draw/number_text.h"
#include "cli/draw/since.h"
#include "cli/exit_codes.h"

namespace jetmem {

std::string level_word(Verdict level) { return upper_case(std::string(verdict_name(level))); }

Paint paint_of(Verdict level) {
  constexpr std::array kPaints{Paint::kGood, Paint::kUnknown, Paint::kWarn, Paint::kBad};
  return kPaints[static_cast<std::size_t>(level)];
}

int verdict_exit(Verdict level) {
  constexpr std::array kStatuses{kExitOk, kExitUnknown, kExitWarning, kExitCritical};
  return kStatuses[static_cast<std::size_t>(level)];
}

std::string verdict_text(const Judgement& judgement, const AnswerFrom& from,
                         const ScreenStyle& style, std::size_t max_lines, ZoneOffset zone) {
  std::string text;
  if (judgement.since_seconds) {
    text = "for " + duration_text(*judgement.since_seconds);
    if (from.wall) {
      const double since = *from.wall - *judgement.since_seconds;
      text += ", since " + local_time_short(wall_clock(since), wall_clock(*from.wall), zone);
    }
    text += ": ";
  }
  text += judgement.reason;
  const std::string word = level_word(judgement.level);
  std::string out = labelled(style, word, text, max_lines);
  // Whatever the sentence is, who is involved has a name.
  if (judgement.who && max_lines > 0 && out.ends_with(style.color ? " ..\x1b[0m\n" : " ..\n")) {
    out += labelled(style, "who", who_text(*judgement.who), 2);
  }
  return out.replace(0, word.size(), painted(style, paint_of(judgement.level), word));
}

std::string act_text(const Judgement& judgement, const ScreenStyle& style) {
  if (judgement.act.empty()) return {};
  const bool is_to_blame = judgement.who && !judgement.who->role.starts_with("largest holder");
  return labelled(
      style, "act",
      judgement.act + (is_to_blame ? "" : ", if it can be spared") + " (jetmem never runs it)");
}

std::string next_text(const Judgement& judgement, const ScreenStyle& style) {
  return labelled(style, "next", judgement.next_command);
}

}  // namespace jetmem
