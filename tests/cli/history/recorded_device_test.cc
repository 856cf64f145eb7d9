// SPDX-License-Identifier: Apache-2.0
#include "cli/history/recorded_device.h"

#include <gtest/gtest.h>

#include "cli/draw/since.h"
#include "report/status/status_answer.h"
#include "tests/cli/texts.h"
#include "tests/fake_history.h"
#include "tests/history_maker.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Nanoseconds kBegin = seconds(1795183200);

std::string state_of(const char* alert, const char* severity) {
  return std::string("jetmem_alert_state{alert=\"") + alert + "\",severity=\"" + severity + "\"}";
}

EventRecord change(const char* alert, const char* kind, const char* summary, Nanoseconds wall) {
  EventRecord out;
  out.what = EventWhat::kAlert;
  out.kind = kind;
  out.subject = alert;
  out.summary = summary;
  out.wall = wall;
  return out;
}

// Memory falls for five minutes; JetmemMemoryLow is pending in the third, and fires from then on.
struct Recorded : ::testing::Test {
  Recorded() {
    std::vector<double> available;
    std::vector<double> low;
    for (int i = 0; i < 30; ++i) {
      available.push_back(1e9 - 3e7 * i);
      low.push_back(i < 12 ? 0 : i < 18 ? 1 : 2);
    }
    history.add("jetmem_meminfo_MemAvailable_bytes", kBegin, available);
    history.add("jetmem_meminfo_MemTotal_bytes", kBegin, std::vector<double>(30, 8e9));
    history.add(state_of("JetmemMemoryLow", "critical"), kBegin, low);
    history.add(state_of("JetmemSwapFull", "warning"), kBegin, std::vector<double>(30, 0));
    history.event(change("JetmemMemoryLow", "pending", "about to be low", kBegin + seconds(120)));
    history.event(change("JetmemMemoryLow", "firing", "460 MiB left", kBegin + seconds(180)));
    history.event(change("JetmemMemoryLow", "firing", "of later", kBegin + minutes(20)));
    history.known.boots.push_back({7, "seven", kBegin, std::nullopt, false});
  }
  Result<DeviceNow> at(Nanoseconds wall) {
    auto then = recorded_device(history, history.known, wall, seconds(25));
    if (then) add_recorded_alerts(history, *then);
    return then;
  }
  FakeHistory history;
};

TEST_F(Recorded, IsTheDeviceOfThatMoment) {
  const auto then = must(at(kBegin + seconds(240)));
  EXPECT_EQ(then.by, SnapshotOrigin::kHistory);
  EXPECT_EQ(then.wall, 1795183440);
  EXPECT_EQ(then.boot_id, "seven");
  EXPECT_EQ(then.boot, 7);
  EXPECT_EQ(then.samples.meminfo("MemAvailable"), 1e9 - 3e7 * 24);
  EXPECT_EQ(then.events.size(), 2U) << "what came later is not known yet";
}

TEST_F(Recorded, HasTheAlertsOfThatMoment) {
  const auto firing = at(kBegin + seconds(240));
  ASSERT_TRUE(firing && firing->alerts);
  ASSERT_EQ(firing->alerts->rules.size(), 2U);
  const auto& rule = firing->alerts->rules.front();
  EXPECT_EQ(rule.name, "JetmemMemoryLow");
  EXPECT_EQ(rule.severity, "critical");
  EXPECT_EQ(rule.state, "firing");
  ASSERT_EQ(rule.alerts.size(), 1U);
  // Its numbers are a minute old.
  EXPECT_EQ(rule.alerts.front().summary,
            "(at " + local_time_short(kBegin + seconds(180), kBegin + seconds(240)) +
                ") 460 MiB left");
  EXPECT_EQ(rule.alerts.front().active_seconds, 60);
  EXPECT_EQ(status_answer(*firing).level, Verdict::kCritical);

  const auto pending = at(kBegin + seconds(150));
  ASSERT_TRUE(pending && pending->alerts);
  EXPECT_EQ(pending->alerts->rules.front().state, "pending");
  EXPECT_EQ(pending->alerts->rules.front().alerts.front().active_seconds, 30);

  const auto fresh = at(kBegin + seconds(180));
  ASSERT_TRUE(fresh && fresh->alerts);
  EXPECT_EQ(fresh->alerts->rules.front().alerts.front().summary, "460 MiB left");

  const auto quiet = at(kBegin + seconds(60));
  ASSERT_TRUE(quiet && quiet->alerts);
  EXPECT_EQ(quiet->alerts->count("inactive"), 2U);
}

