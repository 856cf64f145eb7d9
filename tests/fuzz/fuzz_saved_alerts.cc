// SPDX-License-Identifier: Apache-2.0
#include "rules/engine/saved.h"
#include "rules/model/rules.h"
#include "tests/fuzz/target.h"

namespace {

constexpr std::string_view kGood =
    R"({"last_step":1000000000007,"sources":["throttle"],"alerts":[)"
    R"({"rule":"JetmemThrottling","labels":{"area":"linux,cma"},"severity":"warning",)"
    R"("unknown":false,"state":"firing",)"
    R"("active_since":999000000001,"firing_since":999500000002,"ended":null,"value":0.1},)"
    R"({"rule":"JetmemThrottling","labels":{},"severity":"warning","unknown":true,)"
    R"("state":"pending","active_since":0,"firing_since":0,"ended":3,"value":"NaN"}],)"
    R"("times":[100,15100,30100,45100],"series":[)"
    R"({"metric":"jetmem_throttling","labels":{},"values":[0,null,false,"+Inf"]}]}
)";

}  // namespace

// What is understood is written so that it is understood again as the same, and an engine may be
// given it, whatever is in it.
FUZZ(input) {
  static const RuleSet rules = parse_rules(shipped_rules()).rules;
  const auto kept = parse_saved_alerts(damaged(kGood, input));
  if (!kept) return;
  const auto text = to_text(*kept);
  if (!text) return;  // longer than it was
  const auto again = parse_saved_alerts(*text);
  check(again && *to_text(*again) == *text);
  RuleEngine engine(rules, {});
  const Nanoseconds now = kept->saved.last_step + std::chrono::seconds(1);
  engine.restore(kept->saved, now);
  engine.begin(now);
  engine.evaluate();
}
