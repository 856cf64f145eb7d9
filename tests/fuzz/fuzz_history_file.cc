// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "base/text/text.h"
#include "history/store/store.h"
#include "metrics/series_key.h"
#include "tests/fuzz/target.h"
#include "tests/temp_dir.h"

namespace {

using namespace jetmem;
using std::chrono::seconds;

// Everything that is ever asked.
void ask(HistoryStore& store) {
  constexpr std::size_t kMost = 500;
  const auto known = store.series("");
  check(!known || known->size() <= 4096);
  for (std::size_t i = 0; known && i < std::min<std::size_t>(known->size(), 6); ++i) {
    const SeriesKnown& series = (*known)[i];
    for (const auto resolution : {Resolution::kRaw, Resolution::kMinute, Resolution::kQuarter}) {
      const auto past =
          store.past({series.key, Nanoseconds::min(), Nanoseconds::max(), resolution, kMost});
      check(!past || past->points.size() <= kMost);
    }
    (void)store.past({series.key, series.first, series.last, std::nullopt, kMost});
    if (!store.at(series.last, std::chrono::hours(1))) break;
  }
  const auto events = store.events({.most = kMost});
  check(!events || events->events.size() <= kMost);
  for (std::size_t i = 0; events && i < events->events.size(); ++i) {
    const EventRecord& event = events->events[i];
    for (const std::string* text : {&event.kind, &event.subject, &event.summary}) {
      check(printable(*text, EventRecord::kMaxText) == *text);
    }
    check(event.fields.size() <= EventRecord::kMaxFields);
  }
  (void)store.facts();
}

}  // namespace

// A database that a power cut or somebody else left: asked first, then written on as a daemon does.
FUZZ(input) {
  static const TempDir dir;
  const std::string file = dir.write("history.db", input);
  if (const auto store = HistoryStore::open_to_read(file)) ask(**store);

  HistoryStore::Options options;
  options.file = file;
  options.max_bytes = 4U << 20;
  if (const auto opened = HistoryStore::open(options)) {
    HistoryStore& store = *opened->store;
    const Nanoseconds now = seconds(5000);
    const auto boot = store.begin_boot("fuzz", {now, seconds(1'790'000'000), WallTrust::kSynced});
    const std::array values{41.0, 42.0};
    RawChunk chunk{{now, now + seconds(10)}, {{"jetmem_fuzz", false, values}}};
    if (boot && store.write(*boot, &chunk, {})) {
      for (int i = 0; i < 20; ++i) {
        if (!store.tidy(*boot, now + seconds(20)).value_or(false)) break;
      }
    }
    ask(store);
  }
  for (const auto& left : std::filesystem::directory_iterator(dir.path())) {
    std::filesystem::remove_all(left.path());
  }
}
