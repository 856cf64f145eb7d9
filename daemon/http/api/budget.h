// SPDX-License-Identifier: Apache-2.0
// Limits the time that the history worker spends on queries whose cost the client chooses: a
// quarter in the long run, and up to `most` at once, which the last query may exceed. Further
// clients have to wait, so that queries do not load the device.
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
