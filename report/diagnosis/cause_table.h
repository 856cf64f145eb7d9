// SPDX-License-Identifier: Apache-2.0
// causes/*.yaml and known_issues.yaml, as generate.py writes them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/diagnosis/cause.h"

namespace jetmem::diagnosis {

using Condition = bool (*)(const Case& it);
using Names = std::span<const std::string_view>;

struct FieldTest {
  enum class What : std::uint8_t { kIs, kHas, kBegins, kPresent, kAbsent };
  Names fields;  // one of them
  What what = What::kIs;
  Names values{};  // one of them; of kHas and kBegins in lower case
};

struct CauseEntry {
  std::string_view id;
  Harm harm = Harm::kWarning;
  // Kinds and ids of messages; none: of any event.
  Names of{};
  std::span<const FieldTest> when{};
  std::span<const Condition> conditions{};
  std::span<const Condition> exceptions{};
  Names log{};        // one of these kinds is in the log
  Names log_lacks{};  // and none of these
  Names backtrace{};  // one of these modules is in a backtrace
  // {name} stands for a value (values.cc), {?...} for a part that is omitted where a value in it is
  // not known.
  std::string_view cause{};
  std::string_view remedy{};
  std::string_view runbook{};
  bool follows = false;
};

struct KnownIssue {
  CauseEntry entry;
  Names l4t{};       // "36.4.7", "36.4.x"
  Names kernel{};    // beginnings: "6.18."
  Names board{};     // parts of the board's name
  Names programs{};  // parts of the name of the program, driver or device
  bool by_release = false;
  bool swap_free = false;
  Names links{};
};

std::span<const CauseEntry> shipped_causes();
std::span<const KnownIssue> shipped_known_issues();

bool applies(const CauseEntry& entry, const Case& it);
// The first that applies, or null.
const CauseEntry* choose(const Case& it);
// The words of a cause for this event.
std::string fill(std::string_view text, const Case& it);

}  // namespace jetmem::diagnosis
