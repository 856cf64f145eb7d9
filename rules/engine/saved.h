// SPDX-License-Identifier: Apache-2.0
// The state of alerts that must survive a restart of the daemon, as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rules/engine/engine.h"

namespace jetmem {

struct SavedAlerts {
  static constexpr int kFormat = 2;
  static constexpr std::size_t kMaxBytes = 2U << 20;

  std::vector<std::string> sources;  // that gave a reading: now absent, they are blind
  RuleEngine::Saved saved;
};

// An error when it would be larger than kMaxBytes.
Result<std::string> to_text(const SavedAlerts& kept);
// Refuses a truncated text; what is in it need not be trusted.
Result<SavedAlerts> parse_saved_alerts(std::string_view text);

}  // namespace jetmem
