// SPDX-License-Identifier: Apache-2.0
#include "health/recent_events.h"

#include <gtest/gtest.h>

#include "collectors/kernel_log/source.h"
#include "collectors/proc/vmstat.h"
#include "tests/health/sample_cycle.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::EventKind;
using kernel_log::KernelLog;
using kernel_log::Tally;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kVi = "jetmem_smmu_recent_faults{client=\"vi\",smmu=\"12000000.iommu\"}";
constexpr std::string_view kUnknown =
    "jetmem_smmu_recent_faults{client=\"unknown\",smmu=\"unknown\"}";
constexpr std::string_view kCma = "jetmem_kernel_recent_events{kind=\"cma_alloc_failure\"}";
constexpr std::string_view kNvmap = "jetmem_kernel_recent_events{kind=\"nvmap\"}";
constexpr std::string_view kSurface = "jetmem_kernel_recent_events{kind=\"nvbufsurface\"}";
constexpr std::string_view kEvidence = "jetmem_fragmentation_evidence";

class RecentEventsTest : public testing::Test {
 protected:
  RecentEventsTest() {
    clock.advance(hours(1));
    fixture.facts.live = true;
    log_reading.log = &log;
    vmstat.fields = {{"allocstall_normal", 7}, {"allocstall_movable", 2}, {"compact_fail", 40}};
  }
  void follow_log() { fixture.set(&log_reading); }
  void follow_vmstat() { fixture.set(&vmstat); }
  // The log is followed, and all that was in it has been read.
  void begin() {
    follow_log();
    log.caught_up();
    write();
  }
  void begin_with_vmstat() {
    follow_vmstat();
    begin();
  }

  using Texts = std::vector<std::pair<const char*, std::string_view>>;
  void count(EventKind kind, const Texts& texts, std::optional<Nanoseconds> at, bool before = false,
             std::optional<std::int64_t> order = {}) {
    Event event;
    event.reset(kind);
    for (const auto& [name, text] : texts) event.set_text(name, text);
    if (order) event.set_number("order", *order);
    tally().count(event, at, before);
  }
  void fault(std::string_view client, Nanoseconds at, int times = 1, bool before = false) {
    for (int i = 0; i < times; ++i) {
      count(EventKind::kSmmuContextFault, {{"dev", "12000000.iommu"}, {"client", client}}, at,
            before);
    }
  }
  void failed_allocation(std::int64_t order, Nanoseconds at, std::string_view comm = "camera") {
    count(EventKind::kPageAllocFailure, {{"comm", comm}}, at, false, order);
  }
  void failed_cma(std::optional<Nanoseconds> at, bool before = false) {
    count(EventKind::kCmaAllocFailure, {{"area", "linux,cma"}}, at, before);
  }
  std::size_t faults() const {
    std::size_t count = 0;
    for (const auto& slot : fixture.table.sections()[0].slots) {
      count += slot.key.find("jetmem_smmu_recent_faults") != std::string::npos;
    }
    return count;
  }
  Tally& tally() { return log.tally(); }
  void write() {
    fixture.now = clock.boot();
    fixture.write();
  }
  double after(Nanoseconds time, std::string_view key) {
    wait(time);
    return fixture.sample(key);
  }
  double now(std::string_view key) {
    write();
    return fixture.sample(key);
  }
  void wait(Nanoseconds time) {
    // As often as the daemon has it written when nobody asks.
    while (time > Nanoseconds(0)) {
      const Nanoseconds step = std::min<Nanoseconds>(time, seconds(5));
      clock.advance(step);
      time -= step;
      write();
    }
  }

  ManualClock clock;
  KernelLog log{clock, {}, nullptr};
  KernelLogReading log_reading;
  Vmstat vmstat;
  DerivedCycle<RecentEvents> fixture;
};

