// SPDX-License-Identifier: Apache-2.0
// Which form of a page a client takes, and gzip.
#include <gtest/gtest.h>

#include <random>

#include "daemon/http/server/accept.h"
#include "daemon/http/server/gzip.h"

namespace jetmem {
namespace {

std::string text(std::size_t size) {
  std::string out;
  while (out.size() < size) out += "{\"key\": " + std::to_string(out.size()) + "}\n";
  out.resize(size);
  return out;
}

TEST(Gzip, ComesBackAsItWasAndElseNotAtAll) {
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
  std::string packed;
  ASSERT_TRUE(gzip.compress(text(5'000), packed));
  EXPECT_FALSE(gunzip(packed, 4'999));
  EXPECT_FALSE(gunzip(packed, 5'001));
  EXPECT_FALSE(gunzip(std::string_view(packed).substr(0, 100), 5'000));
  EXPECT_FALSE(gunzip("no gzip at all", 5'000));
  EXPECT_FALSE(gunzip("", 0));
}

TEST(ContentEncoding, GzipIsSentToWhoTakesItAndToNobodyElse) {
  for (const char* yes : {"gzip", "GZIP", "x-gzip", "deflate, gzip", "gzip;q=1.0, identity; q=0.5",
                          "*", "br;q=1.0, gzip ; q = 0.001", "*;q=0.1", "gzip;q=0.5,*;q=0",
                          "identity;q=0, *", ",,gzip,,", "identity, gzip;q=0.5"}) {
    EXPECT_TRUE(accepts_gzip(yes)) << yes;
  }
  for (const char* no : {"", "identity", "gzip;q=0", "gzip;q=0.000", "*;q=0", "gzip;q=0, *", "br",
                         "gzipped", "gzip;q=", "gzip;q=-1", "gzip;q=x", ";q=1", "deflate"}) {
    EXPECT_FALSE(accepts_gzip(no)) << no;
  }
}

// The first two are those of Prometheus 2.42 and 3.0.
TEST(ContentType, OpenMetricsIsSentToWhoPrefersItAndPlainTextToOthers) {
  for (const char* yes :
       {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
        "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
        "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;"
        "escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        "application/openmetrics-text", "Application/OpenMetrics-Text ; Version = \"1.0.0\"",
        "application/openmetrics-text;q=0.001", "text/plain, application/openmetrics-text",
        "text/plain;q=0.5,*/*;q=1,application/openmetrics-text;q=0.6",
        "text/plain;version=1.0.0,application/openmetrics-text;q=0.5"}) {
    EXPECT_TRUE(prefers_open_metrics(yes)) << yes;
  }
  for (const char* no :
       {"", "*/*", "text/plain", "text/html,application/xhtml+xml,*/*;q=0.8",
        "application/openmetrics-text;q=0", "application/openmetrics-text;version=2.0.0",
        "application/openmetrics-text;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.5",
        "application/openmetrics-text;q=0.4,*/*", "application/openmetrics-text;q=0.4,text/*;q=0.5",
        "application/openmetrics-text;q=x", "application/openmetrics", "application/*"}) {
    EXPECT_FALSE(prefers_open_metrics(no)) << no;
  }
}

}  // namespace
}  // namespace jetmem
