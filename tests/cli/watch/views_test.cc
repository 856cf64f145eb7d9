// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <cwchar>
#include <map>
#include <set>
#include <sstream>

#include "cli/client/device_client.h"
#include "cli/draw/terminal.h"
#include "cli/watch/draw.h"
#include "cli/watch/loop.h"
#include "tests/cli/texts.h"
#include "tests/report/answers/series.h"

namespace jetmem::watch {
namespace {

constexpr Glyphs kAscii{};
constexpr Glyphs kAll{true, true};

struct Utf8Locale {
  Utf8Locale() { there = std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr; }
  ~Utf8Locale() { std::setlocale(LC_CTYPE, "C"); }
  bool there = false;
};

DeviceNow fixture(const std::string& board) {
  Target requested;
  requested.root = std::string(JETMEM_FIXTURES) + "/" + board;
  auto now = DeviceClient("", requested).now();
  EXPECT_TRUE(now) << now.error().message;
  return now ? std::move(*now) : DeviceNow{};
}

Look live(DeviceNow now, std::optional<Nanoseconds> as_of = {}) {
  return {std::move(now), as_of, {}, {}};
}

Model model_of(DeviceNow now, double at = 90) {
  Model out;
  out.checked(live(std::move(now)), at, 0.1);
  return out;
}

constexpr const char* kHostile =
    "\x1b[2J\x1b]0;owned\a\r\n\t\x9b"
    "31m 漢字プロセス e\u0301\u0301\u0301 \u202egnp\u200d.exe \xff\xfe \x7f \U0001F680 "
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

// Names from outside wherever a view shows one.
DeviceNow hostile() {
  DeviceNow out;
  const auto add = [&](const char* family, std::vector<std::pair<std::string, std::string>> labels,
                       double value) {
    out.samples.add({family, std::move(labels)}, value);
  };
  const std::string name = kHostile;
  add("jetmem_device_info", {{"kernel", name}, {"l4t", ""}, {"model", name}, {"soc", ""}}, 1);
  add("jetmem_process_group_resident_bytes",
      {{"command", name}, {"container", name}, {"unit", name}}, 1e9);
  add("jetmem_nvmap_heap_bytes", {{"heap", name}}, 1e9);
  add("jetmem_cma_area_bytes", {{"area", name}}, 1e8);
  add("jetmem_cma_used_bytes", {{"area", name}}, 2e8);
  add("jetmem_thermal_zone_celsius", {{"index", "0"}, {"zone", name}}, 70);
  add("jetmem_clock_hertz", {{"clock", name}, {"domain", "cpu"}}, 1e9);
  add("jetmem_throttle_active", {{"cause", name}}, 1);
  add("jetmem_buddy_unusable_ratio",
      {{"cma", "included"}, {"node", "0"}, {"order", "3"}, {"zone", name}}, 7);
  add("jetmem_meminfo_MemTotal_bytes", {}, 1e9);
  add("jetmem_meminfo_MemFree_bytes", {}, 9e99);
  out.samples.sort();
  EventRecord& event = out.events.emplace_back();
  event.summary = name;
  event.severity = "error";
  event.at = std::chrono::seconds(3);
  out.notes.push_back(name);
  out.no_alerts = name;
  return out;
}

// What a terminal may be sent.
void expect_safe(const Line& line, const std::string& where) {
  for (const Piece& piece : line.pieces()) {
    std::mbstate_t state{};
    const char* at = piece.text.data();
    const char* const end = at + piece.text.size();
    while (at < end) {
      wchar_t c = 0;
      const std::size_t bytes = std::mbrtowc(&c, at, static_cast<std::size_t>(end - at), &state);
      ASSERT_TRUE(bytes > 0 && bytes <= 4) << where << ": " << piece.text;
      const int cells = ::wcwidth(c);
      ASSERT_TRUE(cells == 1 || cells == 2) << where << ": U+" << std::hex << int(c);
      at += bytes;
    }
  }
}

constexpr Size kSizes[] = {{5, 20}, {24, 80}, {60, 200}, {1, 1},   {2, 3},    {3, 10},   {24, 40},
                           {6, 81}, {10, 79}, {50, 21},  {5, 300}, {300, 20}, {24, 132}, {16, 33}};

void check_everywhere(const Model& model, Glyphs glyphs) {
  for (const Size size : kSizes) {
    for (std::size_t view = 0; view <= kViews; ++view) {
      for (const std::size_t scroll : {0U, 3U, 100000U}) {
        Shown shown;
        shown.view = static_cast<View>(view % kViews);
        shown.help = view == kViews;
        shown.scroll = scroll;
        shown.looking = 100;
        shown.paused = true;
        const Screenful full = screenful(model, shown, size, glyphs, 1e6);
        const std::string where = std::to_string(size.columns) + "x" + std::to_string(size.rows) +
                                  " view " + std::to_string(view);
        EXPECT_LE(full.lines.size(), size.rows) << where;
        for (const Line& line : full.lines) {
          EXPECT_LE(shown_width(line.text()), size.columns) << where << ": " << line.text();
          EXPECT_EQ(shown_width(line.text()), line.width()) << where;
          expect_safe(line, where);
        }
      }
    }
  }
}

TEST(WatchViews, FitEverySizeWithHostileNames) {
  const Utf8Locale locale;
  ASSERT_TRUE(locale.there);
  for (const Glyphs glyphs : {kAscii, Glyphs{true, false}, kAll}) {
    Model empty;
    check_everywhere(empty, glyphs);
    empty.checked(fail(Errc::kIo, kHostile), 1, 1);
    check_everywhere(empty, glyphs);
    Model model = model_of(hostile());
    check_everywhere(model, glyphs);
    model.checked(fail(Errc::kIo, kHostile), 2, 1);
    check_everywhere(model, glyphs);
  }
}

TEST(WatchViews, WithoutUtf8OnlyAsciiComesOut) {
  const Model model = model_of(hostile());
  for (std::size_t view = 0; view < kViews; ++view) {
    Shown shown;
    shown.view = static_cast<View>(view);
    for (const Line& line : screenful(model, shown, {60, 200}, kAscii, 2).lines) {
      for (const char c : line.text()) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << line.text();
    }
  }
}

TEST(WatchViews, FitOnEveryBoard) {
  const Utf8Locale locale;
  for (const char* board : {"orin-nano-8gb", "thor", "agx-orin", "x86-pc", "raspberry-pi-5"}) {
    check_everywhere(model_of(fixture(board)), kAll);
  }
}

std::string all_text(const Model& model, const Shown& shown, Size size = {60, 120}) {
  std::string out;
  for (const Line& line : screenful(model, shown, size, kAscii, 100).lines) {
    out += line.text() + "\n";
  }
  return out;
}

TEST(WatchViews, AFailedReadKeepsTheLastOneAndItsAge) {
  Model model = model_of(fixture("orin-nano-8gb"), 40);
  model.checked(fail(Errc::kIo, "daemon does not answer: refused"), 99, 0.1);
  EXPECT_TRUE(has_all(all_text(model, {}),
                      {"No newer data: daemon does not answer: refused", "1m ago", "available"}));
  // A gap, not the value before.
  EXPECT_FALSE(model.past(Quantity::kAvailable).back().value);
  EXPECT_TRUE(model.past(Quantity::kAvailable).front().value);
}

TEST(WatchViews, ShowUnknownValues) {
  DeviceNow now;
  now.no_alerts = "nobody judged";
  now.sources = {source("cma", "denied", "locked away")};
  const Model model = model_of(std::move(now));
  const std::string overview = all_text(model, {});
  EXPECT_TRUE(has_all(overview, {"its size is not known", "gpu      not known", "nobody judged"}));
  EXPECT_TRUE(has_none(overview, {" 0 B"}));
  Shown shown;
  shown.view = View::kCma;
  EXPECT_TRUE(has_all(all_text(model, shown), {"locked away"}));
}

TEST(WatchViews, UnaccountedMemoryIsNotFree) {
  EXPECT_TRUE(has_all(all_text(model_of(fixture("agx-orin")), {}),
                      {"? not separable", "not known: GPU", "??"}));
}

TEST(WatchViews, ScrollStopsAtTheEnd) {
  const Model model = model_of(fixture("orin-nano-8gb"));
  Shown shown;
  shown.view = View::kHolders;
  const Screenful full = screenful(model, shown, {10, 80}, kAscii, 1);
  ASSERT_GT(full.max_scroll, 0U);
  shown.scroll = full.max_scroll + 50;
  const Screenful last = screenful(model, shown, {10, 80}, kAscii, 1);
  EXPECT_TRUE(has_all(last.lines.at(8).text(), {"From one reading of"}));
}

TEST(WatchModel, HistoryIsBounded) {
  Model model;
  DeviceNow now;
  now.samples.add({"jetmem_meminfo_MemAvailable_bytes", {}}, 5);
  for (std::size_t i = 0; i < Model::kPast + 10; ++i) model.checked(live(now), double(i), 0);
  EXPECT_EQ(model.past(Quantity::kAvailable).size(), Model::kPast);
}

TEST(WatchModel, ReadsRarelyWithoutADaemon) {
  Model model;
  DeviceNow now;
  now.by = SnapshotOrigin::kDaemon;
  model.checked(live(now), 1, 0.01);
  EXPECT_EQ(next_snapshot(model, 2), 2);
  now.by = SnapshotOrigin::kCommand;
  model.checked(live(now), 1, 0.01);
  EXPECT_EQ(next_snapshot(model, 2), kMinSnapshotInterval);
  EXPECT_EQ(next_snapshot(model, 30), 30);
  model.checked(live(now), 1, 5);
  EXPECT_EQ(next_snapshot(model, 2), 15);
}

Past every_second(std::initializer_list<std::optional<double>> values) {
  Past out;
  for (const auto& value : values) out.push_back({static_cast<double>(out.size() + 1), 1.5, value});
  return out;
}

TEST(WatchDraw, SparklineShowsGapsAndConstants) {
  const Past past = every_second({1.0, std::nullopt, 8.0, 1.0});
  EXPECT_EQ(sparkline(past, {4, 4, 0}, 4, kAll), "▁ █▁");
  EXPECT_EQ(sparkline(past, {4, 6, 0}, 6, kAll), "  ▁ █▁") << "before the first value is nothing";
  EXPECT_EQ(sparkline(past, {4, 2, 0}, 2, kAll), "█▁");
  EXPECT_EQ(sparkline(every_second({3.0, 3.0}), {2, 2, 0}, 2, kAscii), "__");
  EXPECT_EQ(sparkline({}, {0, 4, 0}, 4, kAll), "    ");
}

TEST(WatchDraw, SparklineHasATimeAxis) {
  // Two values, five seconds apart: each stands for a while, and then it is not known.
  const Past past{{1, 1.5, 1.0}, {6, 1.5, 8.0}};
  EXPECT_EQ(sparkline(past, {8, 8, 0}, 8, kAll), "▁▁▁  ███");
  // A little noise is no mountain.
  EXPECT_EQ(sparkline(every_second({100.0, 100.1}), {2, 2, 10}, 2, kAscii), "--");
}

TEST(WatchDraw, WideCharactersTakeTwoColumns) {
  const Utf8Locale locale;
  EXPECT_EQ(shown_width("漢字 x"), 6U);
  EXPECT_EQ(cut_to("漢字プロセス", 7), "漢字..");
  EXPECT_EQ(folded("漢字プロセス", 5), (std::vector<std::string>{"漢字", "プロ", "セス"}));
}

// A device in trouble.
DeviceNow trouble() {
  DeviceNow out = fixture("orin-nano-8gb");
  out.by = SnapshotOrigin::kDaemon;
  out.from = "unix:/run/jetmem/api.socket";
  out.notes.clear();
  AlertsAnswer& alerts = out.alerts.emplace();
  const auto add = [&](const char* name, const char* severity, const char* state,
                       const char* summary) {
    AlertsAnswer::Rule& rule = alerts.rules.emplace_back();
    rule.name = name;
    rule.severity = severity;
    rule.state = state;
    AlertsAnswer::Alert& alert = rule.alerts.emplace_back();
    alert.state = state;
    alert.active_seconds = 150;
    alert.summary = summary;
  };
  add("JetmemMemoryLow", "critical", "firing", "Only 175 MiB of memory are available");
  add("JetmemSwapFull", "warning", "pending", "The swap is 97% full");
  EventRecord& event = *out.events.emplace(out.events.begin());
  event.kind = "oom_kill";
  event.severity = "error";
  event.summary = "python3 (pid 815) was killed by the OOM killer";
  return out;
}

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> out;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else {
      if (word.size() > 2) out.insert(word);
      word.clear();
    }
  }
  return out;
}

