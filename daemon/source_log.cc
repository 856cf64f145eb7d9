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
  text += state_name(status.state);
  if (!status.reason.empty()) text += ": " + status.reason;
  if (status.state == SourceState::kDenied && !info.grant.empty()) {
    text += "; to have it: " + std::string(info.grant);
  }
  return text;
}

}  // namespace

void SourceLog::changed(const SourceInfo& info, const SourceStatus& status) {
  Budget& budget = budgets_[info.name];
  const Nanoseconds now = clock_.boot();
  std::string text = describe(info, status);
  if (budget.used == 0 || now - budget.window_begin >= kWindow) {
    if (budget.withheld > 0) {
      text += " (" + std::to_string(budget.withheld) + " changes before this were not logged)";
    }
    budget.window_begin = now;
    budget.used = 0;
    budget.withheld = 0;
  }
  if (budget.used >= kMaxChanges) {
    ++budget.withheld;
    return;
  }
  if (++budget.used == kMaxChanges) {
    text += "; it changes too often, further changes within ten minutes are only counted";
  }
  // That a source works at start is no news; that it works again is.
  const bool first = !std::exchange(budget.seen, true);
  LogEntry entry;
  entry.level = first && status.state == SourceState::kOk ? LogLevel::kDebug : level_of(status);
  entry.message = printable(text, 1000);
  entry.fields = {{"JETMEM_SOURCE", std::string(info.name)},
                  {"JETMEM_SOURCE_STATE", std::string(state_name(status.state))}};
  if (status.state != SourceState::kOk && status.state != SourceState::kPending) {
    entry.fields.emplace_back("JETMEM_REASON", std::string(errc_name(status.error)));
  }
  log_.write(std::move(entry));
}

}  // namespace jetmem
