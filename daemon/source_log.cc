#include "daemon/source_log.h"

#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace jetmem {
namespace {

LogLevel level_of(const SourceStatus& status) {
  if (status.stale || status.state == SourceState::kFailed) return LogLevel::kWarning;
  if (status.state == SourceState::kDenied) return LogLevel::kWarning;
  return LogLevel::kInfo;
}

std::string describe(const SourceInfo& info, const SourceStatus& status) {
  std::string text = "source " + std::string(info.name) + ": ";
  if (status.stale) {
    text += "stale: no good reading for three intervals of " + format_duration(status.interval) +
            "; its series are dropped";
    if (!status.reason.empty()) text += " (" + status.reason + ")";
    return text;
  }
  if (!status.skipped.empty() && status.state != SourceState::kDisabled) {
    return text + "skipped: " + status.skipped;
  }
  if (status.state == SourceState::kPending) return text + "no longer skipped";
  text += state_name(status.state);
  if (!status.reason.empty()) text += ": " + status.reason;
  if (status.state == SourceState::kDenied && !info.grant.empty()) {
    text += "; to have it: " + std::string(info.grant);
  }
  return text;
}

LogEntry make_entry(const SourceInfo& info, const SourceStatus& status, LogLevel level) {
  LogEntry entry;
  entry.level = level;
  entry.message = printable(describe(info, status), 1000);
  entry.fields = {{"JETMEM_SOURCE", std::string(info.name)},
                  {"JETMEM_SOURCE_STATE", std::string(state_name(status.state))}};
  if (status.state != SourceState::kOk && status.state != SourceState::kPending) {
    entry.fields.emplace_back("JETMEM_REASON", std::string(errc_name(status.error)));
  }
  return entry;
}

}  // namespace

void SourceLog::changed(const SourceInfo& info, const SourceStatus& status) {
  Budget& budget = budgets_[info.name];
  catch_up();
  const Nanoseconds now = clock_.boot();
  if (budget.used == 0 || now - budget.window_begin >= kWindow) {
    budget.window_begin = now;
    budget.used = 0;
  }
  // That a source works at start is no news; that it works again is.
  const bool first = !std::exchange(budget.seen, true);
  const bool no_news = first && status.state == SourceState::kOk;
  LogEntry entry = make_entry(info, status, no_news ? LogLevel::kDebug : level_of(status));
  if (budget.used >= kMaxChanges) {
    ++budget.withheld;
    ++withheld_;
    budget.last = std::move(entry);
    return;
  }
  if (++budget.used == kMaxChanges) {
    entry.message += "; it changes too often: what comes within ten minutes is told at their end";
  }
  log_.write(std::move(entry));
}

void SourceLog::catch_up() {
  const Nanoseconds now = clock_.boot();
  for (auto& [name, budget] : budgets_) {
    if (budget.withheld == 0 || now - budget.window_begin < kWindow) continue;
    budget.last.message +=
        " (the last of " + std::to_string(budget.withheld) + " changes that were not told)";
    log_.write(std::move(budget.last));
    budget.last = {};
    budget.withheld = 0;
    budget.window_begin = now;
    budget.used = 1;
  }
}

}  // namespace jetmem
