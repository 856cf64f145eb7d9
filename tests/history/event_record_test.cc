// SPDX-License-Identifier: Apache-2.0
#include "history/event_record.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

TEST(EventRecord, EachNameLeadsBack) {
  for (const EventWhat what :
       {EventWhat::kKernel, EventWhat::kAlert, EventWhat::kDaemon, EventWhat::kMark}) {
    EXPECT_EQ(event_what_named(event_what_name(what)), what);
  }
  EXPECT_EQ(event_what_named("x"), std::nullopt);
}

}  // namespace
}  // namespace jetmem
