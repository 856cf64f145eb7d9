// SPDX-License-Identifier: Apache-2.0
#include "base/root/recorded.h"

#include <gtest/gtest.h>

#include "tests/temp_dir.h"

namespace jetmem {
namespace {

class Recorded : public testing::Test {
 protected:
  bool read(const std::string& records) {
    tree.write("jetmem/records/x", records);
    out.clear();
    return read_recorded(*Root::at(tree.path()), "x", out);
  }
  TempDir tree;
  Snapshot out;
};

TEST_F(Recorded, WhatIsDamagedIsNeverTakenForLess) {
  std::string text = recorded_head(false);
  append_recorded(text, {"/a", "text", 0}, false);
  for (std::size_t size = recorded_head(false).size() + 1; size < text.size(); ++size) {
    ASSERT_TRUE(read(text.substr(0, size)));
    EXPECT_TRUE(out.truncated()) << size;
  }
  for (const char* bad : {"", "x", "jetmem-records 1\n99999999999999999999 1 0\n",
                          "jetmem-records 1\n2 1 EWHAT\n/ax\n", "jetmem-records 1\n-1 1 0\n"}) {
    ASSERT_TRUE(read(bad));
    EXPECT_TRUE(out.truncated()) << bad;
  }
  // A truncated one stays one, and a tree without has none.
  ASSERT_TRUE(read(recorded_head(true)));
  EXPECT_TRUE(out.truncated());
  EXPECT_FALSE(read_recorded(*Root::at(tree.path()), "y", out));
}

TEST_F(Recorded, IsNoMoreThanItsSourceMayTake) {
  tree.write("f", std::string(100'000, 'x'));
  std::string text = recorded_head(false);
  for (int i = 0; i < 10'000; ++i) append_recorded(text, {"/f", "", 0}, true);
  ASSERT_TRUE(read(text));
  EXPECT_TRUE(out.truncated());
  EXPECT_LE(out.buffer_size(), 2 * ReadLimits{}.total_bytes + 100'010);
  std::string many = recorded_head(false);
  for (int i = 0; i < 10'000; ++i) append_recorded(many, {"/g", "", 0}, false);
  ASSERT_TRUE(read(many));
  EXPECT_TRUE(out.truncated());
  EXPECT_LE(out.size(), 2 * ReadLimits{}.files);
}

}  // namespace
}  // namespace jetmem
