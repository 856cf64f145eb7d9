// What a restart of the daemon must not forget of its alerts, as JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "health/rules/engine.h"

namespace jetmem {

struct KeptAlerts {
  static constexpr std::size_t kMaxBytes = 1U << 20;

  std::string boot_id;  // times are of its clock
  RuleEngine::Saved saved;
};

// An error when it would be larger than kMaxBytes.
Result<std::string> to_text(const KeptAlerts& kept);
// Refuses a text that is not whole and of this format; what is in it need not be trusted.
Result<KeptAlerts> parse_kept_alerts(std::string_view text);

}  // namespace jetmem
