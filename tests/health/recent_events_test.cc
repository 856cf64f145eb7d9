#include "health/recent_events.h"

#include <gtest/gtest.h>

#include "collectors/kernel_log/source.h"
#include "collectors/vmstat.h"
#include "tests/health/derivation_fixture.h"

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
constexpr std::string_view kEvidence = "jetmem_fragmentation_evidence";

class RecentEventsTest : public testing::Test {
 protected:
  RecentEventsTest() {
    clock.advance(hours(1));
    fixture.facts.live = true;
    log_reading.log = &log;
    vmstat.fields = {{"allocstall_normal", 7}, {"allocstall_movable", 2}, {"compact_fail", 40}};
  }
  void follow_log() { fixture.reading(log_reading); }
  void follow_vmstat() { fixture.reading(vmstat); }

  void fault(std::string_view client, Nanoseconds at, int count = 1, bool before = false) {
    Event event;
    event.reset(EventKind::kSmmuContextFault);
    event.set_text("dev", "12000000.iommu");
    event.set_text("client", client);
    for (int i = 0; i < count; ++i) tally().count(event, at, before);
  }
  void failed_allocation(std::int64_t order, Nanoseconds at) {
    Event event;
    event.reset(EventKind::kPageAllocFailure);
    event.set_text("comm", "camera");
    event.set_number("order", order);
    tally().count(event, at, false);
  }
  Tally& tally() { return log.tally(); }
  void write() {
    fixture.now = clock.boot();
    fixture.write();
  }
  void wait(Nanoseconds time) {
    while (time > Nanoseconds(0)) {
      clock.advance(seconds(1));
      time -= seconds(1);
      write();
    }
  }

  ManualClock clock;
  KernelLog log{clock, {}, nullptr};
  KernelLogReading log_reading;
  Vmstat vmstat;
  DerivationFixture<RecentEvents> fixture;
};

TEST_F(RecentEventsTest, FaultsCountForAMinute) {
  follow_log();
  log.caught_up();
  write();
  EXPECT_EQ(fixture.get(kUnknown), 0) << "there from the start: the log is read";
  EXPECT_EQ(fixture.series(), 1U);
  fault("vi", clock.boot(), 3);
  write();
  EXPECT_EQ(fixture.get(kVi), 3);
  wait(seconds(30));
  fault("vi", clock.boot(), 100);
  write();
  EXPECT_EQ(fixture.get(kVi), 103);
  wait(seconds(31));
  EXPECT_EQ(fixture.get(kVi), 100);
  wait(seconds(30));
  EXPECT_EQ(fixture.get(kVi), 0) << "seen once it stays";
}

TEST_F(RecentEventsTest, WhatWasThereBeforeIsRecentOnlyIfItsTimeSaysSo) {
  fault("old", clock.boot() - minutes(5), 70, true);
  fault("vi", clock.boot() - seconds(20), 4, true);
  fault("both", clock.boot() - minutes(5), 50, true);
  fault("both", clock.boot() - seconds(10), 1, true);
  follow_log();
  write();
  EXPECT_EQ(fixture.series(), 0U) << "what is in the log still comes";
  EXPECT_EQ(fixture.absent_for("log_not_read_yet"), 1U);
  log.caught_up();
  write();
  EXPECT_EQ(fixture.get("jetmem_smmu_recent_faults{client=\"old\",smmu=\"12000000.iommu\"}"), 0);
  EXPECT_EQ(fixture.get(kVi), 4);
  EXPECT_EQ(fixture.get("jetmem_smmu_recent_faults{client=\"both\",smmu=\"12000000.iommu\"}"), 1)
      << "one is known to be recent";
  wait(seconds(45));
  EXPECT_EQ(fixture.get(kVi), 0) << "a minute from when it was, not from when it was read";
}

TEST_F(RecentEventsTest, TheProbesAreNot) {
  follow_log();
  log.caught_up();
  write();
  tally().probe_begins(clock.boot());
  fault("vi", clock.boot(), 5);
  tally().add_suppressed(EventKind::kSmmuContextFault, 60, clock.boot());
  write();
  EXPECT_FALSE(fixture.has(kVi));
  EXPECT_EQ(fixture.get(kUnknown), 0);
}

TEST_F(RecentEventsTest, WhatTheKernelOnlyCountedIsNobodys) {
  follow_log();
  log.caught_up();
  fault("vi", clock.boot() - minutes(9), 10);
  tally().add_suppressed(EventKind::kSmmuContextFault, 500, clock.boot() - minutes(9));
  write();
  EXPECT_EQ(fixture.get(kUnknown), 0);
  fault("vi", clock.boot(), 10);
  tally().add_suppressed(EventKind::kSmmuContextFault, 83, clock.boot());
  write();
  EXPECT_EQ(fixture.get(kVi), 10);
  EXPECT_EQ(fixture.get(kUnknown), 83);
  wait(seconds(61));
  EXPECT_EQ(fixture.get(kUnknown), 0);
}

