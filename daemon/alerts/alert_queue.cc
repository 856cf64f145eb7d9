// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/alert_queue.h"

#include <algorithm>
#include <utility>

namespace jetmem {
namespace {

int rank_of(const AlertNotification& notification) {
  return notification.severity == "critical" ? 2 : notification.severity == "warning" ? 1 : 0;
}

bool matters_less(const AlertNotification& a, const AlertNotification& b) {
  const auto key = [](const AlertNotification& notification) {
    return std::pair(rank_of(notification), notification.change == Change::kFiring);
  };
  return key(a) < key(b);
}

}  // namespace

bool is_critical(const AlertNotification& notification) { return rank_of(notification) == 2; }

AlertQueue::Pushed AlertQueue::push(AlertNotification notification) {
  Pushed pushed;
  const auto same =
      std::find_if(pending_.begin(), pending_.end(), [&](const AlertNotification& one) {
        return one.alert == notification.alert && one.labels == notification.labels;
      });
  if (same != pending_.end()) {
    // In its place: one that flaps is not delayed indefinitely.
    *same = std::move(notification);
    pushed.replaced = true;
    return pushed;
  }
  pending_.push_back(std::move(notification));
  if (pending_.size() <= kMost) return pushed;
  // Of those that matter least the oldest.
  const auto least = std::min_element(pending_.begin(), pending_.end(), matters_less);
  pushed.dropped = std::move(*least);
  pending_.erase(least);
  return pushed;
}

std::size_t AlertQueue::index_of_next() const {
  const auto most = std::max_element(pending_.begin(), pending_.end(),
                                     [](const AlertNotification& a, const AlertNotification& b) {
                                       return rank_of(a) < rank_of(b);
                                     });
  return static_cast<std::size_t>(most - pending_.begin());
}

AlertNotification AlertQueue::take_next() {
  const auto at = pending_.begin() + static_cast<std::ptrdiff_t>(index_of_next());
  AlertNotification notification = std::move(*at);
  pending_.erase(at);
  return notification;
}

}  // namespace jetmem
