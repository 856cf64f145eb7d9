// SPDX-License-Identifier: Apache-2.0
// Which connections are cut and when: deadlines, and eviction when all are taken.
#include "daemon/http/access/connections.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

namespace jetmem {
namespace {

using std::chrono::seconds;

ClientKey client(const char* text) {
  sockaddr_storage storage{};
  in6_addr v6{};
  if (inet_pton(AF_INET6, text, &v6) == 1) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = v6;
    std::memcpy(&storage, &address, sizeof address);
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, text, &address.sin_addr);
    std::memcpy(&storage, &address, sizeof address);
  }
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
}

class ConnectionsTest : public testing::Test {
 protected:
  Connection& open(const char* who, Nanoseconds now) {
    return all_.open(nullptr, -1, client(who), now);
  }
  Connections all_{{seconds(10), seconds(5)}};
};

TEST_F(ConnectionsTest, ATricklingRequestHasADeadline) {
  Connection& slow = open("192.0.2.1", seconds(100));
  EXPECT_EQ(all_.next_deadline(), seconds(110));
  EXPECT_EQ(all_.overdue(seconds(109)), nullptr);
  EXPECT_EQ(all_.overdue(seconds(110)), &slow);
  slow.is_cut = true;
  EXPECT_EQ(all_.overdue(seconds(110)), nullptr);
  EXPECT_EQ(all_.next_deadline(), Connections::kNever);
}

TEST_F(ConnectionsTest, NoDeadlineWhileTheAnswerIsMade) {
  Connection& one = open("192.0.2.1", seconds(0));
  all_.requested(one, seconds(9));
  EXPECT_EQ(all_.overdue(seconds(1000)), nullptr);
  all_.answered(one, 320 << 10, seconds(20));
  EXPECT_EQ(all_.next_deadline(), seconds(20 + 10 + 10));  // 32 KiB a second are enough
  all_.finished(one, seconds(30));
  EXPECT_EQ(all_.next_deadline(), seconds(30 + 5 + 10));
  all_.close(&one);
  EXPECT_EQ(all_.next_deadline(), Connections::kNever);
}

TEST_F(ConnectionsTest, EvictsTheLongestIdleOfTheClientWithMost) {
  Connection& scraper = open("192.0.2.1", seconds(0));
  Connection& older = open("192.0.2.2", seconds(2));
  Connection& old = open("192.0.2.2", seconds(1));
  Connection& working = open("192.0.2.2", seconds(0));
  all_.requested(working, seconds(0));
  EXPECT_EQ(all_.to_evict(Connections::kMayClose - Nanoseconds(1)), nullptr);
  EXPECT_EQ(all_.closable_at(), Connections::kMayClose);
  EXPECT_EQ(all_.to_evict(seconds(1)), &scraper);  // nobody else has been idle for long enough
  EXPECT_EQ(all_.to_evict(seconds(10)), &old);
  old.is_cut = true;
  EXPECT_EQ(all_.to_evict(seconds(10)), &older);
  older.is_cut = true;
  EXPECT_EQ(all_.to_evict(seconds(10)), &scraper);
  EXPECT_EQ(all_.of_client(client("192.0.2.2")), 1U);
  const ClientKey busy = client("192.0.2.2");
  EXPECT_EQ(all_.to_evict(seconds(10), &busy), nullptr);
}

TEST_F(ConnectionsTest, SlowReadersAreEvictedLater) {
  Connection& one = open("192.0.2.1", seconds(0));
  all_.requested(one, seconds(0));
  EXPECT_EQ(all_.closable_at(), Connections::kNever);
  all_.answered(one, 1 << 20, seconds(1));
  EXPECT_EQ(all_.to_evict(seconds(3)), nullptr);
  EXPECT_EQ(all_.to_evict(seconds(4)), &one);
}

TEST_F(ConnectionsTest, NoConnectionIsKeptIndefinitely) {
  Connection& one = open("192.0.2.1", seconds(0));
  EXPECT_FALSE(Connections::is_worn(one, seconds(3599)));
  EXPECT_TRUE(Connections::is_worn(one, seconds(3600)));
  for (std::uint32_t i = 0; i < Connections::kMostRequests; ++i) all_.requested(one, seconds(1));
  EXPECT_TRUE(Connections::is_worn(one, seconds(1)));
}

}  // namespace
}  // namespace jetmem
