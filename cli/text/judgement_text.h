// SPDX-License-Identifier: Apache-2.0
// The verdict as text, the same for every command that has one.
#pragma once

#include <string>

#include "cli/draw/since.h"
#include "cli/draw/terminal.h"
#include "report/doctor/judgement.h"

namespace jetmem {

// "CRITICAL"
std::string level_word(Verdict level);
Paint paint_of(Verdict level);
// cli/exit_codes.h
int verdict_exit(Verdict level);

// The first lines of a status and a doctor: "CRITICAL for 47s, since 21:05:58: ...", and who, where
// the sentence is cut before it.
std::string verdict_text(const Judgement& judgement, const AnswerFrom& from,
                         const ScreenStyle& style, std::size_t max_lines, ZoneOffset zone = {});
// "act      docker restart 9c0f5e7a41d2 (jetmem never runs it)"; empty where there is none.
std::string act_text(const Judgement& judgement, const ScreenStyle& style);
// "next     jetmem doctor"
std::string next_text(const Judgement& judgement, const ScreenStyle& style);

}  // namespace jetmem
