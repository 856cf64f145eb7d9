// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/draw/since.h"
#include "cli/events/events_past.h"
#include "cli/exit_codes.h"
#include "cli/text/events/event_text.h"
#include "report/events/kernel_event_record.h"
#include "tests/cli/command_run.h"
#include "tests/fake_history.h"
#include "tests/temp_dir.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;
using kernel_log::Event;
using kernel_log::EventKind;
using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Times are shown in local time; the tests' is Berlin's.
class Events : public testing::Test {
 private:
  const TimeZone zone_{kBerlin};
};

// 2026-11-20 18:00:00 in Berlin.
constexpr Nanoseconds kNow = 1795194000s;

std::string kill_line(int seq, int seconds, std::string_view comm) {
  return "3," + std::to_string(seq) + "," + std::to_string(seconds) +
         "000000,-;Out of memory: Killed process " + std::to_string(4000 + seq) + " (" +
         std::string(comm) +
         ") total-vm:200kB, anon-rss:100kB, file-rss:1kB, shmem-rss:0kB, UID:1000 pgtables:40kB "
         "oom_score_adj:0\n";
}

CommandRun events(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "events");
  return run_command(arguments);
}

TEST_F(Events, SinceIsAgoOrAMoment) {
  EXPECT_EQ(parse_since("10m", kNow)->ago, 10min);
  EXPECT_EQ(parse_since("1h30m", kNow)->ago, 90min);
  EXPECT_EQ(parse_since("02:00", kNow)->at, kNow - 16h);
  EXPECT_EQ(parse_since("02:00:05", kNow)->at, kNow - 16h + 5s);
  EXPECT_EQ(parse_since("2026-11-20 02:00", kNow)->at, kNow - 16h);
  EXPECT_EQ(parse_since("2026-11-19T02:00:05", kNow)->at, kNow - 40h + 5s);
  EXPECT_EQ(parse_since("2026-11-20", kNow)->at, kNow - 18h);
  // In summer the clock was an hour ahead.
  EXPECT_EQ(parse_since("2026-07-01 12:00", kNow)->at, Nanoseconds(1782900000s));
  EXPECT_EQ(parse_since("@1795190400", kNow)->at, kNow - 1h);
  EXPECT_EQ(parse_since("1w", kNow)->ago, 168h);
  EXPECT_EQ(parse_since("1w2d", kNow)->ago, 216h);
  EXPECT_EQ(parse_since("now", kNow)->at, kNow);
  EXPECT_EQ(parse_since("today", kNow)->at, kNow - 18h);
  EXPECT_EQ(parse_since("yesterday", kNow)->at, kNow - 42h);
}

TEST_F(Events, ATimeOfDayIsTheLastOne) {
  // Half past midnight.
  const Nanoseconds night = kNow - 17h - 30min;
  EXPECT_EQ(parse_since("23:00", night)->at, night - 90min);
  EXPECT_EQ(parse_since("00:30", night)->at, night);
  EXPECT_EQ(parse_since("00:30:01", night)->at, night - 24h + 1s);
  // The clock was set back at 03:00 on 2026-10-25: that day had 25 hours.
  const Nanoseconds after = Nanoseconds(1792972800s);  // 2026-10-26 01:00
  EXPECT_EQ(parse_since("02:30", after)->at, after - 22h - 30min);
  EXPECT_EQ(local_time(*parse_since("01:30", after)->at), "2026-10-25 01:30:00");
}

TEST_F(Events, InvalidSince) {
  for (const char* text :
       {// no number, no unit, neither
        "", "x", "10", "@", "@x", "tomorrow", "w", "1w5", "101w", "-5m",
        // no such time
        "25:00", "2:00", "02:60", "02:00:61", "02:00x",
        // no such date
        "2026-13-01", "2026-02-30", "2026-11-20x", "2026-11-20 2", "2026-11-20  02:00"}) {
    const auto since = parse_since(text, kNow);
    ASSERT_FALSE(since) << text;
    EXPECT_THAT(since.error().message, HasSubstr("is not a time; write one like 10m")) << text;
  }
  EXPECT_EQ(parse_since("2026-11-20 18:01", kNow).error().message,
            "'2026-11-20 18:01' is in the future: it is 2026-11-20 18:00:00 now");
  // More nanoseconds than there are.
  for (const char* far : {"2526-11-20 02:00", "9999-12-31"}) {
    const auto since = parse_since(far, kNow);
    ASSERT_FALSE(since) << far;
    EXPECT_THAT(since.error().message, HasSubstr("is in the future")) << far;
  }
}

