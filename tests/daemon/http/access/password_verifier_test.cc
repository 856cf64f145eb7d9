// SPDX-License-Identifier: Apache-2.0
// Passwords: what a request carries, and how they are checked without holding up anybody.
#include <crypt.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>

#include "daemon/http/server/gate.h"
#include "tests/cpu_time.h"
#include "tests/recorded_log.h"

namespace jetmem {
namespace {

using State = PasswordVerifier::State;
using std::chrono::steady_clock;

// Of no password that is known, and not made here, as that takes just as long.
constexpr const char* kSlowHash = "$2b$14$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234";

std::string hash_of(const std::string& password, int cost = 4) {
  char setting[CRYPT_GENSALT_OUTPUT_SIZE];
  crypt_data data{};
  crypt_gensalt_rn("$2b$", static_cast<unsigned long>(cost), nullptr, 0, setting, sizeof setting);
  return crypt_r(password.c_str(), setting, &data);
}

ClientKey client(std::uint8_t number = 1) {
  ClientKey out;
  out.family = ClientKey::Family::kIpv4;
  out.address[3] = number;
  return out;
}

TEST(BasicAuth, WhatARequestCarries) {
  const auto good = parse_basic_auth("basic  YWxpY2U6c2VjOnJldA==");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->user, "alice");
  EXPECT_EQ(good->password, "sec:ret");
  const auto none = parse_basic_auth("Basic YWxpY2U6");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->password, "");
  for (const char* text : {"", "Basic", "Basic ", "Bearer YWxpY2U6c2VjOnJldA==", "Basic !!!!",
                           "Basic YWxpY2U6c2Vj OnJldA==", "Basic YWxpY2U=",
                           "Basic YQBhOmI="}) {  // without a colon; with a NUL
    EXPECT_FALSE(parse_basic_auth(text)) << text;
  }
  EXPECT_FALSE(parse_basic_auth("Basic " + std::string(2000, 'Y')));
}

class PasswordVerifierTest : public testing::Test {
 protected:
  void SetUp() override {
    verifier_.set_users({{"alice", hash_of("right")}, {"bob", hash_of("also right")}});
  }

  State settled(const Credentials& credentials, const ClientKey& who = client()) {
    const auto end = steady_clock::now() + std::chrono::seconds(10);
    State state = verifier_.check(credentials, who);
    while (state == State::kRequested && steady_clock::now() < end) {
      pollfd news{verifier_.changes().get(), POLLIN, 0};
      ::poll(&news, 1, 1000);
      verifier_.changes().clear();
      state = verifier_.check(credentials, who);
    }
    return state;
  }

  PasswordVerifier verifier_;
};

TEST_F(PasswordVerifierTest, RightAndWrong) {
  EXPECT_EQ(settled({"alice", "right"}), State::kRight);
  EXPECT_EQ(settled({"alice", "wrong"}), State::kWrong);
  EXPECT_EQ(settled({"alice", "also right"}), State::kWrong);
  EXPECT_EQ(settled({"bob", "also right"}), State::kRight);
  EXPECT_EQ(settled({"nobody", "right"}), State::kWrong);
  EXPECT_EQ(settled({"", ""}), State::kWrong);
  // Remembered: none is checked twice.
  EXPECT_EQ(verifier_.check({"alice", "right"}, client(9)), State::kRight);
  EXPECT_EQ(verifier_.check({"nobody", "right"}, client(9)), State::kWrong);
  const auto stats = verifier_.stats();
  EXPECT_EQ(stats.right, 2U);
  EXPECT_EQ(stats.wrong, 4U);
  EXPECT_GT(stats.seconds, 0);
}

TEST_F(PasswordVerifierTest, OtherUsersMeanANewCheckAndTheSameAgainNone) {
  EXPECT_EQ(settled({"alice", "right"}), State::kRight);
  const PasswordVerifier::Users users{{"alice", hash_of("new")}};
  verifier_.set_users(users);
  EXPECT_EQ(verifier_.check({"alice", "right"}, client()), State::kRequested);
  EXPECT_EQ(settled({"alice", "right"}), State::kWrong);
  EXPECT_EQ(settled({"alice", "new"}), State::kRight);
  verifier_.set_users(users);
  EXPECT_EQ(verifier_.check({"alice", "new"}, client()), State::kRight);
  // One that they change under is asked again.
  verifier_.set_users({{"alice", hash_of("right", 8)}});
  EXPECT_EQ(verifier_.check({"alice", "right"}, client()), State::kRequested);
  verifier_.set_users(users);
  EXPECT_EQ(settled({"alice", "right"}), State::kWrong);
}

