// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/metrics_body.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <sstream>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr Descriptor kField{.name = "jetmem_field_*_bytes", .help = "Field *.", .max_series = 64};
constexpr Descriptor kZone{.name = "jetmem_zone_celsius",
                           .help = "Temperature of a zone.",
                           .labels = {"zone"},
                           .max_series = 64};
constexpr std::string_view kTail = "# the web thread's own\n";

class MetricsBodyTest : public ::testing::Test {
 protected:
  // A page with these values of the fields a, b, c, ...
  const Page& page(const std::vector<double>& fields, int zones = 2) {
    {
      SampleWriter out(table_, section_, Nanoseconds(0));
      for (std::size_t i = 0; i < fields.size(); ++i) {
        out.put(kField, fields[i], std::string(1, static_cast<char>('a' + i)));
      }
      for (int i = 0; i < zones; ++i) out.put(kZone, 40 + i, i);
    }
    fill_page(table_, Nanoseconds(1), ++cycle_, page_);
    return page_;
  }
  std::string plain(const Page& page) { return *body_.plain(&page, kTail); }
  std::string unpacked(const Page& page) {
    const std::string whole = plain(page);
    return gunzip(*body_.compressed(&page, kTail), whole.size()).value_or("no such gzip");
  }
  static std::string rendered(const Page& page) {
    std::string out;
    render_text(page, out);
    return out.append(kTail);
  }

  SampleTable table_;
  std::size_t section_ = table_.add_section("test");
  std::uint64_t cycle_ = 0;
  Page page_;
  Gzip gzip_;
  MetricsBody body_{gzip_};
};

TEST_F(MetricsBodyTest, IsThePageAndTheTail) {
  page({1, 2, 3});
  EXPECT_EQ(plain(page_), rendered(page_));
}

TEST_F(MetricsBodyTest, AValueIsNeverOld) {
  std::mt19937 random(19);
  std::vector<double> fields{1, 2, 3, 4, 5, 6, 7, 8};
  int zones = 2;
  for (int i = 0; i < 3000; ++i) {
    // Some often, some hardly ever, and sometimes the series themselves.
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (random() % (1U << (2 * f)) == 0) fields[f] = static_cast<double>(random() % 1000);
    }
    if (random() % 50 == 0) zones = static_cast<int>(random() % 5);
    if (random() % 80 == 0) fields.resize(3 + random() % 6, 77);
    const Page& now = page(fields, zones);
    const std::string text = random() % 2 == 0 ? plain(now) : unpacked(now);
    ASSERT_EQ(text, rendered(now)) << "page " << i;
  }
}

TEST_F(MetricsBodyTest, OneThatIsStillReadStaysAsItIs) {
  plain(page({1, 2, 3}));
  const MetricsBody::Body slow = body_.plain(&page({2, 2, 3}), kTail);
  const std::string before = *slow;
  const MetricsBody::Body packed = body_.compressed(&page({3, 2, 3}), kTail);
  const std::string packed_before = *packed;
  page({4, 2, 9});
  EXPECT_EQ(plain(page_), rendered(page_));
  page({5, 2, 9});
  EXPECT_EQ(unpacked(page_), plain(page_));
  EXPECT_EQ(*slow, before);
  EXPECT_EQ(*packed, packed_before);
}

TEST_F(MetricsBodyTest, WithoutAPageThereIsTheTail) {
  EXPECT_EQ(*body_.plain(nullptr, kTail), kTail);
  plain(page({1, 2}));
  plain(page({2, 2}));
  EXPECT_EQ(*body_.plain(nullptr, kTail), kTail);
  EXPECT_EQ(gunzip(*body_.compressed(nullptr, kTail), kTail.size()), std::string(kTail));
  // And afterwards all of the page again.
  page({2, 2});
  EXPECT_EQ(plain(page_), rendered(page_));
  EXPECT_EQ(unpacked(page_), plain(page_));
}

}  // namespace
}  // namespace jetmem
