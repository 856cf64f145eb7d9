// SPDX-License-Identifier: Apache-2.0
// Which connections are cut and when: deadlines, and eviction when all are taken.
#include "daemon/http/access/connections.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/unique_fd.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
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
  EXPECT_FALSE(ClientKey{}.is_root());
}

ClientKey local(uid_t user, pid_t process = 0) {
  ClientKey out;
  out.user = user;
  out.process = process;
  return out;
}

TEST(ClientKeys, OnAUnixSocketAreUsers) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const UniqueFd one(pair[0]);
  const UniqueFd other(pair[1]);
  EXPECT_EQ(local_client_key(one.get()).user, ::getuid());
  EXPECT_TRUE(local(0).is_root());
  EXPECT_FALSE(local(1000).is_root());
  EXPECT_NE(local(1000), local(1001));
  EXPECT_EQ(local(0).text(), "local root");
  EXPECT_EQ(local(1000).text(), "local user 1000");
  // The unit's user namespace knows root and jetmem only: of all others each process is a client.
  EXPECT_NE(local(65534, 4711), local(65534, 4712));
  EXPECT_EQ(local(65534, 4711).text(), "local process 4711");
  EXPECT_FALSE(own_client().is_root());
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
  all_.cut(slow);
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

TEST_F(ConnectionsTest, EvictsTheLongestIdleFirst) {
  Connection& scraper = open("192.0.2.1", seconds(0));
  Connection& older = open("192.0.2.2", seconds(2));
  Connection& old = open("192.0.2.2", seconds(1));
  Connection& working = open("192.0.2.2", seconds(0));
  all_.requested(working, seconds(0));
  for (Connection* const next : {&scraper, &old, &older}) {
    const auto evicted = all_.to_evict(seconds(10));
    EXPECT_EQ(evicted.connection, next);
    EXPECT_TRUE(evicted.is_idle);
    all_.cut(*next);
  }
  EXPECT_EQ(all_.of_client(client("192.0.2.2")), 1U);
  // Whatever it does, there is always one.
  const auto last = all_.to_evict(seconds(10));
  EXPECT_EQ(last.connection, &working);
  EXPECT_FALSE(last.is_idle);
  const ClientKey other = client("192.0.2.1");
  EXPECT_EQ(all_.to_evict(seconds(10), &other).connection, nullptr);
}

TEST_F(ConnectionsTest, WhoeverHoldsMostGivesWayThoughNoneIsIdle) {
  std::vector<Connection*> many;
  Connection& idle = open("192.0.2.1", seconds(0));
  for (std::size_t i = 0; i <= Connections::kFew; ++i) {
    many.push_back(&open("192.0.2.2", milliseconds(i)));
    all_.requested(*many.back(), seconds(9));
    all_.answered(*many.back(), 100, seconds(9));
  }
  // Those that are between two requests before those that have an answer, the oldest first.
  all_.finished(*many[5], seconds(10));
  for (Connection* const next : {many[5], many[0]}) {
    const auto evicted = all_.to_evict(seconds(10));
    EXPECT_EQ(evicted.connection, next);
    EXPECT_FALSE(evicted.is_idle);
    all_.cut(*next);
    // With no more than others hold, it counts what they do.
    if (all_.of_client(client("192.0.2.2")) == Connections::kFew) break;
  }
  EXPECT_EQ(all_.to_evict(seconds(10)).connection, &idle);
}

TEST_F(ConnectionsTest, ANewcomerOutlivesWhatIsOlder) {
  // Many addresses, a connection each, all of them new.
  std::vector<Connection*> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(&open(("192.0.2." + std::to_string(i)).c_str(), milliseconds(i)));
  }
  for (std::size_t i = 0; i < 19; ++i) {
    EXPECT_EQ(all_.to_evict(milliseconds(100)).connection, all[i]);
    all_.cut(*all[i]);
  }
}

