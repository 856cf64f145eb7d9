// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/draw/since.h"
#include "cli/exit_codes.h"
#include "cli/text/events/event_text.h"
#include "report/events/kernel_event_record.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;
using kernel_log::Event;
using kernel_log::EventKind;
using nlohmann::json;
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
  std::size_t heads = 0;
  for (std::size_t at = 0; (at = out.find(" smmu_context_fault\n", at)) != std::string::npos;
       ++at) {
    ++heads;
  }
  EXPECT_EQ(heads, 3U);
  EXPECT_LT(out.find("2026-11-20 18:00:00 smmu"), out.find("2026-11-20 18:01:40 smmu"));
  // What it means is shown once.
  const std::string meaning =
      "(" + std::string(info_of(EventKind::kSmmuContextFault).meaning.substr(0, 20));
  EXPECT_NE(out.find(meaning), std::string::npos);
  EXPECT_EQ(out.find(meaning), out.rfind(meaning));
}

TEST_F(Events, WithoutTimesOnlyNeighboursAreFolded) {
  std::string out;
  EventRecordList list([&](const std::string& text) { out += text; });
  for (const EventKind kind :
       {EventKind::kOomKill, EventKind::kOomKill, EventKind::kKmemleak, EventKind::kOomKill}) {
    list.add(record_of(Event(kind), std::nullopt));
  }
  list.finish();
  EXPECT_THAT(out, HasSubstr("    x2\n"));
  EXPECT_THAT(out.substr(out.find("kmemleak")), HasSubstr("oom_kill"));
}

TEST_F(Events, ManyDifferentEventsAreAllShown) {
  std::string out;
  EventRecordList list([&](const std::string& text) { out += text; });
  for (std::size_t i = 0; i < 4 * EventRecordList::kMaxRows; ++i) {
    Event event(EventKind::kOomKill);
    event.set_text("comm", "app" + std::to_string(i));
    list.add(record_of(event, kNow));
  }
  list.finish();
  std::size_t heads = 0;
  for (std::size_t at = 0; (at = out.find(" oom_kill\n", at)) != std::string::npos; ++at) ++heads;
  EXPECT_EQ(heads, 4 * EventRecordList::kMaxRows);
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
  EXPECT_THAT(shown.out, HasSubstr("2026-11-20 16:01:44 oom_kill\n    my_app (PID 4105)"));
  EXPECT_THAT(shown.out, Not(HasSubstr("repeated")));
  EXPECT_THAT(shown.out, Not(HasSubstr("forged")));
  std::string last = shown.out.substr(shown.out.find("6 events in"));
  std::replace(last.begin(), last.end(), '\n', ' ');
  for (const char* part :
       {"in 9 records", "2026-11-20 16:00:01 to 2026-11-20 17:01:40", "100 records before",
        "3 records lost", "1 line written into the kernel log by processes"}) {
    EXPECT_THAT(last, HasSubstr(part));
  }
}

TEST_F(CapturedEvents, WithoutABootTimeTheyAreSinceBoot) {
  const CommandRun shown = run({});
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.out, HasSubstr("[100.000000] oom_kill\n"));
  EXPECT_THAT(shown.out, HasSubstr("[104.000000] oom_kill\n    my_app (PID 4105)"));
}

TEST_F(CapturedEvents, Since) {
  for (const char* since : {"2m", "50m"}) {
    const CommandRun shown = run({"--since", since});
    EXPECT_EQ(shown.status, 0);
    EXPECT_THAT(shown.out, HasSubstr("other_app"));
    EXPECT_THAT(shown.out, HasSubstr("1 event since then in"));
    EXPECT_THAT(shown.out, Not(HasSubstr("my_app")));
  }
  const CommandRun absolute = run({"--since", "00:00"});
  EXPECT_EQ(absolute.status, kExitUnknown);
  EXPECT_THAT(absolute.err, HasSubstr("boot time"));
  with_boot_time();
  EXPECT_THAT(run({"--since", "17:00"}).out, HasSubstr("1 event since 2026-11-20 17:00:00 in"));
  EXPECT_THAT(run({"--since", "2h"}).out, HasSubstr("6 events since 2026-11-20 16:00:00 in"));
  const CommandRun wrong = run({"--since", "soon"});
  EXPECT_EQ(wrong.status, kExitUsage);
  EXPECT_THAT(wrong.err, HasSubstr("jetmem events: --since: 'soon' is not a time"));
  const CommandRun empty = run({"--since", ""});
  EXPECT_EQ(empty.status, kExitUsage);
  EXPECT_THAT(empty.err, HasSubstr("--since: '' is not a time"));
}

