// SPDX-License-Identifier: Apache-2.0
// Keeps alerts over a restart of the daemon within one boot: which are active, and since when, at
// each step while there are any; the past that functions look back at every few minutes and at the
// end. In the runtime directory, which is memory: two files, or none without systemd. Alerts are
// written together with the time, so that of `for` nothing but the downtime is lost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/root/state_file.h"
#include "metrics/sample.h"
#include "rules/engine/engine.h"
#include "rules/engine/saved.h"

namespace jetmem {

class AlertStateStore {
 public:
  static constexpr Nanoseconds kPastInterval = std::chrono::minutes(5);

  // `directory` empty: nothing is kept.
  AlertStateStore(const std::string& directory, const std::string& boot_id, Log& log);

  // What the daemon before this one left, if it is of this boot and can be understood.
  std::optional<SavedAlerts> load(Nanoseconds now);
  // After each step; `sources` gave a reading at some time in this boot.
  void keep(const RuleEngine& engine, const std::vector<std::string>& sources, Nanoseconds now);
  // At the end, after at least one step.
  void finish(const RuleEngine& engine, const std::vector<std::string>& sources);

  // The failures of its files.
  void write(SampleWriter& out) const;

 private:
  bool is_enabled() const { return alerts_.is_enabled(); }
  void write_alerts(const RuleEngine& engine, const std::vector<std::string>& sources);
  void write_past(const RuleEngine& engine);
  void store(StateFile& file, const SavedAlerts& kept);
  std::optional<SavedAlerts> read(StateFile& file, Nanoseconds now);

  StateFile alerts_;
  StateFile past_;
  // What another daemon left is replaced in the first step.
  bool file_has_alerts_ = true;
  std::optional<Nanoseconds> last_past_;
};

}  // namespace jetmem
