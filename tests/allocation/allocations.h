// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "tests/bench/count_malloc.h"

namespace jetmem {

// How often `act` asks the heap for memory.
template <class Act>
unsigned long allocations_in(const Act& act) {
  const unsigned long before = allocations_of_this_thread();
  act();
  return allocations_of_this_thread() - before;
}

}  // namespace jetmem
