// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/model.h"

#include <algorithm>
#include <utility>

namespace jetmem::watch {

std::optional<double> value_of(const StatusAnswer& status, Quantity quantity) {
  if (quantity == Quantity::kAvailable) return status.available_bytes;
  // Of all areas or of none: a part of them would pass for all.
  const auto* part = status.budget.part("cma");
  return part != nullptr ? part->bytes : std::nullopt;
}

void Model::checked(Result<Look> look, double at, double elapsed, double interval) {
  ++looks_;
  elapsed_ = elapsed;
  if (look) {
    // Points of one are no past of the other.
    if (look->as_of != as_of_ && (look->as_of || as_of_)) past_ = {};
    now_ = std::move(look->now);
    as_of_ = look->as_of;
    if (look->recorded) recorded_ = look->recorded;
    status_ = status_answer(*now_);
    at_ = at;
    error_.clear();
    if (look->past) {
      past_ = std::move(*look->past);
      past_seconds_ = look->past_seconds;
      for (Past& past : past_) {
        for (Point& point : past) point.at += at;
      }
    }
  } else {
    error_ = std::move(look.error().message);
  }
  // What was recorded is in the past that came with it.
  if (as_of_) return;
  for (std::size_t i = 0; i < past_.size(); ++i) {
    Point point{at, 2.5 * std::max(interval, elapsed), std::nullopt};
    if (error_.empty()) point.value = value_of(status_, static_cast<Quantity>(i));
    past_[i].push_back(point);
    if (past_[i].size() > kPast) past_[i].pop_front();
  }
}

double next_snapshot(const Model& model, double interval) {
  double out = std::max(interval, 3 * model.elapsed());
  if (model.now() != nullptr && model.now()->by == SnapshotOrigin::kCommand) {
    out = std::max(out, kMinSnapshotInterval);
  }
  return out;
}

}  // namespace jetmem::watch
