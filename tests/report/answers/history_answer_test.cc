// SPDX-License-Identifier: Apache-2.0
// The past as JSON: what is written is read again as the same, and what is not ours is refused.
#include "report/answers/history_answer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr Nanoseconds kWall = seconds(1'790'000'000);

AnswerFrom from() {
  AnswerFrom out;
  out.by = "daemon";
  out.wall = 1.79e9;
  return out;
}

HistoryPoint point(int i, Resolution resolution) {
  HistoryPoint out;
  out.wall = kWall + seconds(i);
  out.boot_time = seconds(i) + std::chrono::milliseconds(250);
  out.boot = 7;
  out.wall_trusted = i % 2 == 0;
  out.resolution = resolution;
  out.count = 6;
  out.min = -0.1 * i;
  out.average = 1.0 / 3;
  out.max = 1e18;
  return out;
}

TEST(HistoryAnswer, PointsComeBack) {
  SeriesPast past;
  past.key = "jetmem_x_total{a=\"q\\\"uote\"}";
  past.is_counter = true;
  past.cut = true;
  for (int i = 0; i < 10; ++i) {
    past.points.push_back(point(i, i < 3 ? Resolution::kQuarter : Resolution::kRaw));
  }
  const std::string text = series_past_json(from(), past);
  const auto again = parse_series_past(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(series_past_json(from(), *again), text);
  EXPECT_EQ(again->key, past.key);
  EXPECT_TRUE(again->is_counter);
  EXPECT_TRUE(again->cut);
  ASSERT_EQ(again->points.size(), past.points.size());
  const HistoryPoint& last = again->points.back();
  EXPECT_LT(std::abs((last.wall - past.points.back().wall).count()), 1000);  // a double of seconds
  EXPECT_EQ(last.boot, 7);
  EXPECT_FALSE(last.wall_trusted);
  EXPECT_EQ(last.resolution, Resolution::kRaw);
  EXPECT_EQ(last.count, 6U);
  EXPECT_EQ(last.min, past.points.back().min);
  EXPECT_EQ(last.average, 1.0 / 3);
  EXPECT_EQ(last.max, 1e18);
}

TEST(HistoryAnswer, NonFiniteValuesAreOmitted) {
  SeriesPast past;
  past.key = "jetmem_x";
  past.points = {point(1, Resolution::kRaw), point(2, Resolution::kRaw)};
  past.points[0].max = std::numeric_limits<double>::infinity();
  const auto again = parse_series_past(series_past_json(from(), past));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->points.size(), 1U);
  const auto moment = parse_history_moment(
      history_moment_json(from(), {kWall, seconds(1), {{"a", std::nan("")}, {"b", 2}}}));
  ASSERT_TRUE(moment);
  EXPECT_EQ(moment->samples, (std::vector<std::pair<std::string, double>>{{"b", 2}}));
}

