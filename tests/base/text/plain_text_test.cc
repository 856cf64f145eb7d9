// SPDX-License-Identifier: Apache-2.0
#include "base/text/plain_text.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

std::string plain(std::string_view raw) {
  std::string out;
  return make_plain(raw, out) ? out : std::string(raw);
}

TEST(PlainText, Terminals) {
  EXPECT_EQ(plain("\x1b[32m[ 1.0]\x1b[0m cma\x1b[K: x"), "[ 1.0] cma: x");
  EXPECT_EQ(plain("\x1b]0;title\x07text\x1b(B"), "text");
  EXPECT_EQ(plain("^[[32mtext^[[0m"), "text");
  EXPECT_EQ(plain("[32m[ 1.0] [0m[1;31mtext[0m"), "[ 1.0] text");
  EXPECT_EQ(plain("ab\bc"), "ac");
}

TEST(PlainText, MarkdownAndTypesetting) {
  EXPECT_EQ(plain("\\[ 1.0\\] cma: cma\\_alloc"), "[ 1.0] cma: cma_alloc");
  EXPECT_EQ(plain("ret: \xe2\x88\x92"
                  "12\xe2\x80\xa6\xe2\x80\x8b\xc2\xa0\xe2\x80\x9cx\xe2\x80\x9d"),
            "ret: -12... \"x\"");
}

TEST(PlainText, WhatIsPlainStays) {
  for (const std::string_view text :
       {"<4>[    1.0] text", "[<c0013e1c>] (unwind)", "text \\x22quoted\\x22", "a & b", "&foo;",
        "addr=3D0000 size=5", "caf\xc3\xa9 \xc2", "[32m no other mark", "<size> of <p 5>", "a\\"}) {
    EXPECT_EQ(plain(text), text);
  }
}

}  // namespace
}  // namespace jetmem
