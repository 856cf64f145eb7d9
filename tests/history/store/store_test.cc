// SPDX-License-Identifier: Apache-2.0
#include "history/store/store.h"

#include "tests/history/store_fixture.h"

namespace jetmem {
namespace {

TEST_F(StoreTest, WhatWasWrittenIsThereAfterClosing) {
  open();
  EXPECT_TRUE(logged_.empty());
  const auto boot = begin("boot-a", checked(seconds(5), kEpoch2026));
  Steps steps;
  steps.series("free", {1, 2, std::nan(""), 4}).series("faults_total", {7, 7, 8, 9}, true);
  const std::vector<EventRecord> events{event_of("oom_kill", "killed", seconds(125))};
  ASSERT_TRUE(store_->write(boot, steps.at(seconds(100), 4), events));
  store_.reset();

  const auto reader = HistoryStore::open_to_read(file()).value();
  const auto past = reader->past(all_of("free"));
  ASSERT_TRUE(past) << past.error().message;
  ASSERT_EQ(past->points.size(), 3U);
  EXPECT_FALSE(past->is_counter);
  EXPECT_EQ(past->points[2].average, 4);
  EXPECT_EQ(past->points[2].boot_time, seconds(130));
  EXPECT_EQ(past->points[2].wall, kEpoch2026 + seconds(130));
  EXPECT_TRUE(past->points[2].wall_trusted);
  EXPECT_TRUE(reader->past(all_of("faults_total"))->is_counter);
  EXPECT_TRUE(reader->past(all_of("never"))->points.empty());

  const auto happened = reader->events({}).value();
  ASSERT_EQ(happened.events.size(), 1U);
  EXPECT_EQ(happened.events[0].kind, "oom_kill");
  EXPECT_EQ(happened.events[0].wall, kEpoch2026 + seconds(125));
  EXPECT_EQ(happened.events[0].boot, boot);

  const auto known = reader->series("free").value();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].last, kEpoch2026 + seconds(130));
  const auto facts = reader->facts().value();
  EXPECT_EQ(facts.series, 2U);
  EXPECT_EQ(facts.events, 1U);
  EXPECT_EQ(facts.schema, HistoryStore::kSchema);
  EXPECT_EQ(facts.raw_step, seconds(10));
  EXPECT_EQ(facts.newest, kEpoch2026 + seconds(130));
  EXPECT_EQ(reader->check(), "ok");
  EXPECT_FALSE(reader->begin_boot("x", {}));
}

TEST_F(StoreTest, BootsAreKnownByTheirId) {
  open();
  const auto first = begin("a", checked({}, kEpoch2026));
  const auto second = begin("b", checked({}, kEpoch2026));
  EXPECT_GT(second, first);
  EXPECT_EQ(begin("a", checked({}, kEpoch2026)), first);
}

// That each has its extremes and its mean is RollUpProperty's.
TEST_F(StoreTest, MinutesAndQuartersLeaveGapsOpen) {
  const auto boot = open_boot();
  // 13 hours in half hours, none between 3 h and 5 h.
  for (int half = 0; half < 26; ++half) {
    if (half >= 6 && half < 10) continue;
    ASSERT_TRUE(write_x(*store_, boot, minutes(30 * half), 180, 1000.0 * half));
  }
  tidy_all(boot, hours(13));
  const auto by_minute = points(all_of("x", Resolution::kMinute));
  ASSERT_EQ(by_minute.size(), 22U * 30);
  EXPECT_EQ(by_minute[180].boot_time, hours(5));
  // The last hour is no minutes yet: made of raw steps when asked.
  EXPECT_EQ(by_minute.back().boot_time, hours(13) - minutes(1));
  EXPECT_EQ(by_minute.back().count, 6U);
  const auto by_quarter = points(all_of("x", Resolution::kQuarter));
  ASSERT_EQ(by_quarter.size(), 44U);
  EXPECT_EQ(by_quarter.back().count, 90U);
  EXPECT_EQ(by_quarter.back().max, 25179);
  // Raw steps are kept for six hours.
  const auto raw = points(all_of("x", Resolution::kRaw));
  EXPECT_GE(raw.size(), 6U * 360);
  EXPECT_LE(raw.size(), 7U * 360);

  // Just before the oldest of them there are minutes.
  SeriesQuery before = all_of("x");
  before.from = kEpoch2026 + raw.front().boot_time - minutes(10);
  before.to = kEpoch2026 + raw.front().boot_time - minutes(2);
  ASSERT_EQ(points(before).size(), 9U);
  EXPECT_EQ(points(before).front().resolution, Resolution::kMinute);

  // The finest that reaches back; a coarser one where that is too many.
  SeriesQuery requested = all_of("x");
  requested.from = kEpoch2026 + hours(8);
  requested.to = kEpoch2026 + hours(14);
  EXPECT_EQ(points(requested).front().resolution, Resolution::kRaw);
  requested.from = kEpoch2026 + hours(1);
  EXPECT_EQ(points(requested).front().resolution, Resolution::kMinute);
  requested.most = 100;
  EXPECT_EQ(points(requested).front().resolution, Resolution::kQuarter);
  requested.most = 10;
  const auto cut = store_->past(requested).value();
  EXPECT_TRUE(cut.cut);
  EXPECT_EQ(cut.points.size(), 10U);
  EXPECT_EQ(cut.points.back().max, 25179);
}

