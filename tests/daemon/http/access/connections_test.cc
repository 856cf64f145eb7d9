// SPDX-License-Identifier: Apache-2.0
// The deadlines of connections, and which one is idle.
#include "daemon/http/access/connections.h"

#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace jetmem {
namespace {

using std::chrono::seconds;

ClientKey client(const char* text) {
  addrinfo numeric{};
  numeric.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  EXPECT_EQ(::getaddrinfo(text, nullptr, &numeric, &found), 0) << text;
  sockaddr_storage storage{};
  std::memcpy(&storage, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  return client_key(storage);
}

TEST(ClientKeys, AreAddressesOrNetworks) {
  EXPECT_EQ(client("192.0.2.7").text(), "192.0.2.7");
  EXPECT_NE(client("192.0.2.7"), client("192.0.2.8"));
  // One network, one client.
  EXPECT_EQ(client("2001:db8:1:2::1"), client("2001:db8:1:2:ffff::9"));
  EXPECT_EQ(client("2001:db8:1:2::1").text(), "2001:db8:1:2::/64");
  EXPECT_NE(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
  // Neighbours on a link share its one network.
  EXPECT_NE(client("fe80::1"), client("fe80::2"));
  EXPECT_EQ(client("fe80::1").text(), "fe80::1");
  EXPECT_TRUE(ClientKey{}.is_local());
  EXPECT_EQ(ClientKey{}.text(), "local client");
}

class ConnectionsTest : public testing::Test {
 protected:
  Connection& open(const char* who, Nanoseconds now) {
    return all_.open(nullptr, -1, client(who), now);
  }
  Connections all_{seconds(10)};
};

TEST_F(ConnectionsTest, EachPhaseHasItsDeadlineButWhileTheAnswerIsMade) {
  Connection& one = open("192.0.2.1", seconds(0));
  EXPECT_EQ(one.deadline, seconds(10));
  all_.requested(one);
  EXPECT_EQ(one.deadline, Connection::kNever);
  all_.answered(one, 320 << 10, seconds(20));
  EXPECT_EQ(one.deadline, seconds(20 + 10 + 10));  // 32 KiB a second are enough
  all_.finished(one, seconds(30));
  EXPECT_EQ(one.deadline, seconds(30 + 10));
  all_.close(&one);
  EXPECT_EQ(all_.count(), 0U);
}

TEST_F(ConnectionsTest, TheOldestIdleOneOfAllOrOfAClient) {
  const ClientKey first = client("192.0.2.1");
  const ClientKey second = client("192.0.2.2");
  EXPECT_EQ(all_.oldest_idle(), nullptr);
  Connection& reader = open("192.0.2.1", seconds(0));
  Connection& kept = open("192.0.2.1", seconds(1));
  Connection& young = open("192.0.2.2", seconds(3));
  EXPECT_EQ(all_.oldest_idle(), &reader);
  all_.requested(reader);
  EXPECT_EQ(all_.oldest_idle(), &kept);
  all_.answered(reader, 1000, seconds(2));
  EXPECT_EQ(all_.oldest_idle(), &kept);
  all_.requested(kept);
  all_.finished(kept, seconds(4));
  EXPECT_EQ(all_.oldest_idle(), &young);
  EXPECT_EQ(all_.oldest_idle(&first), &kept);
  EXPECT_EQ(all_.count(&first), 2U);
  kept.is_cut = true;
  EXPECT_EQ(all_.oldest_idle(&first), nullptr);
  EXPECT_EQ(all_.count(&first), 1U);
  EXPECT_EQ(all_.count(&second), 1U);
  EXPECT_EQ(all_.count(), 2U);
}

TEST_F(ConnectionsTest, WhoseAnswerIsNotReceivedIsNotIdle) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  Connection& sent = all_.open(nullptr, pair[0], client("192.0.2.1"), seconds(0));
  all_.requested(sent);
  all_.finished(sent, seconds(0));
  EXPECT_EQ(all_.oldest_idle(), &sent);
  ASSERT_EQ(::send(pair[0], "answer", 6, 0), 6);
  EXPECT_EQ(all_.oldest_idle(), nullptr);
  char buffer[6];
  ASSERT_EQ(::recv(pair[1], buffer, sizeof buffer, 0), 6);
  EXPECT_EQ(all_.oldest_idle(), &sent);
  ::close(pair[0]);
  ::close(pair[1]);
}

}  // namespace
}  // namespace jetmem
