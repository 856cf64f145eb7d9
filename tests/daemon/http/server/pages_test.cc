// SPDX-License-Identifier: Apache-2.0
// What is answered to which request, without sockets.
#include "daemon/http/server/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <thread>

#include "daemon/http/server/gzip.h"
#include "page/assets.h"
#include "tests/daemon/http/http_client.h"
#include "tests/recorded_log.h"

namespace jetmem {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Descriptor kFree{.name = "jetmem_free_bytes", .help = "Memory nobody uses."};

class PagesTest : public ::testing::Test {
 protected:
  void sample(double value) {
    SampleWriter(table_, section_, clock_.boot()).put(kFree, value);
    auto page = std::make_shared<Page>();
    fill_page(table_, clock_.boot(), ++round_, *page);
    buffer_.publish(std::move(page));
    readiness_.beat(clock_.boot());
    readiness_.set_sources(6, 6);
  }
  Answer get(std::string_view path, std::string_view accept = "") {
    return pages_.answer({.method = "GET", .path = path, .accept_encoding = accept});
  }
  std::string metrics() { return *get("/metrics").body; }

  static ManualClock running_clock() {
    ManualClock clock;
    clock.advance(seconds(1000));
    return clock;
  }

  ManualClock clock_ = running_clock();
  SampleTable table_;
  std::size_t section_ = table_.add_section("test");
  std::uint64_t round_ = 0;
  PageBuffer buffer_;
  Published<AlertsNow> alerts_;
  Readiness readiness_;
  RecordedLog log_;
  WebMetrics metrics_{clock_, log_};
  Pages pages_{clock_, buffer_, alerts_, readiness_, metrics_};
};

std::string header(const Answer& answer, std::string_view name) {
  const auto found = answer.headers.find(name);
  return found == answer.headers.end() ? "" : found->second;
}

TEST_F(PagesTest, AScrapeShowsTheCycleAndItsAge) {
  sample(4096);
  clock_.advance(std::chrono::milliseconds(1500));
  const std::string page = metrics();
  EXPECT_THAT(page, HasSubstr("\njetmem_free_bytes 4096\n"));
  EXPECT_THAT(page, HasSubstr("\njetmem_samples_age_seconds 1.5\n"));
  EXPECT_THAT(page, HasSubstr("\njetmem_sampling_stalled 0\n"));
  EXPECT_THAT(page, HasSubstr("\njetmem_http_requests_total{code=\"200\",path=\"/metrics\"} 0\n"));
  EXPECT_THAT(metrics(),
              HasSubstr("\njetmem_http_requests_total{code=\"200\",path=\"/metrics\"} 1\n"));
}

TEST_F(PagesTest, AStalledPageIsNotServed) {
  sample(4096);
  clock_.advance(seconds(11));
  const std::string stalled = metrics();
  EXPECT_THAT(stalled, Not(HasSubstr("jetmem_free_bytes")));
  EXPECT_THAT(stalled, HasSubstr("\njetmem_sampling_stalled 1\n"));
  EXPECT_THAT(stalled, HasSubstr("\njetmem_samples_age_seconds 11\n"));
  EXPECT_EQ(test::gunzip(*get("/metrics", "gzip").body).find("jetmem_free_bytes"),
            std::string::npos);

  sample(1);
  EXPECT_THAT(metrics(), HasSubstr("\njetmem_free_bytes 1\n"));
}

// The newest cycle is shown where the loop answers.
TEST_F(PagesTest, APageIsFilledForWhoAsks) {
  sample(1);
  buffer_.next_cycle();
  buffer_.next_cycle();
  clock_.advance(seconds(2));
  std::atomic<bool> stop{false};
  std::thread loop([&] {
    while (!stop) {
      pollfd request{buffer_.requests().get(), POLLIN, 0};
      if (::poll(&request, 1, 10) != 1) continue;
      buffer_.requests().clear();
      SampleWriter(table_, section_, clock_.boot()).put(kFree, 2);
      auto page = std::make_shared<Page>();
      fill_page(table_, clock_.boot(), buffer_.cycle(), *page);
      buffer_.publish(std::move(page));
    }
  });
  // Once, but on a machine that lets the loop wait.
  std::string page;
  for (int i = 0; i < 20 && page.find("_bytes 2\n") == std::string::npos; ++i) {
    buffer_.next_cycle();
    page = metrics();
  }
  stop = true;
  loop.join();
  EXPECT_THAT(page, HasSubstr("\njetmem_free_bytes 2\n"));
  EXPECT_THAT(page, HasSubstr("\njetmem_samples_age_seconds 0\n"));
}

TEST_F(PagesTest, NoAgeBeforeTheFirstCycle) {
  const std::string page = metrics();
  EXPECT_THAT(page, Not(HasSubstr("jetmem_samples_age_seconds")));
  EXPECT_THAT(page, HasSubstr("\njetmem_sampling_stalled 0\n"));
  clock_.advance(seconds(11));
  EXPECT_THAT(metrics(), HasSubstr("\njetmem_sampling_stalled 1\n"));
}

TEST_F(PagesTest, BothEncodingsAgreeAndOwnSeriesAreCurrent) {
  for (int cycle = 0; cycle < 3; ++cycle) {
    sample(cycle);
    for (int scrape = 0; scrape < 3; ++scrape) {
      const Answer zipped = get("/metrics", "gzip");
      EXPECT_EQ(header(zipped, "Content-Encoding"), "gzip");
      EXPECT_EQ(header(zipped, "Vary"), "Accept, Accept-Encoding");
      const std::string text = test::gunzip(*zipped.body);
      EXPECT_THAT(text, HasSubstr("\njetmem_free_bytes " + std::to_string(cycle) + "\n"));
      EXPECT_THAT(text, HasSubstr("{code=\"200\",path=\"/metrics\"} " +
                                  std::to_string(6 * cycle + 2 * scrape) + "\n"));
      EXPECT_THAT(metrics(), HasSubstr("{code=\"200\",path=\"/metrics\"} " +
                                       std::to_string(6 * cycle + 2 * scrape + 1) + "\n"));
    }
  }
}

TEST_F(PagesTest, OpenMetricsIsTheSamePageWithOtherHeaderLines) {
  sample(4096);
  const auto ask = [&](std::string_view encoding) {
    return pages_.answer({.method = "GET",
                          .path = "/metrics",
                          .accept = "application/openmetrics-text;version=1.0.0",
                          .accept_encoding = encoding});
  };
  const Answer open = ask("");
  EXPECT_EQ(header(open, "Content-Type"),
            "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_THAT(*open.body, ::testing::EndsWith("\n# EOF\n"));
  EXPECT_THAT(*open.body, HasSubstr("\njetmem_free_bytes 4096\n"));
  EXPECT_THAT(*open.body, HasSubstr("\n# TYPE jetmem_http_requests counter\n"
                                    "jetmem_http_requests_total{code=\"200\",path=\"/\"} 0\n"));
  EXPECT_THAT(test::gunzip(*ask("gzip").body), ::testing::EndsWith("\n# EOF\n"));

  const Answer plain = get("/metrics");
  EXPECT_EQ(header(plain, "Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(*plain.body, Not(HasSubstr("# EOF")));
  EXPECT_THAT(*plain.body, HasSubstr("\n# TYPE jetmem_http_requests_total counter\n"));
}

TEST_F(PagesTest, ABodyInFlightIsUnchanged) {
  sample(1);
  const Answer slow = get("/metrics");
  const Answer slow_zipped = get("/metrics", "gzip");
  const std::string before = *slow.body;
  const std::string before_zipped = *slow_zipped.body;
  for (int cycle = 2; cycle < 6; ++cycle) {
    EXPECT_NE(metrics(), before);  // the same round
    EXPECT_FALSE(test::gunzip(*get("/metrics", "gzip").body).empty());
    sample(cycle);
    EXPECT_THAT(metrics(), HasSubstr("\njetmem_free_bytes " + std::to_string(cycle) + "\n"));
  }
  EXPECT_EQ(*slow.body, before);
  EXPECT_EQ(*slow_zipped.body, before_zipped);
}

TEST_F(PagesTest, TheBufferIsReused) {
  sample(1);
  const std::string* first = get("/metrics").body.get();
  sample(2);
  EXPECT_EQ(get("/metrics").body.get(), first);
}

TEST_F(PagesTest, HealthFollowsTheLoop) {
  EXPECT_EQ(get("/healthz").code, 503U);
  EXPECT_EQ(*get("/healthz").body, "the daemon's loop has not started yet\n");
  sample(1);
  EXPECT_EQ(*get("/healthz").body, "ok\n");
  clock_.advance(seconds(60));
  EXPECT_EQ(get("/healthz").code, 503U);
  EXPECT_EQ(*get("/healthz").body,
            "the daemon's loop is stuck: last sign of life 60 s ago, limit 10 s\n");
  EXPECT_EQ(get("/readyz").code, 503U);
  readiness_.beat(clock_.boot());
  EXPECT_EQ(get("/healthz").code, 200U);
}

TEST_F(PagesTest, ReadyNeedsOneGoodSource) {
  readiness_.beat(clock_.boot());
  EXPECT_EQ(*get("/readyz").body, "no source has been read yet\n");
  readiness_.set_sources(6, 0);
  EXPECT_EQ(get("/readyz").code, 503U);
  EXPECT_THAT(*get("/readyz").body, HasSubstr("none of 6 cheap sources"));
  EXPECT_EQ(get("/healthz").code, 200U);
  readiness_.set_sources(6, 1);
  EXPECT_EQ(get("/readyz").code, 200U);
  readiness_.set_sources(0, 0);  // all switched off, as somebody wanted
  EXPECT_EQ(get("/readyz").code, 200U);
}

TEST_F(PagesTest, NothingCanBeChangedAndNothingElseIsThere) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", ""}) {
    const Answer answer = pages_.answer({.method = method, .path = "/metrics"});
    EXPECT_EQ(answer.code, 405U) << method;
    EXPECT_EQ(header(answer, "Allow"), "GET, HEAD");
  }
  for (const char* path : {"/metrics/", "/Metrics", "", "//", "/../etc/passwd", "/healthz2"}) {
    EXPECT_EQ(get(path).code, 404U) << path;
  }
  EXPECT_THAT(metrics(), HasSubstr("{code=\"405\",path=\"/metrics\"} 7\n"));
  EXPECT_THAT(metrics(), HasSubstr("{code=\"404\",path=\"other\"} 6\n"));
}

TEST_F(PagesTest, EveryAnswerIsFreshAndTakenForWhatItIs) {
  for (const char* path : {"/metrics", "/healthz", "/readyz", "/nothing"}) {
    const Answer answer = get(path, "gzip");
    EXPECT_EQ(header(answer, "Cache-Control"), "no-store") << path;
    EXPECT_EQ(header(answer, "X-Content-Type-Options"), "nosniff") << path;
    EXPECT_NE(header(answer, "Content-Type"), "") << path;
  }
}

TEST_F(PagesTest, ThePageNeedsNothingButTheDevice) {
  const Answer page = get("/");
  EXPECT_EQ(page.code, 200U);
  EXPECT_EQ(header(page, "Content-Type"), "text/html; charset=utf-8");
  EXPECT_THAT(*page.body, HasSubstr("src=\"/page/jetmem.js\""));
  EXPECT_THAT(*page.body, HasSubstr("href=\"/metrics\""));  // without JavaScript
  EXPECT_THAT(*page.body, Not(HasSubstr("http:")));
  for (const Asset& asset : assets()) {
    const Answer plain = get(asset.path);
    EXPECT_EQ(plain.code, 200U) << asset.path;
    EXPECT_EQ(plain.body->size(), asset.size) << asset.path;
    EXPECT_EQ(header(plain, "Content-Encoding"), "");
    const std::string policy = header(plain, "Content-Security-Policy");
    EXPECT_EQ(policy,
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
              "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'")
        << asset.path;
    EXPECT_EQ(header(plain, "X-Content-Type-Options"), "nosniff") << asset.path;
    const Answer packed = get(asset.path, "gzip");
    EXPECT_EQ(header(packed, "Content-Encoding"), "gzip") << asset.path;
    EXPECT_EQ(gunzip(*packed.body, asset.size), *plain.body) << asset.path;
  }
  EXPECT_EQ(get("/page/").code, 404U);
  EXPECT_EQ(get("/page/jetmem.js/").code, 404U);
  EXPECT_EQ(get("/runbooks/nothing").code, 404U);
  EXPECT_THAT(metrics(), HasSubstr("{code=\"200\",path=\"/page\"}"));
}

TEST_F(PagesTest, AClientKeepsThePageForAsLongAsItIsRight) {
  const Answer first = get("/page/jetmem.js");
  EXPECT_EQ(header(first, "Cache-Control"), "no-cache");
  const std::string etag = first.etag;
  const auto again = [&](std::string_view known) {
    return pages_.answer({.method = "GET", .path = "/page/jetmem.js", .if_none_match = known});
  };
  EXPECT_EQ(again(etag).code, 304U);
  EXPECT_EQ(etag.substr(0, 3), "W/\"");
  EXPECT_EQ(again(etag.substr(2) + ", \"other\"").code, 304U);
  EXPECT_EQ(again("*").code, 304U);
  EXPECT_TRUE(again(etag).body->empty());
  EXPECT_EQ(again(etag).etag, etag);
  EXPECT_EQ(again("\"other\"").code, 200U);
}

TEST_F(PagesTest, AClientIsNotSentAnAnswerThatItHas) {
  sample(4096);
  const auto again = [&](const Answer& known) {
    return pages_.answer({.method = "GET", .path = "/api/v1/cma", .if_none_match = known.etag});
  };
  const Answer first = get("/api/v1/cma");
  ASSERT_EQ(first.code, 200U);
  EXPECT_EQ(first.etag.substr(0, 3), "W/\"");
  EXPECT_EQ(again(first).code, 304U);
  EXPECT_TRUE(again(first).body->empty());
  EXPECT_EQ(again(first).etag, first.etag);
  // The encoding makes no difference.
  EXPECT_EQ(get("/api/v1/cma", "gzip").etag, first.etag);
  // New samples make another body.
  clock_.advance(seconds(2));
  sample(8192);
  const Answer second = again(first);
  EXPECT_EQ(second.code, 200U);
  EXPECT_NE(second.etag, first.etag);
  EXPECT_EQ(again(second).code, 304U);
  // Whoever has a copy hears all the same that it is no longer true.
  clock_.advance(seconds(3600));
  EXPECT_EQ(again(second).code, 503U);
  EXPECT_EQ(again(second).etag, "");
}

TEST_F(PagesTest, EveryRunbookIsOnTheDevice) {
  EXPECT_THAT(*get("/runbooks/").body, HasSubstr("href=\"/runbooks/oom-kill\""));
  EXPECT_THAT(*get("/runbooks/oom-kill").body, HasSubstr("<h1>JetmemOomKill"));
}

TEST_F(PagesTest, AlertsAreReportedOnlyWhileTheyAreFresh) {
  sample(1);
  Answer answer = get("/api/v1/alerts");
  EXPECT_EQ(answer.code, 503U);
  EXPECT_THAT(*answer.body, HasSubstr("\"the rules have not been evaluated yet\""));

  RuleEngine engine({}, {});
  const auto texts = std::make_shared<const AlertsTexts>(AlertsTexts{{}, {}, seconds(15), ""});
  const auto evaluate = [&] {
    engine.begin(clock_.boot());
    engine.evaluate();
    alerts_.publish(std::make_shared<const AlertsNow>(take_alerts(engine, texts, Nanoseconds(0))));
  };
  evaluate();
  answer = get("/api/v1/alerts");
  EXPECT_EQ(answer.code, 200U);
  EXPECT_EQ(header(answer, "Content-Type"), "application/json");
  EXPECT_EQ(header(answer, "Cache-Control"), "no-store");
  EXPECT_THAT(*answer.body, HasSubstr("\"schema\": \"jetmem-alerts/1\""));
  // Made once for each step.
  EXPECT_EQ(get("/api/v1/alerts").body, answer.body);
  clock_.advance(seconds(5));
  evaluate();
  EXPECT_NE(get("/api/v1/alerts").body, answer.body);
  EXPECT_EQ(pages_.answer({.method = "POST", .path = "/api/v1/alerts"}).code, 405U);

  // As /metrics evaluates it.
  clock_.advance(seconds(11));
  answer = get("/api/v1/alerts");
  EXPECT_EQ(answer.code, 503U);
  EXPECT_THAT(*answer.body, HasSubstr("sampling has stopped: last page 16 s ago"));

  // It samples again, and nothing is evaluated.
  sample(1);
  EXPECT_EQ(get("/api/v1/alerts").code, 200U);
  clock_.advance(seconds(60));
  sample(1);
  answer = get("/api/v1/alerts");
  EXPECT_EQ(answer.code, 503U);
  EXPECT_THAT(*answer.body, HasSubstr("the rules were last evaluated 71 s ago"));
}

}  // namespace
}  // namespace jetmem
