// What the rules found at a capture: jetmemd's own verdict goes with a bundle, and is answered as
// it was given. One look at what was captured can tell neither what had held for minutes nor what
// the site's own rules say.
#pragma once

#include <string>
#include <vector>

#include "cli/one_shot.h"
#include "config/settings.h"
#include "report/alerts.h"

namespace jetmem {

// Who judged, as AlertsAsked::from says it.
inline constexpr const char* kCapturedAlerts = "jetmem/alerts.json of the capture";

// Below `root`, what jetmemd judged then; else, or where that is damaged (which `notes` says), the
// look judged by the rules that were captured, or by those in force here where none were. An empty
// root is this machine, and judged now.
AlertsAnswer captured_or_judged(const std::string& root, const OneShot& shot,
                                const RulesSettings& settings, std::vector<std::string>& notes);

}  // namespace jetmem
