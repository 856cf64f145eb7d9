// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/gzip.h"

#include <gtest/gtest.h>

#include <random>

namespace jetmem {
namespace {

std::string text(std::size_t size) {
  std::string out;
  while (out.size() < size) out += "{\"key\": " + std::to_string(out.size()) + "}\n";
  out.resize(size);
  return out;
}

TEST(Gzip, ComesBackAsItWas) {
  Gzip gzip;
  std::mt19937 random(17);
  for (const std::size_t size : {0U, 1U, 2U, 1'000U, 70'000U}) {
    std::string noise(size, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    for (const std::string& each : {noise, text(size)}) {
      std::string packed;
      ASSERT_TRUE(gzip.compress(each, packed));
      EXPECT_EQ(gunzip(packed, each.size()), each);
    }
  }
}

TEST(Gunzip, RefusesWhatIsNot) {
  Gzip gzip;
  std::string packed;
  ASSERT_TRUE(gzip.compress(text(5'000), packed));
  EXPECT_FALSE(gunzip(packed, 4'999));
  EXPECT_FALSE(gunzip(packed, 5'001));
  EXPECT_FALSE(gunzip(std::string_view(packed).substr(0, 100), 5'000));
  EXPECT_FALSE(gunzip("no gzip at all", 5'000));
  EXPECT_FALSE(gunzip("", 0));
}

}  // namespace
}  // namespace jetmem