TEST_F(RecentEventsTest, ClientsAreBounded) {
  follow_log();
  log.caught_up();
  write();
  for (int i = 0; i < 47; ++i) fault("client" + std::to_string(i), clock.boot(), 2);
  write();
  EXPECT_EQ(fixture.series(), RecentFaults::kMostClients + 2);
  EXPECT_EQ(fixture.get("jetmem_smmu_recent_faults{client=\"other\",smmu=\"other\"}"), 30);
}

TEST_F(RecentEventsTest, ACaptureHasNoMomentsOfItsOwn) {
  fixture.facts.live = false;
  fault("vi", seconds(12), 5, true);
  follow_log();
  log.caught_up();
  write();
  EXPECT_EQ(fixture.series(), 0U);
  EXPECT_EQ(fixture.absent_for("needs_two_readings"), 1U);
  // A log that grows while we look (a replay): its clock is another.
  clock.advance(seconds(1));
  fault("vi", seconds(90), 7);
  write();
  EXPECT_EQ(fixture.get(kVi), 7);
  wait(seconds(61));
  EXPECT_EQ(fixture.get(kVi), 0);
}

TEST_F(RecentEventsTest, AfterALongPauseItBeginsAnew) {
  follow_log();
  log.caught_up();
  write();
  fault("vi", clock.boot(), 100);
  clock.advance(minutes(3));
  fault("vi", clock.boot());
  write();
  EXPECT_EQ(fixture.get(kVi), 1) << "of 101 since the last look only one is known to be recent";
}

TEST_F(RecentEventsTest, EvidenceIsCountedByKind) {
  follow_log();
  follow_vmstat();
  log.caught_up();
  write();
  EXPECT_FALSE(fixture.has(kEvidence)) << "counts since boot are no evidence of now";
  EXPECT_EQ(fixture.absent_for("needs_two_readings"), 1U);
  wait(seconds(1));
  EXPECT_EQ(fixture.get(kEvidence), 0);
  vmstat.fields[2].value += 3;
  wait(seconds(1));
  EXPECT_EQ(fixture.get(kEvidence), 1);
  vmstat.fields[1].value += 1;
  wait(minutes(5));
  EXPECT_EQ(fixture.get(kEvidence), 2);
  failed_allocation(0, clock.boot());
  wait(seconds(1));
  EXPECT_EQ(fixture.get(kEvidence), 2) << "order 0: there was no memory at all";
  failed_allocation(4, clock.boot());
  wait(seconds(1));
  EXPECT_EQ(fixture.get(kEvidence), 3);
  wait(minutes(5));
  EXPECT_EQ(fixture.get(kEvidence), 1);
  wait(minutes(5));
  EXPECT_EQ(fixture.get(kEvidence), 0);
}

TEST_F(RecentEventsTest, CountersThatGoBackBeginAnew) {
  follow_vmstat();
  write();
  vmstat.fields[2].value = 5;
  wait(seconds(1));
  EXPECT_EQ(fixture.get(kEvidence), 0);
  EXPECT_EQ(fixture.absent_for("kernel_log_not_read"), 1U);
  vmstat.fields[2].value = 6;
  wait(seconds(1));
  EXPECT_EQ(fixture.get(kEvidence), 1);
}

TEST_F(RecentEventsTest, WhatHappensWhileAProbeRunsIsNoEvidence) {
  follow_log();
  follow_vmstat();
  log.caught_up();
  write();
  tally().probe_begins(clock.boot());
  vmstat.fields[2].value += 3;
  failed_allocation(4, clock.boot());
  wait(seconds(2));
  EXPECT_EQ(fixture.get(kEvidence), 0);
  tally().probe_ended(clock.boot());
  wait(seconds(5));
  vmstat.fields[2].value += 3;
  wait(seconds(10));
  EXPECT_EQ(fixture.get(kEvidence), 0) << "vmstat is read now and then";
  wait(seconds(30));
  vmstat.fields[2].value += 3;
  wait(seconds(1));
  EXPECT_EQ(fixture.get(kEvidence), 1);
}

TEST_F(RecentEventsTest, AFailureShortlyBeforeTheStartCounts) {
  failed_allocation(3, clock.boot() - minutes(2));
  follow_log();
  follow_vmstat();
  log.caught_up();
  write();
  EXPECT_EQ(fixture.get(kEvidence), 1);
}

}  // namespace
}  // namespace jetmem
