// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/kinds.h"

#include <gtest/gtest.h>

#include <set>

namespace jetmem::kernel_log {
namespace {

TEST(Kinds, NamesAndMessageIdsAreUniqueAndWellFormed) {
  std::set<std::string_view> names;
  std::set<std::string_view> ids;
  for (const KindInfo& info : all_kinds()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(ids.insert(info.message_id).second) << info.name;
    EXPECT_EQ(info.message_id.size(), 32U) << info.name;
    EXPECT_EQ(info.message_id.find_first_not_of("0123456789abcdef"), std::string_view::npos);
    EXPECT_FALSE(info.meaning.empty()) << info.name;
    EXPECT_FALSE(info.remedy.empty()) << info.name;
    EXPECT_EQ(kind_named(info.name), info.kind);
    EXPECT_EQ(&info_of(info.kind), &info);
  }
  EXPECT_EQ(names.size() + 1, kKindCount);
  EXPECT_EQ(kind_named("none"), std::nullopt);
}

}  // namespace
}  // namespace jetmem::kernel_log
