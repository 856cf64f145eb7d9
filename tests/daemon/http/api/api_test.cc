// SPDX-License-Identifier: Apache-2.0
// What /api/v1/ answers, without sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "daemon/http/server/gzip.h"
#include "daemon/http/server/pages.h"
#include "report/answers/history_answer.h"
#include "report/device/device_now.h"
#include "tests/daemon/fake_history.h"
#include "tests/recorded_log.h"

namespace jetmem {
namespace {

using nlohmann::json;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr Descriptor kFree{
    .name = "jetmem_free_bytes", .help = "Memory nobody uses.", .labels = {"zone"}};
constexpr const char* kKey = "jetmem_free_bytes{zone=\"DMA\"}";
constexpr Nanoseconds kWall = seconds(1'790'000'000);

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() {
    clock_.advance(seconds(1000));
    clock_.set_wall(kWall);
    history_.known = {{kKey, false, kWall - hours(1), kWall}};
    for (int i = 0; i < 100; ++i) {
      HistoryPoint point;
      point.wall = kWall - seconds(10 * (99 - i));
      point.boot_time = seconds(10 + 10 * i);
      point.boot = 3;
      point.resolution = i < 50 ? Resolution::kMinute : Resolution::kRaw;
      point.min = i;
      point.average = i + 0.5;
      point.max = i + 1;
      history_.points.push_back(point);
    }
    for (int i = 0; i < 1200; ++i) {
      EventRecord event;
      event.id = 1200 - i;
      event.kind = "smmu_context_fault";
      event.summary = "one of many";
      history_.reported.push_back(event);
    }
    history_.about.newest = kWall;
  }

  void sample(double value) {
    SampleWriter(table_, section_, clock_.boot()).put(kFree, value, "DMA");
    auto page = std::make_shared<Page>();
    fill_page(table_, clock_.boot(), ++round_, *page);
    buffer_.publish(std::move(page));
    readiness_.beat(clock_.boot());
  }
  Answer get(std::string_view path, std::vector<Parameter> parameters = {}) {
    return pages_->answer({.method = "GET", .path = path, .parameters = parameters});
  }
  json ask(std::string_view path, std::vector<Parameter> parameters = {}, unsigned code = 200) {
    const Answer answer = get(path, std::move(parameters));
    EXPECT_EQ(answer.code, code) << *answer.body;
    json out = json::parse(*answer.body, nullptr, false);
    EXPECT_FALSE(out.is_discarded()) << *answer.body;
    return out;
  }
  void start(bool with_history = true) {
    ApiInputs reported;
    reported.sources = &sources_;
    if (with_history) reported.history = &history_;
    reported.boot_id = "b0";
    reported.host_name = "robot-07";
    pages_ = std::make_unique<Pages>(clock_, buffer_, alerts_, readiness_, metrics_,
                                     std::move(reported));
    sample(4096);
  }

  ManualClock clock_;
  SampleTable table_;
  std::size_t section_ = table_.add_section("test");
  std::uint64_t round_ = 0;
  PageBuffer buffer_;
  Published<AlertsNow> alerts_;
  Published<PublishedSources> sources_;
  Readiness readiness_;
  RecordedLog log_;
  WebMetrics metrics_{clock_, log_};
  test::MadeUpHistory history_;
  std::unique_ptr<Pages> pages_;
};

TEST_F(ApiTest, NowIsTheNewestPageAtItsOwnTime) {
  start();
  clock_.advance(milliseconds(1500));
  clock_.set_wall(kWall + milliseconds(1500));
  const auto now = parse_device_now(*get("/api/v1/now").body);
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->by, SnapshotOrigin::kDaemon);
  EXPECT_EQ(now->boot_id, "b0");
  EXPECT_EQ(now->boot, 3);
  EXPECT_EQ(now->host_name, "robot-07");
  EXPECT_EQ(now->since_boot, 1000);
  EXPECT_EQ(now->wall, 1'790'000'000);
  EXPECT_EQ(now->samples.value("jetmem_free_bytes"), 4096);
  EXPECT_FALSE(now->alerts);
  EXPECT_EQ(now->no_alerts, "the rules have not been evaluated yet");
  EXPECT_EQ(now->events.size(), DeviceNow::kMaxEvents);
  EXPECT_EQ(history_.last_events.from, kWall + milliseconds(1500) - hours(24));
}

TEST_F(ApiTest, AskingOftenMakesItOnce) {
  start();
  const Answer first = get("/api/v1/now");
  const auto asks = history_.asks;
  EXPECT_EQ(get("/api/v1/now").body, first.body);
  clock_.advance(milliseconds(100));
  sample(1);
  EXPECT_EQ(get("/api/v1/now").body, first.body);  // too soon
  clock_.advance(milliseconds(200));
  const auto now = parse_device_now(*get("/api/v1/now").body);
  EXPECT_EQ(now->samples.value("jetmem_free_bytes"), 1);
  EXPECT_EQ(history_.asks, asks);  // for events, once a second
  clock_.advance(seconds(1));
  sample(2);
  (void)get("/api/v1/now");
  EXPECT_EQ(history_.asks, asks + 1);
}

TEST_F(ApiTest, AClockThatWasNeverSetIsNotReported) {
  start();
  clock_.set_wall(seconds(1000));
  sample(1);
  const auto now = parse_device_now(*get("/api/v1/now").body);
  EXPECT_FALSE(now->wall);
  EXPECT_EQ(history_.last_events.from, std::nullopt);
  EXPECT_FALSE(ask("/api/v1/events")["from"].contains("time"));
}

TEST_F(ApiTest, NobodyKnowsHowItIsWhenTheLoopStalls) {
  start();
  (void)get("/api/v1/now");
  clock_.advance(seconds(11));
  for (const char* path : {"/api/v1/now", "/api/v1/status", "/api/v1/doctor", "/api/v1/texts"}) {
    const json answer = ask(path, {}, 503);
    EXPECT_EQ(answer["error"], "sampling has stopped: last page 11 s ago, limit 10 s") << path;
  }
  // The past is true all the same.
  const json events = ask("/api/v1/events");
  EXPECT_THAT(events["from"]["notes"][0].get<std::string>(), HasSubstr("sampling has stopped"));
  EXPECT_EQ(ask("/api/v1/history")["history"]["newest_time"], 1'790'000'000);
}

TEST_F(ApiTest, WithoutAHistoryItIsSaid) {
  start(false);
  EXPECT_THAT(ask("/api/v1/history", {}, 503)["error"].get<std::string>(),
              HasSubstr("switched off"));
  EXPECT_THAT(ask("/api/v1/events", {}, 503)["error"].get<std::string>(),
              HasSubstr("switched off"));
  const auto now = parse_device_now(*get("/api/v1/now").body);
  EXPECT_THAT(now->no_events, HasSubstr("switched off"));
}

TEST_F(ApiTest, HistoryErrorIsReported) {
  start();
  history_.problem = Error{Errc::kIo, "the disk is gone"};
  for (const std::vector<Parameter>& parameters :
       {std::vector<Parameter>{}, {{"series", kKey}}, {{"at", "-60"}}}) {
    EXPECT_EQ(ask("/api/v1/history", parameters, 503)["error"], "the disk is gone");
  }
  EXPECT_EQ(ask("/api/v1/events", {}, 503)["error"], "the disk is gone");
  EXPECT_EQ(parse_device_now(*get("/api/v1/now").body)->no_events, "the disk is gone");
}

TEST_F(ApiTest, PointsOfASeries) {
  start();
  const Answer answer = get("/api/v1/history", {{"series", kKey}, {"from", "-200"}});
  const auto past = parse_series_past(*answer.body);
  ASSERT_TRUE(past) << *answer.body;
  EXPECT_EQ(past->key, kKey);
  ASSERT_EQ(past->points.size(), 21U);
  EXPECT_EQ(past->points.back().wall, kWall);
  EXPECT_EQ(past->points.back().max, 100);
  EXPECT_EQ(past->points.back().boot, 3);
  EXPECT_EQ(history_.last_series.most, 2000U);

  const auto some = parse_series_past(
      *get("/api/v1/history", {{"series", kKey}, {"limit", "3"}, {"resolution", "15m"}}).body);
  EXPECT_TRUE(some->cut);
  EXPECT_EQ(some->points.size(), 3U);
  EXPECT_EQ(history_.last_series.resolution, Resolution::kQuarter);
}

TEST_F(ApiTest, PointsOfAllSeriesOfAMetric) {
  start();
  history_.known = {
      {"jetmem_free_bytes{node=\"0\",zone=\"Normal\"}", false, kWall - hours(1), kWall},
      {"jetmem_free_bytes{node=\"0\",zone=\"DMA\"}", false, kWall - hours(1), kWall},
      {"jetmem_free_bytes{node=\"0\",zone=\"gone\"}", false, kWall - hours(9), kWall - hours(8)},
      {"jetmem_other", false, kWall - hours(1), kWall}};
  const json all = ask("/api/v1/history", {{"metric", "jetmem_free_bytes"}, {"from", "-200"}});
  ASSERT_EQ(all["all_series"].size(), 2U);
  EXPECT_EQ(all["all_series"][0]["key"], "jetmem_free_bytes{node=\"0\",zone=\"DMA\"}");
  EXPECT_EQ(all["all_series"][1]["segments"][0]["points"].size(), 21U);
  EXPECT_FALSE(all.contains("series_omitted"));
  EXPECT_FALSE(all.contains("step_seconds"));

  const json some =
      ask("/api/v1/history",
          {{"metric", "jetmem_free_bytes{zone=\"Normal\"}"}, {"from", "-200"}, {"step", "100"}});
  ASSERT_EQ(some["all_series"].size(), 1U);
  EXPECT_EQ(some["step_seconds"], 100);
  const json& points = some["all_series"][0]["segments"][0]["points"];
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0][4], 10);  // values behind it
  EXPECT_EQ(points[0][5], 79);
  EXPECT_EQ(points[0][7], 89);
  EXPECT_EQ(history_.last_series.most, 10'000U);

  EXPECT_TRUE(ask("/api/v1/history",
                  {{"metric", "jetmem_free_bytes{zone=\"x\"}"}, {"to", "-1"}})["all_series"]
                  .empty());
  EXPECT_EQ(ask("/api/v1/history", {{"metric", "jetmem_fre_bytes"}, {"from", "-1"}}, 400)["code"],
            "unknown_metric");
}

TEST_F(ApiTest, ManySeriesAreBounded) {
  start();
  history_.known.clear();
  // As long as a point can be.
  history_.points.clear();
  for (int i = 0; i < 3000; ++i) {
    HistoryPoint point;
    point.wall = kWall - seconds(3599) + milliseconds(1199) * i + Nanoseconds(123);
    point.boot_time = seconds(1'000'000) + Nanoseconds(123'456'789);
    point.boot = 1'000'000;
    point.count = 4'000'000'000;
    point.min = -1.2345678901234567e-100;
    point.average = -2.2345678901234567e-100;
    point.max = -3.2345678901234567e-100;
    history_.points.push_back(point);
  }
  for (int i = 100; i < 180; ++i) {
    history_.known.push_back(
        {"jetmem_free_bytes{zone=\"" + std::to_string(i) + "\"}", false, kWall - hours(1), kWall});
  }
  const Answer answer =
      get("/api/v1/history", {{"metric", "jetmem_free_bytes"}, {"from", "-3600"}});
  EXPECT_LT(answer.body->size(), kMaxHistoryJson);
  EXPECT_GT(answer.body->size(), kMaxHistoryJson / 2);
  const json all = json::parse(*answer.body);
  EXPECT_EQ(all["all_series"].size() + all["series_omitted"].get<std::size_t>(), 80U);
  EXPECT_LE(all["all_series"].size(), 64U);
  EXPECT_EQ(history_.last_series.most, 20'000U / 64);
}

TEST_F(ApiTest, PartsOfTheDeviceInFull) {
  start();
  for (const std::string name : {"top", "cma", "fragmentation", "thermal"}) {
    const json answer = ask("/api/v1/" + name);
    EXPECT_EQ(answer["schema"], "jetmem-" + name + "/1");
    EXPECT_EQ(answer["from"]["by"], "daemon");
    EXPECT_TRUE(ask("/api/v1/" + name, {{"limit", "1"}}, 400).contains("fix"));
  }
}

TEST_F(ApiTest, LongAnswersAreCompressedForWhoTakesThem) {
  start();
  const Answer plain = get("/api/v1/now");
  const Answer packed =
      pages_->answer({.method = "GET", .path = "/api/v1/now", .accept_encoding = "gzip"});
  EXPECT_LT(packed.body->size(), plain.body->size() / 2);
  EXPECT_EQ(gunzip(*packed.body, plain.body->size()), *plain.body);
  for (const Api::Endpoint& each : Api::endpoints()) {
    const Answer answer =
        pages_->answer({.method = "GET", .path = each.path, .accept_encoding = "gzip"});
    EXPECT_TRUE(answer.headers.contains("Vary")) << each.path;
  }
}

TEST_F(ApiTest, RelativeTimesAreThoseOfTheHistorysClock) {
  history_.known = {{"jetmem_b_bytes", false, seconds(0), seconds(4'000'000'000)}};
  history_.ahead = hours(48);
  start();
  const json answer = ask("/api/v1/history", {{"metric", "jetmem_b_bytes"}, {"from", "-60"}});
  EXPECT_EQ(answer["from"]["time"], to_seconds(clock_.wall() + hours(48)));
  ask("/api/v1/history", {{"series", "jetmem_b_bytes"}, {"from", "-60"}});
  EXPECT_EQ(history_.last_series.from, clock_.wall() + hours(48) - seconds(60));
  ask("/api/v1/history", {{"series", "jetmem_b_bytes"}, {"from", "1760000000"}});
  EXPECT_EQ(history_.last_series.from, seconds(1'760'000'000));
  // As the page does, for what came since the newest point.
  const Nanoseconds newest = clock_.wall() + hours(48) - seconds(5);
  const std::string at = std::to_string(newest / seconds(1));
  ask("/api/v1/history", {{"series", "jetmem_b_bytes"}, {"from", at}});
  EXPECT_EQ(history_.last_series.from, newest / seconds(1) * seconds(1));
  ask("/api/v1/events", {{"from", at}, {"to", "-1"}});
  ask("/api/v1/events", {{"from", "-60"}, {"to", "-30"}});
  EXPECT_EQ(history_.last_events.from, clock_.wall() + hours(48) - seconds(60));
  EXPECT_EQ(history_.last_events.to, clock_.wall() + hours(48) - seconds(30));
  ask("/api/v1/history", {{"at", "-60"}});
  EXPECT_EQ(history_.last_at, clock_.wall() + hours(48) - seconds(60));
}

TEST_F(ApiTest, AllSamplesOfAMoment) {
  start();
  history_.samples = {{kKey, 7}, {"jetmem_other", 8}};
  const auto moment = parse_history_moment(
      *get("/api/v1/history", {{"at", "1789999000.5"}, {"lookback", "90"}}).body);
  ASSERT_TRUE(moment);
  EXPECT_EQ(moment->samples, history_.samples);
  EXPECT_EQ(history_.last_at, seconds(1'789'999'000) + milliseconds(500));
  EXPECT_EQ(history_.last_patience, seconds(90));
}

TEST_F(ApiTest, TheListComesInPages) {
  start();
  history_.known.clear();
  for (int i = 0; i < 10; ++i) {
    history_.known.push_back({"jetmem_" + std::string(1, static_cast<char>('a' + i)), true});
  }
  std::vector<std::string> seen;
  std::string after;
  int pages = 0;
  do {
    std::vector<Parameter> parameters{{"limit", "4"}};
    if (!after.empty()) parameters.push_back({"after", after});
    const auto list = parse_history_list(*get("/api/v1/history", parameters).body);
    ASSERT_TRUE(list);
    for (const SeriesKnown& each : list->series) seen.push_back(each.key);
    after = list->next;
    ++pages;
  } while (!after.empty() && pages < 10);
  EXPECT_EQ(pages, 3);
  ASSERT_EQ(seen.size(), 10U);
  EXPECT_EQ(seen.back(), "jetmem_j");
}

TEST_F(ApiTest, UnknownMetricsAreAnErrorWithTheLikelyName) {
  start();
  for (const Parameter requested : {Parameter{"metric", "jetmem_fre_bytes"},
                                    Parameter{"series", "jetmem_fre_bytes{zone=\"DMA\"}"}}) {
    const json answer = ask("/api/v1/history", {requested}, 400);
    EXPECT_EQ(answer["error"], "there is no metric jetmem_fre_bytes");
    EXPECT_EQ(answer["fix"], "did you mean jetmem_free_bytes?");
    EXPECT_EQ(answer["code"], "unknown_metric");
  }
  // Known, with no past.
  history_.known.clear();
  EXPECT_TRUE(ask("/api/v1/history", {{"metric", "jetmem_free_bytes"}})["known_series"].empty());
  EXPECT_TRUE(ask("/api/v1/history", {{"series", kKey}})["series"]["segments"].empty());
}

TEST_F(ApiTest, WrongQuestionsAreRefused) {
  start();
  const std::string_view nul("a\0b", 3);
  const std::vector<std::vector<Parameter>> wrong{
      {{"x", "1"}},
      {{"series", ""}},
      {{"series", "not a name"}},
      {{"series", nul}},
      {{"series", "\xff\xfe"}},
      {{"series", "a{b=\"c\"}"}, {"at", "1"}},
      {{"series", kKey}, {"lookback", "1"}},
      {{"series", kKey}, {"from", "soon"}},
      {{"series", kKey}, {"from", "1e9"}},
      {{"series", kKey}, {"from", "-1"}, {"to", "-2"}},
      {{"series", kKey}, {"limit", "0"}},
      {{"series", kKey}, {"limit", "10001"}},
      {{"series", kKey}, {"limit", "-1"}},
      {{"series", kKey}, {"resolution", "5m"}},
      {{"series", kKey}, {"series", kKey}},
      {{"at", ""}},
      {{"at", "nan"}},
      {{"at", "99999999999"}},
      {{"at", "1"}, {"lookback", "-1"}},
      {{"at", "1"}, {"lookback", "86401"}},
      {{"from", "-60"}},
      {{"step", "60"}},
      {{"at", "1"}, {"step", "60"}},
      {{"series", kKey}, {"step", "604801"}},
      {{"series", kKey}, {"step", "-1"}},
      {{"metric", "a b"}, {"from", "-60"}},
      {{"metric", "a"}, {"from", "-60"}, {"after", "b"}},
      {{"metric", "a"}, {"from", "-60"}, {"at", "1"}},
      {{"metric", "a{b=\"c\"}"}},
      {{"metric", "a b"}},
      {{"metric", ""}},
  };
  for (const auto& parameters : wrong) {
    const json answer = ask("/api/v1/history", parameters, 400);
    EXPECT_TRUE(answer.contains("error") && answer.contains("fix")) << answer;
  }
  for (const Parameter parameter : {Parameter{"category", "nothing"},
                                    {"kind", ""},
                                    {"kind", "oom_kill,,cma_alloc_failure"},
                                    {"kind", "oomkill"},
                                    {"before", "x"},
                                    {"limit", "501"},
                                    {"from", "x"},
                                    {"metric", "a"}}) {
    EXPECT_TRUE(ask("/api/v1/events", {parameter}, 400).contains("fix")) << parameter.name;
  }
  EXPECT_EQ(ask("/api/v1/now", {{"a", "b"}}, 400)["fix"], "this page takes no parameters");
}

TEST_F(ApiTest, EventsComeInPages) {
  start();
  std::vector<std::int64_t> ids;
  std::string before;
  for (int page = 0; page < 10; ++page) {
    std::vector<Parameter> parameters{
        {"limit", "500"}, {"category", "kernel"}, {"kind", "oom_kill,smmu_context_fault"}};
    if (!before.empty()) parameters.push_back({"before", before});
    const Answer answer = get("/api/v1/events", parameters);
    const auto past = parse_events(*answer.body);
    ASSERT_TRUE(past) << *answer.body;
    for (const EventRecord& event : past->events) ids.push_back(event.id);
    const json whole = json::parse(*answer.body);
    EXPECT_EQ(whole.contains("next"), past->more);
    if (!past->more) break;
    before = std::to_string(whole["next"].get<int>());
  }
  ASSERT_EQ(ids.size(), 1200U);
  EXPECT_EQ(ids.front(), 1200);
  EXPECT_EQ(ids.back(), 1);
  EXPECT_EQ(history_.last_events.kinds,
            (std::vector<std::string>{"oom_kill", "smmu_context_fault"}));
  EXPECT_EQ(history_.last_events.what, EventWhat::kKernel);
}

// Pages are cut by bytes too, and nothing is lost between two.
TEST_F(ApiTest, LongEventsMakeMorePages) {
  start();
  for (EventRecord& event : history_.reported) {
    std::string filler;
    for (int i = 0; i < 670; ++i) filler += "\\u0001";
    event.fields = "{\"text\":\"" + filler + "\"}";
    event.summary = std::string(EventRecord::kMaxText, 's');
  }
  std::size_t seen = 0;
  int pages = 0;
  std::string before = "100000";
  for (; pages < 20; ++pages) {
    const std::vector<Parameter> parameters{{"limit", "500"}, {"before", before}};
    Request request{.method = "GET", .path = "/api/v1/events", .parameters = parameters};
    request.asker.wait = seconds(30);  // sanitizers are slow
    const Answer answer = pages_->answer(request);
    ASSERT_LE(answer.body->size(), kMaxEventsJson);
    const auto past = parse_events(*answer.body);
    ASSERT_TRUE(past);
    seen += past->events.size();
    if (pages == 0) {
      EXPECT_LT(past->events.size(), 500U);
    }
    if (!past->more) break;
    before = std::to_string(past->events.back().id);
  }
  EXPECT_EQ(seen, 1200U);
}

TEST_F(ApiTest, EightQuestionsWaitAndOneMoreIsRefused) {
  start();
  std::promise<void> disk;
  history_.on_ask = [ready = disk.get_future().share()] { ready.wait(); };
  const auto ask_from = [&](int from, bool is_local) {
    const std::string text = "-" + std::to_string(100 + from);
    const std::vector<Parameter> parameters{{"series", kKey}, {"from", text}};
    Request request{.method = "GET", .path = "/api/v1/history", .parameters = parameters};
    request.asker = {.wait = milliseconds(0), .may_recur = true};
    if (!is_local) request.asker.client.family = ClientKey::Family::kIpv4;
    return pages_->answer(request);
  };
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(ask_from(i, false).later) << i;
  const Answer refused = ask_from(8, false);
  EXPECT_EQ(refused.code, 503U);
  EXPECT_THAT(*refused.body, HasSubstr("too many questions"));
  EXPECT_TRUE(pages_->api().take_queue_full());
  EXPECT_FALSE(pages_->api().take_queue_full());
  // Who asks the same again is not a new one.
  EXPECT_TRUE(ask_from(7, false).later);
  // Local commands have four places more.
  for (int i = 10; i < 14; ++i) EXPECT_TRUE(ask_from(i, true).later) << i;
  EXPECT_EQ(ask_from(14, true).code, 503U);
  disk.set_value();
  for (int i = 0; i < 14; i = i == 7 ? 10 : i + 1) {
    Answer answer = ask_from(i, true);
    for (int n = 0; n < 1000 && answer.later; ++n) {
      std::this_thread::sleep_for(milliseconds(5));
      answer = ask_from(i, true);
    }
    EXPECT_EQ(answer.code, 200U) << i;
  }
}

TEST_F(ApiTest, AMissingPageNamesThoseThereAre) {
  start();
  const std::string missing = *get("/api/v1/nothing").body;
  for (const Api::Endpoint& each : Api::endpoints()) {
    EXPECT_THAT(missing, HasSubstr(std::string(each.path)));
    const auto& paths = WebMetrics::kPaths;
    EXPECT_NE(std::find(paths.begin(), paths.end(), each.path), paths.end()) << each.path;
  }
}

TEST_F(ApiTest, ReadOnly) {
  start();
  for (const Api::Endpoint& each : Api::endpoints()) {
    EXPECT_EQ(pages_->answer({.method = "POST", .path = each.path}).code, 405U);
    EXPECT_EQ(pages_->answer({.method = "HEAD", .path = each.path}).code, get(each.path).code);
  }
}

}  // namespace
}  // namespace jetmem