TEST_F(CapturedEvents, JsonHasEach) {
  with_boot_time();
  const CommandRun shown = run({"--json"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.err, HasSubstr("3 records lost"));
  EXPECT_THAT(shown.err, HasSubstr("1 line written into the kernel log by processes"));
  const std::vector<json> list = json_lines(shown.out);
  ASSERT_EQ(list.size(), 6U);
  EXPECT_EQ(list[0]["kind"], "oom_kill");
  EXPECT_EQ(list[0]["category"], "kernel");
  EXPECT_EQ(list[0]["time"], 1795186900);
  EXPECT_EQ(list[0]["since_boot_seconds"], 100.0);
}

// No event ever had such a kind: that there are none says nothing.
TEST_F(CapturedEvents, LimitKeepsTheNewest) {
  with_boot_time();
  for (const bool ring : {false, true}) {
    std::vector<std::string> words{"--limit", "2"};
    if (ring) words.emplace_back("--ring");
    const CommandRun shown = run(words);
    EXPECT_THAT(shown.out, testing::StartsWith("2026-11-20 16:01:44 oom_kill\n"));
    EXPECT_THAT(shown.out, HasSubstr("other_app"));
    EXPECT_THAT(shown.out, HasSubstr("2 events in"));
    EXPECT_THAT(shown.out, HasSubstr("raise --limit"));
    words.emplace_back("--json");
    const CommandRun json = run(words);
    EXPECT_EQ(std::count(json.out.begin(), json.out.end(), '\n'), 2);
    EXPECT_THAT(json.err, HasSubstr("raise --limit"));
  }
  EXPECT_THAT(run({"--limit", "6"}).out, Not(HasSubstr("--limit")));
}

TEST_F(CapturedEvents, AnUnknownKindIsRefused) {
  const CommandRun typo = run({"--kind", "oomkill"});
  EXPECT_EQ(typo.status, kExitUsage);
  EXPECT_EQ(typo.out, "");
  EXPECT_THAT(typo.err, HasSubstr("--kind: "));
  EXPECT_THAT(typo.err, HasSubstr("did you mean 'oom_kill'?"));
  EXPECT_EQ(run({"--kind", "oom_kill,nonsense"}).status, kExitUsage);
  EXPECT_EQ(run({"--kind", "firing"}).status, kExitOk);
}

TEST_F(CapturedEvents, FaultsIsAnOption) {
  EXPECT_EQ(run({"--faults", "--json"}).out, "");
  const CommandRun earlier = run_command({"faults", "--root", "/nowhere"});
  const CommandRun now = events({"--faults", "--root", "/nowhere"});
  EXPECT_EQ(earlier.status, now.status);
  EXPECT_EQ(earlier.err, now.err);
  EXPECT_EQ(run({"--faults", "--kind", "oom_kill"}).status, kExitUsage);
  EXPECT_THAT(run_command({"--help"}).out, Not(HasSubstr("faults ")));
}

TEST_F(CapturedEvents, ATreeWithoutALog) {
  const TempDir empty;
  const CommandRun shown = events({"--root", empty.path()});
  EXPECT_EQ(shown.status, kExitUnknown);
  EXPECT_THAT(shown.err, HasSubstr("/dev/kmsg: No such file or directory"));
}

TEST_F(CapturedEvents, AWrongTimeIsRefusedBeforeTheLogIsRead) {
  const CommandRun wrong = run_command({"events", "--ring", "--since", "nonsense"});
  EXPECT_EQ(wrong.status, kExitUsage);
  EXPECT_THAT(wrong.err, HasSubstr("--since: "));
}

}  // namespace
}  // namespace jetmem
