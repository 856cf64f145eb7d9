// The rules judged from one reading, without a daemon. What needs a past is said to, never shown as
// fine.
#pragma once

#include "cli/one_shot.h"
#include "config/rules.h"
#include "config/settings.h"
#include "report/alerts.h"

namespace jetmem {

AlertsAnswer judged_now(const OneShot& shot, ParsedRules rules, const RulesSettings& settings);

}  // namespace jetmem
