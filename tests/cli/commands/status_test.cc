// SPDX-License-Identifier: Apache-2.0
// The screens: they fit, say what is not known, and stay what they are whatever a name holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "cli/client/local_snapshot.h"
#include "cli/draw/bars.h"
#include "cli/draw/number_text.h"
#include "cli/draw/table.h"
#include "cli/exit_codes.h"
#include "cli/text/judgement_text.h"
#include "cli/text/status_follow.h"
#include "cli/text/status_screen.h"
#include "cli/text/status_text.h"
#include "report/doctor/next_command.h"
#include "rules/model/texts.h"
#include "tests/boards.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const ScreenStyle kPlain{80, false, false};

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Figures, NumberTexts) {
  EXPECT_EQ(bytes_text(512.0), "512 B");
  EXPECT_EQ(bytes_text(1.25 * (1 << 30)), "1.2 GiB");
  EXPECT_EQ(bytes_text(340.0 * (1 << 20)), "340 MiB");
  EXPECT_EQ(bytes_text(8.5 * (1 << 20)), "8.5 MiB");
  EXPECT_EQ(bytes_text(1023.9 * (1 << 20)), "1.0 GiB");
  EXPECT_EQ(bytes_text(std::optional<double>()), "-");
  EXPECT_EQ(ratio_text(0.62), "62%");
  EXPECT_EQ(ratio_text(0.004), "0.4%");
  EXPECT_EQ(ratio_text(0.0), "0%");
  EXPECT_EQ(ratio_text(1e-9), "under 0.1%");
  EXPECT_EQ(duration_text(90 * 60), "1h30m");
  EXPECT_EQ(duration_text(3 * 86400 + 4 * 3600 + 59), "3d4h");
  EXPECT_EQ(duration_text(0.003), "3ms");
  EXPECT_EQ(rate_text(12.0 * (1 << 20) / 60), "12 MiB/min");
  EXPECT_EQ(celsius_text(71.52), "71.5 C");
  EXPECT_EQ(number_text(0.5), "0.5");
}

TEST(StatusBrief, RoundsTemperaturesBelowZeroToo) {
  StatusAnswer answer;
  double& celsius = answer.thermal.zones.emplace_back().celsius.emplace();
  for (const auto& [value, shown] :
       {std::pair(-5.2, ", -5 C"), {-0.4, ", 0 C"}, {71.5, ", 72 C"}}) {
    celsius = value;
    EXPECT_THAT(status_brief(answer, "orin"), HasSubstr(shown));
  }
}

TEST(Bars, ShowSmallAndNearlyFullShares) {
  EXPECT_EQ(bar(kPlain, 0.0, 12), "[..........]");
  EXPECT_EQ(bar(kPlain, 0.001, 12), "[#.........]");
  EXPECT_EQ(bar(kPlain, 0.999, 12), "[#########.]");
  EXPECT_EQ(bar(kPlain, 1.0, 12), "[##########]");
  EXPECT_EQ(bar(kPlain, std::nullopt, 12), "[not known ]");
  EXPECT_EQ(bar(kPlain, 7.0, 12), "[##########]");
  EXPECT_EQ(stacked_bar(kPlain, {{'A', 0.5, 0}, {'B', 0.001, 0}}, 12), "[AAAAAB    ]");
  EXPECT_EQ(stacked_bar(kPlain, {{'A', 0.9, 0}, {'B', 0.9, 0}}, 12), "[AAAAAAAAAB]");
  for (const double share : {0.0, 0.3, 1.0, 7.0, -2.0, 1e300, std::nan("")}) {
    EXPECT_EQ(stacked_bar(kPlain, {{'A', share, 0}, {'B', 0.4, 0}}, 12).size(), 12U) << share;
  }
  EXPECT_EQ(heat_cell(kPlain, 0.0, 3), "-  ");
  EXPECT_EQ(heat_cell(kPlain, 0.5, 3), "###");
  EXPECT_EQ(heat_cell(kPlain, std::nullopt, 3), "?  ");
}

TEST(StatusCommand, OfAnEmptyTreeIsUnknown) {
  const TempDir dir;
  EXPECT_TRUE(gives(run_command({"--root", dir.path(), "status"}), 3, {"UNKNOWN"}));
  for (const char* name : {"cma", "fragmentation", "thermal"}) {
    EXPECT_NE(run_command({"--root", dir.path(), name}).out, "") << name;
  }
}

