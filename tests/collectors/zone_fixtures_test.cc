// SPDX-License-Identifier: Apache-2.0
// The boards' real files, read together: zoneinfo, buddyinfo and pagetypeinfo describe the same
// free pages.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "collectors/proc/buddyinfo.h"
#include "collectors/proc/pagetypeinfo.h"
#include "collectors/proc/zoneinfo.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> boards() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(JETMEM_FIXTURES)) {
    if (fs::exists(entry.path() / "proc/zoneinfo")) out.push_back(entry.path());
  }
  return out;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uint64_t pages(std::span<const std::uint64_t> counts) {
  std::uint64_t sum = 0;
  for (std::size_t order = 0; order < counts.size(); ++order) sum += counts[order] << order;
  return sum;
}

class ZoneFixtures : public testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ZoneFixtures);

TEST_P(ZoneFixtures, AgreeOnFreePages) {
  Zoneinfo zoneinfo;
  const auto zones = parse_zoneinfo(text_of(GetParam() / "proc/zoneinfo"), zoneinfo);
  ASSERT_TRUE(zones) << zones.error().message;
  Buddyinfo buddyinfo;
  const auto buddies = parse_buddyinfo(text_of(GetParam() / "proc/buddyinfo"), buddyinfo);
  ASSERT_TRUE(buddies) << buddies.error().message;

  std::size_t populated = 0;
  for (const Zoneinfo::Zone& zone : zoneinfo.zones) populated += zone.is_populated() ? 1 : 0;
  EXPECT_EQ(populated, buddyinfo.zones.size());
  for (const Buddyinfo::Zone& zone : buddyinfo.zones) {
    const Zoneinfo::Zone* const info = zoneinfo.find(zone.id);
    ASSERT_NE(info, nullptr) << zone.id.name;
    EXPECT_EQ(pages(zone.counts()), info->free) << zone.id.name;
    ASSERT_TRUE(info->free_cma) << zone.id.name;
    EXPECT_LE(*info->free_cma, info->free) << zone.id.name;
    EXPECT_LT(info->min, info->low) << zone.id.name;
    EXPECT_LE(info->managed, info->present) << zone.id.name;
  }
}

TEST_P(ZoneFixtures, PagetypeinfoSplitsBuddyinfosCounts) {
  const fs::path path = GetParam() / "proc/pagetypeinfo";
  if (!fs::exists(path)) GTEST_SKIP() << "this board's tree has no pagetypeinfo";
  Pagetypeinfo pagetypeinfo;
  const auto types = parse_pagetypeinfo(text_of(path), pagetypeinfo);
  ASSERT_TRUE(types) << types.error().message;
  Buddyinfo buddyinfo;
  ASSERT_TRUE(parse_buddyinfo(text_of(GetParam() / "proc/buddyinfo"), buddyinfo));
  Zoneinfo zoneinfo;
  ASSERT_TRUE(parse_zoneinfo(text_of(GetParam() / "proc/zoneinfo"), zoneinfo));

  for (const Buddyinfo::Zone& zone : buddyinfo.zones) {
    std::array<std::uint64_t, kMaxOrders> sum{};
    for (const Pagetypeinfo::Row& row : pagetypeinfo.rows) {
      if (!(row.zone == zone.id)) continue;
      ASSERT_EQ(row.orders, zone.orders);
      ASSERT_EQ(row.capped, 0U);
      for (std::size_t order = 0; order < row.orders; ++order) sum[order] += row.blocks[order];
      if (row.type == "CMA") {
        EXPECT_EQ(pages({row.blocks.data(), row.orders}), zoneinfo.find(zone.id)->free_cma);
      }
    }
    for (std::size_t order = 0; order < zone.orders; ++order) {
      EXPECT_EQ(sum[order], zone.blocks[order]) << zone.id.name << " order " << order;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Boards, ZoneFixtures, testing::ValuesIn(boards()), [](const auto& board) {
  std::string name = board.param.filename().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace jetmem