TEST(WatchOverview, SaysOnOneScreenWhatAnOnCallEngineerNeeds) {
  const Model model = model_of(trouble());
  const auto largest = top_answer(*model.now(), {}).groups.front();
  ASSERT_TRUE(largest.pid);
  for (const Size size : {Size{24, 80}, Size{24, 40}}) {
    const std::string text = all_text(model, {}, size);
    EXPECT_EQ(text.find("CRITICAL "), text.find('\n') + 1) << text;
    EXPECT_TRUE(has_all(text, {"1 firing, 1 pending", "JetmemMemoryLow (critical", "2m30s",
                               "JetmemSwapFull (warning", "PID", "llama-server", "\nmemory   [",
                               "available", "\ncma ", "largest", "python3 (pid", "h help",
                               std::to_string(static_cast<int>(*largest.pid)),
                               largest.unit.substr(0, largest.unit.find('.'))}));
  }
}

TEST(WatchOverview, ThePartsOfTheMemoryHaveColours) {
  const Model model = model_of(fixture("orin-nano-8gb"));
  std::map<char, Style> styles;
  for (const Line& line : screenful(model, {}, {24, 80}, kAscii, 100).lines) {
    if (line.text().find("memory   [") != 0) continue;
    for (const Piece& piece : line.pieces()) styles[piece.text.front()] = piece.style;
  }
  const std::map<char, Style> wanted{{'F', Style::kDim},      {'K', Style::kKernel},
                                     {'A', Style::kPrograms}, {'G', Style::kDevices},
                                     {'Z', Style::kKernel},   {'P', Style::kCache}};
  for (const auto& [letter, style] : wanted) EXPECT_EQ(styles[letter], style) << letter;
}

