#include "daemon/alert_keeper.h"

#include <algorithm>
#include <utility>

#include "base/small_file.h"
#include "health/rules/saved.h"

namespace jetmem {

AlertKeeper::AlertKeeper(std::string directory, std::string boot_id, Log& log)
    : directory_(std::move(directory)), boot_id_(std::move(boot_id)), log_(log) {}

void AlertKeeper::fail_with(File& file, const std::string& message) {
  ++failures_;
  if (std::exchange(file.failed, true)) return;
  log_.warning(std::string(file.what) + " cannot be kept over a restart: " + message);
}

std::optional<RuleEngine::Saved> AlertKeeper::read(File& file, Nanoseconds now) {
  const std::string path = directory_ + "/" + file.name;
  const auto text = read_small_file(path, KeptAlerts::kMaxBytes);
  if (!text) {
    if (text.error().code != Errc::kAbsent) fail_with(file, text.error().message);
    return std::nullopt;
  }
  auto kept = parse_kept_alerts(*text);
  if (!kept) {
    fail_with(file, path + ": " + kept.error().message);
    return std::nullopt;
  }
  if (kept->boot_id != boot_id_) return std::nullopt;
  if (kept->saved.last_step > now) {
    fail_with(file, path + ": its time is yet to come");
    return std::nullopt;
  }
  return std::move(kept->saved);
}

std::optional<RuleEngine::Saved> AlertKeeper::load(Nanoseconds now) {
  if (directory_.empty() || boot_id_.empty()) return std::nullopt;
  auto alerts = read(alerts_, now);
  auto past = read(past_, now);
  if (!alerts) return past;
  if (past) {
    alerts->series = std::move(past->series);
    alerts->last_step = std::max(alerts->last_step, past->last_step);
  }
  return alerts;
}

void AlertKeeper::write(const RuleEngine& engine, File& file) {
  const bool with_past = &file == &past_;
  KeptAlerts kept{boot_id_, engine.save(with_past)};
  if (with_past) kept.saved.alerts.clear();
  const auto text = to_text(kept);
  if (!text) return fail_with(file, text.error().message);
  if (const auto ok = replace_small_file(directory_ + "/" + file.name, *text); !ok) {
    return fail_with(file, ok.error().message);
  }
  if (std::exchange(file.failed, false)) {
    log_.info(std::string(file.what) + " can be kept over a restart again");
  }
}

void AlertKeeper::keep(const RuleEngine& engine, Nanoseconds now) {
  if (directory_.empty() || boot_id_.empty()) return;
  bool has_alerts = false;
  for (std::size_t i = 0; i < engine.rules().rules.size(); ++i) {
    const RuleEngine::Judged& judged = engine.judged(i);
    has_alerts |= !judged.instances.empty() || !judged.unknown.empty();
  }
  // Once more when the last one has ended.
  if (has_alerts || had_alerts_) write(engine, alerts_);
  had_alerts_ = has_alerts;
  if (last_past_ && now - *last_past_ < kPastInterval) return;
  last_past_ = now;
  write(engine, past_);
}

void AlertKeeper::finish(const RuleEngine& engine) {
  if (directory_.empty() || boot_id_.empty() || engine.steps() == 0) return;
  write(engine, alerts_);
  write(engine, past_);
}

}  // namespace jetmem
