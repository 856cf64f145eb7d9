// SPDX-License-Identifier: Apache-2.0
// How refusals are counted and logged.
#include "daemon/http/web_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/recorded_log.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

ClientKey client(std::uint8_t number) {
  ClientKey out;
  out.family = ClientKey::Family::kIpv4;
  out.address[3] = number;
  return out;
}

struct WebMetricsTest : testing::Test {
  ManualClock clock;
  RecordedLog log;
  WebMetrics metrics{clock, log};
};

TEST_F(WebMetricsTest, RefusalsAreLoggedAtOnceThenOnceAMinute) {
  const std::vector<LogEntry>& reported = log.entries;
  for (int i = 0; i < 100; ++i) metrics.refused(Refusal::kSlowRequest, client(7));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].level, LogLevel::kWarning);
  EXPECT_EQ(reported[0].message,
            "http: 0.0.0.7 did not complete its request within http.request_timeout, and was cut");
  clock.advance(std::chrono::minutes(1));
  metrics.refused(Refusal::kSlowRequest, client(8));
  ASSERT_EQ(reported.size(), 2U);
  EXPECT_THAT(reported[1].message, HasSubstr("0.0.0.8 did not"));
  EXPECT_THAT(reported[1].message, HasSubstr("(99 entries before it suppressed)"));
  EXPECT_EQ(metrics.stats.refused[static_cast<std::size_t>(Refusal::kSlowRequest)], 101U);
  // Each kind on its own.
  metrics.refused(Refusal::kSlowReader, client(8));
  metrics.auth_failed(AuthFailure::kWrong, client(8));
  metrics.handshake_failed(HandshakeFailure::kClientCertificate, client(8), "CN=x: expired");
  ASSERT_EQ(reported.size(), 5U);
  EXPECT_THAT(reported[4].message, HasSubstr("refused for its client certificate: CN=x: expired"));
  // Everyday ones are only counted.
  metrics.auth_failed(AuthFailure::kMissing, client(8));
  metrics.handshake_failed(HandshakeFailure::kOther, client(8), "");
  EXPECT_EQ(reported.size(), 5U);
  EXPECT_EQ(metrics.stats.handshake_failures[2], 1U);
}

TEST_F(WebMetricsTest, EachReasonOfARefusalIsCountedAndLoggedOnce) {
  for (std::size_t i = 0; i < kRefusalNames.size(); ++i) {
    for (int times = 0; times < 3; ++times) metrics.refused(static_cast<Refusal>(i), client(1));
    EXPECT_EQ(metrics.stats.refused[i], 3U) << kRefusalNames[i];
    EXPECT_EQ(log.entries.size(), i + 1) << kRefusalNames[i];
  }
}

TEST_F(WebMetricsTest, EverySeriesIsDeclared) {
  const auto shown = [&] {
    std::string text;
    metrics.render(std::chrono::seconds(1), false, TextFormat::kPlain, text);
    return text;
  };
  for (const std::string_view path : WebMetrics::kPaths) {
    for (const unsigned code : WebMetrics::kCodes) metrics.count_request(path, code);
  }
  metrics.count_request("/made/up", 200);
  metrics.count_request("/", 599);
  EXPECT_THAT(shown(), HasSubstr("{code=\"200\",path=\"other\"} 2\n"));
  // Without TLS and passwords their metrics are absent.
  EXPECT_EQ(shown().find("web_config"), std::string::npos);
  EXPECT_EQ(shown().find("handshake"), std::string::npos);
  EXPECT_THAT(shown(), HasSubstr("jetmem_http_refused_total{reason=\"slow_reader\"} 0\n"));
  metrics.count_scrape(std::chrono::microseconds(300));
  EXPECT_THAT(shown(), HasSubstr("seconds_bucket{le=\"0.0001\"} 0\n"
                                 "jetmem_http_scrape_duration_seconds_bucket{le=\"0.0005\"} 1\n"));
  EXPECT_THAT(shown(), HasSubstr("\njetmem_http_scrape_duration_seconds_sum 3e-04\n"));
  // The clock is set, is slewed, and is set again.
  const auto start = [&] {
    const std::string text = shown();
    const std::string_view key = "\nprocess_start_time_seconds ";
    const std::size_t at = text.find(key);
    return at == std::string::npos ? 0 : std::stod(text.substr(at + key.size()));
  };
  EXPECT_EQ(start(), 0) << "the clock was never set";
  clock.set_wall(std::chrono::seconds(1'800'000'000));
  const double started = start();
  EXPECT_GE(started, 1.8e9);
  clock.set_wall(std::chrono::seconds(1'800'000'001));
  EXPECT_EQ(start(), started);
  clock.set_wall(std::chrono::seconds(1'800'003'600));
  EXPECT_EQ(start(), started + 3600);
  metrics.stats.has_config = metrics.stats.has_tls = metrics.stats.has_users = true;
  for (const Descriptor& d : web_metrics()) {
    const std::string name(d.name.substr(0, d.name.find("_*")));
    EXPECT_THAT(shown(), HasSubstr("# TYPE " + name + " ")) << d.name;
  }
}

}  // namespace
}  // namespace jetmem
