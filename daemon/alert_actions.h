// What is done when an alert changes, beside telling it: the site's hook and the remedy. All of it
// off until the settings say otherwise, and nothing of it under another root.
#pragma once

#include <systemd/sd-event.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/sample.h"
#include "base/spawn.h"
#include "config/settings.h"
#include "daemon/alert_hook.h"
#include "daemon/compaction.h"
#include "health/rules/engine.h"

namespace jetmem {

class AlertActions {
 public:
  AlertActions(const Clock& clock, Spawner& spawner, Log& log, CompactionOptions options);

  // To be called once. What is told before is done then.
  Result<void> start(sd_event* event);
  void apply(const Settings& settings);
  void tell(const Transition& transition);
  // The rules are others, or were brought back from before a restart: these alerts fire now.
  void begin_with(const RuleEngine& engine);
  // At the end of the daemon.
  void finish();

  void write(SampleWriter& out) const;
  std::uint64_t withheld() const { return hook_.withheld() + compaction_.withheld(); }
  static std::vector<std::span<const Descriptor>> metrics();

 private:
  void tell_hook(const Transition& transition);

  AlertHook hook_;
  Compaction compaction_;
  std::string runbooks_;
};

}  // namespace jetmem
