// SPDX-License-Identifier: Apache-2.0
// Why the device restarted, its boots and what changed: the typed answer of `jetmem boots` and its
// JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collectors/device/boot/history.h"
#include "collectors/device/boot/marks.h"
#include "collectors/device/boot/restart_summary.h"
#include "collectors/device/boot/source.h"
#include "report/answers/answer_head.h"

namespace jetmem {

struct BootsAnswer {
  static constexpr std::string_view kSchema = "jetmem-boots/1";

  AnswerFrom from;
  // Absent: there is none; absent["boots"] has the reason.
  std::optional<boot::History> history;
  boot::RestartSummary summary;
  std::optional<std::int64_t> seconds_down;
  std::vector<boot::Mark> marks;  // oldest first, with the time as it was known last
  // Of pstore, of any age. Absent: not read.
  std::optional<std::vector<PstoreRecord>> records;
  Absences absent;
};

// `facts` null: pstore was not read.
BootsAnswer boots_answer(AnswerFrom from, Result<boot::History> history, const boot::Marks& marks,
                         const BootFacts* facts);
std::string boots_json(const BootsAnswer& answer);

}  // namespace jetmem