TEST_F(Events, TimesAreShown) {
  EXPECT_EQ(local_time(kNow), "2026-11-20 18:00:00");
  EXPECT_EQ(local_time_short(kNow + 5s, kNow), "18:00:05");
  EXPECT_EQ(local_time_short(kNow + 6h, kNow), "2026-11-21 00:00:00");
  EXPECT_EQ(utc_time(kNow + 7ms), "2026-11-20T17:00:00.007Z");
  EXPECT_EQ(local_time(kNow, -3.5 * 3600), "2026-11-20 13:30:00");
  EXPECT_EQ(time_zone_text("NST", -3.5 * 3600), "NST (UTC-03:30)");
  EXPECT_EQ(time_zone_text("UTC", 0), "UTC");
}

std::string shown(const std::vector<EventRecord>& events) {
  std::string out;
  EventRecordList list([&](const std::string& text) { out += text; });
  for (const EventRecord& each : events) list.add(each);
  list.finish();
  return out;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

EventRecord record_of(const Event& event, std::optional<Nanoseconds> wall) {
  EventRecord record = kernel_event_record(event, kernel_log::Origin::kSystem, {});
  record.wall = wall;
  record.wall_trusted = wall.has_value();
  return record;
}

TEST_F(Events, AStormIsFolded) {
  std::string out;
  EventRecordList list([&](const std::string& text) { out += text; });
  for (int i = 0; i < 40; ++i) {
    for (const char* dev : {"a.iommu", "b.iommu"}) {
      Event event(EventKind::kSmmuContextFault);
      event.set_text("dev", dev);
      event.set_hex("iova", static_cast<std::uint64_t>(0x1000 * i));
      list.add(record_of(event, kNow + i * 1s));
    }
  }
  Event late(EventKind::kSmmuContextFault);
  late.set_text("dev", "a.iommu");
  list.add(record_of(late, kNow + 39s + 61s));
  EXPECT_THAT(out, HasSubstr("x40 over 39 s, last 18:00:39"));
  list.finish();
  EXPECT_EQ(count_of(out, " smmu_context_fault\n"), 3U);
  EXPECT_LT(out.find("2026-11-20 18:00:00 smmu"), out.find("2026-11-20 18:01:40 smmu"));
  // What it means is shown once.
  const std::string meaning =
      "(in general: " + std::string(info_of(EventKind::kSmmuContextFault).meaning.substr(0, 20));
  EXPECT_EQ(count_of(out, meaning), 1U);
}

TEST_F(Events, WithoutTimesOnlyNeighboursAreFolded) {
  std::vector<EventRecord> events;
  for (const EventKind kind :
       {EventKind::kOomKill, EventKind::kOomKill, EventKind::kKmemleak, EventKind::kOomKill}) {
    events.push_back(record_of(Event(kind), std::nullopt));
  }
  const std::string out = shown(events);
  EXPECT_THAT(out, HasSubstr("    x2\n"));
  EXPECT_THAT(out.substr(out.find("kmemleak")), HasSubstr("oom_kill"));
}

TEST_F(Events, ManyDifferentEventsAreAllShown) {
  std::vector<EventRecord> events;
  for (std::size_t i = 0; i < 4 * EventRecordList::kMaxRows; ++i) {
    Event event(EventKind::kOomKill);
    event.set_text("comm", "app" + std::to_string(i));
    events.push_back(record_of(event, kNow));
  }
  EXPECT_EQ(count_of(shown(events), " oom_kill\n"), events.size());
}

class CapturedEvents : public Events {
 protected:
  void SetUp() override {
    Events::SetUp();
    std::string log = "6,100,1000000,-;a beginning\n";
    for (int i = 0; i < 5; ++i) log += kill_line(101 + i, 100 + i, "my_app");
    log += "12,106,110000000,-;Out of memory: Killed process 1 (forged)\n";
    log += kill_line(110, 3600, "other_app") + "6,111,3700000000,-;an end\n";
    dir_.write("dev/kmsg", log);
  }
  void with_boot_time() {
    dir_.write("jetmem/manifest.json",
               R"({"format": 1, "facts": {"boot_time": 1795186800, "captured_at": 1795194000}})");
  }
  CommandRun run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--root", dir_.path()});
    return events(arguments);
  }
  TempDir dir_;
};

