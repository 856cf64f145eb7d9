#include "daemon/alert_queue.h"

#include <algorithm>
#include <utility>

namespace jetmem {
namespace {

int rank_of(const AlertNews& news) {
  return news.severity == "critical" ? 2 : news.severity == "warning" ? 1 : 0;
}

bool matters_less(const AlertNews& a, const AlertNews& b) {
  const auto key = [](const AlertNews& news) {
    return std::pair(rank_of(news), news.change == Change::kFiring);
  };
  return key(a) < key(b);
}

}  // namespace

bool is_critical(const AlertNews& news) { return rank_of(news) == 2; }

AlertQueue::Pushed AlertQueue::push(AlertNews news) {
  Pushed pushed;
  const auto same = std::find_if(news_.begin(), news_.end(), [&](const AlertNews& one) {
    return one.alert == news.alert && one.labels == news.labels;
  });
  if (same != news_.end()) {
    // In its place: one that flaps is not put off for ever.
    *same = std::move(news);
    pushed.replaced = true;
    return pushed;
  }
  news_.push_back(std::move(news));
  if (news_.size() <= kMost) return pushed;
  // Of those that matter least the oldest.
  const auto least = std::min_element(news_.begin(), news_.end(), matters_less);
  pushed.dropped = std::move(*least);
  news_.erase(least);
  return pushed;
}

std::size_t AlertQueue::index_of_next() const {
  const auto most = std::max_element(
      news_.begin(), news_.end(),
      [](const AlertNews& a, const AlertNews& b) { return rank_of(a) < rank_of(b); });
  return static_cast<std::size_t>(most - news_.begin());
}

AlertNews AlertQueue::take_next() {
  const auto at = news_.begin() + static_cast<std::ptrdiff_t>(index_of_next());
  AlertNews news = std::move(*at);
  news_.erase(at);
  return news;
}

}  // namespace jetmem