TEST(StatusCommand, WithoutADeviceIsUnknownAndNotCritical) {
  const CommandRun run = run_command({"--root", "/nowhere/at/all", "status", "--brief"});
  EXPECT_EQ(run.status, kExitNoInput);
  EXPECT_THAT(run.out, StartsWith("UNKNOWN all: "));
  EXPECT_EQ(lines_of(run.out), 1U);
  const CommandRun asked =
      run_command({"status", "--brief", "--daemon", "unix:/nowhere/api.socket"});
  EXPECT_EQ(asked.status, kExitUnknown);
  EXPECT_THAT(asked.out, StartsWith("UNKNOWN "));
}

class StatusOfFixtures : public testing::TestWithParam<const char*> {};

TEST_P(StatusOfFixtures, FitsAScreen) {
  const std::string root = board(GetParam());
  const CommandRun run = run_command({"--root", root, "status"});
  EXPECT_LE(widest(run.out), 80U) << run.out;
  EXPECT_LE(lines_of(run.out), kScreenLines) << run.out;
  EXPECT_THAT(run.out, Not(HasSubstr("\x1b")));
  const CommandRun alone = run_command({"--root", root});
  EXPECT_EQ(alone.out, run.out);
  EXPECT_EQ(alone.status, run.status);
  const CommandRun all = run_command({"--root", root, "status", "--all"});
  EXPECT_EQ(all.status, run.status);
  EXPECT_LE(widest(all.out), 80U) << all.out;
  EXPECT_GT(lines_of(all.out), lines_of(run.out));
  const CommandRun brief = run_command({"--root", root, "status", "--brief"});
  EXPECT_EQ(brief.status, run.status);
  EXPECT_EQ(lines_of(brief.out), 1U);
  EXPECT_THAT(brief.out, HasSubstr(std::string(" ") + GetParam() + ": mem "));
  for (const char* name : {"cma", "fragmentation", "thermal"}) {
    const CommandRun other = run_command({"--root", root, name});
    EXPECT_EQ(other.status, 0) << name << other.out << other.err;
    EXPECT_LE(widest(other.out), 80U) << name << "\n" << other.out;
  }
}

INSTANTIATE_TEST_SUITE_P(All, StatusOfFixtures, testing::ValuesIn(kWholeBoards), BoardName());

TEST(StatusCommand, BriefOfAFixture) {
  EXPECT_TRUE(gives(run_command({"--root", board("orin-nano-8gb"), "status", "--brief"}), 1,
                    {"WARNING orin-nano-8gb: mem 79% used 1.5 GiB avail, cma 60% largest 36 MiB",
                     ", 0 alerts firing, 2 pending, "}));
}

