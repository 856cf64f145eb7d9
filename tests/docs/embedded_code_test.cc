// SPDX-License-Identifier: Apache-2.0
// The code that the documents show is the code that is compiled: a block behind
// "<!-- file: PATH -->" must be that file to the letter.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/root/small_file.h"

namespace jetmem {
namespace {

TEST(Documents, ShowTheCodeThatIsCompiled) {
  const std::filesystem::path docs = JETMEM_DOCS;
  const std::string marker = "<!-- file: ";
  int blocks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(docs)) {
    if (entry.path().extension() != ".md") continue;
    const std::string text = read_small_file(entry.path()).value();
    for (std::size_t at = text.find(marker); at != std::string::npos;
         at = text.find(marker, at + 1)) {
      const std::size_t name = at + marker.size();
      const std::string path = text.substr(name, text.find(" -->", name) - name);
      const std::size_t begin = text.find('\n', text.find("```", name)) + 1;
      const std::size_t end = text.find("```", begin);
      ASSERT_NE(end, std::string::npos) << entry.path();
      EXPECT_EQ(text.substr(begin, end - begin), read_small_file(docs.parent_path() / path).value())
          << entry.path() << " does not show " << path << " as it is";
      ++blocks;
    }
  }
  EXPECT_GE(blocks, 3);
}

}  // namespace
}  // namespace jetmem