TEST(HistoryAnswer, TheListComesBack) {
  HistoryList list;
  list.facts.location = "/var/lib/jetmem/history.db";
  list.facts.bytes = 123456;
  list.facts.series = 2;
  list.facts.events = 9;
  list.facts.oldest = kWall - hours(1);
  list.facts.newest = kWall;
  list.facts.raw_step = seconds(10);
  list.facts.schema = 1;
  list.facts.problem = "set aside as damaged: x";
  list.facts.boots = {{4, "id4", kWall - hours(1), kWall, true}, {5, "id5", {}, {}, false}};
  list.series = {{"jetmem_a", true, kWall - hours(1), kWall},
                 {"jetmem_b{c=\"d\"}", false, kWall, kWall}};
  list.next = "jetmem_b{c=\"d\"}";
  const std::string text = history_list_json(from(), list);
  const auto again = parse_history_list(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(history_list_json(from(), *again), text);
  EXPECT_EQ(again->facts.oldest, list.facts.oldest);
  EXPECT_EQ(again->facts.raw_step, seconds(10));
  EXPECT_EQ(again->facts.bytes, 123456U);
  EXPECT_EQ(again->facts.problem, list.facts.problem);
  EXPECT_EQ(again->next, list.next);
  EXPECT_EQ(again->series.back().key, list.series.back().key);
  ASSERT_EQ(again->facts.boots.size(), 2U);
  EXPECT_EQ(again->facts.boots[0].boot_id, "id4");
  EXPECT_EQ(again->facts.boots[0].last_wall, kWall);
  EXPECT_EQ(again->facts.boots[1].first_wall, std::nullopt);
  ASSERT_EQ(again->series.size(), 2U);
  EXPECT_TRUE(again->series[0].is_counter);
}

TEST(HistoryAnswer, LongAnswersAreBounded) {
  HistoryList list;
  HistoryMoment moment;
  for (int i = 0; i < 4096; ++i) {
    const std::string name = "jetmem_" + std::to_string(10000 + i);
    list.series.push_back({name + "{l=\"" + std::string(1200, 'x') + "\"}", false, kWall, kWall});
    moment.samples.emplace_back(name + std::string(2000, 'x'), i);
  }
  const std::string listed = history_list_json(from(), list);
  EXPECT_LE(listed.size(), kMaxHistoryJson);
  const auto again = parse_history_list(listed);
  ASSERT_TRUE(again);
  EXPECT_LT(again->series.size(), 4096U);
  EXPECT_GT(again->series.size(), 1000U);
  EXPECT_EQ(again->next, again->series.back().key);
  const std::string samples = history_moment_json(from(), moment);
  EXPECT_LE(samples.size(), kMaxHistoryJson);
  EXPECT_TRUE(parse_history_moment(samples)->cut);
  SeriesPast past;
  for (int i = 0; i < 10'000; ++i) {
    past.points.push_back(point(i, i % 2 == 0 ? Resolution::kRaw : Resolution::kMinute));
    past.points.back().average = 1.2345678901234567e-300;
  }
  EXPECT_LE(series_past_json(from(), past).size(), kMaxHistoryJson) << "all of them fit";
}

TEST(HistoryAnswer, ForeignAnswersAreRefused) {
  const auto refused = [](const std::string& text) {
    return !parse_series_past(text) && !parse_history_list(text) && !parse_history_moment(text) &&
           !parse_events(text);
  };
  for (
      const char* text :
      {"", "<html>", "[]", "{}", "null", "3", R"({"schema":"jetmem-history/2"})",
       R"({"schema":"jetmem-history/1"})", R"({"schema":"jetmem-history/1","series":[]})",
       R"({"schema":"jetmem-history/1","series":{"segments":[{"resolution":"2m","points":[]}]}})",
       R"({"schema":"jetmem-history/1","series":{"segments":[{"resolution":"raw","points":[[1]]}]}})",
       R"({"schema":"jetmem-history/1","series":{"segments":[{"resolution":"raw","points":[)"
       R"([1e300,1,1,true,1,1,1,1]]}]}})",
       R"({"schema":"jetmem-history/1","history":{},"known_series":[{"key":"a"}]})",
       R"({"schema":"jetmem-history/1","history":{},"known_series":[{"key":"{","first_time":1,)"
       R"("last_time":1}]})",
       R"({"schema":"jetmem-history/1","samples":[],"at":1})",
       R"({"schema":"jetmem-history/1","samples":{}})", R"({"schema":"jetmem-events/1"})",
       R"({"schema":"jetmem-events/1","events":[{"id":1}]})",
       R"({"schema":"jetmem-events/1","events":[3]})"}) {
    EXPECT_TRUE(refused(text)) << text;
  }
  EXPECT_EQ(parse_events(std::string((4U << 20) + 1, ' ')).error().code, Errc::kTooLarge);
}

TEST(EventsAnswer, EventsComeBack) {
  EventsPast past;
  past.more = true;
  EventRecord& event = past.events.emplace_back();
  event.id = 42;
  event.what = EventWhat::kAlert;
  event.kind = "firing";
  event.severity = "critical";
  event.subject = "JetmemOom";
  event.summary = "evil \x1b[2J text";
  event.at = seconds(5);
  event.wall = kWall;
  event.wall_trusted = true;
  event.boot = 2;
  event.count = 3;
  event.fields = R"({"a":1})";
  const auto again = parse_events(events_json(from(), past));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->more);
  ASSERT_EQ(again->events.size(), 1U);
  EXPECT_EQ(again->events[0].what, EventWhat::kAlert);
  EXPECT_EQ(again->events[0].wall, kWall);
  EXPECT_EQ(again->events[0].id, 42);
  EXPECT_EQ(again->events[0].summary, "evil ?[2J text");
  EXPECT_EQ(again->events[0].fields, event.fields);
}

}  // namespace
}  // namespace jetmem
