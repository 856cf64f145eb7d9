// Keeps alerts over a restart of the daemon within one boot: which are active, and since when, at
// each step in which there are any; the past that functions look back at every few minutes and at
// the end. In the runtime directory, which is memory: two small files, or none without systemd.
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
  std::optional<RuleEngine::Saved> load();
  // After each step.
  void keep(const RuleEngine& engine, Nanoseconds now);
  // At the end.
  void finish(const RuleEngine& engine);

  // Files that could not be written or understood since the start.
  std::uint64_t failures() const { return failures_; }

 private:
  void write(const RuleEngine& engine, bool with_past);
  std::optional<RuleEngine::Saved> read(const std::string& path);
  void told_failure(const std::string& message);

  const std::string directory_;
  const std::string boot_id_;
  Log& log_;
  bool had_alerts_ = false;
  Nanoseconds last_past_{0};
  std::uint64_t failures_ = 0;
  bool told_ = false;
};

}  // namespace jetmem