TEST_F(ConnectionsTest, InAStormEachClientHasItsShare) {
  std::vector<Connection*> all;
  for (int i = 0; i < 12; ++i) {
    all.push_back(&open(("192.0.2." + std::to_string(i / 3)).c_str(), milliseconds(i)));
  }
  EXPECT_TRUE(all_.has_client_with_several());
  // However young: a client without any takes one of those who hold most, the oldest.
  const ClientKey newcomer = client("192.0.2.99");
  EXPECT_EQ(all_.to_share(newcomer), all[0]);
  // Who holds as many, or one less, has its share.
  EXPECT_EQ(all_.to_share(client("192.0.2.1")), nullptr);
  all_.cut(*all[0]);
  EXPECT_EQ(all_.to_share(client("192.0.2.0")), nullptr);
  for (const std::size_t i : {1U, 3U, 4U, 6U, 7U, 9U, 10U}) all_.cut(*all[i]);
  EXPECT_FALSE(all_.has_client_with_several());
  EXPECT_EQ(all_.to_share(newcomer), nullptr);
}

TEST(StormTest, IsACrowdThatLasts) {
  Storm storm;
  EXPECT_FALSE(storm.lasts(milliseconds(1000), false));
  EXPECT_FALSE(storm.lasts(milliseconds(1150), false));
  EXPECT_TRUE(storm.lasts(milliseconds(1300), false));
  // What was young a moment ago may be idle by now.
  EXPECT_TRUE(storm.lasts(milliseconds(3000), true));
  EXPECT_TRUE(storm.lasts(milliseconds(4900), true));
  EXPECT_FALSE(storm.lasts(milliseconds(7000), false));
}

TEST(StormTest, ShortCrowdsAreNone) {
  Storm storm;
  for (int i = 1; i < 20; ++i) {
    EXPECT_FALSE(storm.lasts(milliseconds(1300 * i), false));
    EXPECT_FALSE(storm.lasts(milliseconds(1300 * i + 250), false));
  }
}

TEST(StormTest, WhereOneIsIdleThereIsNone) {
  Storm storm;
  for (int i = 1; i < 20; ++i) EXPECT_FALSE(storm.lasts(milliseconds(100 * i), true));
}

TEST_F(ConnectionsTest, ANewcomerHasAMomentForItsRequest) {
  Connection& young = open("192.0.2.1", milliseconds(1000));
  EXPECT_EQ(all_.to_evict(milliseconds(1020)).grace, milliseconds(80));
  EXPECT_EQ(all_.to_evict(milliseconds(1100)).grace, milliseconds(0));
  // Also while its answer is made and read, but not after it.
  all_.requested(young, milliseconds(1010));
  EXPECT_EQ(all_.to_evict(milliseconds(1020)).grace, milliseconds(80));
  all_.answered(young, 100, milliseconds(1011));
  EXPECT_EQ(all_.to_evict(milliseconds(1020)).grace, milliseconds(80));
  all_.finished(young, milliseconds(1012));
  EXPECT_EQ(all_.to_evict(milliseconds(1020)).grace, milliseconds(0));
  // A client with many has none.
  for (std::size_t i = 0; i <= Connections::kFew; ++i) open("192.0.2.2", milliseconds(1015));
  const auto evicted = all_.to_evict(milliseconds(1020));
  EXPECT_EQ(evicted.connection->client, client("192.0.2.2"));
  EXPECT_EQ(evicted.grace, milliseconds(0));
}

TEST_F(ConnectionsTest, RootHasPlacesThatNobodyTakes) {
  for (std::size_t i = 0; i < Connections::kReserved; ++i) {
    EXPECT_TRUE(all_.has_reserved(local(0)));
    EXPECT_TRUE(all_.open(nullptr, -1, local(0), seconds(0)).is_reserved);
  }
  EXPECT_FALSE(all_.has_reserved(local(0)));
  EXPECT_FALSE(all_.has_reserved(local(1000)));
  EXPECT_EQ(all_.unreserved(), 0U);
  EXPECT_EQ(all_.to_evict(seconds(100)).connection, nullptr);
  // Beyond them root is like all others.
  Connection& next = all_.open(nullptr, -1, local(0), seconds(0));
  EXPECT_EQ(all_.unreserved(), 1U);
  EXPECT_EQ(all_.to_evict(seconds(100)).connection, &next);
  all_.close(&next);
  EXPECT_EQ(all_.of_client(local(0)), Connections::kReserved);
}

TEST_F(ConnectionsTest, SlowReadersAreIdleLater) {
  Connection& one = open("192.0.2.1", seconds(0));
  all_.requested(one, seconds(0));
  all_.answered(one, 1 << 20, seconds(1));
  EXPECT_FALSE(all_.to_evict(seconds(3)).is_idle);
  EXPECT_TRUE(all_.to_evict(seconds(4)).is_idle);
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