TEST(Folded, CutsNoWord) {
  using testing::ElementsAre;
  EXPECT_THAT(folded("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(folded("one two three", 7, 1), ElementsAre("one .."));
  EXPECT_THAT(folded("one two three", 8, 2), ElementsAre("one two", "three"));
  EXPECT_THAT(folded("one nvargus-daemon", 9), ElementsAre("one", "nvargus-", "daemon"));
  EXPECT_THAT(folded("abcdefghijkl", 5), ElementsAre("abcde", "fghij", "kl"));
  EXPECT_THAT(folded("abcdefghijkl", 5, 2), ElementsAre("abcde", ".."));
  EXPECT_THAT(folded("äöüäöü", 4), ElementsAre("äöüä", "öü"));
  EXPECT_THAT(folded("\x1b[31mabcdef\x1b[0m", 4), ElementsAre("\x1b[31mabcd", "ef\x1b[0m"));
  EXPECT_THAT(folded("", 4), ElementsAre(""));
}

std::string printed(const StatusAnswer& answer, int width) {
  return status_screen(answer, {width, false, false});
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    out.push_back(word.substr(0, word.find_last_not_of(",;:") + 1));
  }
  return out;
}

// It fits, and each word is one that a terminal of endless width shows, whole; of one that is wider
// than a line, parts.
void expect_a_screen(const StatusAnswer& answer, int width) {
  const std::string text = printed(answer, width);
  const auto columns = static_cast<std::size_t>(width);
  ASSERT_LE(widest(text), columns) << text;
  ASSERT_LE(lines_of(text), kScreenLines) << text;
  ASSERT_THAT(text, StartsWith(level_word(answer.level))) << text;
  // Alone it is never dropped.
  ASSERT_THAT(text, HasSubstr("\nnext ")) << text;
  std::vector<std::string> all = words_of(printed(answer, 1'000'000));
  for (const char* word : {"who", "act", "..", ""}) all.emplace_back(word);
  if (answer.who) {
    for (const std::string& word : words_of(who_text(*answer.who))) all.push_back(word);
  }
  const std::size_t room = std::max<std::size_t>(columns, kLabelWidth + 11) - kLabelWidth;
  for (const std::string& word : words_of(text)) {
    const bool whole = std::find(all.begin(), all.end(), word) != all.end();
    const bool part = std::any_of(all.begin(), all.end(), [&](const std::string& each) {
      return shown_width(each) + 1 >= room && each.find(word) != std::string::npos;
    });
    ASSERT_TRUE(whole || part) << "cut: '" << word << "' at " << width << "\n" << text;
  }
}

// Devices of all kinds: with more trouble than fits, with names that nobody expects, blind.
class Hostile {
 public:
  explicit Hostile(unsigned seed) : random_(seed) {}

  DeviceNow device() {
    now_ = {};
    now_.by = chance(70) ? SnapshotOrigin::kDaemon : SnapshotOrigin::kCommand;
    if (chance(80)) now_.wall = 1'790'000'000;
    now_.boot = 2;
    now_.since_boot = chance(90) ? 1 + upto(10'000'000) : 0;
    add_samples();
    for (int i = upto(40); i > 0; --i) {
      SourceNow& source = now_.sources.emplace_back();
      source.name = chance(20) ? "kernel_log" : name(60);
      source.state = pick({"ok", "denied", "failed", "pending", "absent"});
      // As a local reading and parse_device_now() make it.
      source.reason = printable(sentence(30), 500);
    }
    if (chance(90)) add_alerts();
    for (int i = upto(5); i > 0; --i) {
      EventRecord& event = now_.events.emplace_back();
      event.kind = pick({"oom_kill", "smmu_context_fault", "dma_alloc_failure"});
      event.subject = name(60);
      event.summary = sentence(60);
      event.boot = 1 + upto(1);
      if (chance(80)) event.at = std::chrono::seconds(upto(1000));
      if (chance(50)) event.wall = std::chrono::seconds(upto(1'790'000'000));
    }
    if (chance(10)) now_.no_events = printable(sentence(20), 500);
    if (chance(30)) now_.notes = {printable(sentence(50), 500)};
    return now_;
  }

 private:
  int upto(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  bool chance(int percent) { return upto(99) < percent; }
  const char* pick(std::vector<const char*> all) {
    return all[static_cast<std::size_t>(upto(static_cast<int>(all.size()) - 1))];
  }
  std::string name(int most) {
    static const std::vector<const char*> kLetters{"a", "Z", "9",    "-", "_", ".",
                                                   "/", "ß", "\x1b", "(", ":", "\n"};
    std::string out;
    for (int i = 1 + upto(most); i > 0; --i) out += pick(kLetters);
    return out;
  }
  std::string sentence(int most) {
    std::string out;
    for (int i = 1 + upto(most); i > 0; --i)
      out += (out.empty() ? "" : " ") + name(chance(5) ? 90 : 9);
    return out;
  }
  void add(const char* family, Labels labels, double value) {
    if (chance(80)) now_.samples.add({family, std::move(labels)}, value);
  }
  void add_samples() {
    if (chance(10)) return;
    add("jetmem_meminfo_MemTotal_bytes", {}, 8e9);
    add("jetmem_meminfo_MemAvailable_bytes", {}, upto(2'000'000'000));
    add("jetmem_meminfo_SwapTotal_bytes", {}, 4e9);
    add("jetmem_meminfo_SwapFree_bytes", {}, 1e9);
    add("jetmem_memory_exhaustion_seconds", {}, upto(600));
    add("jetmem_pressure_stall_ratio",
        {{"kind", "some"}, {"resource", "memory"}, {"window", "10s"}}, 0.76);
    add("jetmem_device_info",
        {{"kernel", name(50)}, {"l4t", name(20)}, {"model", sentence(9)}, {"soc", name(20)}}, 1);
    add("jetmem_nvmap_heap_bytes", {{"heap", "iovmm"}}, 5e9);
    add("jetmem_meminfo_CmaTotal_bytes", {}, 256 << 20);
    for (int i = upto(12); i > 0; --i) {
      add("jetmem_nvmap_process_bytes", {{"heap", "iovmm"}, {"process", name(150)}}, upto(1 << 30));
      const Labels group{{"command", name(60)}, {"container", ""}, {"unit", name(60)}};
      add("jetmem_process_group_resident_bytes", group, upto(1 << 30));
      add("jetmem_process_group_growth_bytes_per_second", group, upto(1 << 24));
      const Labels area{{"area", name(40)}};
      add("jetmem_cma_area_bytes", area, 256 << 20);
      add("jetmem_cma_used_ratio", area, upto(100) / 100.0);
      add("jetmem_cma_largest_free_run_bytes", area, upto(1 << 28));
      add("jetmem_cma_frame_fit_ratio", area, upto(300) / 100.0);
      add("jetmem_thermal_zone_celsius", {{"index", std::to_string(i)}, {"zone", name(40)}},
          upto(110));
      add("jetmem_throttle_active", {{"cause", name(30)}}, upto(1));
      add("jetmem_probe_state",
          {{"kind", name(20)}, {"state", pick({"ok", "failed"})}, {"target", name(30)}}, 1);
      const std::string kind = chance(50) ? "smmu_context_fault" : name(40);
      add("jetmem_kernel_events_total", {{"kind", kind}, {"origin", "system"}}, upto(1 << 30));
      add("jetmem_kernel_events_suppressed_total", {{"kind", kind}}, upto(1 << 30));
    }
    add("jetmem_history_up", {}, upto(1));
    add("jetmem_log_dropped_total", {}, upto(1000));
    now_.samples.sort();
  }
  void add_alerts() {
    AlertsAnswer& alerts = now_.alerts.emplace();
    alerts.local_snapshot = now_.by != SnapshotOrigin::kDaemon;
    for (int i = upto(60); i > 0; --i) {
      AlertsAnswer::Rule& rule = alerts.rules.emplace_back();
      rule.name = chance(50) ? "JetmemMemoryLow" : "A" + name(90);
      rule.severity = pick({"critical", "warning", "info"});
      rule.state = pick({"firing", "pending", "unknown", "inactive"});
      rule.conditions.emplace_back().expression =
          pick({"jetmem_memory_available_ratio", "jetmem_kernel_recent_events",
                "jetmem_cma_used_ratio"});
      for (int k = upto(3); k > 0; --k) {
        AlertsAnswer::Alert& alert = rule.alerts.emplace_back();
        alert.state = rule.state;
        alert.active_seconds = upto(1'000'000);
        alert.summary = sentence(60);
        alert.cause = sentence(60);
        alert.remedy = chance(50) ? "sudo jetmem events --since 15m " + sentence(9) : sentence(60);
        if (chance(50)) alert.labels = {{"client", name(90)}};
      }
    }
  }

  std::mt19937 random_;
  DeviceNow now_;
};

TEST(StatusScreen, FitsWhateverTheDeviceSays) {
  for (unsigned seed = 1; seed <= 80; ++seed) {
    const StatusAnswer answer = status_answer(Hostile(seed).device());
    for (const int width : {40, 41, 55, 80, 132}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      expect_a_screen(answer, width);
      if (testing::Test::HasFatalFailure()) return;
    }
    // Narrower ones are not promised whole words.
    EXPECT_LE(lines_of(printed(answer, 20)), kScreenLines);
    const std::string all = status_text(answer, {80, false, false});
    EXPECT_EQ(all.find('\x1b'), std::string::npos) << "seed " << seed;
    EXPECT_LE(widest(all), 80U) << "seed " << seed;
  }
}

TEST_P(StatusOfFixtures, FitsAnyTerminal) {
  const auto shot = must(LocalSnapshot::read(board(GetParam()), {}));
  DeviceNow now;
  now.samples = SampleSet::of(shot->table());
  const StatusAnswer answer = status_answer(now);
  for (int width = 40; width <= 200; ++width) expect_a_screen(answer, width);
}

StatusAnswer in_trouble() {
  StatusAnswer answer;
  answer.level = Verdict::kCritical;
  answer.from.by = "daemon";
  answer.from.wall = 1'790'000'000;
  answer.since_seconds = 192;
  answer.reason = "Only 2.3% of memory is available; growing python3 (vision.service), 4.9 GiB";
  answer.who = Who{"python3 (vision.service)", "growing", {}, {}, {}, 4.9e9, 1e7};
  answer.available_bytes = 175 << 20;
  answer.mem_total_bytes = 8e9;
  answer.firing = 2;
  answer.pending = 1;
  answer.unknown = 0;
  answer.rules = 48;
  for (const char* name : {"JetmemMemoryLow", "JetmemMemoryStall", "JetmemMemoryLeak"}) {
    StatusAnswer::Alert& alert = answer.alerts.emplace_back();
    alert.name = name;
    alert.severity = "critical";
    alert.state = answer.alerts.size() < 3 ? "firing" : "pending";
    alert.summary = "the sentence of " + alert.name;
    alert.cause = "something leaks";
    alert.remedy = "sudo jetmem top shows it";
    alert.explains = alert.state == "firing";
  }
  answer.alert = "JetmemMemoryLow";
  answer.cause = "something leaks";
  answer.remedy = "sudo jetmem top shows it";
  answer.next_command = "sudo jetmem top";
  return answer;
}

TEST(StatusScreen, HasWhatTheMinuteNeeds) {
  const StatusAnswer answer = in_trouble();
  const std::string text = printed(answer, 80);
  EXPECT_THAT(text, StartsWith("CRITICAL for 3m12s, since "));
  EXPECT_TRUE(has_all(
      text, {"python3 (vision.service)", "JetmemMemoryLow (critical, firing",
             "sudo jetmem top shows it", "the sentence of JetmemMemoryStall",
             "1 more: jetmem alerts", "\nmemory   175 MiB of ", "\ncma      not known",
             "\ngpu      not known", "\nthermal  not known", "\nnext     sudo jetmem top\n"}));
  EXPECT_TRUE(has_none(text, {"JetmemMemoryLeak"}));
}

TEST(StatusScreen, NamesWhoseNameALongSentenceCuts) {
  StatusAnswer answer = in_trouble();
  answer.reason = std::string(500, 'x') + " " + answer.reason;
  EXPECT_TRUE(has_all(printed(answer, 40), {"\nwho ", "python3"}));
}

TEST(StatusScreen, SaysInOneLineWhatItCannotSee) {
  StatusAnswer answer = in_trouble();
  for (int i = 0; i < 20; ++i) {
    answer.blind.push_back({"source" + std::to_string(i), "denied", "no right"});
  }
  EXPECT_EQ(lines_of(printed(answer, 80)), lines_of(printed(in_trouble(), 80)) + 1);
  EXPECT_THAT(printed(answer, 80), HasSubstr("sources  20 not read: sudo jetmem sources"));
}

// A reading of last year must not look like one of now.
TEST(StatusScreen, SaysWhoLookedBeforeTheWholeNameOfTheModel) {
  StatusAnswer answer = in_trouble();
  answer.model = "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit";
  answer.l4t = "36.4.0";
  answer.from.by = "capture";
  answer.from.since_boot = 86'400;
  const std::string date = moment_text(*answer.from.wall, std::nullopt);
  for (const int width : {40, 50, 60, 80, 100, 200}) {
    EXPECT_TRUE(has_all(printed(answer, width),
                        {"device   NVIDIA Jetson Orin Nano ", "from a capture", date}));
    expect_a_screen(answer, width);
  }
  EXPECT_THAT(printed(answer, 80), HasSubstr("Developer Kit,\n         from a capture, " + date));
}

TEST(StatusScreen, ItsCommandsLookAtTheSameDevice) {
  StatusAnswer answer = in_trouble();
  answer.blind.push_back({"kernel_log", "denied", "no right"});
  answer.faults.resize(2);
  const std::string text = status_screen(answer, {100, false, false}, [](const std::string& each) {
    return each + " --daemon board";
  });
  EXPECT_TRUE(has_all(
      text, {"1 more: jetmem alerts --daemon board\n", ": sudo jetmem sources --daemon board;",
             "1 more kind: jetmem --all --daemon board\n"}));
}

TEST(StatusScreen, ACmaAreaHasItsNameAndASize) {
  StatusAnswer answer = in_trouble();
  answer.cma.has_cma = true;
  answer.cma.total_bytes = 64 << 20;
  answer.cma.areas.resize(1);
  answer.cma.areas.front().name = "1";
  EXPECT_THAT(printed(answer, 80),
              HasSubstr("cma      64 MiB, used: not known, largest free not known, area 1\n"));
  answer.cma.areas.resize(2);
  EXPECT_THAT(printed(answer, 80), HasSubstr("cma      size not known, used: not known"));
}

TEST(StatusScreen, CountsSayWhetherSuppressedOnesAreIn) {
  StatusAnswer::Fault fault;
  fault.kind = "smmu_context_fault";
  fault.last_day = 71'943;
  fault.since_boot = 71'943;
  fault.suppressed = 71'781;
  fault.last_age_seconds = 3;
  EXPECT_EQ(fault_text(fault),
            "smmu_context_fault: 71,943 since boot, of these 71,781 suppressed by the kernel; last "
            "3s ago");
  fault.last_day = 162;
  fault.at_least = true;
  EXPECT_THAT(fault_text(fault), HasSubstr("at least 162 in 24h, 71,943 since boot, of these"));
}

TEST(StatusFollow, ALineForEachChangeAndEachInterval) {
  StatusChanges changes(60);
  StatusAnswer answer = in_trouble();
  EXPECT_TRUE(changes.is_due(answer, 0));
  answer.reason = "Only 2.2% of memory is available";
  EXPECT_FALSE(changes.is_due(answer, 2)) << "a number changed";
  EXPECT_TRUE(changes.is_due(answer, 60));
  EXPECT_FALSE(changes.is_due(answer, 62));
  answer.level = Verdict::kWarning;
  EXPECT_TRUE(changes.is_due(answer, 64));
  answer.alerts.pop_back();
  EXPECT_FALSE(changes.is_due(answer, 66)) << "a pending one that explains nothing";
  answer.alerts.pop_back();
  EXPECT_TRUE(changes.is_due(answer, 68));
  answer.who->name = "Xorg";
  EXPECT_TRUE(changes.is_due(answer, 70));
  EXPECT_TRUE(changes.is_due(std::string("connection refused"), 72));
  EXPECT_FALSE(changes.is_due(std::string("connection refused"), 74));
  EXPECT_TRUE(changes.is_due(answer, 76));
}

TEST(StatusCommand, AloneTakesItsOptions) {
  const std::string root = board("orin-nano-8gb");
  for (const char* option : {"--json", "--brief", "--all"}) {
    const CommandRun alone = run_command({"--root", root, option});
    const CommandRun named = run_command({"--root", root, "status", option});
    EXPECT_EQ(alone.out, named.out) << option;
    EXPECT_EQ(alone.status, named.status) << option;
  }
  EXPECT_THAT(run_command({"--json", "--root", root}).out, HasSubstr("\"jetmem-status/1\""));
  // They are not swallowed where a command has none of its own, or stands behind them.
  const CommandRun mark = run_command({"mark", "--brief", "text"});
  EXPECT_TRUE(gives(mark, kExitUsage, {}, {"--brief"}));
  EXPECT_TRUE(has_none(mark.err, {"put --brief"}));
  EXPECT_TRUE(gives(run_command({"--all", "--root", root, "status"}), kExitUsage, {},
                    {"put --all after the command: jetmem status --all"}));
}

TEST(StatusCommand, NextCommandLooksAtTheSameDevice) {
  const std::string root = board("orin-nano-8gb");
  const CommandRun run = run_command({"--root", root, "--json"});
  EXPECT_THAT(run.out, HasSubstr("jetmem --root " + root + " "));
  EXPECT_THAT(run.out, Not(HasSubstr("sudo jetmem --root")));
}

TEST(UnknownWords, AreAnsweredWithTheNearest) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> typed{
      {{"statsu"}, "did you mean 'status'?"},
      {{"docter"}, "did you mean 'doctor'?"},
      {{"rules", "chek"}, "did you mean 'check'?"},
      {{"decode", "kernal-log"}, "did you mean 'kernel-log'?"},
      {{"decode", "nonsense"}, "`jetmem decode` lists them"},
      {{"status", "--jsno"}, "did you mean '--json'?"},
      {{"status", "--folow"}, "did you mean '--follow'?"},
      {{"top", "--sotr=gpu"}, "did you mean '--sort'?"},
      {{"--rot", "/"}, "did you mean '--root'?"}};
  for (const auto& [arguments, answer] : typed) {
    EXPECT_TRUE(gives(run_command(arguments), kExitUsage, {}, {answer})) << arguments.front();
  }
  for (const std::string& far : {std::string("xyzzyxyzzy"), std::string(100'000, 's')}) {
    EXPECT_TRUE(has_none(run_command({far}).err, {"did you mean"}));
  }
}

TEST(NextCommand, IsACommand) {
  for (const std::string_view name : looking_commands()) {
    EXPECT_EQ(run_command({std::string(name), "--help"}).status, 0) << name;
  }
}

}  // namespace
}  // namespace jetmem
