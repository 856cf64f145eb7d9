// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/event.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "collectors/kernel_log/event/kinds.h"
#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

TEST(Event, FieldsAreSetAndReplaced) {
  Event event(EventKind::kOomKill);
  event.set_text("comm", "a");
  event.set_number("pid", 1);
  event.set_bool("memcg", true);
  event.set_null("area");
  event.set_hex("pfn", 0xA1);
  event.set_text("comm", "b");
  EXPECT_EQ(fields_of(event), "comm=b pid=1 memcg=true area=null pfn=0xa1");
  EXPECT_EQ(event.number("pid"), 1);
  EXPECT_EQ(event.boolean("memcg"), true);
  EXPECT_EQ(event.hex("pfn"), 0xa1U);
  EXPECT_EQ(event.number("comm"), std::nullopt);
  EXPECT_EQ(event.text("pid"), "");
  EXPECT_FALSE(event.has("uid"));
  event.reset(EventKind::kThermal);
  EXPECT_EQ(event.size(), 0U);
}

TEST(Event, IsBounded) {
  Event event(EventKind::kNvmap);
  event.set_text("error", std::string(1000, 'x'));
  EXPECT_EQ(event.text("error").size(), Event::kMaxText);
  for (std::size_t i = 0; i < 100; ++i) event.add_item("list", std::string(100, 'y'));
  // A list leaves room for what comes behind it, and says that it was cut.
  EXPECT_EQ(event.size(), Event::kMaxItems + 1);
  EXPECT_EQ(event.boolean(Event::kListCut), true);
  event.set_number("late", 1);
  EXPECT_TRUE(event.has("late"));
  constexpr std::array<std::string_view, 7> kMore{"a", "b", "c", "d", "e", "f", "g"};
  for (const std::string_view name : kMore) event.set_number(name, 1);
  EXPECT_EQ(event.size(), Event::kMaxFields);
  EXPECT_FALSE(event.has("g"));
  // No byte beyond the bound, however often a field is replaced.
  for (std::size_t i = 0; i < 100; ++i) event.set_text("error", std::string(200, 'z'));
  EXPECT_LE(event.text("error").size(), Event::kMaxText);
}

TEST(Event, MergeReplacesAppendsAndKeepsWhatANullWouldHide) {
  Event a(EventKind::kCmaAllocFailure);
  a.set_text("area", "vpr");
  a.add_item("words", "1");
  Event b(EventKind::kCmaAllocFailure);
  b.set_null("area");
  b.add_item("words", "2");
  b.set_number("free", 3);
  a.merge(b);
  EXPECT_EQ(a.text("area"), "vpr");
  EXPECT_EQ(a.number("free"), 3);
  EXPECT_EQ(a.size(), 4U);
}

TEST(Event, Hex) {
  EXPECT_EQ(parse_hex("0x1F"), 0x1fU);
  EXPECT_EQ(parse_hex("ffffffffffffffff"), UINT64_MAX);
  EXPECT_EQ(parse_hex("10000000000000000"), std::nullopt);
  EXPECT_EQ(parse_hex("0x"), std::nullopt);
  EXPECT_EQ(parse_hex("1g"), std::nullopt);
}

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
  const struct {
    EventKind kind;
    std::vector<std::string_view> functions;
  } kRows[] = {
      {EventKind::kSmmuContextFault,
       {"arm_smmu_context_fault", "amd_iommu_report_page_fault", "dmar_fault"}},
      {EventKind::kSmmuGlobalFault, {"nvidia_smmu_global_fault"}},
      {EventKind::kSmmuV3Event, {"arm_smmu_evtq_thread"}},
      {EventKind::kSmmuError, {"__arm_smmu_tlb_sync"}},
      {EventKind::kMcError, {"tegra30_mc_handle_irq", "tegra186_mc_handle_irq"}},
      {EventKind::kCmaAllocFailure, {"__cma_alloc"}},
      {EventKind::kCmaBusy, {"alloc_contig_frozen_range_noprof"}},
      {EventKind::kPageAllocFailure, {"warn_alloc", "__warn_alloc"}},
      {EventKind::kSlabAllocFailure, {"slab_out_of_memory.isra.0"}},  // a compiler's copy
      {EventKind::kNone, {"cma_allocate_something_else", "net_ratelimit", ""}},
  };
  for (const auto& [kind, functions] : kRows) {
    for (const std::string_view each : functions) EXPECT_EQ(suppressed_kind(each), kind) << each;
  }
}

}  // namespace
}  // namespace jetmem::kernel_log
