// SPDX-License-Identifier: Apache-2.0
// What /api/v1/ answers, without sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>

#include "daemon/http/server/gzip.h"
#include "daemon/http/server/pages.h"
#include "report/answers/history_answer.h"
#include "report/device/device_now.h"
#include "tests/daemon/fake_history.h"
#include "tests/daemon/http/web_fixture.h"
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

class ApiTest : public PublishedPages<ManualClock> {
 protected:
  ApiTest() {
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
    start();
  }

  void sample(double value) {
    publish([&](SampleWriter& out) { out.put(kFree, value, "DMA"); });
  }
  Answer get(std::string_view path, std::vector<Parameter> parameters = {}) {
    Request request{.method = "GET", .path = path, .parameters = parameters};
    request.asker.wait = seconds(30);  // sanitizers are slow
    return pages_->answer(request);
  }
  json ask(std::string_view path, std::vector<Parameter> parameters = {}, unsigned code = 200) {
    const Answer answer = get(path, std::move(parameters));
    EXPECT_EQ(answer.code, code) << *answer.body;
    json out = json::parse(*answer.body, nullptr, false);
    EXPECT_FALSE(out.is_discarded()) << *answer.body;
    return out;
  }
  // How many events each page of them has; none of them is lost between two.
  std::vector<std::size_t> sizes_of_pages(const std::vector<Parameter>& parameters) {
    std::vector<std::size_t> sizes;
    std::int64_t expected = history_.reported.front().id;
    std::string before = std::to_string(expected + 1);
    while (!before.empty() && sizes.size() < 20) {
      std::vector<Parameter> all = parameters;
      all.push_back({"before", before});
      const Answer answer = get("/api/v1/events", all);
      EXPECT_LE(answer.body->size(), kMaxEventsJson);
      const json page = json::parse(*answer.body);
      for (const json& event : page["events"]) EXPECT_EQ(event["id"], expected--);
      sizes.push_back(page["events"].size());
      before = page.contains("next") ? page["next"].dump() : "";
    }
    EXPECT_EQ(expected, history_.reported.back().id - 1);
    return sizes;
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

  Published<PublishedSources> sources_;
  RecordedLog log_;
  WebMetrics metrics_{clock_, log_};
  test::MadeUpHistory history_;
  std::unique_ptr<Pages> pages_;
};

TEST_F(ApiTest, NowIsTheNewestPageAtItsOwnTime) {
  clock_.advance(milliseconds(1500));
  clock_.set_wall(kWall + milliseconds(1500));
  const auto now = parse_device_now(*get("/api/v1/now").body);
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->by, SnapshotOrigin::kDaemon);
  EXPECT_EQ(now->boot_id, "b0");
  EXPECT_EQ(now->boot, 3);
  EXPECT_EQ(now->host_name, "robot-07");
  EXPECT_EQ(now->since_boot, 3600);
  EXPECT_EQ(now->wall, 1'790'000'000);
  EXPECT_EQ(now->samples.value("jetmem_free_bytes"), 4096);
  EXPECT_FALSE(now->alerts);
  EXPECT_EQ(now->no_alerts, "the rules have not been evaluated yet");
  EXPECT_EQ(now->events.size(), DeviceNow::kMaxEvents);
  EXPECT_EQ(history_.last_events.from, kWall + milliseconds(1500) - hours(24));
}

TEST_F(ApiTest, AskingOftenMakesItOnce) {
  const Answer first = get("/api/v1/now");
  const auto asks = history_.asks;
  EXPECT_EQ(get("/api/v1/now").body, first.body);
  clock_.advance(milliseconds(100));
  sample(1);
  EXPECT_EQ(get("/api/v1/now").body, first.body) << "too soon";
  clock_.advance(milliseconds(200));
  EXPECT_EQ(parse_device_now(*get("/api/v1/now").body)->samples.value("jetmem_free_bytes"), 1);
  EXPECT_EQ(history_.asks, asks) << "for events, once a second";
  clock_.advance(seconds(1));
  sample(2);
  (void)get("/api/v1/now");
  EXPECT_EQ(history_.asks, asks + 1);
}

TEST_F(ApiTest, AClockThatWasNeverSetIsNotReported) {
  clock_.set_wall(seconds(1000));
  sample(1);
  const auto now = parse_device_now(*get("/api/v1/now").body);
  EXPECT_FALSE(now->wall);
  EXPECT_EQ(history_.last_events.from, std::nullopt);
  EXPECT_FALSE(ask("/api/v1/events")["from"].contains("time"));
}

TEST_F(ApiTest, NobodyKnowsHowItIsWhenTheLoopStalls) {
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

TEST_F(ApiTest, WithoutAHistoryOrWithABrokenOneItIsSaid) {
  history_.problem = Error{Errc::kIo, "the disk is gone"};
  for (const char* why : {"the disk is gone", "switched off"}) {
    for (const std::vector<Parameter>& parameters :
         {std::vector<Parameter>{}, {{"series", kKey}}, {{"at", "-60"}}}) {
      EXPECT_THAT(ask("/api/v1/history", parameters, 503)["error"].get<std::string>(),
                  HasSubstr(why));
    }
    EXPECT_THAT(ask("/api/v1/events", {}, 503)["error"].get<std::string>(), HasSubstr(why));
    EXPECT_THAT(parse_device_now(*get("/api/v1/now").body)->no_events, HasSubstr(why));
    start(false);
  }
}

TEST_F(ApiTest, PointsOfASeries) {
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
}

TEST_F(ApiTest, ManySeriesAreBounded) {
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
  for (const std::string name : {"top", "cma", "fragmentation", "thermal"}) {
    const json answer = ask("/api/v1/" + name);
    EXPECT_EQ(answer["schema"], "jetmem-" + name + "/1");
    EXPECT_EQ(answer["from"]["by"], "daemon");
    EXPECT_TRUE(ask("/api/v1/" + name, {{"limit", "1"}}, 400).contains("fix"));
  }
}

TEST_F(ApiTest, RelativeTimesAreThoseOfTheHistorysClock) {
  history_.known = {{"jetmem_b_bytes", false, seconds(0), seconds(4'000'000'000)}};
  history_.ahead = hours(48);
  const Nanoseconds now = clock_.wall() + hours(48);
  const json answer = ask("/api/v1/history", {{"metric", "jetmem_b_bytes"}, {"from", "-60"}});
  EXPECT_EQ(answer["from"]["time"], to_seconds(now));
  // The last as the page does, for what came since the newest point.
  const std::string newest = std::to_string((now - seconds(5)) / seconds(1));
  for (const auto& [text, from] :
       {std::pair<std::string_view, Nanoseconds>("-60", now - seconds(60)),
        {"1760000000", seconds(1'760'000'000)},
        {newest, now - seconds(5)}}) {
    ask("/api/v1/history", {{"series", "jetmem_b_bytes"}, {"from", text}});
    EXPECT_EQ(history_.last_series.from, from) << text;
  }
  ask("/api/v1/events", {{"from", newest}, {"to", "-1"}});
  ask("/api/v1/events", {{"from", "-60"}, {"to", "-30"}});
  EXPECT_EQ(history_.last_events.from, now - seconds(60));
  EXPECT_EQ(history_.last_events.to, now - seconds(30));
  ask("/api/v1/history", {{"at", "-60"}});
  EXPECT_EQ(history_.last_at, now - seconds(60));
}

TEST_F(ApiTest, AllSamplesOfAMoment) {
  history_.samples = {{kKey, 7}, {"jetmem_other", 8}};
  const auto moment = parse_history_moment(
      *get("/api/v1/history", {{"at", "1789999000.5"}, {"lookback", "90"}}).body);
  ASSERT_TRUE(moment);
  EXPECT_EQ(moment->samples, history_.samples);
  EXPECT_EQ(history_.last_at, seconds(1'789'999'000) + milliseconds(500));
  EXPECT_EQ(history_.last_patience, seconds(90));
}

TEST_F(ApiTest, TheListComesInPages) {
  history_.known.clear();
  for (const char* key : {"a", "b", "c", "d", "e"}) history_.known.push_back({key, true});
  const auto list_after = [&](const std::string& after) {
    std::vector<Parameter> parameters{{"limit", "2"}};
    if (!after.empty()) parameters.push_back({"after", after});
    return parse_history_list(*get("/api/v1/history", parameters).body).value();
  };
  std::string after;
  for (const auto& [first, count] : {std::pair("a", 2U), {"c", 2U}, {"e", 1U}}) {
    const auto list = list_after(after);
    ASSERT_EQ(list.series.size(), count) << after;
    EXPECT_EQ(list.series[0].key, first);
    after = list.next;
  }
  EXPECT_EQ(after, "");
}

TEST_F(ApiTest, UnknownMetricsAreAnErrorWithTheLikelyName) {
  for (const std::vector<Parameter>& requested :
       {std::vector<Parameter>{{"metric", "jetmem_fre_bytes"}},
        {{"metric", "jetmem_fre_bytes"}, {"from", "-1"}},
        {{"series", "jetmem_fre_bytes{zone=\"DMA\"}"}}}) {
    const json answer = ask("/api/v1/history", requested, 400);
    EXPECT_EQ(answer["error"], "there is no metric jetmem_fre_bytes");
    EXPECT_EQ(answer["fix"], "did you mean jetmem_free_bytes?");
    EXPECT_EQ(answer["code"], "unknown_metric");
  }
  // Known, with no past.
  history_.known.clear();
  EXPECT_TRUE(ask("/api/v1/history", {{"metric", "jetmem_free_bytes"}})["known_series"].empty());
  EXPECT_TRUE(ask("/api/v1/history", {{"series", kKey}})["series"]["segments"].empty());
}

// What is no number or time at all: ParseSeconds and Parameters.
TEST_F(ApiTest, WrongQuestionsAreRefused) {
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
      {{"series", kKey}, {"from", "-1"}, {"to", "-2"}},
      {{"series", kKey}, {"limit", "0"}},
      {{"series", kKey}, {"limit", "10001"}},
      {{"series", kKey}, {"step", "-1"}},
      {{"series", kKey}, {"resolution", "5m"}},
      {{"series", kKey}, {"series", kKey}},
      {{"at", ""}},
      {{"at", "1"}, {"lookback", "-1"}},
      {{"at", "1"}, {"lookback", "86401"}},
      {{"from", "-60"}},
      {{"step", "60"}},
      {{"at", "1"}, {"step", "60"}},
      {{"series", kKey}, {"step", "604801"}},
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
  EXPECT_EQ(
      sizes_of_pages(
          {{"limit", "500"}, {"category", "kernel"}, {"kind", "oom_kill,smmu_context_fault"}}),
      (std::vector<std::size_t>{500, 500, 200}));
  EXPECT_EQ(history_.last_events.kinds,
            (std::vector<std::string>{"oom_kill", "smmu_context_fault"}));
  EXPECT_EQ(history_.last_events.what, EventWhat::kKernel);
  // Pages are cut by bytes too.
  history_.reported.resize(600);
  std::string filler;
  for (int i = 0; i < 670; ++i) filler += "\\u0001";
  for (EventRecord& event : history_.reported) {
    event.fields = "{\"text\":\"" + filler + "\"}";
    event.summary = std::string(EventRecord::kMaxText, 's');
  }
  const auto sizes = sizes_of_pages({{"limit", "500"}});
  EXPECT_EQ(sizes.size(), 2U);
  EXPECT_LT(sizes[0], 500U);
}

// Who else has places, and who comes first: QueryWorkerTest.
TEST_F(ApiTest, EightQuestionsWaitAndOneMoreIsRefused) {
  std::promise<void> disk;
  history_.on_ask = [ready = disk.get_future().share()] { ready.wait(); };
  const auto ask_from = [&](int from, milliseconds wait = milliseconds(0), bool is_local = false) {
    const std::string text = "-" + std::to_string(100 + from);
    const std::vector<Parameter> parameters{{"series", kKey}, {"from", text}};
    Request request{.method = "GET", .path = "/api/v1/history", .parameters = parameters};
    request.asker = {.wait = wait, .may_recur = true};
    if (!is_local) request.asker.client.family = ClientKey::Family::kIpv4;
    return pages_->answer(request);
  };
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(ask_from(i).later) << i;
  const Answer refused = ask_from(8);
  EXPECT_EQ(refused.code, 503U);
  EXPECT_THAT(*refused.body, HasSubstr("too many questions"));
  EXPECT_TRUE(pages_->api().take_queue_full());
  EXPECT_FALSE(pages_->api().take_queue_full());
  EXPECT_TRUE(ask_from(8, milliseconds(0), true).later) << "a local command";
  disk.set_value();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(ask_from(i, seconds(30)).code, 200U) << i;
}

TEST_F(ApiTest, EachEndpointIsReadOnlyCompressedAndNamed) {
  const std::string missing = *get("/api/v1/nothing").body;
  for (const Api::Endpoint& each : Api::endpoints()) {
    SCOPED_TRACE(each.path);
    EXPECT_EQ(pages_->answer({.method = "POST", .path = each.path}).code, 405U);
    EXPECT_EQ(pages_->answer({.method = "HEAD", .path = each.path}).code, get(each.path).code);
    const Answer packed =
        pages_->answer({.method = "GET", .path = each.path, .accept_encoding = "gzip"});
    EXPECT_TRUE(packed.headers.contains("Vary"));
    EXPECT_THAT(missing, HasSubstr(std::string(each.path)));
    EXPECT_THAT(WebMetrics::kPaths, testing::Contains(each.path));
  }
  const Answer plain = get("/api/v1/now");
  const Answer packed =
      pages_->answer({.method = "GET", .path = "/api/v1/now", .accept_encoding = "gzip"});
  EXPECT_LT(packed.body->size(), plain.body->size() / 2);
  EXPECT_EQ(gunzip(*packed.body, plain.body->size()), *plain.body);
}

}  // namespace
}  // namespace jetmem
