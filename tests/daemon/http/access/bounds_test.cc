// SPDX-License-Identifier: Apache-2.0
// The bounds on the web server's memory and CPU time, and how refusals are logged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/http/access/cpu_share.h"
#include "daemon/http/access/refusals.h"
#include "daemon/http/access/response_memory.h"
#include "report/exposition/exposition.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

AnswerMemory::Body body(std::size_t size) { return std::make_shared<const std::string>(size, 'x'); }

ClientKey client(std::uint8_t number) {
  ClientKey out;
  out.family = ClientKey::Family::kIpv4;
  out.address[3] = number;
  return out;
}

TEST(AnswerMemoryTest, OneClientCannotTakeAll) {
  AnswerMemory memory;
  std::vector<std::unique_ptr<AnswerMemory::Held>> held;
  const auto take = [&](std::size_t size, const ClientKey& who) {
    const auto answer = body(size);
    if (!memory.has_room(answer, who)) return false;
    held.push_back(std::make_unique<AnswerMemory::Held>(memory, answer, who));
    return true;
  };
  EXPECT_TRUE(take(4 << 20, client(1)));
  EXPECT_TRUE(take(4 << 20, client(1)));
  EXPECT_FALSE(take(4 << 20, client(1)));
  EXPECT_TRUE(take(4 << 20, client(2)));
  EXPECT_TRUE(take(4 << 20, client(3)));
  EXPECT_FALSE(take(4 << 20, client(4)));
  // A scrape is always answered.
  EXPECT_TRUE(take(100 << 10, client(1)));
  EXPECT_EQ(memory.bytes(), (16U << 20) + (100U << 10));
  held.clear();
  EXPECT_EQ(memory.bytes(), 0U);
  EXPECT_TRUE(take(4 << 20, client(4)));
}

TEST(AnswerMemoryTest, ThereIsRoomForLocalClientsAndMoreForRoot) {
  AnswerMemory memory;
  std::vector<std::unique_ptr<AnswerMemory::Held>> held;
  const auto fill = [&](const ClientKey& who) {
    int count = 0;
    for (auto answer = body(2 << 20); memory.has_room(answer, who); answer = body(2 << 20)) {
      held.push_back(std::make_unique<AnswerMemory::Held>(memory, answer, who));
      ++count;
    }
    return count;
  };
  for (std::uint8_t i = 0; i < 4; ++i) fill(client(i));
  ASSERT_EQ(memory.bytes(), AnswerMemory::kMost);
  ClientKey user;
  user.user = 1000;
  EXPECT_EQ(fill(user), 2);
  ClientKey root;
  root.user = 0;
  EXPECT_EQ(fill(root), 2);
}

TEST(AnswerMemoryTest, ASharedBodyCountsOnce) {
  AnswerMemory memory;
  const auto page = body(3 << 20);
  std::vector<std::unique_ptr<AnswerMemory::Held>> held;
  for (std::uint8_t i = 0; i < 60; ++i) {
    ASSERT_TRUE(memory.has_room(page, client(i % 2)));
    held.push_back(std::make_unique<AnswerMemory::Held>(memory, page, client(i % 2)));
  }
  EXPECT_EQ(memory.bytes(), 3U << 20);
  held.erase(held.begin() + 1, held.end());
  EXPECT_EQ(memory.bytes(), 3U << 20);
}

TEST(AnswerMemoryTest, ASingleAnswerMayHaveAnySize) {
  AnswerMemory memory;
  EXPECT_TRUE(memory.has_room(body(20 << 20), client(1)));
}

TEST(CpuShareTest, SavedTimeMayBeSpentAtOnceThenHalf) {
  CpuShare share;
  Nanoseconds now(0);
  Nanoseconds used(0);
  share.rest(now, used);
  now = seconds(10);
  // A second at once is fine...
  now += seconds(1);
  used += seconds(1);
  EXPECT_EQ(share.rest(now, used), Nanoseconds(0));
  // ...and then a flood is served half of the time.
  Nanoseconds rested(0);
  const Nanoseconds begin = now;
  while (now - begin < seconds(20)) {
    now += milliseconds(5);
    used += milliseconds(5);
    const Nanoseconds rest = share.rest(now, used);
    EXPECT_LE(rest, CpuShare::kMaxRest);
    now += rest;
    rested += rest;
  }
  EXPECT_NEAR(to_seconds(rested), 10, 0.6);
}

TEST(CpuShareTest, OccasionalRequestsNeverRest) {
  CpuShare share;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(share.rest(seconds(i), milliseconds(400 * i)), Nanoseconds(0));
  }
}

TEST(RefusalsTest, AreLoggedAtOnceThenOnceAMinute) {
  ManualClock clock;
  std::vector<std::string> reported;
  const WebLog log = [&](LogLevel level, std::string message) {
    EXPECT_EQ(level, LogLevel::kWarning);
    reported.push_back(std::move(message));
  };
  Refusals refusals(clock, log);
  for (int i = 0; i < 100; ++i) refusals.refused(Refusal::kSlowRequest, client(7));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0],
            "http: 0.0.0.7 did not complete its request within http.request_timeout, and was cut");
  clock.advance(std::chrono::minutes(1));
  refusals.refused(Refusal::kSlowRequest, client(8));
  ASSERT_EQ(reported.size(), 2U);
  EXPECT_THAT(reported[1], HasSubstr("0.0.0.8 did not"));
  EXPECT_THAT(reported[1], HasSubstr("(99 entries before it suppressed)"));
  EXPECT_EQ(refusals.stats().refused[1], 101U);
  // Each kind on its own.
  refusals.refused(Refusal::kSlowReader, client(8));
  refusals.auth_failed(AuthFailure::kWrong, client(8));
  refusals.handshake_failed(HandshakeFailure::kClientCertificate, client(8), "CN=x: expired");
  ASSERT_EQ(reported.size(), 5U);
  EXPECT_THAT(reported[4], HasSubstr("refused for its client certificate: CN=x: expired"));
  // Everyday ones are only counted.
  refusals.auth_failed(AuthFailure::kMissing, client(8));
  refusals.handshake_failed(HandshakeFailure::kOther, client(8), "");
  EXPECT_EQ(reported.size(), 5U);
  EXPECT_EQ(refusals.stats().handshake_failures[2], 1U);
}

TEST(AccessStatsTest, EverySeriesIsDeclared) {
  AccessStats stats;
  const auto shown = [&] {
    SampleTable table;
    const std::size_t section = table.add_section("test");
    {
      SampleWriter out(table, section, Nanoseconds(0));
      write_access(out, stats);
    }
    Page page;
    fill_page(table, Nanoseconds(0), 0, page);
    std::string text;
    render_text(page, text);
    return text;
  };
  // Without TLS and passwords their metrics are absent.
  EXPECT_EQ(shown().find("web_config"), std::string::npos);
  EXPECT_EQ(shown().find("handshake"), std::string::npos);
  EXPECT_THAT(shown(), HasSubstr("jetmem_http_refused_total{reason=\"slow_reader\"} 0\n"));
  stats.has_config = stats.has_tls = stats.has_users = true;
  for (const Descriptor& d : access_metrics()) {
    EXPECT_THAT(shown(), HasSubstr("# TYPE " + std::string(d.name) + " ")) << d.name;
  }
}

}  // namespace
}  // namespace jetmem
