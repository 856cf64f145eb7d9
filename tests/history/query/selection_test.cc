// SPDX-License-Identifier: Apache-2.0
#include "history/query/selection.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

SampleTable::Slot slot(std::string family, std::string labels = {}) {
  SampleTable::Slot out;
  out.key = family + labels;
  out.family = std::move(family);
  return out;
}

const Selection kDefault;

TEST(Selection, KeepsWhatIsWorthKeepingAndNotTheRest) {
  EXPECT_TRUE(kDefault.wants("jetmem_meminfo_MemAvailable_bytes"));
  EXPECT_TRUE(kDefault.wants("jetmem_buddy_free_blocks"));
  EXPECT_TRUE(kDefault.wants("jetmem_cma_alloc_pages_fail_total"));
  EXPECT_FALSE(kDefault.wants("jetmem_meminfo_HugePages_Total"));
  EXPECT_FALSE(kDefault.wants("jetmem_buddy_free_bytes"));
  EXPECT_FALSE(kDefault.wants("jetmem_meminfo_MemAvailable_bytes_and_more"));
}

TEST(Selection, GoesByLabelsWhereAPatternHasThem) {
  const auto ratio = [](const char* window) {
    return slot("jetmem_pressure_stall_ratio",
                std::string("{kind=\"full\",resource=\"memory\",window=\"") + window + "\"}");
  };
  EXPECT_TRUE(kDefault.wants(ratio("10s")));
  EXPECT_FALSE(kDefault.wants(ratio("300s")));
  EXPECT_EQ(kDefault.verdict("jetmem_pressure_stall_ratio"), Selection::Verdict::kByLabels);
  EXPECT_EQ(kDefault.verdict("jetmem_buddy_free_blocks"), Selection::Verdict::kAll);
  EXPECT_EQ(kDefault.verdict("jetmem_nothing"), Selection::Verdict::kNone);
}

TEST(Selection, LeavesOutCompanionsAndDuplicates) {
  SampleTable::Slot companion = slot("jetmem_memory_pressure_level");
  EXPECT_TRUE(kDefault.wants(companion));
  companion.is_companion = true;
  EXPECT_FALSE(kDefault.wants(companion));
  SampleTable::Slot duplicate = slot("jetmem_memory_pressure_level");
  duplicate.is_duplicate = true;
  EXPECT_FALSE(kDefault.wants(duplicate));
}

TEST(Selection, TheSettingsAddAndTakeAway) {
  const std::vector<std::string> more{"jetmem_buddy_free_b*", "-jetmem_meminfo_*", ""};
  const Selection selection(more);
  EXPECT_TRUE(selection.wants("jetmem_buddy_free_bytes"));
  EXPECT_TRUE(selection.wants("jetmem_buddy_free_blocks"));
  EXPECT_FALSE(selection.wants("jetmem_meminfo_MemFree_bytes"));
  EXPECT_FALSE(selection.wants(slot("jetmem_meminfo_MemFree_bytes")));
  EXPECT_TRUE(selection.wants("jetmem_memory_available_ratio"));
}

TEST(Selection, EveryPatternIsOfAMetric) {
  for (const std::string_view pattern : default_recorded()) {
    EXPECT_EQ(pattern.substr(0, 7), "jetmem_") << pattern;
    EXPECT_EQ(pattern.find("_1m"), std::string_view::npos) << pattern;
  }
}

}  // namespace
}  // namespace jetmem
