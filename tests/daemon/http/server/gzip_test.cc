// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/gzip.h"

#include <gtest/gtest.h>

#include <random>

namespace jetmem {
namespace {

std::shared_ptr<const std::string> text(std::size_t size) {
  std::string out;
  while (out.size() < size) out += "{\"key\": " + std::to_string(out.size()) + "}\n";
  out.resize(size);
  return std::make_shared<const std::string>(std::move(out));
}

TEST(Gzip, ComesBackAsItWas) {
  Gzip gzip;
  std::mt19937 random(17);
  for (const std::size_t size : {0U, 1U, 2U, 1'000U, 70'000U}) {
    std::string noise(size, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    for (const std::string& each : {noise, *text(size)}) {
      std::string packed;
      ASSERT_TRUE(gzip.compress(each, packed));
      EXPECT_EQ(gunzip(packed, each.size()), each);
    }
  }
}

TEST(GzipTexts, ComesBackAsItWas) {
  Gzip gzip;
  GzipTexts texts(gzip);
  for (const std::size_t size : {GzipTexts::kLeast, std::size_t{50'000}, GzipTexts::kMost}) {
    const auto plain = text(size);
    const auto packed = texts.of(plain);
    ASSERT_TRUE(packed) << size;
    EXPECT_LT(packed->size(), size / 2);
    EXPECT_EQ(gunzip(*packed, size), *plain);
  }
}

TEST(GzipTexts, OnlyWhereItIsWorthIt) {
  Gzip gzip;
  GzipTexts texts(gzip);
  EXPECT_EQ(texts.of(text(GzipTexts::kLeast - 1)), nullptr);
  EXPECT_EQ(texts.of(text(GzipTexts::kMost + 1)), nullptr);
}

TEST(GzipTexts, OnceForAllWhoAsk) {
  Gzip gzip;
  GzipTexts texts(gzip);
  const auto plain = text(9'000);
  const auto packed = texts.of(plain);
  EXPECT_EQ(texts.of(plain), packed);
  // Another text of the same length, and one that may lie where an older one lay.
  for (int i = 0; i < 20; ++i) {
    auto other = std::make_shared<const std::string>(9'000, static_cast<char>('a' + i));
    EXPECT_EQ(gunzip(*texts.of(other), other->size()), *other);
  }
}

TEST(Gunzip, RefusesWhatIsNot) {
  Gzip gzip;
  const auto packed = GzipTexts(gzip).of(text(5'000));
  EXPECT_FALSE(gunzip(*packed, 4'999));
  EXPECT_FALSE(gunzip(*packed, 5'001));
  EXPECT_FALSE(gunzip(std::string_view(*packed).substr(0, 100), 5'000));
  EXPECT_FALSE(gunzip("no gzip at all", 5'000));
  EXPECT_FALSE(gunzip("", 0));
}

}  // namespace
}  // namespace jetmem