TEST_F(PasswordVerifierTest, EachClientHasFewPlaces) {
  verifier_.set_users({{"alice", hash_of("right", 10)}});
  const auto guess = [&](std::size_t i, std::uint8_t from) {
    return verifier_.check({"alice", "guess " + std::to_string(i)}, client(from));
  };
  std::size_t requested = 0;
  State last = State::kRequested;
  while (requested < 20 && (last = guess(requested, 1)) == State::kRequested) ++requested;
  EXPECT_EQ(last, State::kFull);
  EXPECT_LE(requested, PasswordVerifier::kMostOfClient + 1);
  // Others come in all the same, and are not far behind.
  EXPECT_EQ(verifier_.check({"alice", "right"}, client(2)), State::kRequested);
  EXPECT_EQ(settled({"alice", "right"}, client(2)), State::kRight);
  // On a busy machine places become free while they are taken.
  last = State::kRequested;
  for (std::size_t i = 12; i < 800 && last != State::kFull; ++i) {
    last = guess(i, static_cast<std::uint8_t>(i / 4));
  }
  EXPECT_EQ(last, State::kFull);
  // And who is known does not wait at all.
  EXPECT_EQ(verifier_.check({"alice", "right"}, client(1)), State::kRight);
}

TEST_F(PasswordVerifierTest, WrongOnesTakeAQuarterOfTheTime) {
  verifier_.set_users({{"alice", hash_of("right", 7)}});
  const auto begin = steady_clock::now();
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(settled({"alice", "guess " + std::to_string(i)}), State::kWrong);
  }
  const double elapsed = std::chrono::duration<double>(steady_clock::now() - begin).count();
  // The last one's rest is still to come.
  EXPECT_GE(elapsed, verifier_.stats().seconds * 0.9 * (1 + 3.0 * 11 / 12));
}

TEST_F(PasswordVerifierTest, WrongOnesDoNotPushOutRightOnes) {
  EXPECT_EQ(settled({"alice", "right"}), State::kRight);
  for (int i = 0; i < 300; ++i) settled({"alice", std::to_string(i)});
  EXPECT_EQ(verifier_.check({"alice", "right"}, client()), State::kRight);
  EXPECT_EQ(verifier_.check({"alice", "299"}, client()), State::kWrong);
  EXPECT_EQ(verifier_.check({"alice", "0"}, client()), State::kRequested);
}

TEST(PasswordCheck, UnknownUsersTakeAsLong) {
  const PasswordVerifier::Users users{{"alice", hash_of("right", 7)}};
  const auto time_of = [&](const Credentials& credentials) {
    const auto begin = cpu_time();
    password_matches(users, credentials);
    return cpu_time() - begin;
  };
  EXPECT_GT(time_of({"mallory", "wrong"}), time_of({"alice", "wrong"}) / 4);
  EXPECT_FALSE(password_matches(users, {"mallory", "right"}));
  EXPECT_FALSE(password_matches({}, {"alice", "right"}));
}

class GateTest : public testing::Test {
 protected:
  void SetUp() override {
    set_users({{"alice", kSlowHash}});
    request_.method = "GET";
    request_.path = "/metrics";
    request_.asker.client = client();
  }
  void set_users(PasswordVerifier::Users users) {
    auto rules = std::make_shared<AccessRules>();
    rules->users = std::move(users);
    gate_.set_rules(rules);
  }

  ManualClock clock_;
  RecordedLog log_;
  WebMetrics metrics_{clock_, log_};
  Gate gate_{metrics_};
  Request request_;
};

TEST_F(GateTest, NobodyWaitsForEverNorWithoutRulesOrUsersNorOnThisMachine) {
  request_.authorization = "Basic YWxpY2U6cmlnaHQ=";
  request_.waited_for_gate = std::chrono::seconds(11);
  const auto answer = gate_.check(request_);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code, 503U);
  EXPECT_STREQ(answer->headers.at("Retry-After"), "2");
  EXPECT_EQ(metrics_.stats.refused[static_cast<std::size_t>(Refusal::kPasswordQueue)], 1U);
  request_.asker.client = {};
  EXPECT_FALSE(gate_.check(request_));
  request_.asker.client = client();
  set_users({});
  EXPECT_FALSE(gate_.check(request_));
  gate_.set_rules(nullptr);
  EXPECT_FALSE(gate_.check(request_));
}

}  // namespace
}  // namespace jetmem