TEST_F(CapturedEvents, OldestFirstWithWallClockTimes) {
  with_boot_time();
  const CommandRun shown = run({});
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.err, "");
  EXPECT_THAT(shown.out, testing::StartsWith("2026-11-20 16:01:40 oom_kill\n"));
  // A process is killed once: five of one name are five events.
  EXPECT_TRUE(has_all(shown.out, {"2026-11-20 16:01:44 oom_kill\n    my_app (PID 4105)"}));
  EXPECT_TRUE(has_none(shown.out, {"repeated", "forged"}));
  std::string last = shown.out.substr(shown.out.find("6 events in"));
  std::replace(last.begin(), last.end(), '\n', ' ');
  EXPECT_TRUE(has_all(
      last, {"in 9 records", "2026-11-20 16:00:01 to 2026-11-20 17:01:40", "100 records before",
             "3 records lost", "1 line written into the kernel log by processes"}));
}

TEST_F(CapturedEvents, WithoutABootTimeTheyAreSinceBoot) {
  EXPECT_TRUE(gives(run({}), 0,
                    {"[100.000000] oom_kill\n", "[104.000000] oom_kill\n    my_app (PID 4105)"}));
}

TEST_F(CapturedEvents, Since) {
  for (const char* since : {"2m", "50m"}) {
    const CommandRun shown = run({"--since", since});
    EXPECT_TRUE(gives(shown, 0, {"other_app", "1 event since then in"}));
    EXPECT_TRUE(has_none(shown.out, {"my_app"}));
  }
  EXPECT_TRUE(gives(run({"--since", "00:00"}), kExitUnknown, {}, {"boot time"}));
  with_boot_time();
  EXPECT_TRUE(gives(run({"--since", "17:00"}), 0, {"1 event since 2026-11-20 17:00:00 in"}));
  EXPECT_TRUE(gives(run({"--since", "2h"}), 0, {"6 events since 2026-11-20 16:00:00 in"}));
  // Before the log is read, which not everybody may.
  for (const char* text : {"soon", ""}) {
    EXPECT_TRUE(gives(events({"--ring", "--since", text}), kExitUsage, {},
                      {"jetmem events: --since: '" + std::string(text) + "' is not a time"}));
  }
}

TEST_F(CapturedEvents, JsonHasEach) {
  with_boot_time();
  const CommandRun shown = run({"--json"});
  EXPECT_TRUE(
      gives(shown, 0, {}, {"3 records lost", "1 line written into the kernel log by processes"}));
  const std::vector<json> list = json_lines(shown.out);
  ASSERT_EQ(list.size(), 6U);
  EXPECT_EQ(list[0]["kind"], "oom_kill");
  EXPECT_EQ(list[0]["category"], "kernel");
  EXPECT_EQ(list[0]["time"], 1795186900);
  EXPECT_EQ(list[0]["since_boot_seconds"], 100.0);
}

TEST_F(CapturedEvents, LimitKeepsTheNewest) {
  with_boot_time();
  for (const bool ring : {false, true}) {
    std::vector<std::string> words{"--limit", "2"};
    if (ring) words.emplace_back("--ring");
    const CommandRun shown = run(words);
    EXPECT_THAT(shown.out, testing::StartsWith("2026-11-20 16:01:44 oom_kill\n"));
    EXPECT_TRUE(has_all(shown.out, {"other_app", "2 events in", "raise --limit"}));
    words.emplace_back("--json");
    const CommandRun json = run(words);
    EXPECT_EQ(std::count(json.out.begin(), json.out.end(), '\n'), 2);
    EXPECT_THAT(json.err, HasSubstr("raise --limit"));
  }
  EXPECT_TRUE(has_none(run({"--limit", "6"}).out, {"--limit"}));
}

// No event ever had such a kind: that there are none says nothing.
TEST_F(CapturedEvents, AnUnknownKindIsRefused) {
  EXPECT_TRUE(
      gives(run({"--kind", "oomkill"}), kExitUsage, {}, {"--kind: ", "did you mean 'oom_kill'?"}));
  EXPECT_EQ(run({"--kind", "oom_kill,nonsense"}).status, kExitUsage);
  EXPECT_EQ(run({"--kind", "firing"}).status, kExitOk);
}

