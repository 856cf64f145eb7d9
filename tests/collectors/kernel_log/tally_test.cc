// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/tally.h"

#include <gtest/gtest.h>

#include <string>

#include "collectors/kernel_log/catalogue/message.h"
#include "collectors/kernel_log/state.h"
#include "tests/random_input.h"

namespace jetmem::kernel_log {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// With "name", "value" and so on; numbers are those that begin with a digit or '-'.
Event event_of(EventKind kind, std::initializer_list<const char*> fields = {}) {
  Event event(kind);
  for (auto it = fields.begin(); it != fields.end(); it += 2) {
    const std::string_view value = it[1];
    if (value.empty()) {
      event.set_text(it[0], value);
    } else if (value == "true") {
      event.set_bool(it[0], true);
    } else if (value[0] == '-' ||
               (value[0] >= '0' && value[0] <= '9' && !value.starts_with("0x"))) {
      event.set_number(it[0], std::stoi(it[1]));
    } else {
      event.set_text(it[0], value);
    }
  }
  return event;
}
Event smmu_fault(const char* client) {
  return event_of(EventKind::kSmmuContextFault, {"client", client});
}
Event mc_error(const char* client) { return event_of(EventKind::kMcError, {"client", client}); }
Event oom_kill(std::string_view comm, std::int64_t pid) {
  Event event(EventKind::kOomKill);
  event.set_text("comm", comm);
  event.set_number("pid", pid);
  return event;
}

// How many incidents these are, each at so many milliseconds.
std::uint64_t incidents(Group group, const std::vector<std::pair<Event, int>>& events) {
  Tally tally;
  for (const auto& [event, at] : events) tally.count(event, milliseconds(at), false);
  return tally.incidents(group);
}

TEST(Tally, CountsByKindAndByKey) {
  Tally tally;
  tally.count(smmu_fault("vic"), seconds(5), false);
  tally.count(smmu_fault("vic"), seconds(9), false);
  tally.count(smmu_fault("nvdec"), seconds(7), false);
  EXPECT_EQ(tally.events(EventKind::kSmmuContextFault, Origin::kSystem), 3U);
  ASSERT_EQ(tally.entries().size(), 2U);
  const Entry& vic = tally.entries()[0];
  EXPECT_EQ(vic.count, 2U);
  EXPECT_EQ(vic.parts[1].view(), "vic");
  EXPECT_EQ(vic.first, Nanoseconds(seconds(5)));
  EXPECT_EQ(vic.last, Nanoseconds(seconds(9)));
  EXPECT_EQ(tally.last_seen(EventKind::kSmmuContextFault), Nanoseconds(seconds(9)));
}

// The frame buffer of a Raspberry Pi tries CMA first.
// Whenever it happened: a video codec is refused CMA at boot too.
TEST(Tally, WhatNeedsNoAttentionIsCountedButNotRecent) {
  const struct {
    Event event;
    std::uint64_t recent;
  } kRows[] = {
      {event_of(EventKind::kCmaAllocFailure, {}), 1},
      {event_of(EventKind::kCmaAllocFailure, {"harmless", "true"}), 0},
      {event_of(EventKind::kGpuMmuFault, {"harmless", "true"}), 0},
      {event_of(EventKind::kGpuMmuFault, {"dev", "fb000000.gpu"}), 1},
      {event_of(EventKind::kDmaAllocFailure, {"fallback", "true"}), 0},
      {event_of(EventKind::kNvmap, {"function", "a", "reason", "shortage"}), 1},
      {event_of(EventKind::kNvmap, {"function", "a", "reason", "permission"}), 0},
      {event_of(EventKind::kNvmap, {"function", "a", "errno", "-13"}), 0},
      {event_of(EventKind::kNvmap, {"function", "a", "reason", "missing"}), 0},
      {event_of(EventKind::kNvmap, {"function", "a", "reason", "misuse"}), 0},
      {event_of(EventKind::kNvmap, {}), 0},
      {event_of(EventKind::kProgramAllocFailure, {"library", "ggml"}), 1},
      {event_of(EventKind::kProgramAllocFailure, {"library", "numpy"}), 0},
      {event_of(EventKind::kSwapError, {"op", "swapon"}), 0},
      {event_of(EventKind::kSwapError, {"op", "read"}), 1},
      {event_of(EventKind::kStorageError, {"dev", "sr0", "error", "I/O error"}), 0},
      {event_of(EventKind::kStorageError, {"dev", "sda", "error", "I/O error"}), 1},
      {event_of(EventKind::kStorageError, {"dev", "nvme0", "error", "completion polled"}), 0},
  };
  for (const auto& row : kRows) {
    const EventKind kind = row.event.kind();
    Tally tally;
    tally.count(row.event, milliseconds(125), false);
    EXPECT_EQ(tally.events(kind, Origin::kSystem), 1U);
    EXPECT_EQ(tally.recent(kind, seconds(60)), row.recent) << &row - kRows;
    EXPECT_EQ(tally.quiet(kind), 1 - row.recent) << &row - kRows;
    Tally restored;
    restored.restore(tally.save());
    EXPECT_EQ(restored.recent(kind, seconds(60)), row.recent) << &row - kRows;
    EXPECT_EQ(restored.quiet(kind), 1 - row.recent) << &row - kRows;
  }
}

TEST(Tally, MemoryErrorsAreCountedBySeverity) {
  Tally tally;
  for (const char* severity : {"CE", "UE", "recoverable", "Correctable"}) {
    tally.count(event_of(EventKind::kMemoryError, {"severity", severity}), seconds(1), false);
  }
  tally.count(event_of(EventKind::kMemoryError), seconds(1), false);
  tally.count(event_of(EventKind::kMemoryError, {"outcome", "Recovered"}), seconds(1), false);
  Tally restored;
  restored.restore(tally.save());
  for (const Tally* each : {&tally, &restored}) {
    const auto recent = [&](ErrorSeverity severity) {
      return each->recent(EventKind::kMemoryError, severity, seconds(60));
    };
    EXPECT_EQ(recent(ErrorSeverity::kCorrected), 2U);
    EXPECT_EQ(recent(ErrorSeverity::kUncorrected), 3U);
    EXPECT_EQ(recent(ErrorSeverity::kUnknown), 1U);
    EXPECT_EQ(each->recent(EventKind::kGpuEccError, ErrorSeverity::kUnknown, seconds(60)), 0U);
  }
}

TEST(Tally, AClientWithoutNameIsItsNumber) {
  constexpr EventKind kFault = EventKind::kSmmuContextFault;
  Tally tally;
  tally.count(event_of(kFault, {"sid", "0x35", "cbfrsynra", "0x835"}), seconds(1), false);
  tally.count(event_of(kFault, {"cbfrsynra", "0x835"}), seconds(1), false);
  tally.count(event_of(kFault), seconds(1), false);
  ASSERT_EQ(tally.entries().size(), 3U);
  EXPECT_EQ(tally.entries()[0].parts[1].view(), "stream 0x35");
  EXPECT_EQ(tally.entries()[1].parts[1].view(), "cbfrsynra 0x835");
  EXPECT_EQ(tally.entries()[2].parts[1].view(), "unknown");
}

TEST(Tally, AStormOfDistinctKeysIsBounded) {
  Tally tally;
  for (int i = 0; i < 10'000; ++i) {
    tally.count(oom_kill("job-" + std::to_string(i), i), seconds(i), false);
  }
  EXPECT_EQ(tally.entries().size(), Tally::kMaxKeysPerKind + 1);
  EXPECT_TRUE(tally.entries().back().other);
  EXPECT_EQ(tally.entries().back().parts[0].view(), "other");
  EXPECT_EQ(tally.others(), 10'000U - Tally::kMaxKeysPerKind);
  EXPECT_EQ(tally.events(EventKind::kOomKill, Origin::kSystem), 10'000U);
  // Another kind is not crowded out.
  tally.count(smmu_fault("vic"), seconds(1), false);
  EXPECT_FALSE(tally.entries().back().other);
}

TEST(Tally, WhoeverIsCalledOtherIsAmongTheOthers) {
  Tally tally;
  tally.count(oom_kill("other", 1), seconds(1), false);
  for (int i = 0; i < 100; ++i)
    tally.count(oom_kill("job-" + std::to_string(i), i), seconds(i), false);
  int others = 0;
  for (const Entry& entry : tally.entries()) others += entry.parts[0].view() == "other" ? 1 : 0;
  EXPECT_EQ(others, 1);
}

TEST(Tally, KeysAreBoundedOverAllKinds) {
  Tally tally;
  for (const KindInfo& info : all_kinds()) {
    for (int i = 0; i < 100; ++i) {
      Event event(info.kind);
      for (const std::string_view name : info.key) {
        if (!name.empty()) event.set_text(name, std::to_string(i));
      }
      tally.count(event, seconds(i * 10), false);
    }
  }
  EXPECT_LE(tally.entries().size(), Tally::kMaxKeys + kKindCount);
}

TEST(Tally, LinesOfOneCauseAreOneIncident) {
  const Event vic = smmu_fault("vic");
  EXPECT_EQ(incidents(Group::kDma, {{vic, 1000}, {mc_error("vicsrd"), 1003}}), 1U);
  // Two clients at once are two.
  EXPECT_EQ(incidents(Group::kDma, {{vic, 1000},
                                    {smmu_fault("nvdec"), 1001},
                                    {mc_error("nvdecsrd"), 1002},
                                    {mc_error("vicsrd"), 1003}}),
            2U);
  // A pair that is repeated is one while it goes on.
  std::vector<std::pair<Event, int>> events;
  for (int i = 0; i < 100; ++i) {
    events.emplace_back(vic, i * 500);
    events.emplace_back(mc_error("vicsrd"), i * 500 + 2);
  }
  EXPECT_EQ(incidents(Group::kDma, events), 1U);
  events.emplace_back(vic, 100'000);
  EXPECT_EQ(incidents(Group::kDma, events), 2U);
  // An OOM kill's lines; two victims are two.
  events = {{event_of(EventKind::kOomInvoked, {"comm", "python3"}), 1000},
            {oom_kill("chromium", 70), 1010},
            {event_of(EventKind::kOomReaper, {"comm", "chromium", "pid", "70"}), 1050}};
  EXPECT_EQ(incidents(Group::kOom, events), 1U);
  events.emplace_back(oom_kill("node", 71), 1060);
  EXPECT_EQ(incidents(Group::kOom, events), 2U);
  // A GPU's fault.
  constexpr EventKind kGpu = EventKind::kGpuMmuFault;
  events = {{event_of(kGpu, {"dev", "a.gpu", "fault_type", "invalid pde"}), 1000},
            {event_of(kGpu, {"dev", "a.gpu"}), 1001}};
  EXPECT_EQ(incidents(Group::kGpu, events), 1U);
  events.emplace_back(event_of(kGpu, {"dev", "b.gpu"}), 1002);
  EXPECT_EQ(incidents(Group::kGpu, events), 2U);
}

TEST(Tally, TheFirstOfAnIncidentBeginsIt) {
  Tally tally;
  const Occurrence first = tally.count(smmu_fault("vic"), milliseconds(1000), false);
  const Occurrence second = tally.count(mc_error("vicsrd"), milliseconds(1003), false);
  EXPECT_TRUE(first.begins_incident);
  EXPECT_FALSE(second.begins_incident);
  EXPECT_EQ(first.incident, second.incident);
  // Without times nothing is grouped.
  Tally timeless;
  timeless.count(smmu_fault("vic"), std::nullopt, false);
  timeless.count(mc_error("vicsrd"), std::nullopt, false);
  EXPECT_EQ(timeless.incidents(Group::kDma), 2U);
  EXPECT_FALSE(timeless.entries()[0].first);
  EXPECT_FALSE(timeless.last_seen(EventKind::kSmmuContextFault));
}

TEST(Tally, WhatTheProbeBringsAboutIsPutDownToIt) {
  Tally tally;
  tally.count(smmu_fault("vic"), seconds(9), false);
  tally.probe_begins(seconds(10));
  tally.count(smmu_fault("vic"), seconds(11), false);
  tally.probe_ended(seconds(12));
  tally.count(smmu_fault("vic"), seconds(13), false);
  tally.count(smmu_fault("vic"), seconds(15), false);
  EXPECT_EQ(tally.events(EventKind::kSmmuContextFault, Origin::kSystem), 2U);
  EXPECT_EQ(tally.events(EventKind::kSmmuContextFault, Origin::kProbe), 2U);
  ASSERT_EQ(tally.entries().size(), 2U);
  EXPECT_EQ(tally.entries()[1].origin, Origin::kProbe);
  tally.count(oom_kill("jetmem-probe", 7), seconds(11), false);
  EXPECT_EQ(tally.events(Origin::kProbe), 3U) << "of every kind";
  EXPECT_EQ(tally.events(Origin::kSystem), 2U);
  EXPECT_EQ(tally.last_seen(EventKind::kOomKill), std::nullopt) << "of the system";
}

TEST(Tally, WhatOnlyHappensWhileTheProbeRunsIsTheSystems) {
  Tally tally;
  tally.probe_begins(seconds(10));
  const auto origin_of = [&](const Event& event) {
    return tally.count(event, seconds(11), false).entry->origin;
  };
  const auto of_process = [](EventKind kind, const char* comm) {
    return event_of(kind, {"comm", comm});
  };
  EXPECT_EQ(origin_of(oom_kill("detector", 4711)), Origin::kSystem) << "somebody else was killed";
  EXPECT_EQ(origin_of(oom_kill("jetmem-probe", 4712)), Origin::kProbe);
  EXPECT_EQ(origin_of(Event(EventKind::kOomNoVictim)), Origin::kSystem);
  for (const EventKind kind :
       {EventKind::kMemoryError, EventKind::kStorageError, EventKind::kThermal,
        EventKind::kHungTask, EventKind::kKernelOops, EventKind::kCameraTimeout,
        EventKind::kSwapError, EventKind::kKmemleak}) {
    EXPECT_EQ(origin_of(Event(kind)), Origin::kSystem) << kernel_log::info_of(kind).name;
    tally.add_suppressed(kind, 5, seconds(11));
    EXPECT_EQ(tally.suppressed(kind, Origin::kProbe), 0U);
  }
  Event programs(EventKind::kCudaAllocFailure);
  EXPECT_EQ(origin_of(programs), Origin::kProbe);
  programs.set_text("unit", "ollama.service");
  EXPECT_EQ(origin_of(programs), Origin::kSystem) << "the line is another program's";
  tally.add_suppressed(EventKind::kCudaAllocFailure, 5, seconds(11));
  EXPECT_EQ(tally.suppressed(EventKind::kCudaAllocFailure, Origin::kSystem), 5U);
  programs.set_text("unit", "jetmem-probe@7-4711-987.service");
  EXPECT_EQ(origin_of(programs), Origin::kProbe) << "its own libraries'";
  EXPECT_EQ(origin_of(of_process(EventKind::kOomInvoked, "cuda-EvtHandlr")), Origin::kProbe);
  EXPECT_EQ(origin_of(of_process(EventKind::kOomInvoked, "detector")), Origin::kSystem);
  constexpr EventKind kAllocation = EventKind::kPageAllocFailure;
  EXPECT_EQ(origin_of(of_process(kAllocation, "detector")), Origin::kSystem);
  for (const char* comm : {"jetmem-probe", "cuda-EvtHandlr", "kworker/2:1"}) {
    EXPECT_EQ(origin_of(of_process(kAllocation, comm)), Origin::kProbe) << comm;
  }
  EXPECT_EQ(origin_of(Event(EventKind::kBusError)), Origin::kProbe);
}

TEST(Tally, SuppressedMessagesAreTheProbesThatMadeThem) {
  constexpr EventKind kKind = EventKind::kSmmuContextFault;
  Tally tally;
  tally.probe_begins(seconds(10));
  tally.add_suppressed(kKind, 500, seconds(11));
  EXPECT_EQ(tally.events(kKind, Origin::kProbe), 500U) << "in its window";
  tally.count(smmu_fault("vic"), seconds(12), false);
  tally.probe_ended(seconds(13));
  tally.add_suppressed(kKind, 40, seconds(900));
  EXPECT_EQ(tally.events(kKind, Origin::kProbe), 541U) << "said when the next one came";
  tally.count(smmu_fault("vic"), seconds(900), false);
  tally.add_suppressed(kKind, 3, seconds(905));
  EXPECT_EQ(tally.events(kKind, Origin::kSystem), 4U);
  EXPECT_EQ(tally.events(kKind, Origin::kProbe), 541U);
  EXPECT_EQ(tally.suppressed(kKind, Origin::kSystem), 3U);
  EXPECT_EQ(tally.suppressed(kKind, Origin::kProbe), 540U);
}

TEST(Tally, TheLargestCmaRequestThatFailedByAreaAndOrigin) {
  Tally tally;
  const auto fails = [&](std::string_view area, std::int64_t pages, Nanoseconds at) {
    Event event(EventKind::kCmaAllocFailure);
    event.set_text("area", area);
    if (pages > 0) event.set_number("pages", pages);
    return tally.count(event, at, false).entry->largest_pages;
  };
  EXPECT_EQ(fails("camera", 0, seconds(1)), 0U) << "the size was cut off";
  EXPECT_EQ(fails("camera", 2048, seconds(1)), 2048U);
  EXPECT_EQ(fails("camera", 12288, seconds(2)), 12288U);
  EXPECT_EQ(fails("camera", 16, seconds(3)), 12288U);
  EXPECT_EQ(fails("codec", 16, seconds(4)), 16U);
  tally.probe_begins(seconds(5));
  EXPECT_EQ(fails("camera", 99999, seconds(6)), 99999U);
  EXPECT_EQ(tally.entries()[0].largest_pages, 12288U) << "the probe's is its own";
  const Event other = event_of(EventKind::kPageAllocFailure, {"pages", "7"});
  EXPECT_EQ(tally.count(other, seconds(7), false).entry->largest_pages, 0U);
}

TEST(Tally, NamesFromOutsideAreMadePrintableAndCut) {
  Tally tally;
  tally.count(oom_kill("a\x1b[31m\xff" + std::string(300, 'x'), 1), seconds(1), false);
  const std::string_view shown = tally.entries()[0].parts[0].view();
  EXPECT_EQ(shown.find('\x1b'), std::string_view::npos);
  EXPECT_LE(shown.size(), Entry::kMaxPart);
  EXPECT_TRUE(shown.ends_with("x*"));
  const std::string begin(Entry::kMaxPart - 1, 'x');
  for (const std::string& whole : {begin + "1", begin + "2", begin + "22", begin + "23"}) {
    tally.count(oom_kill(whole, 1), seconds(1), false);
  }
  ASSERT_EQ(tally.entries().size(), 4U);
  EXPECT_EQ(tally.entries()[2].parts[0].view(), begin + "2");
  EXPECT_EQ(tally.entries()[3].parts[0].view(), begin + "*");
  EXPECT_EQ(tally.entries()[3].count, 2U);
}

TEST(Tally, SavedAndRestoredItGoesOnCounting) {
  Tally before;
  before.count(smmu_fault("vic"), seconds(5), true);
  before.count(mc_error("vicsrd"), seconds(5), true);
  Tally after;
  after.restore(before.save());
  EXPECT_EQ(after.before_start(EventKind::kSmmuContextFault), 1U);
  const Occurrence next = after.count(smmu_fault("vic"), seconds(100), false);
  EXPECT_EQ(next.entry->count, 2U);
  EXPECT_EQ(next.incident, 2U);
  EXPECT_EQ(after.entries().size(), 2U);
}

TEST(Tally, AGuessIsInNoOtherCount) {
  Tally tally;
  for (int i = 0; i < 40; ++i) {
    Event event(EventKind::kDmaAllocFailure);
    event.set_text("driver", "driver" + std::to_string(i));
    event.set_guess();
    tally.count_guess(event, seconds(5), false);
    tally.count_guess(event, seconds(6), false);
  }
  EXPECT_EQ(tally.events(EventKind::kDmaAllocFailure, Origin::kSystem), 0U);
  EXPECT_EQ(tally.recent(EventKind::kDmaAllocFailure, seconds(7)), 0U);
  EXPECT_EQ(tally.incidents(Group::kAllocation), 0U);
  EXPECT_TRUE(tally.entries().empty());
  ASSERT_EQ(tally.guesses().size(), Tally::kMaxGuesses + 1);
  EXPECT_EQ(tally.guesses()[0].count, 2U);
  EXPECT_EQ(tally.guesses()[0].parts[0].view(), "driver0");
  EXPECT_TRUE(tally.guesses().back().other);
  EXPECT_EQ(tally.guesses().back().count, 16U);
}

TEST(Tally, AMessageOfTheSitesIsCountedByItsId) {
  const Message own{.id = "own", .kind = EventKind::kCustom};
  const Message camera{.id = "camera", .kind = EventKind::kCameraTimeout};
  Tally tally;
  for (const Message* const message : {&own, &own, &camera}) {
    Event event(message->kind);
    event.set_message(message);
    event.set_text("dev", "2-1a");
    tally.count(event, seconds(5), false);
  }
  Event harmless(EventKind::kCustom);
  harmless.set_message(&own);
  harmless.set_bool("harmless", true);
  tally.count(harmless, seconds(6), false);
  ASSERT_NE(tally.message("own"), nullptr);
  EXPECT_EQ(tally.message("own")->system(), 3U);
  EXPECT_EQ(tally.message("own")->quiet, 1U);
  EXPECT_EQ(tally.message("own")->recent.sum(seconds(7)), 2U);
  EXPECT_EQ(tally.message("camera")->system(), 1U);
  EXPECT_EQ(tally.events(EventKind::kCameraTimeout, Origin::kSystem), 1U);
  EXPECT_EQ(tally.entries()[0].parts[0].view(), "own");
  // jetmem's own are counted by kind alone.
  Event shipped(EventKind::kCameraTimeout);
  shipped.set_message(shipped_messages().data());
  tally.count(shipped, seconds(6), false);
  EXPECT_EQ(tally.messages().size(), 2U);
}

// Over restarts of the daemon no count of the kernel's log goes backwards or forgets: whenever it
// is kept and taken up again, it is what one daemon would have counted alone.
Event random_event(test::RandomInput& random) {
  // Kinds of all sorts: with key fields that are not printed as well.
  Event event(static_cast<EventKind>(1 + random.below(kKindCount - 1)));
  if (random.one_in(2)) event.set_text("client", random.word("abc", 2));
  if (random.one_in(2)) event.set_text("area", random.word("xyz", 2));
  if (random.one_in(2)) event.set_text("comm", random.word("uvw", 3));
  return event;
}

TEST(TallyRestart, NothingIsForgottenOrCountedTwice) {
  const auto all = [](const Tally& tally) {
    return tally.events(Origin::kSystem) + tally.events(Origin::kProbe);
  };
  for (std::uint64_t seed = 60; seed < 63; ++seed) {
    test::RandomInput random(seed);
    Tally alone;
    auto restarted = std::make_unique<Tally>();
    Nanoseconds now = std::chrono::seconds(100);
    std::uint64_t before = 0;
    for (int i = 0; i < 1000; ++i) {
      now += std::chrono::milliseconds(random.number(10'000));
      const Event event = random_event(random);
      const std::optional<Nanoseconds> time = random.one_in(9) ? std::nullopt : std::optional(now);
      alone.count(event, time, false);
      restarted->count(event, time, false);
      if (random.one_in(5)) {
        const std::uint64_t more = random.below(9);
        alone.add_suppressed(event.kind(), more, time);
        restarted->add_suppressed(event.kind(), more, time);
      }
      if (random.one_in(50)) {
        SavedLog saved;
        saved.tally = restarted->save();
        auto read = parse_saved_log(to_text(saved));
        ASSERT_TRUE(read) << read.error().message;
        restarted = std::make_unique<Tally>();
        restarted->restore(std::move(read->tally));
      }
      ASSERT_GE(all(*restarted), before);
      before = all(*restarted);
    }
    EXPECT_EQ(all(*restarted), all(alone));
    for (std::size_t kind = 0; kind < kKindCount; ++kind) {
      const auto each = static_cast<EventKind>(kind);
      for (const Origin origin : {Origin::kSystem, Origin::kProbe}) {
        EXPECT_EQ(restarted->events(each, origin), alone.events(each, origin)) << kind;
        EXPECT_EQ(restarted->suppressed(each, origin), alone.suppressed(each, origin)) << kind;
      }
      EXPECT_EQ(restarted->last_seen(each), alone.last_seen(each)) << kind;
    }
    EXPECT_EQ(restarted->others(), alone.others());
    ASSERT_EQ(restarted->entries().size(), alone.entries().size());
    for (std::size_t i = 0; i < alone.entries().size(); ++i) {
      const Entry& a = alone.entries()[i];
      const Entry& b = restarted->entries()[i];
      EXPECT_EQ(a.count, b.count);
      EXPECT_EQ(a.hash, b.hash);
      EXPECT_EQ(a.first, b.first);
      EXPECT_EQ(a.last, b.last);
    }
  }
}

}  // namespace
}  // namespace jetmem::kernel_log
