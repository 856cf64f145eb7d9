// SPDX-License-Identifier: Apache-2.0
#include "report/events/event_kind_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/kernel_log/event/kinds.h"
#include "history/event_record.h"
#include "rules/engine/transition.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(EventKindNames, WhatIsRecordedIsKnown) {
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    EXPECT_TRUE(check_event_kind(info.name)) << info.name;
  }
  for (const std::string_view kind : kDaemonEventKinds) EXPECT_TRUE(check_event_kind(kind)) << kind;
  EXPECT_TRUE(check_event_kind(kMarkEventKind));
  for (const Change change : kAllChanges) EXPECT_TRUE(check_event_kind(change_name(change)));
}

TEST(EventKindNames, OthersAreRefusedWithTheNearest) {
  const auto near = check_event_kind("oomkill");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().code, Errc::kInvalid);
  EXPECT_THAT(near.error().message, HasSubstr("did you mean 'oom_kill'?"));
  EXPECT_THAT(check_event_kind("fireing").error().message, HasSubstr("did you mean 'firing'?"));
  for (const std::string& far : {std::string("wholly-different-thing"), std::string(5000, 'x'),
                                 std::string(), std::string("\x1b[31m")}) {
    const auto refused = check_event_kind(far);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, Not(HasSubstr("\x1b")));
    EXPECT_LT(refused.error().message.size(), 300U);
  }
}

}  // namespace
}  // namespace jetmem