// On a narrow screen words are missing, but none is a part of one.
TEST(WatchOverview, NoWordIsCut) {
  for (const char* board : {"orin-nano-8gb", "agx-orin", "thor", "nano-4gb", "raspberry-pi-5"}) {
    const bool is_nano = board == std::string("orin-nano-8gb");
    const Model model = model_of(is_nano ? trouble() : fixture(board));
    // Wide enough for everything; the other words are those of narrower screens.
    std::set<std::string> known{"lines", "who", "from", "capture"};
    for (const std::size_t columns : {900U, 300U, 120U}) {
      for (const std::size_t rows : {400U, 24U})
        known.merge(words_of(all_text(model, {}, {rows, columns})));
    }
    for (const std::size_t columns : {40U, 52U, 63U, 64U, 80U, 100U}) {
      std::istringstream lines(all_text(model, {}, {24, columns}));
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), columns);
        if (line.find('[') != std::string::npos) continue;  // the bar's letters
        for (const std::string& word : words_of(line)) {
          const bool marked = line.find(word + "..") != std::string::npos;
          EXPECT_TRUE(known.contains(word) || marked) << board << " " << columns << ": " << line;
        }
      }
    }
  }
}

TEST(WatchOverview, FilterKeepsWhatMatches) {
  Shown shown;
  shown.filter = "LLAMA";
  const std::string text = all_text(model_of(trouble()), shown);
  EXPECT_TRUE(has_none(text, {"camera.service", "OOM"}));
  EXPECT_TRUE(has_all(text, {"llama-server", "1 firing, 1 pending"})) << "counts stay";
}