TEST_F(RecentEventsTest, FaultsCountForAMinute) {
  begin();
  EXPECT_EQ(fixture.sample(kUnknown), 0) << "there from the start: the log is read";
  EXPECT_EQ(faults(), 1U);
  fault("vi", clock.boot(), 3);
  EXPECT_EQ(now(kVi), 3);
  wait(seconds(30));
  fault("vi", clock.boot(), 100);
  EXPECT_EQ(now(kVi), 103);
  EXPECT_EQ(after(seconds(31), kVi), 100);
  EXPECT_EQ(after(seconds(30), kVi), 0) << "seen once it stays";
}

TEST_F(RecentEventsTest, WhatWasThereBeforeIsRecentOnlyIfItsTimeSaysSo) {
  fault("old", clock.boot() - minutes(5), 70, true);
  fault("vi", clock.boot() - seconds(20), 4, true);
  fault("both", clock.boot() - minutes(5), 50, true);
  fault("both", clock.boot() - seconds(10), 1, true);
  follow_log();
  write();
  EXPECT_EQ(fixture.series(), 0U) << "what is in the log still comes";
  EXPECT_EQ(fixture.left_out("log_not_read_yet"), 3U);
  log.caught_up();
  EXPECT_EQ(now("jetmem_smmu_recent_faults{client=\"old\",smmu=\"12000000.iommu\"}"), 0);
  EXPECT_EQ(fixture.sample(kVi), 4);
  EXPECT_EQ(fixture.sample("jetmem_smmu_recent_faults{client=\"both\",smmu=\"12000000.iommu\"}"), 1)
      << "one is known to be recent";
  EXPECT_EQ(after(seconds(45), kVi), 0) << "a minute from when it was, not from when it was read";
}

TEST_F(RecentEventsTest, RefusedDmaMemoryNamesTheDeviceForTenMinutes) {
  constexpr std::string_view kDevice = "jetmem_dma_recent_refusals{device=\"tegra-capture-vi\"}";
  const auto refuse = [&](std::string_view device, Nanoseconds at) {
    count(EventKind::kDmaAllocFailure, {{"dev", device}}, at);
  };
  refuse("old", clock.boot() - minutes(11));
  begin();
  EXPECT_FALSE(fixture.has(kDevice));
  EXPECT_EQ(fixture.sample("jetmem_dma_recent_refusals{device=\"old\"}"), 0);
  EXPECT_EQ(fixture.sample("jetmem_dma_recent_refusals{device=\"unknown\"}"), 0);
  refuse("tegra-capture-vi", clock.boot());
  refuse("tegra-capture-vi", clock.boot());
  EXPECT_EQ(now(kDevice), 2);
  EXPECT_EQ(after(minutes(9), kDevice), 2);
  EXPECT_EQ(after(minutes(1), kDevice), 0);
}

TEST_F(RecentEventsTest, TheProbesAreNot) {
  begin();
  tally().probe_begins(clock.boot());
  fault("vi", clock.boot(), 5);
  tally().add_suppressed(EventKind::kSmmuContextFault, 60, clock.boot());
  write();
  EXPECT_FALSE(fixture.has(kVi));
  EXPECT_EQ(fixture.sample(kUnknown), 0);
}

TEST_F(RecentEventsTest, WhatTheKernelOnlyCountedIsNobodys) {
  follow_log();
  log.caught_up();
  fault("vi", clock.boot() - minutes(9), 10);
  tally().add_suppressed(EventKind::kSmmuContextFault, 500, clock.boot() - minutes(9));
  EXPECT_EQ(now(kUnknown), 0);
  fault("vi", clock.boot(), 10);
  tally().add_suppressed(EventKind::kSmmuContextFault, 83, clock.boot());
  EXPECT_EQ(now(kVi), 10);
  EXPECT_EQ(fixture.sample(kUnknown), 83);
  EXPECT_EQ(after(seconds(61), kUnknown), 0);
}

