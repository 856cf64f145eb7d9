#include "daemon/alert_keeper.h"

#include <algorithm>
#include <utility>

#include "base/small_file.h"

namespace jetmem {
namespace {

// Another one when any alert is another, its value aside.
std::uint64_t digest_of(const RuleEngine& engine, std::size_t sources) {
  std::uint64_t digest = 0xcbf2'9ce4'8422'2325;
  const auto add = [&](std::uint64_t number) { digest = (digest ^ number) * 0x100'0000'01b3; };
  add(sources);
  for (std::size_t r = 0; r < engine.rules().rules.size(); ++r) {
    for (const RuleEngine::Instance& instance : engine.judged(r).instances) {
      add(r + 1);
      add(instance.identity);
      add(static_cast<std::uint64_t>(instance.state));
      add(static_cast<std::uint64_t>(instance.firing_since.count()));
      add(static_cast<std::uint64_t>(instance.ended.value_or(Nanoseconds(-1)).count()));
    }
    add(engine.judged(r).unknown.size());
  }
  return digest;
}

}  // namespace

AlertKeeper::AlertKeeper(std::string directory, std::string boot_id, Log& log)
    : directory_(std::move(directory)), boot_id_(std::move(boot_id)), log_(log) {}

void AlertKeeper::fail_with(File& file, const std::string& message) {
  ++failures_;
  if (std::exchange(file.failed, true)) return;
  log_.warning(std::string(file.what) + " cannot be kept over a restart: " + message);
}

std::optional<KeptAlerts> AlertKeeper::read(File& file, Nanoseconds now) {
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
  return std::move(*kept);
}

std::optional<KeptAlerts> AlertKeeper::load(Nanoseconds now) {
  if (!is_on()) return std::nullopt;
  auto alerts = read(alerts_, now);
  auto past = read(past_, now);
  if (!alerts) return past;
  if (past) {
    // Had an alert changed between the two, both would be of then.
    alerts->saved.last_step = std::max(alerts->saved.last_step, past->saved.last_step);
    alerts->saved.resumed = alerts->saved.last_step;
    alerts->saved.times = std::move(past->saved.times);
    alerts->saved.series = std::move(past->saved.series);
  }
  return alerts;
}

void AlertKeeper::write(File& file, const KeptAlerts& kept, const RuleEngine* past) {
  const auto written = write_kept_alerts(kept, past, text_);
  if (past != nullptr) past_bytes_ = text_.size();
  if (!written) return fail_with(file, written.error().message);
  if (const auto ok = replace_small_file(directory_ + "/" + file.name, text_); !ok) {
    return fail_with(file, ok.error().message);
  }
  if (std::exchange(file.failed, false)) {
    log_.info(std::string(file.what) + " can be kept over a restart again");
  }
}

void AlertKeeper::write_alerts(const RuleEngine& engine, const std::vector<std::string>& sources) {
  write(alerts_, {boot_id_, sources, engine.save(false)}, nullptr);
}

void AlertKeeper::write_past(const RuleEngine& engine) {
  const auto [series, values] = engine.past_size();
  // No value takes less than two bytes; how much they take here, the last file told.
  const std::size_t expected =
      std::max(values * 2, past_values_ == 0 ? 0 : values * past_bytes_ / past_values_);
  if (expected > KeptAlerts::kMaxBytes) {
    return fail_with(past_, std::to_string(values) + " values of " + std::to_string(series) +
                                " series take more than 2 MiB");
  }
  KeptAlerts head;
  head.boot_id = boot_id_;
  head.saved.last_step = engine.last_step();
  past_values_ = values;
  write(past_, head, &engine);
}

void AlertKeeper::keep(const RuleEngine& engine, const std::vector<std::string>& sources,
                       Nanoseconds now) {
  if (!is_on()) return;
  bool has_alerts = false;
  bool has_pending = false;
  for (std::size_t i = 0; i < engine.rules().rules.size(); ++i) {
    const RuleEngine::Judged& judged = engine.judged(i);
    has_alerts |= !judged.instances.empty() || !judged.unknown.empty();
    for (const RuleEngine::Instance& instance : judged.instances) {
      has_pending |= instance.state == AlertState::kPending;
    }
  }
  // Once more when the last one has ended.
  if (has_alerts || had_alerts_) {
    const std::uint64_t digest = digest_of(engine, sources.size());
    // Of one that is pending, each step counts.
    if (written_ != digest || has_pending || !engine.transitions().empty() || alerts_.failed ||
        now - last_alerts_ >= kAlertsInterval) {
      written_ = digest;
      last_alerts_ = now;
      write_alerts(engine, sources);
    }
  }
  had_alerts_ = has_alerts;
  if (last_past_ && now - *last_past_ < kPastInterval) return;
  last_past_ = now;
  write_past(engine);
}

void AlertKeeper::finish(const RuleEngine& engine, const std::vector<std::string>& sources) {
  if (!is_on()) return;
  write_alerts(engine, sources);
  write_past(engine);
}

}  // namespace jetmem
