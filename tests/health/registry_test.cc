// SPDX-License-Identifier: Apache-2.0
#include "health/registry.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

TEST(Registry, InfosAreThoseOfTheDerivedMetrics) {
  const auto made = make_derived_metrics();
  ASSERT_EQ(derived_infos().size(), made.size());
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(derived_infos()[i], &made[i]->info());
}

}  // namespace
}  // namespace jetmem
