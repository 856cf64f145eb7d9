// Alerts that wait to be told to somebody slow: the most severe goes first, and where there are too
// many the least severe is left out, one that no longer fires before one that does.
#pragma once

#include <array>
#include <deque>
#include <optional>

#include "base/clock.h"
#include "daemon/alert_news.h"

namespace jetmem {

class AlertQueue {
 public:
  static constexpr std::size_t kMost = 16;

  struct Pushed {
    bool replaced = false;             // the same alert waited with an older change
    std::optional<AlertNews> dropped;  // there was no room for it; it may be the new one
  };
  Pushed push(AlertNews news);
  bool empty() const { return news_.empty(); }
  std::size_t size() const { return news_.size(); }
  // The most severe, of them the oldest. Not of an empty one.
  const AlertNews& next() const { return news_[index_of_next()]; }
  AlertNews take_next();
  const std::deque<AlertNews>& all() const { return news_; }
  void clear() { news_.clear(); }

 private:
  std::size_t index_of_next() const;
  std::deque<AlertNews> news_;  // the oldest in front
};

bool is_critical(const AlertNews& news);

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
