// SPDX-License-Identifier: Apache-2.0
// A body that is dear to make, and what it was made of.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"

namespace jetmem {

struct CachedBody {
  std::shared_ptr<const std::string> text;
  std::array<std::uint64_t, 4> components{};
  Nanoseconds made{0};
  Nanoseconds cost{0};
};

}  // namespace jetmem