constexpr Nanoseconds kMoment = std::chrono::seconds(1795183200);

TEST(WatchTitle, TheRecordedIsNotLive) {
  Model model;
  model.checked(live(trouble(), kMoment), 90, 0.1);
  Shown shown;
  shown.as_of = kMoment;
  shown.live_wall = kMoment + std::chrono::hours(2);
  for (const std::size_t columns : {40U, 80U, 120U}) {
    const std::string text = all_text(model, shown, {24, columns});
    EXPECT_TRUE(has_all(text.substr(0, text.find('\n')), {"as of ", ":00:00", "NOT LIVE"}));
    EXPECT_TRUE(has_all(text, {"l live"}));
  }
  model.checked(live(trouble()), 95, 0.1);
  EXPECT_FALSE(model.as_of());
  EXPECT_TRUE(has_none(all_text(model, {}), {"NOT LIVE"}));
}

TEST(WatchModel, TheRecordedPastIsNotMixedWithTheLiveOne) {
  Model model = model_of(fixture("orin-nano-8gb"), 10);
  Look look = live(fixture("orin-nano-8gb"), kMoment);
  look.past = Pasts();
  look.past->front() = {{-20, 15, 5.0}, {-10, 15, 6.0}};
  model.checked(std::move(look), 20, 0.1);
  ASSERT_EQ(model.past(Quantity::kAvailable).size(), 2U);
  EXPECT_EQ(model.past(Quantity::kAvailable).front().at, 0);
  model.checked(fail(Errc::kAbsent, "nothing was recorded then"), 21, 0.1);
  EXPECT_EQ(model.past(Quantity::kAvailable).size(), 2U) << "a gap of the record is no failed read";
  model.checked(live(fixture("orin-nano-8gb")), 22, 0.1);
  EXPECT_EQ(model.past(Quantity::kAvailable).size(), 1U);
}