TEST_F(CapturedEvents, FaultsIsAnOption) {
  EXPECT_EQ(run({"--faults", "--json"}).out, "");
  const CommandRun earlier = run_command({"faults", "--root", "/nowhere"});
  const CommandRun now = events({"--faults", "--root", "/nowhere"});
  EXPECT_EQ(earlier.status, now.status);
  EXPECT_EQ(earlier.err, now.err);
  EXPECT_TRUE(has_none(run_command({"--help"}).out, {"faults "}));
}

TEST_F(CapturedEvents, ATreeWithoutALog) {
  const TempDir empty;
  EXPECT_TRUE(gives(events({"--root", empty.path()}), kExitUnknown, {},
                    {"/dev/kmsg: No such file or directory"}));
}

EventRecord past_event(std::int64_t id, EventWhat what, std::string kind, Nanoseconds ago,
                       std::string subject = "") {
  EventRecord out;
  out.id = id;
  out.what = what;
  out.kind = std::move(kind);
  out.severity = "error";
  out.subject = std::move(subject);
  out.summary = "something of " + out.subject;
  out.boot = 1;
  out.wall = kNow - ago;
  out.at = 10h - ago;
  out.wall_trusted = true;
  return out;
}

class EventsOfThePast : public testing::Test {
 protected:
  void SetUp() override {
    history_.events_kept = {past_event(1, EventWhat::kDaemon, "start", 5h),
                            past_event(2, EventWhat::kKernel, "oom_kill", 4h, "app"),
                            past_event(3, EventWhat::kAlert, "firing", 3h, "JetmemMemoryLow"),
                            past_event(4, EventWhat::kKernel, "smmu_context_fault", 2h, "vi"),
                            past_event(5, EventWhat::kMark, "mark", 1h)};
  }
  std::vector<std::int64_t> ids(const EventFilter& needed) {
    std::vector<std::int64_t> out;
    const auto found = past_events(history_, needed);
    for (const EventRecord& each : found->events) out.push_back(each.id);
    return out;
  }
  FakeHistory history_;
  const TimeZone zone_{"UTC"};
};

