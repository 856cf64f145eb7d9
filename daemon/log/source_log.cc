// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/source_log.h"

#include "base/text/text.h"
#include "base/text/units.h"

namespace jetmem {
namespace {

LogLevel source_level(const SourceStatus& status) {
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
  // That a source works at start is no news; that it works again is.
  const bool first = seen_.insert(info.name).second;
  const bool no_update = first && status.state == SourceState::kOk;
  log_.write(clock_.boot(),
             make_entry(info, status, no_update ? LogLevel::kDebug : source_level(status)), {},
             info.name);
}

}  // namespace jetmem
