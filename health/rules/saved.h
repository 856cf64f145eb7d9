// What a restart of the daemon must not forget of its alerts, as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "health/rules/engine.h"

namespace jetmem {

struct KeptAlerts {
  static constexpr std::size_t kMaxBytes = 2U << 20;

  std::string boot_id;               // times are of its clock
  std::vector<std::string> sources;  // that gave a reading: now absent, they are blind
  RuleEngine::Saved saved;
};

// An error when it would be larger than kMaxBytes.
Result<std::string> to_text(const KeptAlerts& kept);
// The same into `out`, whose memory is used again; what is in it when it fails is of no use. With
// `past`, its past in place of kept's, without a copy of it all.
Result<void> write_kept_alerts(const KeptAlerts& kept, const RuleEngine* past, std::string& out);
// Refuses a text that is not whole and of this format; what is in it need not be trusted.
Result<KeptAlerts> parse_kept_alerts(std::string_view text);

}  // namespace jetmem
