// Keeps alerts over a restart of the daemon within one boot: which are active, and since when, at
// each step in which there are any; the past that functions look back at every few minutes and at
// the end. In the runtime directory, which is memory: two small files, or none without systemd.
// Alerts are written together with the time, so that of `for` nothing but the downtime is lost.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "health/rules/engine.h"

namespace jetmem {

class AlertKeeper {
 public:
  static constexpr Nanoseconds kPastInterval = std::chrono::minutes(5);

  // `directory` empty: nothing is kept.
  AlertKeeper(std::string directory, std::string boot_id, Log& log);

  // What the daemon before this one left, if it is of this boot and can be understood.
  std::optional<RuleEngine::Saved> load(Nanoseconds now);
  // After each step.
  void keep(const RuleEngine& engine, Nanoseconds now);
  // At the end.
  void finish(const RuleEngine& engine);

  // Files that could not be written or understood since the start.
  std::uint64_t failures() const { return failures_; }

 private:
  struct File {
    const char* name;
    const char* what;
    bool failed = false;  // and that was said
  };
  void write(const RuleEngine& engine, File& file);
  std::optional<RuleEngine::Saved> read(File& file, Nanoseconds now);
  void fail_with(File& file, const std::string& message);

  const std::string directory_;
  const std::string boot_id_;
  Log& log_;
  File alerts_{"alerts.json", "alerts"};
  File past_{"alerts-past.json", "the past that rules look back at"};
  // What another daemon left is replaced in the first step.
  bool had_alerts_ = true;
  std::optional<Nanoseconds> last_past_;
  std::uint64_t failures_ = 0;
};

}  // namespace jetmem