TEST_F(Recorded, TheLastChangeOfEachAlertIsItsState) {
  // As of a roll-up, whose maximum is the state of a later moment.
  FakeHistory rolled;
  rolled.known = history.known;
  rolled.add(state_of("JetmemZoneLow", "warning"), kBegin, {2}, false, 7, Resolution::kMinute);
  const auto changed = [&](std::int64_t boot, const std::string& zone, const char* kind,
                           Nanoseconds after) {
    const std::string summary = zone + " is low";
    EventRecord event = change("JetmemZoneLow", kind, summary.c_str(), kBegin + after);
    event.boot = boot;
    event.fields = R"({"labels": {"zone": ")" + zone + R"("}})";
    rolled.event(event);
  };
  changed(6, "DMA32", "firing", -hours(5));
  changed(7, "DMA", "firing", seconds(10));
  changed(7, "Normal", "pending", seconds(20));
  changed(7, "DMA", "resolved", seconds(40));
  changed(7, "Normal", "cleared", seconds(50));
  struct Moment {
    int after;
    const char* state;
    const char* summary;  // of its first alert; "": it has none
  };
  // In the first nothing is known from its changes: it is as recorded.
  for (const auto& [after, state, summary] :
       {Moment{5, "firing", ""}, Moment{30, "firing", "DMA is low"},
        Moment{45, "pending", "Normal is low"}, Moment{55, "inactive", ""}}) {
    SCOPED_TRACE(after);
    auto then = must(recorded_device(rolled, rolled.known, kBegin + seconds(after), minutes(2)));
    add_recorded_alerts(rolled, then);
    const auto& rule = then.alerts->rules.front();
    EXPECT_EQ(rule.state, state);
    ASSERT_EQ(rule.alerts.empty(), *summary == '\0');
    if (!rule.alerts.empty()) {
      EXPECT_NE(rule.alerts.front().summary.find(summary), std::string::npos);
    }
  }
}

// Through the recorder's file, whose raw steps are gone.
TEST(RecordedRollUps, AnAlertThatFiresForHalfOfAMinuteFires) {
  const TempDir dir;
  const std::string file = dir.file("history.db");
  const auto store = open_history(file.c_str());
  const auto boot = must(store->begin_boot("a", {Nanoseconds(0), kBegin, WallTrust::kSynced}));
  const std::string key = state_of("JetmemMemoryLow", "critical");
  for (int half = 0; half < 26; ++half) {
    std::vector<double> low;
    RawChunk chunk;
    for (int i = 0; i < 180; ++i) {
      low.push_back(i % 6 < 3 ? 0 : 2);
      chunk.steps.push_back(minutes(30) * half + seconds(10) * i);
    }
    chunk.columns.push_back({key, false, low});
    ASSERT_TRUE(store->write(boot, &chunk, {}));
  }
  tidy_all(*store, boot, hours(13));
  auto history = bounded_history(file, file);
  auto then = must(
      recorded_device(*history, *history->facts(), kBegin + minutes(90) + seconds(45), minutes(2)));
  add_recorded_alerts(*history, then);
  ASSERT_TRUE(then.alerts);
  EXPECT_EQ(then.alerts->rules.front().state, "firing");
}

TEST_F(Recorded, AGapIsNoMoment) {
  const auto then = at(kBegin + minutes(10));
  ASSERT_FALSE(then);
  EXPECT_EQ(then.error().code, Errc::kAbsent);
}

TEST_F(Recorded, WithoutStatesOfAlertsNothingIsQuiet) {
  FakeHistory other;
  other.add("jetmem_meminfo_MemAvailable_bytes", kBegin, {1e9});
  auto then = must(recorded_device(other, other.known, kBegin, seconds(25)));
  add_recorded_alerts(other, then);
  EXPECT_FALSE(then.alerts);
  EXPECT_NE(then.no_alerts, "");
}

}  // namespace
}  // namespace jetmem