// The kernel says so only when the next fault comes.
TEST_F(RecentEventsTest, WhatWasSuppressedLongAgoIsNoStormOfNow) {
  begin();
  fault("vi", clock.boot(), 10);
  wait(minutes(2));
  tally().add_suppressed(EventKind::kSmmuContextFault, 5000, clock.boot());
  fault("vi", clock.boot());
  EXPECT_EQ(now(kUnknown), 0);
  EXPECT_EQ(fixture.sample(kVi), 1);
  EXPECT_EQ(fixture.sample("jetmem_kernel_recent_events{kind=\"smmu_context_fault\"}"), 11);
  EXPECT_EQ(tally().suppressed(EventKind::kSmmuContextFault, kernel_log::Origin::kSystem), 5000U)
      << "counted all the same";
  wait(seconds(6));
  tally().add_suppressed(EventKind::kSmmuContextFault, 90, clock.boot());
  fault("vi", clock.boot());
  EXPECT_EQ(now(kUnknown), 90);
  EXPECT_EQ(fixture.sample("jetmem_kernel_recent_events{kind=\"smmu_context_fault\"}"), 102);
}

TEST_F(RecentEventsTest, EventsOfTenMinutesByTheirOwnTimes) {
  follow_log();
  failed_cma(clock.boot() - minutes(11), true);
  failed_cma(clock.boot() - minutes(8), true);
  failed_cma(std::nullopt, true);
  write();
  EXPECT_FALSE(fixture.has(kCma));
  log.caught_up();
  EXPECT_EQ(now(kCma), 1);
  EXPECT_EQ(fixture.sample(kNvmap), 0) << "there from the start";
  EXPECT_FALSE(fixture.has("jetmem_kernel_recent_events{kind=\"kmemleak\"}")) << "of no group";
  failed_cma(clock.boot());
  EXPECT_EQ(now(kCma), 2);
  const std::uint64_t shape = fixture.shape_changes();
  EXPECT_EQ(after(minutes(2) + seconds(15), kCma), 1)
      << "ten minutes from when it was, not from when it was read";
  EXPECT_EQ(after(minutes(7), kCma), 1);
  EXPECT_EQ(after(seconds(45), kCma), 0);
  tally().probe_begins(clock.boot());
  failed_cma(clock.boot());
  EXPECT_EQ(now(kCma), 0) << "the probe's";
  EXPECT_EQ(fixture.shape_changes(), shape);
}

TEST_F(RecentEventsTest, OfBeforeARestartNoMoreThanIsKnown) {
  for (int i = 30; i-- > 0;) failed_cma(clock.boot() - minutes(i));
  KernelLog after(clock, {}, nullptr);
  after.tally().restore(tally().save());
  after.caught_up();
  log_reading.log = &after;
  follow_log();
  EXPECT_EQ(now(kCma), 1);
}

TEST_F(RecentEventsTest, ProcessesLinesWaitForTheJournal) {
  follow_log();
  log.caught_up();
  log_reading.process_lines_read = false;
  log_reading.process_lines_awaited = true;
  write();
  EXPECT_TRUE(fixture.has(kCma));
  EXPECT_FALSE(fixture.has(kNvmap));
  EXPECT_FALSE(fixture.has(kSurface));
  EXPECT_EQ(fixture.left_out("journal_not_read"), 4U);
  log_reading.process_lines_awaited = false;
  EXPECT_EQ(now(kNvmap), 0) << "what the kernel says of it is read";
  EXPECT_FALSE(fixture.has(kSurface));
  log_reading.process_lines_read = true;
  EXPECT_EQ(now(kSurface), 0);
}

TEST_F(RecentEventsTest, ClientsAreBounded) {
  begin();
  for (int i = 0; i < 47; ++i) fault("client" + std::to_string(i), clock.boot(), 2);
  write();
  EXPECT_EQ(faults(), RecentCulprits::kMost + 2);
  EXPECT_EQ(fixture.sample("jetmem_smmu_recent_faults{client=\"other\",smmu=\"other\"}"), 30);
}

TEST_F(RecentEventsTest, ACaptureHasNoMomentsOfItsOwn) {
  fixture.facts.live = false;
  fault("vi", seconds(12), 5, true);
  begin();
  EXPECT_EQ(fixture.series(), 0U);
  EXPECT_EQ(fixture.left_out("needs_two_readings"), 3U);
  // A log that grows while we look (a replay): its clock is another.
  clock.advance(seconds(1));
  fault("vi", seconds(90), 7);
  EXPECT_EQ(now(kVi), 7);
  EXPECT_EQ(fixture.sample("jetmem_kernel_recent_events{kind=\"smmu_context_fault\"}"), 7);
  EXPECT_EQ(fixture.sample(kCma), 0);
  EXPECT_EQ(after(seconds(61), kVi), 0);
}