TEST_F(StoreTest, ValuesOfAMoment) {
  const auto boot = open_boot();
  ASSERT_TRUE(store_->write(boot,
                            Steps()
                                .series("gone", {1, std::nan(""), std::nan("")})
                                .series("here", {1, 2, 3})
                                .at(seconds(100), 3),
                            {}));
  const auto both = store_->at(kEpoch2026 + seconds(115), seconds(60)).value();
  EXPECT_EQ(both, (std::vector<std::pair<std::string, double>>{{"gone", 1}, {"here", 2}}));
  const auto one = store_->at(kEpoch2026 + seconds(122), seconds(15)).value();
  EXPECT_EQ(one, (std::vector<std::pair<std::string, double>>{{"here", 3}}));
  EXPECT_TRUE(store_->at(kEpoch2026 + seconds(90), seconds(60))->empty());
}

TEST_F(StoreTest, ARollUpBringsNothingBackThatFinerStepsSayWasNotThere) {
  const auto boot = open_boot();
  for (int half = 0; half < 26; ++half) {
    std::vector<double> ended;
    std::vector<double> began;
    for (int i = 0; i < 180; ++i) {
      const Nanoseconds at = minutes(30 * half) + seconds(10 * i);
      ended.push_back(at < hours(10) + minutes(3) ? 1 : std::nan(""));
      began.push_back(at < hours(11) + minutes(5) ? std::nan("") : 1);
    }
    Steps steps;
    steps.series("always", std::vector<double>(180, 1)).series("ended", ended);
    ASSERT_TRUE(store_->write(boot, steps.series("began", began).at(minutes(30 * half), 180), {}));
  }
  tidy_all(boot, hours(13));
  ASSERT_FALSE(points(all_of("ended", Resolution::kQuarter)).empty());
  const auto names = [&](Nanoseconds moment) {
    std::vector<std::string> all;
    const auto values = store_->at(kEpoch2026 + moment, seconds(60)).value();
    for (const auto& [name, value] : values) all.push_back(name);
    return all;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(hours(10) + minutes(2)), (Names{"always", "ended"}));
  EXPECT_EQ(names(hours(10) + minutes(10)), Names{"always"});
  EXPECT_EQ(names(hours(11) + minutes(2)), Names{"always"});
  EXPECT_EQ(names(hours(11) + minutes(6)), (Names{"always", "began"}));
  EXPECT_EQ(names(hours(2)), (Names{"always", "ended"})) << "only roll-ups are left";
}

TEST_F(StoreTest, StatesAndNamesOfARollUpAreNoMeans) {
  const auto boot = open_boot();
  const std::string alert = "jetmem_alert_state{alert=\"JetmemMemoryLow\",severity=\"critical\"}";
  const std::string same = "jetmem_process_group_pid{command=\"same\"}";
  const std::string other = "jetmem_process_group_pid{command=\"other\"}";
  for (int half = 0; half < 26; ++half) {
    std::vector<double> states;
    std::vector<double> pids;
    for (int i = 0; i < 180; ++i) {
      states.push_back(i % 6 < 3 ? 0 : 2);
      pids.push_back(i % 6 < 3 ? 1000 : 2000);
    }
    Steps steps;
    steps.series(alert, states).series(other, pids);
    steps.series(same, std::vector<double>(180, 1234)).series("jetmem_rail_watts", states);
    ASSERT_TRUE(store_->write(boot, steps.at(minutes(30 * half), 180), {}));
  }
  tidy_all(boot, hours(13));
  using Values = std::vector<std::pair<std::string, double>>;
  const auto rolled = store_->at(kEpoch2026 + minutes(90) + seconds(15), minutes(2)).value();
  EXPECT_EQ(rolled, (Values{{alert, 2}, {same, 1234}, {"jetmem_rail_watts", 1}}));
  const auto raw = store_->at(kEpoch2026 + hours(12) + seconds(15), minutes(2)).value();
  EXPECT_EQ(raw, (Values{{alert, 0}, {other, 1000}, {same, 1234}, {"jetmem_rail_watts", 0}}));
}

