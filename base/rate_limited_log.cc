// SPDX-License-Identifier: Apache-2.0
#include "base/rate_limited_log.h"

#include <algorithm>
#include <utility>

namespace jetmem {
namespace {

void add_count(LogEntry& entry, std::string_view before, std::uint64_t count,
               std::string_view after) {
  entry.message.append(before).append(std::to_string(count)).append(after);
  entry.fields.emplace_back("JETMEM_SUPPRESSED", std::to_string(count));
}

}  // namespace

RateLimitedLog::Stream& RateLimitedLog::stream_of(std::string_view key, Nanoseconds now) {
  for (Stream& stream : streams_) {
    if (stream.key == key) return stream;
  }
  Stream fresh{std::string(key), LogWindow(options_.window), now, 0, {}, {}};
  if (streams_.size() < options_.max_keys) return streams_.emplace_back(std::move(fresh));
  const auto age = [](const Stream& s) { return std::pair(s.suppressed > 0, s.last_at); };
  Stream& oldest =
      *std::min_element(streams_.begin(), streams_.end(),
                        [&](const Stream& a, const Stream& b) { return age(a) < age(b); });
  if (oldest.suppressed > 0 && options_.writes_last &&
      all_.has_room(now, oldest.last_limits.in_all)) {
    all_.count(now);
    write_last(oldest);
  }
  lost_ += oldest.suppressed;
  oldest = std::move(fresh);
  return oldest;
}

void RateLimitedLog::write(Nanoseconds now, LogEntry entry, Limits limits, std::string_view key) {
  Stream& stream = stream_of(key, now);
  stream.last_at = now;
  if (!stream.window.has_room(now, limits.per_key) || !all_.has_room(now, limits.in_all)) {
    ++stream.suppressed;
    ++suppressed_;
    if (!options_.writes_last) return;
    stream.last = std::move(entry);
    stream.last_limits = limits;
    return;
  }
  stream.window.count(now);
  all_.count(now);
  if (stream.suppressed > 0) {
    add_count(entry, " (", std::exchange(stream.suppressed, 0), " entries before it suppressed)");
  }
  if (options_.announces && stream.window.used() == limits.per_key) {
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(options_.window).count();
    entry.message += "; further entries are suppressed for " + std::to_string(minutes) + " min";
  }
  sink_(std::move(entry));
}

void RateLimitedLog::write_last(Stream& stream) {
  add_count(stream.last, " (the last of ", std::exchange(stream.suppressed, 0),
            " suppressed entries)");
  sink_(std::exchange(stream.last, {}));
}

void RateLimitedLog::flush_due(Nanoseconds now) {
  if (!options_.writes_last) return;
  if (lost_ > 0 && all_.is_over(now)) {
    all_.count(now);
    log_lost();
  }
  for (Stream& stream : streams_) {
    if (stream.suppressed == 0 || !stream.window.is_over(now)) continue;
    if (!all_.has_room(now, stream.last_limits.in_all)) continue;
    stream.window.count(now);
    all_.count(now);
    write_last(stream);
  }
}

void RateLimitedLog::flush_all() {
  for (Stream& stream : streams_) {
    if (stream.suppressed > 0 && options_.writes_last) write_last(stream);
  }
  streams_.clear();
  if (lost_ > 0) log_lost();
}

void RateLimitedLog::log_lost() {
  LogEntry entry;
  entry.level = LogLevel::kWarning;
  entry.always = true;
  add_count(entry, "", std::exchange(lost_, 0), " entries suppressed: too many different ones");
  sink_(std::move(entry));
}

}  // namespace jetmem
