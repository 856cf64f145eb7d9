// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/event.h"

#include <gtest/gtest.h>

#include <array>

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

}  // namespace
}  // namespace jetmem::kernel_log
