// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/views.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cwchar>

#include "cli/client/device_client.h"
#include "cli/watch/draw.h"
#include "cli/watch/loop.h"

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
  DeviceClientOptions requested;
  requested.root = std::string(JETMEM_FIXTURES) + "/" + board;
  auto now = query_device(requested);
  EXPECT_TRUE(now) << now.error().message;
  return now ? std::move(*now) : DeviceNow{};
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
  EventRecord event;
  event.summary = name;
  event.severity = "error";
  event.at = std::chrono::seconds(3);
  out.events.push_back(event);
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
          EXPECT_LE(cells_of(line.text()), size.columns) << where << ": " << line.text();
          EXPECT_EQ(cells_of(line.text()), line.width()) << where;
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
    Model model;
    model.checked(hostile(), 1, 1);
    check_everywhere(model, glyphs);
    model.checked(fail(Errc::kIo, kHostile), 2, 1);
    check_everywhere(model, glyphs);
  }
}

TEST(WatchViews, WithoutUtf8OnlyAsciiComesOut) {
  Model model;
  model.checked(hostile(), 1, 1);
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
    Model model;
    model.checked(fixture(board), 1, 1);
    check_everywhere(model, kAll);
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
  Model model;
  model.checked(fixture("orin-nano-8gb"), 40, 0.1);
  model.checked(fail(Errc::kIo, "daemon does not answer: refused"), 99, 0.1);
  const std::string text = all_text(model, {});
  EXPECT_NE(text.find("No newer data: daemon does not answer: refused"), std::string::npos);
  EXPECT_NE(text.find("1m ago"), std::string::npos) << text;
  EXPECT_NE(text.find("available"), std::string::npos);
  // A gap, not the value before.
  EXPECT_FALSE(model.past(Quantity::kAvailable).back());
  EXPECT_TRUE(model.past(Quantity::kAvailable).front());
}

TEST(WatchViews, ShowUnknownValues) {
  Model model;
  DeviceNow now;
  now.no_alerts = "nobody judged";
  SourceNow cma;
  cma.name = "cma";
  cma.state = "denied";
  cma.reason = "locked away";
  now.sources.push_back(cma);
  model.checked(std::move(now), 1, 1);
  Shown shown;
  const std::string overview = all_text(model, shown);
  EXPECT_NE(overview.find("Memory: not known"), std::string::npos) << overview;
  EXPECT_NE(overview.find("GPU memory  -"), std::string::npos) << overview;
  EXPECT_NE(overview.find("nobody judged"), std::string::npos) << overview;
  EXPECT_EQ(overview.find(" 0 B"), std::string::npos) << overview;
  shown.view = View::kCma;
  EXPECT_NE(all_text(model, shown).find("locked away"), std::string::npos);
}

TEST(WatchViews, UnaccountedMemoryIsNotFree) {
  Model model;
  model.checked(fixture("agx-orin"), 1, 1);
  const std::string text = all_text(model, {});
  EXPECT_NE(text.find("? not separable"), std::string::npos) << text;
  EXPECT_NE(text.find("not known: GPU"), std::string::npos) << text;
  EXPECT_NE(text.find("??"), std::string::npos) << text;
}

TEST(WatchViews, ScrollStopsAtTheEnd) {
  Model model;
  model.checked(fixture("orin-nano-8gb"), 1, 1);
  Shown shown;
  shown.view = View::kHolders;
  const Screenful full = screenful(model, shown, {10, 80}, kAscii, 1);
  ASSERT_GT(full.max_scroll, 0U);
  shown.scroll = full.max_scroll + 50;
  const Screenful last = screenful(model, shown, {10, 80}, kAscii, 1);
  EXPECT_NE(last.lines.at(8).text().find("From one reading of"), std::string::npos);
}

TEST(WatchModel, HistoryIsBounded) {
  Model model;
  DeviceNow now;
  now.samples.add({"jetmem_meminfo_MemAvailable_bytes", {}}, 5);
  for (std::size_t i = 0; i < Model::kPast + 10; ++i) model.checked(now, double(i), 0);
  EXPECT_EQ(model.past(Quantity::kAvailable).size(), Model::kPast);
}

TEST(WatchModel, ReadsRarelyWithoutADaemon) {
  Model model;
  DeviceNow now;
  now.by = SnapshotOrigin::kDaemon;
  model.checked(now, 1, 0.01);
  EXPECT_EQ(next_snapshot(model, 2), 2);
  now.by = SnapshotOrigin::kCommand;
  model.checked(now, 1, 0.01);
  EXPECT_EQ(next_snapshot(model, 2), kMinSnapshotInterval);
  EXPECT_EQ(next_snapshot(model, 30), 30);
  model.checked(now, 1, 5);
  EXPECT_EQ(next_snapshot(model, 2), 15);
}

TEST(WatchDraw, SparklineShowsGapsAndConstants) {
  const Model::Past past{1.0, std::nullopt, 8.0, 1.0};
  EXPECT_EQ(sparkline(past, 10, kAll), "▁ █▁");
  EXPECT_EQ(sparkline(past, 2, kAll), "█▁");
  EXPECT_EQ(sparkline({3.0, 3.0}, 10, kAscii), "__");
  EXPECT_EQ(sparkline({}, 10, kAll), "");
}

TEST(WatchDraw, BarKeepsItsWidth) {
  for (const double ratio : {0.0, 0.3, 1.0, 7.0, -2.0, 1e300}) {
    Line line(kAscii);
    add_bar(line, {{ratio, Style::kPlain, 'a'}, {0.4, Style::kPlain, 'b'}}, 10);
    EXPECT_EQ(line.width(), 12U) << ratio;
  }
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
