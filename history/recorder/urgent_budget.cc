// SPDX-License-Identifier: Apache-2.0
#include "history/recorder/urgent_budget.h"

#include <algorithm>

namespace jetmem {

void UrgentBudget::refill(Nanoseconds now) {
  constexpr double kDay = 86'400;
  const double passed = to_seconds(now - refilled_);
  refilled_ = now;
  bytes_ = std::min(kAtOnce, bytes_ + passed * kBytesPerDay / kDay);
  oom_bytes_ = std::min(kOomBytesAtOnce, oom_bytes_ + passed * kOomBytesPerDay / kDay);
  ooms_ = std::min(kOomAtOnce, ooms_ + passed / to_seconds(kOomPause));
}

bool UrgentBudget::may(std::string_view why, Nanoseconds now) {
  refill(now);
  if (why == "oom") return ooms_ >= 1 && (bytes_ > 0 || oom_bytes_ > 0);
  if (pause_ > Nanoseconds(0) && now - last_ < pause_) return false;
  return bytes_ > 0;
}

void UrgentBudget::began(std::string_view why, Nanoseconds now) {
  if (why == "oom") ooms_ -= 1;
  const bool is_quiet = pause_ == Nanoseconds(0) || now - last_ >= kQuiet;
  pause_ = is_quiet ? kFirstPause : std::min(pause_ * 2, kLongestPause);
  last_ = now;
}

void UrgentBudget::wrote(std::string_view why, std::uint64_t bytes) {
  double& from = why == "oom" && bytes_ <= 0 ? oom_bytes_ : bytes_;
  from -= static_cast<double>(bytes);
}

}  // namespace jetmem
