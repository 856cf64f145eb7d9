#include "daemon/content_encoding.h"

#include <gtest/gtest.h>

#include "daemon/gzip_halves.h"
#include "tests/daemon/http_client.h"

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

TEST(GzipHalves, TheHalvesMakeOneMember) {
  std::string head;
  for (int i = 0; i < 5000; ++i) head += "jetmem_series{n=\"" + std::to_string(i * i) + "\"} 1\n";
  GzipHalves halves;
  ASSERT_TRUE(halves.usable());
  std::string out;
  for (int round = 0; round < 3; ++round) {
    halves.set_head(head, out);
    const std::size_t head_size = out.size();
    for (const std::string& tail : {std::string("tail\n"), std::string(), head}) {
      out.resize(head_size);
      halves.append_tail(tail, out);
      EXPECT_EQ(test::gunzip(out), head + tail);
    }
    head.insert(0, "x\n");
  }
  halves.set_head("", out);
  halves.append_tail("", out);
  EXPECT_EQ(out.substr(0, 2), "\x1f\x8b");
}

}  // namespace
}  // namespace jetmem
