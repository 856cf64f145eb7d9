// SPDX-License-Identifier: Apache-2.0
#include "docs/examples/file_nr.h"

#include <gtest/gtest.h>

#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

TEST(FileNr, FromTextToSamples) {
  SourceFixture<FileNrSource> fixture;
  fixture.file("/proc/sys/fs/file-nr", "1344\t0\t9223372036854775807\n");
  EXPECT_EQ(fixture.sample("jetmem_file_handles"), 1344);
}

// Damaged input.
TEST(FileNr, RefusesWithLineAndFinding) {
  const auto message = [](std::string_view text) {
    SourceFixture<FileNrSource> fixture;
    fixture.file("/proc/sys/fs/file-nr", text);
    return fixture.error_message();
  };
  EXPECT_EQ(message(""), "line 1: expected three numbers, found ''");
  EXPECT_EQ(message("12\t0\n"), "line 1: expected three numbers, found '12?0?'");
  EXPECT_EQ(message("1344\t0\t92233"), "line 1: expected three numbers, found '1344?0?92233'")
      << "a number that was cut is not a smaller number";
  EXPECT_EQ(message("1\t0\t99999999999999999999\n").substr(0, 30),
            "line 1: expected three numbers");
}

}  // namespace
}  // namespace jetmem
