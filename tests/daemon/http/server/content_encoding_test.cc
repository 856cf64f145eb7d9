// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/content_encoding.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

TEST(ContentEncoding, GzipIsSentToWhoTakesIt) {
  for (const char* yes : {"gzip", "GZIP", "x-gzip", "deflate, gzip", "gzip;q=1.0, identity; q=0.5",
                          "*", "br;q=1.0, gzip ; q = 0.001", "*;q=0.1", "gzip;q=0.5,*;q=0",
                          "identity;q=0, *", ",,gzip,,"}) {
    EXPECT_TRUE(prefers_gzip(yes)) << yes;
  }
}

TEST(ContentEncoding, AndToNobodyElse) {
  for (const char* no : {"", "identity", "gzip;q=0", "gzip;q=0.000", "*;q=0", "gzip;q=0, *", "br",
                         "gzipped", "gzip;q=", "gzip;q=2", "gzip;q=0.0001", "gzip;q=-1", "gzip;q=x",
                         "identity, gzip;q=0.5", ";q=1", "deflate"}) {
    EXPECT_FALSE(prefers_gzip(no)) << no;
  }
}

}  // namespace
}  // namespace jetmem
