// SPDX-License-Identifier: Apache-2.0
// What is answered to which request, without sockets.
#include "daemon/http/server/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "daemon/http/server/gzip.h"
#include "page/assets.h"
#include "tests/daemon/http/web_fixture.h"
#include "tests/recorded_log.h"

namespace jetmem {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Descriptor kFree{.name = "jetmem_free_bytes", .help = "Memory nobody uses."};

class PagesTest : public PublishedPages<ManualClock> {
 protected:
  void sample(double value) {
    publish([&](SampleWriter& out) { out.put(kFree, value); });
  }
  Answer get(std::string_view path, std::string_view accept = "") {
    return pages_.answer({.method = "GET", .path = path, .accept_encoding = accept});
  }
  // By a client that has what came with this tag.
  Answer get_again(std::string_view path, std::string_view etag) {
    return pages_.answer({.method = "GET", .path = path, .if_none_match = etag});
  }
  std::string metrics() { return *get("/metrics").body; }

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

TEST_F(PagesTest, AStalledPageIsNotServedAndNoAgeBeforeTheFirstCycle) {
  const std::string first = metrics();
  EXPECT_THAT(first, Not(HasSubstr("jetmem_samples_age_seconds")));
  EXPECT_THAT(first, HasSubstr("\njetmem_sampling_stalled 0\n"));
  clock_.advance(seconds(11));
  EXPECT_THAT(metrics(), HasSubstr("\njetmem_sampling_stalled 1\n"));

  sample(4096);
  clock_.advance(seconds(11));
  const std::string stalled = metrics();
  EXPECT_THAT(stalled, Not(HasSubstr("jetmem_free_bytes")));
  EXPECT_THAT(stalled, HasSubstr("\njetmem_sampling_stalled 1\n"));
  EXPECT_THAT(stalled, HasSubstr("\njetmem_samples_age_seconds 11\n"));
  EXPECT_THAT(gunzip(*get("/metrics", "gzip").body), Not(HasSubstr("jetmem_free_bytes")));

  sample(1);
  EXPECT_THAT(metrics(), HasSubstr("\njetmem_free_bytes 1\n"));
}

// How that goes on: PageBuffer.WhoAsksGetsThePageOfTheNewestCycle.
TEST_F(PagesTest, TheNewestCycleIsAskedFor) {
  sample(1);
  for (int i = 0; i < 2; ++i) buffer_.next_cycle();
  EXPECT_THAT(metrics(), HasSubstr("\njetmem_free_bytes 1\n")) << "nobody answers here";
  pollfd request{buffer_.requests().get(), POLLIN, 0};
  EXPECT_EQ(::poll(&request, 1, 0), 1);
}

TEST_F(PagesTest, BothEncodingsAgreeAndOwnSeriesAreCurrent) {
  for (int cycle = 0; cycle < 3; ++cycle) {
    sample(cycle);
    for (int scrape = 0; scrape < 3; ++scrape) {
      const Answer zipped = get("/metrics", "gzip");
      EXPECT_EQ(header(zipped, "Content-Encoding"), "gzip");
      EXPECT_EQ(header(zipped, "Vary"), "Accept, Accept-Encoding");
      const std::string text = gunzip(*zipped.body);
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
  Request request{
      .method = "GET", .path = "/metrics", .accept = "application/openmetrics-text;version=1.0.0"};
  const Answer open = pages_.answer(request);
  EXPECT_EQ(header(open, "Content-Type"),
            "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_THAT(*open.body, ::testing::EndsWith("\n# EOF\n"));
  EXPECT_THAT(*open.body, HasSubstr("\njetmem_free_bytes 4096\n"));
  EXPECT_THAT(*open.body, HasSubstr("\n# TYPE jetmem_http_requests counter\n"
                                    "jetmem_http_requests_total{code=\"200\",path=\"/\"} 0\n"));
  request.accept_encoding = "gzip";
  EXPECT_THAT(gunzip(*pages_.answer(request).body), ::testing::EndsWith("\n# EOF\n"));

  const Answer plain = get("/metrics");
  EXPECT_EQ(header(plain, "Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(*plain.body, Not(HasSubstr("# EOF")));
  EXPECT_THAT(*plain.body, HasSubstr("\n# TYPE jetmem_http_requests_total counter\n"));
}

TEST_F(PagesTest, ABodyInFlightIsUnchangedAndAFreeOneReused) {
  sample(0);
  const std::string* free = get("/metrics").body.get();
  sample(1);
  const Answer slow = get("/metrics");
  EXPECT_EQ(slow.body.get(), free);
  const Answer slow_zipped = get("/metrics", "gzip");
  const std::string before = *slow.body;
  const std::string before_zipped = *slow_zipped.body;
  for (int cycle = 2; cycle < 6; ++cycle) {
    EXPECT_NE(metrics(), before);  // the same round
    EXPECT_FALSE(gunzip(*get("/metrics", "gzip").body).empty());
    sample(cycle);
    EXPECT_THAT(metrics(), HasSubstr("\njetmem_free_bytes " + std::to_string(cycle) + "\n"));
  }
  EXPECT_EQ(*slow.body, before);
  EXPECT_EQ(*slow_zipped.body, before_zipped);
}

TEST_F(PagesTest, HealthFollowsTheLoopAndReadyNeedsOneGoodSource) {
  EXPECT_EQ(get("/healthz").code, 503U);
  EXPECT_EQ(*get("/healthz").body, "the daemon's loop has not started yet\n");
  readiness_.beat(clock_.boot());
  EXPECT_EQ(*get("/healthz").body, "ok\n");
  EXPECT_EQ(*get("/readyz").body, "no source has been read yet\n");
  for (const auto& [sources, good, code] :
       {std::tuple(6U, 0U, 503U), {6U, 1U, 200U}, {0U, 0U, 200U}}) {  // all are switched off
    readiness_.set_sources(sources, good);
    EXPECT_EQ(get("/readyz").code, code) << *get("/readyz").body;
    EXPECT_EQ(get("/healthz").code, 200U);
  }
  readiness_.set_sources(6, 0);
  EXPECT_THAT(*get("/readyz").body, HasSubstr("none of 6 cheap sources"));
  readiness_.set_sources(6, 6);
  clock_.advance(seconds(60));
  EXPECT_EQ(*get("/healthz").body,
            "the daemon's loop is stuck: last sign of life 60 s ago, limit 10 s\n");
  for (const char* path : {"/healthz", "/readyz"}) EXPECT_EQ(get(path).code, 503U) << path;
  readiness_.beat(clock_.boot());
  EXPECT_EQ(get("/healthz").code, 200U);
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
  // Every answer is fresh and taken for what it is.
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
    EXPECT_EQ(header(plain, "Content-Security-Policy"),
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
              "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'")
        << asset.path;
    EXPECT_EQ(header(plain, "X-Content-Type-Options"), "nosniff") << asset.path;
    const Answer packed = get(asset.path, "gzip");
    EXPECT_EQ(header(packed, "Content-Encoding"), "gzip") << asset.path;
    EXPECT_EQ(gunzip(*packed.body, asset.size), *plain.body) << asset.path;
  }
  for (const char* path : {"/page/", "/page/jetmem.js/", "/runbooks/nothing"}) {
    EXPECT_EQ(get(path).code, 404U) << path;
  }
  EXPECT_THAT(metrics(), HasSubstr("{code=\"200\",path=\"/page\"}"));
  EXPECT_THAT(*get("/runbooks/").body, HasSubstr("href=\"/runbooks/oom-kill\""));
  EXPECT_THAT(*get("/runbooks/oom-kill").body, HasSubstr("<h1>JetmemOomKill"));
}

TEST_F(PagesTest, AClientKeepsThePageForAsLongAsItIsRight) {
  const char* const path = "/page/jetmem.js";
  const Answer first = get(path);
  EXPECT_EQ(header(first, "Cache-Control"), "no-cache");
  EXPECT_EQ(first.etag.substr(0, 3), "W/\"");
  for (const std::string& known :
       {first.etag, first.etag.substr(2) + ", \"other\"", std::string("*")}) {
    const Answer again = get_again(path, known);
    EXPECT_EQ(again.code, 304U) << known;
    EXPECT_TRUE(again.body->empty()) << known;
    EXPECT_EQ(again.etag, first.etag) << known;
  }
  EXPECT_EQ(get_again(path, "\"other\"").code, 200U);
}

TEST_F(PagesTest, AClientIsNotSentAnAnswerThatItHas) {
  const char* const path = "/api/v1/cma";
  sample(4096);
  const Answer first = get(path);
  ASSERT_EQ(first.code, 200U);
  EXPECT_EQ(get_again(path, first.etag).code, 304U);
  // The encoding makes no difference.
  EXPECT_EQ(get(path, "gzip").etag, first.etag);
  // New samples make another body.
  clock_.advance(seconds(2));
  sample(8192);
  const Answer second = get_again(path, first.etag);
  EXPECT_EQ(second.code, 200U);
  EXPECT_NE(second.etag, first.etag);
  EXPECT_EQ(get_again(path, second.etag).code, 304U);
  // Whoever has a copy hears all the same that it is no longer true.
  clock_.advance(seconds(3600));
  const Answer late = get_again(path, second.etag);
  EXPECT_EQ(late.code, 503U);
  EXPECT_EQ(late.etag, "");
}

TEST_F(PagesTest, AlertsAreReportedOnlyWhileTheyAreFresh) {
  const auto expect_none = [&](const char* why) {
    const Answer answer = get("/api/v1/alerts");
    EXPECT_EQ(answer.code, 503U);
    EXPECT_THAT(*answer.body, HasSubstr(why));
  };
  sample(1);
  expect_none("\"the rules have not been evaluated yet\"");

  RuleEngine engine({}, {});
  const auto texts = std::make_shared<const AlertsTexts>(AlertsTexts{{}, {}, seconds(15), ""});
  const auto evaluate = [&] {
    engine.begin(clock_.boot());
    engine.evaluate();
    alerts_.publish(std::make_shared<const AlertsNow>(take_alerts(engine, texts, Nanoseconds(0))));
  };
  evaluate();
  const Answer answer = get("/api/v1/alerts");
  EXPECT_EQ(answer.code, 200U);
  EXPECT_EQ(header(answer, "Content-Type"), "application/json");
  EXPECT_EQ(header(answer, "Cache-Control"), "no-store");
  EXPECT_THAT(*answer.body, HasSubstr("\"schema\": \"jetmem-alerts/1\""));
  // Made once for each step.
  EXPECT_EQ(get("/api/v1/alerts").body, answer.body);
  clock_.advance(seconds(5));
  evaluate();
  EXPECT_NE(get("/api/v1/alerts").body, answer.body);

  // As /metrics evaluates it.
  clock_.advance(seconds(11));
  expect_none("sampling has stopped: last page 16 s ago");

  // It samples again, and nothing is evaluated.
  sample(1);
  EXPECT_EQ(get("/api/v1/alerts").code, 200U);
  clock_.advance(seconds(60));
  sample(1);
  expect_none("the rules were last evaluated 71 s ago");
}

}  // namespace
}  // namespace jetmem
