// How much of its time the history's desk may spend on questions whose cost is the asker's to
// choose: a quarter of it on the long run, and up to `most` at once, which the last question of
// them may exceed. Who asks on is told to wait, so that the device stays what it is.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace jetmem {

class Budget {
 public:
  explicit Budget(Nanoseconds most) : most_(most), left_(most) {}

  bool may_spend(Nanoseconds now) {
    if (now > last_) left_ = std::min(most_, left_ + (now - last_) / 4);
    last_ = now;
    return left_ > Nanoseconds(0);
  }
  void spent(Nanoseconds time) { left_ -= time; }

 private:
  Nanoseconds most_;
  Nanoseconds left_;
  Nanoseconds last_{0};
};

}  // namespace jetmem