TEST(WatchController, ArrowsStepThroughTheRecord) {
  Shown shown;
  press(shown, Key::kBack, 10, 0);
  EXPECT_FALSE(shown.as_of) << "without a time there is no way back";
  EXPECT_FALSE(shown.message.empty());
  shown.live_wall = kMoment;
  shown.recorded.step = std::chrono::seconds(10);
  shown.recorded.oldest = kMoment - std::chrono::seconds(300);
  press(shown, Key::kForward, 10, 0);
  EXPECT_FALSE(shown.as_of) << "nothing is after now";
  press(shown, Key::kBack, 10, 0);
  EXPECT_EQ(shown.as_of, kMoment - std::chrono::seconds(10));
  EXPECT_TRUE(shown.message.empty());
  press(shown, Key::kFarBack, 10, 0);
  EXPECT_EQ(shown.as_of, kMoment - std::chrono::seconds(110));
  press(shown, Key::kForward, 10, 0);
  EXPECT_EQ(shown.as_of, kMoment - std::chrono::seconds(100));
  for (int i = 0; i < 5; ++i) press(shown, Key::kFarBack, 10, 0);
  EXPECT_EQ(shown.as_of, shown.recorded.oldest) << "no further than the record";
  press(shown, Key::kLive, 10, 0);
  EXPECT_FALSE(shown.as_of);
  press(shown, Key::kBack, 10, 0);
  press(shown, Key::kFarForward, 10, 0);
  EXPECT_FALSE(shown.as_of) << "beyond the newest is live";
}

// At the prompt that a key opens; `end` closes it.
void type_text(Shown& shown, Key prompt, std::string_view text, Key end) {
  press(shown, prompt, 10, 0);
  // Letters that are keys elsewhere are text here.
  for (const char c : text) press(shown, Press(c == 'q' ? Key::kQuit : Key::kOther, c), 10, 0);
  press(shown, end, 10, 0);
}

TEST(WatchController, TypesAFilterAndATime) {
  Shown shown;
  type_text(shown, Key::kFilter, "q7x", Key::kErase);
  EXPECT_EQ(shown.filter, "");
  EXPECT_TRUE(press(shown, Key::kEnter, 10, 0));
  EXPECT_EQ(shown.filter, "q7");
  type_text(shown, Key::kFilter, "zzz", Key::kEscape);
  EXPECT_EQ(shown.filter, "q7") << "given up";
  press(shown, Key::kEscape, 10, 0);
  EXPECT_EQ(shown.filter, "");

  shown.live_wall = kMoment;
  type_text(shown, Key::kTime, "30m", Key::kEnter);
  EXPECT_EQ(shown.as_of, kMoment - std::chrono::minutes(30));
  type_text(shown, Key::kTime, "soon", Key::kEnter);
  EXPECT_EQ(shown.as_of, kMoment - std::chrono::minutes(30));
  EXPECT_TRUE(has_all(shown.message, {"soon"}));
}

TEST(WatchController, KeysDoWhatTheHelpSays) {
  Shown shown;
  EXPECT_TRUE(press(shown, Key::kView2, 10, 5));
  EXPECT_EQ(shown.view, View::kHolders);
  press(shown, Key::kPageDown, 10, 5);
  EXPECT_EQ(shown.scroll, 5U);
  press(shown, Key::kUp, 10, 5);
  EXPECT_EQ(shown.scroll, 4U);
  press(shown, Key::kPageUp, 10, 5);
  EXPECT_EQ(shown.scroll, 0U);
  press(shown, Key::kPreviousView, 10, 5);
  press(shown, Key::kPreviousView, 10, 5);
  EXPECT_EQ(shown.view, View::kEvents);
  press(shown, Key::kPause, 10, 5);
  EXPECT_TRUE(shown.paused);
  press(shown, Key::kSort, 10, 5);
  EXPECT_EQ(shown.sort, TopSort::kResident);
  for (int i = 0; i < 20; ++i) press(shown, Key::kSlower, 10, 5);
  EXPECT_EQ(shown.interval, kLongest);
  for (int i = 0; i < 20; ++i) press(shown, Key::kFaster, 10, 5);
  EXPECT_EQ(shown.interval, kShortest);
  EXPECT_FALSE(press(shown, Key::kQuit, 10, 5));
}

}  // namespace
}  // namespace jetmem::watch
