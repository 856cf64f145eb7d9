// SPDX-License-Identifier: Apache-2.0
// One golden page per board: every accidental rename, lost label or changed help text shows.

#include <fnmatch.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/client/local_snapshot.h"
#include "history/query/selection.h"
#include "report/exposition/exposition.h"
#include "tests/boards.h"
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

INSTANTIATE_TEST_SUITE_P(Boards, Golden, testing::ValuesIn(kWholeBoards), BoardName());

// A label's value that no board has would record nothing, and nobody would notice.
TEST(Golden, TheHistoryRecordsNothingThatNoBoardHas) {
  std::vector<std::string> series;
  for (const auto& file : std::filesystem::directory_iterator(JETMEM_GOLDEN)) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) series.push_back(line);
  }
  for (const std::string_view pattern : default_recorded()) {
    if (pattern.find('{') == std::string_view::npos) continue;
    const std::string whole = std::string(pattern) + " *";
    EXPECT_TRUE(std::any_of(series.begin(), series.end(), [&](const std::string& line) {
      return fnmatch(whole.c_str(), line.c_str(), 0) == 0;
    })) << pattern;
  }
}

}  // namespace
}  // namespace jetmem
