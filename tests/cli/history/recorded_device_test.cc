// SPDX-License-Identifier: Apache-2.0
#include "cli/history/recorded_device.h"

#include <gtest/gtest.h>

#include "report/status/status_answer.h"
#include "tests/fake_history.h"

namespace jetmem {
namespace {

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
    BootKnown boot;
    boot.number = 7;
    boot.boot_id = "seven";
    boot.first_wall = kBegin;
    history.known.boots.push_back(boot);
  }
  Result<DeviceNow> at(Nanoseconds wall) {
    auto then = recorded_device(history, history.known, wall, seconds(25));
    if (then) add_recorded_alerts(history, *then);
    return then;
  }
  FakeHistory history;
};

TEST_F(Recorded, IsTheDeviceOfThatMoment) {
  const auto then = at(kBegin + seconds(240));
  ASSERT_TRUE(then) << then.error().message;
  EXPECT_EQ(then->by, SnapshotOrigin::kHistory);
  EXPECT_EQ(then->wall, 1795183440);
  EXPECT_EQ(then->boot_id, "seven");
  EXPECT_EQ(then->boot, 7);
  EXPECT_EQ(then->samples.meminfo("MemAvailable"), 1e9 - 3e7 * 24);
  EXPECT_EQ(then->events.size(), 2U) << "what came later is not known yet";
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
  EXPECT_EQ(rule.alerts.front().summary, "460 MiB left");
  EXPECT_EQ(rule.alerts.front().active_seconds, 60);
  EXPECT_EQ(status_answer(*firing).level, StatusLevel::kCritical);

  const auto pending = at(kBegin + seconds(150));
  ASSERT_TRUE(pending && pending->alerts);
  EXPECT_EQ(pending->alerts->rules.front().state, "pending");
  EXPECT_EQ(pending->alerts->rules.front().alerts.front().summary, "about to be low");

  const auto quiet = at(kBegin + seconds(60));
  ASSERT_TRUE(quiet && quiet->alerts);
  EXPECT_EQ(quiet->alerts->count("inactive"), 2U);
}

TEST_F(Recorded, AGapIsNoMoment) {
  const auto then = at(kBegin + minutes(10));
  ASSERT_FALSE(then);
  EXPECT_EQ(then.error().code, Errc::kAbsent);
}

TEST_F(Recorded, WithoutStatesOfAlertsNothingIsQuiet) {
  FakeHistory other;
  other.add("jetmem_meminfo_MemAvailable_bytes", kBegin, {1e9});
  auto then = recorded_device(other, other.known, kBegin, seconds(25));
  ASSERT_TRUE(then);
  add_recorded_alerts(other, *then);
  EXPECT_FALSE(then->alerts);
  EXPECT_NE(then->no_alerts, "");
}

}  // namespace
}  // namespace jetmem
