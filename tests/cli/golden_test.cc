// SPDX-License-Identifier: Apache-2.0
// One golden page per board: every accidental rename, lost label or changed help text shows.

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/client/local_snapshot.h"
#include "report/exposition/exposition.h"
#include "tests/update.h"

namespace jetmem {
namespace {

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, Page) {
  const std::string board = GetParam();
  const auto shot = LocalSnapshot::read(std::string(JETMEM_FIXTURES) + "/" + board, {});
  ASSERT_TRUE(shot) << shot.error().message;
  Page page;
  fill_page((*shot)->table(), (*shot)->now(), 1, page);
  std::string text;
  render_text(page, text);
  expect_equals_file(text, std::string(JETMEM_GOLDEN) + "/" + board + ".prom");
}

INSTANTIATE_TEST_SUITE_P(Boards, Golden,
                         testing::Values("orin-nano-8gb", "agx-orin", "nano-4gb", "xavier-nx",
                                         "orin", "thor", "raspberry-pi-5", "x86-pc"),
                         [](const auto& board) {
                           std::string name = board.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace jetmem
