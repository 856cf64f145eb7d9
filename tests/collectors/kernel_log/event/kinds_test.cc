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

TEST(RateLimit, TheFunctionTellsTheKind) {
  EXPECT_EQ(suppressed_kind("arm_smmu_context_fault"), EventKind::kSmmuContextFault);
  EXPECT_EQ(suppressed_kind("nvidia_smmu_global_fault"), EventKind::kSmmuGlobalFault);
  EXPECT_EQ(suppressed_kind("arm_smmu_evtq_thread"), EventKind::kSmmuV3Event);
  EXPECT_EQ(suppressed_kind("tegra30_mc_handle_irq"), EventKind::kMcError);
  EXPECT_EQ(suppressed_kind("__cma_alloc"), EventKind::kCmaAllocFailure);
  EXPECT_EQ(suppressed_kind("warn_alloc"), EventKind::kPageAllocFailure);
  EXPECT_EQ(suppressed_kind("__warn_alloc"), EventKind::kPageAllocFailure);
  EXPECT_EQ(suppressed_kind("__arm_smmu_tlb_sync"), EventKind::kSmmuError);
  EXPECT_EQ(suppressed_kind("alloc_contig_frozen_range_noprof"), EventKind::kCmaBusy);
  EXPECT_EQ(suppressed_kind("tegra186_mc_handle_irq"), EventKind::kMcError);
  EXPECT_EQ(suppressed_kind("amd_iommu_report_page_fault"), EventKind::kSmmuContextFault);
  EXPECT_EQ(suppressed_kind("dmar_fault"), EventKind::kSmmuContextFault);
  // A compiler's copy of a function.
  EXPECT_EQ(suppressed_kind("slab_out_of_memory.isra.0"), EventKind::kSlabAllocFailure);
  EXPECT_EQ(suppressed_kind("cma_allocate_something_else"), EventKind::kNone);
  EXPECT_EQ(suppressed_kind("net_ratelimit"), EventKind::kNone);
  EXPECT_EQ(suppressed_kind(""), EventKind::kNone);
}

}  // namespace
}  // namespace jetmem::kernel_log