TEST_F(RecentEventsTest, AfterALongPauseItBeginsAnew) {
  begin();
  fault("vi", clock.boot(), 100);
  clock.advance(minutes(3));
  fault("vi", clock.boot());
  EXPECT_EQ(now(kVi), 1) << "of 101 since the last look only one is known to be recent";
}

TEST_F(RecentEventsTest, EvidenceIsCountedByKind) {
  begin_with_vmstat();
  EXPECT_FALSE(fixture.has(kEvidence)) << "counts since boot are no evidence of now";
  EXPECT_EQ(fixture.left_out("needs_two_readings"), 1U);
  EXPECT_EQ(after(seconds(1), kEvidence), 0);
  *vmstat.fields[2].value += 3;
  EXPECT_EQ(after(seconds(1), kEvidence), 1);
  *vmstat.fields[1].value += 1;
  wait(seconds(1));
  EXPECT_EQ(after(minutes(5), kEvidence), 2);
  failed_allocation(0, clock.boot());
  EXPECT_EQ(after(seconds(1), kEvidence), 2) << "order 0: there was no memory at all";
  failed_allocation(4, clock.boot());
  EXPECT_EQ(after(seconds(1), kEvidence), 3);
  EXPECT_EQ(after(minutes(5), kEvidence), 1);
  EXPECT_EQ(after(minutes(5), kEvidence), 0);
}

TEST_F(RecentEventsTest, CountersThatGoBackBeginAnew) {
  follow_vmstat();
  write();
  vmstat.fields[2].value = 5;
  EXPECT_EQ(after(seconds(1), kEvidence), 0);
  EXPECT_EQ(fixture.left_out("kernel_log_not_read"), 1U);
  vmstat.fields[2].value = 6;
  EXPECT_EQ(after(seconds(1), kEvidence), 1);
}

TEST_F(RecentEventsTest, WhatHappensWhileAProbeRunsIsNoEvidence) {
  begin_with_vmstat();
  tally().probe_begins(clock.boot());
  *vmstat.fields[2].value += 3;
  failed_allocation(4, clock.boot(), "jetmem-probe");
  EXPECT_EQ(after(seconds(2), kEvidence), 0);
  tally().probe_ended(clock.boot());
  wait(seconds(5));
  *vmstat.fields[2].value += 3;
  EXPECT_EQ(after(seconds(10), kEvidence), 0) << "vmstat is read now and then";
  wait(seconds(30));
  *vmstat.fields[2].value += 3;
  EXPECT_EQ(after(seconds(1), kEvidence), 1);
}

TEST_F(RecentEventsTest, WhenTheProbeRanIsKnownWithoutTheLog) {
  HealthOptions options;
  options.probes = &tally();
  RecentEvents recent(options);
  follow_vmstat();
  const auto evidence_after = [&](Nanoseconds time) {
    clock.advance(time);
    fixture.now = clock.boot();
    fixture.run(recent);
    return fixture.sample(kEvidence);
  };
  evidence_after(hours(1));
  tally().probe_begins(clock.boot());
  *vmstat.fields[2].value += 3;
  EXPECT_EQ(evidence_after(seconds(2)), 0);
  tally().probe_ended(clock.boot());
  EXPECT_EQ(evidence_after(minutes(1)), 0);
  *vmstat.fields[2].value += 3;
  EXPECT_EQ(evidence_after(seconds(2)), 1);
}

TEST_F(RecentEventsTest, AFailureShortlyBeforeTheStartCounts) {
  failed_allocation(3, clock.boot() - minutes(2));
  begin_with_vmstat();
  EXPECT_EQ(fixture.sample(kEvidence), 1);
}

}  // namespace
}  // namespace jetmem
