// SPDX-License-Identifier: Apache-2.0
#include "history/format/column.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace jetmem {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::size_t expect_round_trip(const std::vector<double>& values) {
  std::string bytes;
  encode_column(values, bytes);
  const auto back = decode_column(bytes, values.size());
  EXPECT_TRUE(back) << back.error().message;
  if (!back) return 0;
  EXPECT_EQ(back->size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(same((*back)[i], values[i])) << i;
  return bytes.size();
}

TEST(Column, EveryDoubleComesBackBitByBit) {
  const double inf = std::numeric_limits<double>::infinity();
  const double tiny = std::numeric_limits<double>::denorm_min();
  const double most = std::numeric_limits<double>::max();
  expect_round_trip({0.0, -0.0, inf, -inf, tiny, -tiny, most, -most, kNone, 0.1, 1.0 / 3});
  expect_round_trip({-0.0, -0.0});
  expect_round_trip({9007199254740992.0, -9007199254740992.0, 9007199254740991.0});
  expect_round_trip({kNone, kNone});
  expect_round_trip({});
  expect_round_trip({42});
  expect_round_trip({-9007199254740991.0, 9007199254740991.0});
  std::mt19937_64 random(7);
  for (int cycle = 0; cycle < 300; ++cycle) {
    std::vector<double> values;
    for (std::size_t i = 0; i < random() % 400; ++i) {
      double value = std::bit_cast<double>(random());
      if (cycle % 3 == 1)
        value = static_cast<double>(static_cast<std::int64_t>(random()) >> (random() % 64));
      if (cycle % 3 == 2) value = std::round(static_cast<double>(random() % 100000)) / 100;
      values.push_back(random() % 11 == 0 ? kNone : value);
    }
    expect_round_trip(values);
  }
}

TEST(Column, IsSmallForWhatMemoryDoes) {
  std::vector<double> same(180, 8160702464.0);
  std::vector<double> counter;
  std::vector<double> free_bytes;
  std::vector<double> pressure;
  std::mt19937_64 random(7);
  double pages = 500'000;
  for (int i = 0; i < 180; ++i) {
    counter.push_back(1'000'000 + 10 * i);
    pages += static_cast<double>(random() % 400) - 200;
    free_bytes.push_back(pages * 4096);
    pressure.push_back(static_cast<double>(random() % 300) / 100);
  }
  EXPECT_LE(expect_round_trip(same), 12U);
  EXPECT_LE(expect_round_trip(counter), 32U);
  EXPECT_LE(expect_round_trip(free_bytes), 370U);
  EXPECT_LE(expect_round_trip(pressure), 370U);
}

RollUp some_roll_up() {
  return {{1, kNone, -3, 5}, {1.5, kNone, -2.25, 5}, {2, kNone, 0, 5}, {6, 0, 4, 1}};
}

TEST(Column, RollUpsComeBack) {
  std::string bytes;
  encode_roll_up(some_roll_up(), bytes);
  const auto back = decode_roll_up(bytes, 4).value();
  EXPECT_EQ(back.count, (std::vector<std::uint32_t>{6, 0, 4, 1}));
  EXPECT_EQ(back.min[2], -3);
  EXPECT_EQ(back.max[0], 2);
  EXPECT_EQ(back.average[0], 1.5);
  EXPECT_EQ(back.average[2], -2.25);
  EXPECT_TRUE(std::isnan(back.average[1]));
}

TEST(Column, MeanOfFractionsIsNearAndWithinItsExtremes) {
  const RollUp odd{{0.1, 0.7}, {0.123456789012345, 0.7}, {0.2, 0.7}, {6, 6}};
  std::string bytes;
  encode_roll_up(odd, bytes);
  const auto back = decode_roll_up(bytes, 2).value();
  EXPECT_NEAR(back.average[0], odd.average[0], 1e-9 * odd.average[0]);
  EXPECT_EQ(back.average[1], 0.7);
}

// Damaged bytes may be anything; every answer but a crash, and too much memory, is allowed for the
// rare ones that pass the check sum.
TEST(Column, DamagedBytesAreRefused) {
  std::mt19937_64 random(11);
  std::vector<std::string> good(4);
  std::vector<double> values;
  for (int i = 0; i < 180; ++i) values.push_back(static_cast<double>(random() % 1000) / 7);
  encode_column(values, good[0]);
  for (double& value : values) value = std::floor(value) * 4096;
  encode_column(values, good[1]);
  values[3] = kNone;
  encode_column(values, good[2]);
  encode_roll_up(some_roll_up(), good[3]);
  int passed = 0;
  constexpr int kCycles = 100'000;
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    std::string bytes = good[random() % good.size()];
    const std::string before = bytes;
    for (std::size_t hits = random() % 4 + 1; hits > 0; --hits) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 3 == 0) bytes.resize(random() % (bytes.size() + 1));
    if (random() % 5 == 0) bytes.push_back(static_cast<char>(random()));
    if (bytes == before) continue;
    const auto column = decode_column(bytes, random() % 300);
    const auto roll_up = decode_roll_up(bytes, random() % 300);
    if (column || roll_up) ++passed;
  }
  EXPECT_LT(passed, kCycles / 1000);
  // Many values that claim to be few bytes.
  EXPECT_FALSE(decode_column(std::string(300, '\x24'), 180));
}

}  // namespace
}  // namespace jetmem
