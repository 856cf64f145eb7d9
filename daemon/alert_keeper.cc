#include "daemon/alert_keeper.h"

#include <utility>

#include "base/small_file.h"
#include "health/rules/saved.h"

namespace jetmem {

AlertKeeper::AlertKeeper(std::string directory, std::string boot_id, Log& log)
    : directory_(std::move(directory)), boot_id_(std::move(boot_id)), log_(log) {}

void AlertKeeper::told_failure(const std::string& message) {
  ++failures_;
  if (std::exchange(told_, true)) return;
  log_.warning("alerts cannot be kept over a restart: " + message);
}

std::optional<RuleEngine::Saved> AlertKeeper::read(const std::string& path) {
  const auto text = read_small_file(path, KeptAlerts::kMaxBytes);
  if (!text) {
    if (text.error().code != Errc::kAbsent) told_failure(text.error().message);
    return std::nullopt;
  }
  auto kept = parse_kept_alerts(*text);
  if (!kept) {
    told_failure(path + " " + kept.error().message);
    return std::nullopt;
  }
  if (kept->boot_id != boot_id_) return std::nullopt;
  return std::move(kept->saved);
}

std::optional<RuleEngine::Saved> AlertKeeper::load() {
  if (directory_.empty() || boot_id_.empty()) return std::nullopt;
  auto alerts = read(directory_ + "/alerts.json");
  auto past = read(directory_ + "/alerts-past.json");
  if (!alerts) return past;
  if (past) {
    alerts->series = std::move(past->series);
    alerts->last_step = std::max(alerts->last_step, past->last_step);
  }
  return alerts;
}

void AlertKeeper::write(const RuleEngine& engine, bool with_past) {
  KeptAlerts kept{boot_id_, engine.save(with_past)};
  if (with_past) kept.saved.alerts.clear();
  const std::string text = to_text(kept);
  if (text.size() > KeptAlerts::kMaxBytes) {
    return told_failure("the past of the series takes more than 1 MiB");
  }
  const auto ok =
      replace_small_file(directory_ + (with_past ? "/alerts-past.json" : "/alerts.json"), text);
  if (!ok) {
    told_failure(ok.error().message);
  } else {
    told_ = false;
  }
}

void AlertKeeper::keep(const RuleEngine& engine, Nanoseconds now) {
  if (directory_.empty() || boot_id_.empty()) return;
  bool has_alerts = false;
  for (std::size_t i = 0; i < engine.rules().rules.size(); ++i) {
    has_alerts |= !engine.judged(i).instances.empty();
  }
  // Once more when the last one has ended.
  if (has_alerts || had_alerts_) write(engine, false);
  had_alerts_ = has_alerts;
  if (now - last_past_ < kPastInterval) return;
  last_past_ = now;
  write(engine, true);
}

void AlertKeeper::finish(const RuleEngine& engine) {
  if (directory_.empty() || boot_id_.empty() || engine.steps() == 0) return;
  write(engine, false);
  write(engine, true);
}

}  // namespace jetmem
