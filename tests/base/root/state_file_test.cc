// SPDX-License-Identifier: Apache-2.0
#include "base/root/state_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/root/small_file.h"
#include "tests/recorded_log.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

Result<std::string> any(std::string_view text) { return std::string(text); }

class StateFileTest : public testing::Test {
 protected:
  StateFile file(const std::string& boot_id = "b1", int format = 1) {
    return {{.directory = dir_.path(),
             .name = "state",
             .boot_id = boot_id,
             .what = "counts",
             .format = format,
             .max_bytes = 100},
            log_};
  }
  TempDir dir_;
  RecordedLog log_;
};

TEST_F(StateFileTest, IsReadBackInThisBootOnly) {
  EXPECT_FALSE(file().load(any));
  file().store("{}\n");
  EXPECT_EQ(*read_small_file(dir_.file("state")), "{\"format\":1,\"boot_id\":\"b1\"}\n{}\n");
  EXPECT_EQ(file().load(any), "{}\n");
  EXPECT_FALSE(file("b2").load(any));
  EXPECT_TRUE(log_.entries.empty());
  StateFile nowhere = file("");
  nowhere.store("{}\n");
  EXPECT_FALSE(nowhere.is_enabled() || nowhere.load(any));
  EXPECT_EQ(file().load(any), "{}\n");
}

TEST_F(StateFileTest, WhatCannotBeReadIsCountedAndLogged) {
  file().store("{}\n");
  EXPECT_FALSE(file("b1", 2).load(any)) << "another format";
  const auto refused = [](std::string_view) -> Result<int> { return fail(Errc::kMalformed, "no"); };
  EXPECT_FALSE(file().load(refused));
  std::size_t logged = 2;
  for (const std::string& text : {std::string(), std::string("{\"format\":1,"), std::string("\x1b"),
                                  std::string(1000, '[')}) {
    dir_.write("state", text);
    StateFile bad = file();
    EXPECT_FALSE(bad.load(any)) << text;
    EXPECT_EQ(bad.failures(), 1U);
    ASSERT_EQ(log_.entries.size(), ++logged);
    EXPECT_EQ(log_.entries.back().message.find('\x1b'), std::string::npos);
  }
}

TEST_F(StateFileTest, FailureAndRecoveryAreLoggedOnce) {
  StateFile state = file();
  std::filesystem::create_directory(dir_.file("state.new"));
  state.store("1");
  state.store("2");
  state.store(std::string(101, '3'));
  EXPECT_TRUE(state.last_store_failed());
  EXPECT_EQ(state.failures(), 3U);
  EXPECT_EQ(log_.entries.size(), 1U);
  std::filesystem::remove(dir_.file("state.new"));
  state.store("4");
  state.store("5");
  EXPECT_FALSE(state.last_store_failed());
  EXPECT_EQ(log_.entries.size(), 2U);
  EXPECT_EQ(state.load(any), "5");
}

class SmallFile : public testing::Test {
 protected:
  const TempDir directory;
  const std::string path = directory.file("state");
};

TEST_F(SmallFile, IsReplacedWhole) {
  EXPECT_EQ(read_small_file(path).error().code, Errc::kAbsent);
  ASSERT_TRUE(replace_small_file(path, "one"));
  ASSERT_TRUE(replace_small_file(path, std::string(100'000, 'x')));
  EXPECT_EQ(read_small_file(path).value().size(), 100'000U);
  EXPECT_EQ(read_small_file(path, 1000).error().code, Errc::kTooLarge);
  // A failure leaves the old one.
  ASSERT_TRUE(replace_small_file(path, "one"));
  ASSERT_EQ(::mkdir((path + ".new").c_str(), 0700), 0);
  EXPECT_FALSE(replace_small_file(path, "two"));
  EXPECT_EQ(read_small_file(path).value(), "one");
}

TEST_F(SmallFile, OnlyFilesAreRead) {
  EXPECT_EQ(read_small_file(directory.path()).error().code, Errc::kNotRegular);
  EXPECT_EQ(::mkfifo((directory.path() + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_small_file(directory.path() + "/fifo").error().code, Errc::kNotRegular);
}

}  // namespace
}  // namespace jetmem