TEST_F(EventsOfThePast, OldestFirstAndChosen) {
  EXPECT_EQ(ids({}), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EventFilter needed;
  needed.limit = 2;
  EXPECT_EQ(ids(needed), (std::vector<std::int64_t>{4, 5}));
  EXPECT_TRUE(past_events(history_, needed)->more);
  needed.what = {EventWhat::kDaemon, EventWhat::kAlert};
  EXPECT_EQ(ids(needed), (std::vector<std::int64_t>{1, 3}));
  needed = {};
  needed.from = kNow - 3h;
  needed.to = kNow - 90min;
  EXPECT_EQ(ids(needed), (std::vector<std::int64_t>{3, 4}));
  needed = {};
  needed.kinds = fault_kinds();
  EXPECT_EQ(ids(needed), (std::vector<std::int64_t>{4}));
}

TEST_F(EventsOfThePast, PagesAreFollowed) {
  history_.events_kept.clear();
  for (int i = 0; i < 1234; ++i) {
    history_.events_kept.push_back(
        past_event(i + 1, EventWhat::kKernel, i % 2 == 0 ? "oom_kill" : "kmemleak", 2h - i * 1s));
  }
  EventFilter needed;
  needed.limit = 5000;
  EXPECT_EQ(ids(needed).size(), 1234U);
  needed.limit = 700;
  EXPECT_EQ(ids(needed).front(), 535);
}

// At its first start jetmemd is recorded before what it then finds in the kernel's log.
TEST_F(EventsOfThePast, TheBootClockDecidesWithinABoot) {
  history_.events_kept = {past_event(1, EventWhat::kDaemon, "start", 1h),
                          past_event(2, EventWhat::kKernel, "oom_kill", 5h, "a"),
                          past_event(3, EventWhat::kKernel, "oom_kill", 4h, "b"),
                          past_event(4, EventWhat::kMark, "mark", 30min)};
  history_.events_kept[3].at.reset();  // stays behind the one before
  EXPECT_EQ(ids({}), (std::vector<std::int64_t>{2, 3, 4, 1}));
  EventFilter needed;
  needed.limit = 1;
  EXPECT_EQ(ids(needed), (std::vector<std::int64_t>{1})) << "the newest is not the last recorded";
  EXPECT_TRUE(past_events(history_, needed)->more);
  // A later boot stays later, though the clock was set back.
  history_.events_kept[0].boot = 2;
  history_.events_kept[0].at = 1s;
  history_.events_kept[0].wall = kNow - 24h;
  EXPECT_EQ(ids({}), (std::vector<std::int64_t>{2, 3, 4, 1}));
}

TEST_F(EventsOfThePast, FollowShowsEachEventOnce) {
  EventsSeen seen;
  std::vector<EventRecord> events = history_.events_kept;
  EXPECT_EQ(seen.fresh(events).size(), 5U);
  EXPECT_EQ(seen.fresh(events).size(), 0U);
  // One that waits in memory has no id yet, and gets one on disk.
  events.push_back(past_event(0, EventWhat::kKernel, "oom_kill", 1min, "app"));
  events.push_back(past_event(0, EventWhat::kAlert, "firing", 1min, "JetmemCmaLow"));
  events.push_back(events.back());
  events.back().summary = "of another area";
  EXPECT_EQ(seen.fresh(events).size(), 3U);
  events[5].id = 6;
  events[5].count = 9;
  events[5].until = *events[5].at + 5s;
  events[6].id = 7;
  events[7].id = 8;
  EXPECT_EQ(seen.fresh(events).size(), 0U);
  events.erase(events.begin(), events.begin() + 6);
  EXPECT_EQ(seen.fresh(events).size(), 0U);
}

TEST_F(EventsOfThePast, TheLogAddsOnlyWhatIsNew) {
  EventsFound found = *past_events(history_, {});
  std::vector<EventRecord> log = {past_event(0, EventWhat::kKernel, "oom_kill", 4h - 1s, "app"),
                                  past_event(0, EventWhat::kKernel, "oom_kill", 4h - 1min, "app"),
                                  past_event(0, EventWhat::kKernel, "oom_kill", 10min, "other")};
  merge_log(found, log, 1, {});
  ASSERT_EQ(found.events.size(), 7U);
  EXPECT_EQ(found.events[2].id, 0);
  EXPECT_EQ(found.events[2].boot, 1);
  EXPECT_EQ(found.events[6].subject, "other");
  // Of a boot that the history does not know all are new.
  found = *past_events(history_, {});
  merge_log(found, {log[0]}, std::nullopt, {});
  EXPECT_EQ(found.events.size(), 6U);
  // What was folded stands for all.
  history_.events_kept[1].until = *history_.events_kept[1].at + 2min;
  found = *past_events(history_, {});
  merge_log(found, log, 1, {});
  EXPECT_EQ(found.events.size(), 6U);
}

TEST_F(EventsOfThePast, FaultsAreThoseOfDma) {
  EXPECT_THAT(fault_kinds(),
              testing::IsSupersetOf({"smmu_context_fault", "mc_error", "gpu_mmu_fault"}));
  EXPECT_THAT(fault_kinds(), Not(Contains(testing::AnyOf("gpu_error", "oom_kill"))));
}

TEST_F(EventsOfThePast, AreShownAndFolded) {
  std::vector<EventRecord> events;
  for (int i = 0; i < 5; ++i) {
    events.push_back(past_event(i + 1, EventWhat::kKernel, "oom_kill", 2h - i * 10s, "app"));
  }
  for (int i = 0; i < 2; ++i) {
    events.push_back(past_event(6 + i, EventWhat::kAlert, "firing", 1h, "JetmemMemoryLow"));
    events.back().wall_trusted = i == 0;
  }
  const std::string text = shown(events);
  EXPECT_THAT(text,
              testing::StartsWith("2026-11-20 15:00:00 oom_kill\n    something of app\n    ("));
  EXPECT_TRUE(has_all(text, {"    x5 over 40 s, last 15:00:40\n",
                             "2026-11-20 16:00:00 alert firing: JetmemMemoryLow\n",
                             "2026-11-20 16:00:00~ alert firing: JetmemMemoryLow\n"}));
}

TEST_F(EventsOfThePast, WithoutATimeOrWithAnEscape) {
  EventRecord odd = past_event(1, EventWhat::kMark, "mark", 0s);
  odd.wall.reset();
  odd.at = 12s;
  odd.summary = "a\x1b[31mb";
  EXPECT_EQ(shown({odd}), "[12.000000] mark\n    a?[31mb\n");
  odd.at.reset();
  EXPECT_EQ(shown({odd}), "mark\n    a?[31mb\n");
}

}  // namespace
}  // namespace jetmem
