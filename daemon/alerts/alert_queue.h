// SPDX-License-Identifier: Apache-2.0
// Alerts that wait for a slow program: the most severe goes first. Where there are too many, the
// least severe is dropped, one that no longer fires before one that does.
#pragma once

#include <array>
#include <deque>
#include <optional>

#include "base/clock.h"
#include "daemon/alerts/alert_notification.h"

namespace jetmem {

class AlertQueue {
 public:
  static constexpr std::size_t kMost = 16;

  struct Pushed {
    bool replaced = false;                     // the same alert waited with an older change
    std::optional<AlertNotification> dropped;  // there was no room for it; it may be the new one
  };
  Pushed push(AlertNotification notification);
  bool empty() const { return pending_.empty(); }
  std::size_t size() const { return pending_.size(); }
  // The most severe, of them the oldest. Not of an empty one.
  const AlertNotification& next() const { return pending_[index_of_next()]; }
  AlertNotification take_next();
  const std::deque<AlertNotification>& all() const { return pending_; }
  void clear() { pending_.clear(); }

 private:
  std::size_t index_of_next() const;
  std::deque<AlertNotification> pending_;  // the oldest in front
};

bool is_critical(const AlertNotification& notification);

// So many within a window, wherever it begins.
template <std::size_t kMost>
class Turns {
 public:
  // Zero or less: now.
  Nanoseconds wait(Nanoseconds now, Nanoseconds window) const {
    return count_ < kMost ? Nanoseconds(0) : taken_[count_ % kMost] + window - now;
  }
  void take(Nanoseconds now) { taken_[count_++ % kMost] = now; }

 private:
  std::array<Nanoseconds, kMost> taken_{};  // when: a ring
  std::uint64_t count_ = 0;
};

}  // namespace jetmem
