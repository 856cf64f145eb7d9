// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/listen.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

ListenAddress at(std::string_view text) {
  const auto address = parse_listen_address(text);
  EXPECT_TRUE(address) << text;
  return *address;
}

class ListenUnix : public ::testing::Test {
 protected:
  ListenUnix() { address_ = at("unix:" + path()); }
  std::string path() const { return directory_.file("socket"); }

  TempDir directory_;
  ListenAddress address_;
};

TEST(Listen, ABusyPortSaysWhoMayHoldItAndAnAddressOfNobodyIsNamed) {
  const auto first = listen_on(at("127.0.0.1:0"));
  ASSERT_TRUE(first);
  EXPECT_NE(first->address().port, 0) << "the kernel's port is reported";
  EXPECT_NE(::fcntl(first->fd(), F_GETFD) & FD_CLOEXEC, 0);
  const auto busy = listen_on(first->address());
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().message, "listen on " + first->address().text() +
                                      ": Address already in use (is another jetmemd running?)");
  const auto nobodys = listen_on(at("192.0.2.1:10743"));
  ASSERT_FALSE(nobodys);
  EXPECT_THAT(nobodys.error().message,
              StartsWith("listen on 192.0.2.1:10743: Cannot assign requested address (no network"));
}

TEST(Listen, BothFamiliesCanShareAPort) {
  std::string refused;
  // A port that is free for IPv6 may be in use for IPv4.
  for (int i = 0; i < 10; ++i) {
    const auto six = listen_on(at("[::]:0"));
    if (!six) GTEST_SKIP() << "no IPv6 here: " << six.error().message;
    const auto four = listen_on(at("0.0.0.0:" + std::to_string(six->address().port)));
    if (four) return;
    refused = four.error().message;
  }
  FAIL() << refused;
}

TEST_F(ListenUnix, TheSocketIsForTheGroupOrForEverybodyAndGoesWithTheListener) {
  for (const auto& [users, mode] :
       {std::pair(SocketUsers::kGroup, 0660U), {SocketUsers::kEverybody, 0666U}}) {
    const mode_t before = ::umask(0077);
    {
      const auto listener = listen_on(address_, users);
      ASSERT_TRUE(listener) << listener.error().message;
      struct stat made {};
      ASSERT_EQ(::stat(path().c_str(), &made), 0);
      EXPECT_TRUE(S_ISSOCK(made.st_mode));
      EXPECT_EQ(made.st_mode & 07777, mode);
    }
    ::umask(before);
    EXPECT_FALSE(std::filesystem::exists(path()));
  }
}

TEST_F(ListenUnix, AStaleSocketIsReplacedAndALiveOneIsNot) {
  {
    // As a killed daemon leaves it: the file without the process.
    const auto dead = listen_on(address_);
    ASSERT_TRUE(dead);
    std::filesystem::rename(path(), path() + ".kept");
  }
  std::filesystem::rename(path() + ".kept", path());
  auto live = listen_on(address_);
  ASSERT_TRUE(live) << live.error().message;

  const auto refused = listen_on(address_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is another jetmemd running?"));
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(ListenUnix, AForeignFileIsLeftAloneAlsoWhereOurSocketWas) {
  {
    const auto ours = listen_on(address_);
    ASSERT_TRUE(ours);
    std::filesystem::remove(path());
    directory_.write("socket", "data");
  }
  EXPECT_TRUE(std::filesystem::exists(path()));
  const auto listener = listen_on(address_);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, Errc::kNotRegular);
  EXPECT_THAT(listener.error().message, HasSubstr(path()));
  EXPECT_EQ(std::filesystem::file_size(path()), 4U);
}

}  // namespace
}  // namespace jetmem