TEST_F(StoreTest, EventsArePagedAndChosen) {
  const auto boot = open_boot();
  std::vector<EventRecord> events;
  for (int i = 0; i < 10; ++i) {
    events.push_back(event_of(i % 2 == 0 ? "even" : "odd", "", seconds(100 + i)));
  }
  events[9].what = EventWhat::kMark;
  ASSERT_TRUE(store_->write(boot, nullptr, events));
  EventsQuery requested;
  requested.most = 4;
  auto page = store_->events(requested);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->events.size(), 4U);
  EXPECT_TRUE(page->more);
  EXPECT_EQ(page->events[0].what, EventWhat::kMark);
  requested.before = page->events.back().id;
  requested.kinds = {"even"};
  page = store_->events(requested);
  EXPECT_EQ(page->events.size(), 3U);
  EXPECT_FALSE(page->more);
  requested = {};
  requested.from = kEpoch2026 + seconds(103);
  requested.to = kEpoch2026 + seconds(105);
  EXPECT_EQ(store_->events(requested)->events.size(), 3U);
}

TEST_F(StoreTest, EachEventIsReadAsWhatItWasWritten) {
  const auto boot = open_boot();
  std::vector<EventRecord> events;
  for (const EventWhat what : {EventWhat::kGuess, EventWhat::kMark, EventWhat::kDaemon,
                               EventWhat::kAlert, EventWhat::kKernel}) {
    events.push_back(event_of("kind", "", seconds(100)));
    events.back().what = what;
  }
  ASSERT_TRUE(store_->write(boot, nullptr, events));
  const auto past = store_->events({}).value();
  ASSERT_EQ(past.events.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(past.events[i].what, events[4 - i].what);
}

TEST_F(StoreTest, OldGoesByAgeAndNotBeforeItWasRolledUp) {
  auto with = options();
  with.keep_events = hours(24);
  open(with);
  const auto boot = begin("a", checked({}, kEpoch2026));
  for (int hour = 0; hour < 24 * 5; ++hour) {
    ASSERT_TRUE(write_x(*store_, boot, hours(hour), 360));
    const std::vector<EventRecord> events{event_of("tick", "", hours(hour))};
    ASSERT_TRUE(store_->write(boot, nullptr, events));
    tidy_all(boot, hours(hour + 1));
  }
  EXPECT_LE(points(all_of("x", Resolution::kRaw)).size(), 7U * 360);
  EXPECT_LE(points(all_of("x", Resolution::kMinute)).size(), 76U * 60);
  EXPECT_GE(points(all_of("x", Resolution::kMinute)).size(), 72U * 60);
  EXPECT_EQ(points(all_of("x", Resolution::kQuarter)).size(), 5U * 96);
  EXPECT_EQ(store_->events({})->events.size(), 23U);
  EXPECT_EQ(store_->check(), "ok");
}

TEST_F(StoreTest, AStepThatIsRolledUpCountsUntilItsEnd) {
  const auto boot = open_boot();
  ASSERT_TRUE(write_x(*store_, boot, {}, 720));
  tidy_all(boot, hours(4));
  SeriesQuery requested = all_of("x", Resolution::kMinute);
  const auto one_at = [&](Nanoseconds from, Nanoseconds to) {
    requested.from = kEpoch2026 + from;
    requested.to = kEpoch2026 + to;
    const auto found = points(requested);
    EXPECT_EQ(found.size(), 1U);
    return found.at(0);
  };
  EXPECT_EQ(one_at(minutes(10) + seconds(20), minutes(10) + seconds(30)).boot_time, minutes(10));
  // A quarter made of minutes and of raw steps is whole, too.
  requested = all_of("x", Resolution::kQuarter);
  const HistoryPoint quarter = one_at(minutes(20), minutes(29));
  EXPECT_EQ(quarter.boot_time, minutes(15));
  EXPECT_EQ(quarter.min, 90);
  // The next step begins as this one ends.
  EXPECT_EQ(one_at(minutes(30), minutes(31)).boot_time, minutes(30));
}

TEST_F(StoreTest, ABootLastsUntilItsLastEvent) {
  const auto boot = open_boot();
  ASSERT_TRUE(write_x(*store_, boot, seconds(10), 10));
  EventRecord event = event_of("tick", "", seconds(500));
  event.boot = boot;
  ASSERT_TRUE(store_->write(boot, nullptr, std::vector<EventRecord>{event}));
  const auto facts = store_->facts();
  ASSERT_EQ(facts->boots.size(), 1U);
  EXPECT_EQ(facts->boots[0].last_wall, kEpoch2026 + seconds(500));
}

TEST_F(StoreTest, UnusedSeriesAreForgotten) {
  auto with = options();
  with.keep_quarters = hours(30);
  with.keep_minutes = hours(20);
  open(with);
  const auto boot = begin("a", checked({}, kEpoch2026));
  ASSERT_TRUE(store_->write(boot, Steps().series("old", {1, 2}).at(seconds(0), 2), {}));
  for (int hour = 0; hour < 72; ++hour) {
    ASSERT_TRUE(write_x(*store_, boot, hours(hour) + seconds(60), 2));
    tidy_all(boot, hours(hour + 1));
  }
  EXPECT_TRUE(store_->series("old")->empty());
  EXPECT_EQ(store_->facts()->series, 1U);
}

TEST_F(StoreTest, WrongChunksAreRefused) {
  const auto boot = open_boot();
  EXPECT_FALSE(
      store_->write(boot, Steps().series("x", {1}).series("x", {2}).at(seconds(1), 1), {}));
  Steps steps;
  steps.series("x", {1, 2, 3});
  EXPECT_FALSE(store_->write(boot, steps.at(seconds(1), 2), {}));
  EXPECT_FALSE(store_->write(boot, steps.at(seconds(1), 3, seconds(0)), {}));
  EXPECT_FALSE(store_->write(99, steps.at(seconds(1), 3), {}));
  EXPECT_TRUE(store_->write(boot, steps.at(seconds(1), 3), {}));
  EXPECT_EQ(points(all_of("x")).size(), 3U);
}

// Own bounds are no damage of the file.
TEST_F(StoreTest, MoreSeriesInAWindowThanFitAreNoDamage) {
  const auto boot = open_boot();
  // Twelve hours in blocks of half an hour, each with 200 series that no other has.
  for (int block = 0; block < 26; ++block) {
    Steps steps;
    steps.series("x", std::vector<double>(2, 1));
    for (int i = 0; i < 200; ++i) {
      steps.series("s" + std::to_string(block * 200 + i), std::vector<double>(2, 1));
    }
    ASSERT_TRUE(store_->write(boot, steps.at(minutes(30) * block, 2), {}));
  }
  tidy_all(boot, hours(20));
  EXPECT_EQ(store_->windows_cut(), 1U);
  EXPECT_EQ(store_->take_messages().size(), 1U);
  ASSERT_TRUE(write_x(*store_, boot, hours(20), 3));
  EXPECT_EQ(store_->quarantine(), 0U);
  EXPECT_GT(points(all_of("x", Resolution::kQuarter)).size(), 20U);
}

TEST_F(StoreTest, MoreBootsThanAreKnownAreNoDamage) {
  open();
  const auto first = begin("first", checked(seconds(0), kEpoch2026));
  ASSERT_TRUE(write_x(*store_, first, seconds(0), 3));
  store_.reset();
  change_file(file(),
              "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i+1 FROM n LIMIT 10500) INSERT "
              "INTO boots(number, boot_id, first, last) SELECT i, 'b' || i, 0, 60000000000 FROM n");
  open();
  EXPECT_FALSE(set_aside_);
  const auto boot = begin("now", checked(hours(1), kEpoch2026 + hours(99'999)));
  ASSERT_TRUE(write_x(*store_, boot, hours(1), 3));
  tidy_all(boot, hours(1) + minutes(1));
  EXPECT_EQ(store_->quarantine(), 0U);
  const auto facts = store_->facts().value();
  EXPECT_LE(facts.boots.size(), 10'000U);
  EXPECT_EQ(points(all_of("x")).back().boot, boot);
}

TEST_F(StoreTest, BytesAreAllThatItTakes) {
  const auto boot = open_boot();
  ASSERT_TRUE(write_x(*store_, boot, seconds(0), 3));
  const auto before = store_->bytes();
  dir_.write("history.db.damaged-1", std::string(50'000, 'x'));
  EXPECT_EQ(store_->bytes(), before + 50'000);
  EXPECT_GE(before, 32'768U + 4096U);  // the journal's index
}

}  // namespace
}  // namespace jetmem
