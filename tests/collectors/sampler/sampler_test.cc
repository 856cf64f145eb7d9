// SPDX-License-Identifier: Apache-2.0
#include "collectors/sampler/sampler.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>

#include "collectors/jetson/nvmap/source.h"
#include "collectors/proc/meminfo.h"
#include "collectors/proc/vmstat.h"
#include "collectors/sysfs/zram.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using std::chrono::seconds;

using NoDerived = std::vector<std::unique_ptr<DerivedMetric>>;

template <class... S>
std::vector<std::unique_ptr<Source>> sources() {
  std::vector<std::unique_ptr<Source>> out;
  (out.push_back(std::make_unique<S>()), ...);
  return out;
}

class SamplerTest : public testing::Test {
 protected:
  SamplerTest() : root_(Root::at(tree_.path()).value()) {
    sampler_ = std::make_unique<Sampler>(root_, clock_, table_, sources<MeminfoSource>(),
                                         NoDerived(), Sampler::Options{});
    sampler_->on_change([this](const SourceInfo&, const SourceStatus& status) {
      changes_.push_back(std::string(status.stale ? "stale" : state_name(status.state)));
    });
    clock_.advance(seconds(100));
  }

  void cycle() {
    sampler_->collect(0);
    sampler_->finish_cycle();
  }
  void cycle_with(std::string_view meminfo) {
    tree_.write("proc/meminfo", meminfo);
    cycle();
  }
  double value(std::string_view key) const { return table_.value_of(key); }
  double state(std::string_view name) const {
    return value("jetmem_source_state{source=\"meminfo\",state=\"" + std::string(name) + "\"}");
  }

  static constexpr const char* kFree = "jetmem_meminfo_MemFree_bytes";
  TempDir tree_;
  Root root_;
  ManualClock clock_;
  SampleTable table_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<std::string> changes_;
};

TEST_F(SamplerTest, FromTextToSamples) {
  cycle_with("MemFree: 4 kB\n");
  EXPECT_EQ(value(kFree), 4096);
  EXPECT_EQ(state("ok"), 1);
  EXPECT_EQ(state("failed"), 0);
  EXPECT_NE(sampler_->readings().get<Meminfo>(), nullptr);
}

TEST_F(SamplerTest, AFailureKeepsTheLastValuesUntilTheyAreStale) {
  cycle_with("MemFree: 4 kB\n");
  tree_.write("proc/meminfo", "garbage\n");
  clock_.advance(seconds(1));
  cycle();
  EXPECT_EQ(state("failed"), 1);
  EXPECT_EQ(value(kFree), 4096);
  EXPECT_EQ(sampler_->readings().get<Meminfo>(), nullptr) << "nothing is derived from it any more";
  clock_.advance(seconds(3));
  cycle();
  EXPECT_TRUE(std::isnan(value(kFree))) << "older than three intervals: dropped, not repeated";
  EXPECT_EQ(value("jetmem_source_stale{source=\"meminfo\"}"), 1);
  EXPECT_EQ(value("jetmem_source_errors_total{reason=\"malformed\",source=\"meminfo\"}"), 2);
  cycle_with("MemFree: 8 kB\n");
  EXPECT_EQ(value(kFree), 8192);
  EXPECT_EQ(value("jetmem_source_stale{source=\"meminfo\"}"), 0);
  EXPECT_EQ(changes_, (std::vector<std::string>{"ok", "failed", "stale", "ok"}));
}

// Counts how often it was written.
class Counting final : public DerivedMetric {
 public:
  Counting(int& times, bool at_once)
      : info_{.name = "counting", .write_at_once = at_once}, times_(times) {}
  const DerivedInfo& info() const override { return info_; }
  void write(SampleWriter& /*out*/, WriteContext& /*context*/) override { ++times_; }

 private:
  const DerivedInfo info_;
  int& times_;
};

TEST_F(SamplerTest, ALazyDerivedMetricIsWrittenForReadersOnly) {
  int eager = 0;
  int lazy = 0;
  std::vector<std::unique_ptr<DerivedMetric>> derived;
  derived.push_back(std::make_unique<Counting>(eager, true));
  derived.push_back(std::make_unique<Counting>(lazy, false));
  SampleTable table;
  Sampler sampler(root_, clock_, table, sources<MeminfoSource>(), std::move(derived), {});
  const auto cycle = [&](std::string_view meminfo) {
    clock_.advance(seconds(1));
    tree_.write("proc/meminfo", meminfo);
    sampler.collect(0);
    sampler.finish_eager();
  };
  cycle("MemFree: 4 kB\n");
  cycle("MemFree: 5 kB\n");
  EXPECT_EQ(eager, 2);
  EXPECT_EQ(lazy, 0);
  sampler.finish_lazy();
  EXPECT_EQ(lazy, 1);
  // Nothing was read since.
  sampler.finish_cycle();
  EXPECT_EQ(eager, 2);
  EXPECT_EQ(lazy, 1);
  cycle("MemFree: 6 kB\n");
  sampler.finish_lazy();
  EXPECT_EQ(eager, 3);
  EXPECT_EQ(lazy, 2);
}

// Only series whose worst values are kept need each cycle.
TEST_F(SamplerTest, WhatNobodyReadsIsWrittenLater) {
  SampleTable table;
  Sampler sampler(root_, clock_, table, sources<MeminfoSource, VmstatSource>(), {}, {});
  constexpr const char* kKills = "jetmem_vmstat_oom_kill_total";
  constexpr const char* kAge = "jetmem_source_age_seconds{source=\"vmstat\"}";
  const auto collect = [&](std::string_view vmstat) {
    clock_.advance(seconds(1));
    tree_.write("proc/meminfo", "MemFree: 4 kB\n");
    tree_.write("proc/vmstat", vmstat);
    sampler.collect(0);
    sampler.collect(1);
    sampler.finish_eager();
  };
  collect("oom_kill 1\n");
  EXPECT_EQ(table.value_of(kFree), 4096);
  EXPECT_TRUE(std::isnan(table.value_of(kKills)));
  sampler.finish_lazy();
  EXPECT_EQ(table.value_of(kKills), 1);
  EXPECT_EQ(table.value_of(kAge), 0);

  collect("oom_kill 2\n");
  collect("oom_kill 3\n");
  EXPECT_EQ(table.value_of(kKills), 1);
  sampler.finish_lazy();
  EXPECT_EQ(table.value_of(kKills), 3);

  // A reading that failed leaves nothing of the one before: the age is that of what is shown.
  collect("oom_kill 4\n");
  collect("garbage\n");
  sampler.finish_lazy();
  EXPECT_EQ(table.value_of(kKills), 3);
  EXPECT_EQ(table.value_of(kAge), 2);
  EXPECT_EQ(table.value_of("jetmem_source_state{source=\"vmstat\",state=\"failed\"}"), 1);
}

// A snapshot of a slow machine takes long; what was read first is as good as what was read last.
TEST_F(SamplerTest, NothingIsStaleInOneShot) {
  tree_.write("proc/meminfo", "MemFree: 4 kB\n");
  sampler_ = std::make_unique<Sampler>(root_, clock_, table_, sources<MeminfoSource>(), NoDerived(),
                                       Sampler::Options{.with_timing = false});
  sampler_->collect(0);
  clock_.advance(seconds(60));
  sampler_->finish_cycle();
  EXPECT_EQ(value(kFree), 4096);
  EXPECT_FALSE(sampler_->status(0).stale);
}

// With a fast clock an answer may be under way for many intervals. A failure is reported at once,
// and what was read before it gets no older than ever.
TEST_F(SamplerTest, AnAnswerUnderWayMakesNothingStale) {
  Sampler::Options options;
  options.answer_time = seconds(60);
  SampleTable table;
  Sampler sampler(root_, clock_, table, sources<MeminfoSource>(), {}, options);
  tree_.write("proc/meminfo", "MemFree: 4 kB\n");
  sampler.collect(0);
  clock_.advance(seconds(60));
  sampler.finish_cycle();
  EXPECT_EQ(table.value_of(kFree), 4096);
  clock_.advance(seconds(1));
  sampler.finish_cycle();
  EXPECT_TRUE(std::isnan(table.value_of(kFree)));

  sampler.collect(0);
  tree_.write("proc/meminfo", "garbage\n");
  clock_.advance(seconds(4));
  sampler.collect(0);
  sampler.finish_cycle();
  EXPECT_TRUE(std::isnan(table.value_of(kFree)));
}

// A reload that shortens the interval makes nothing old that was in time.
TEST_F(SamplerTest, StalenessGoesByTheIntervalTheReadingWasMadeUnder) {
  tree_.write("proc/meminfo", "MemFree: 4 kB\n");
  sampler_->set_interval(0, std::chrono::minutes(1));
  cycle();
  clock_.advance(seconds(30));
  sampler_->set_interval(0, seconds(1));
  sampler_->finish_cycle();
  EXPECT_EQ(value(kFree), 4096);
  cycle();
  clock_.advance(seconds(4));
  sampler_->finish_cycle();
  EXPECT_TRUE(std::isnan(value(kFree))) << "from the next reading on it is the new one";
}

TEST_F(SamplerTest, TimeInSuspendAgesTheData) {
  cycle_with("MemFree: 4 kB\n");
  clock_.suspend(std::chrono::hours(8));
  sampler_->finish_cycle();
  EXPECT_TRUE(std::isnan(value(kFree)));
  EXPECT_EQ(value("jetmem_source_stale{source=\"meminfo\"}"), 0) << "nobody was late";
  clock_.advance(seconds(2));
  sampler_->finish_cycle();
  EXPECT_EQ(changes_, std::vector<std::string>{"ok"});
  clock_.advance(seconds(30));
  sampler_->finish_cycle();
  EXPECT_EQ(changes_, (std::vector<std::string>{"ok", "stale"})) << "since the resume";
}

TEST_F(SamplerTest, AbsentHasNoLastValue) {
  cycle_with("MemFree: 4 kB\n");
  ASSERT_EQ(::unlink(tree_.file("proc/meminfo").c_str()), 0);
  cycle();
  EXPECT_EQ(state("absent"), 1);
  EXPECT_TRUE(std::isnan(value(kFree)));
  EXPECT_EQ(value("jetmem_source_stale{source=\"meminfo\"}"), 0);
}

TEST_F(SamplerTest, OneLogLineForAChangeNotForATick) {
  tree_.write("proc/meminfo", "garbage 1\n");
  for (int i = 0; i < 10; ++i) {
    cycle_with("garbage " + std::to_string(i) + "\n");
  }
  EXPECT_EQ(changes_, std::vector<std::string>{"failed"});
  EXPECT_EQ(sampler_->status(0).reason, "no line of the form 'Name: number'");
}

TEST_F(SamplerTest, DisabledIsSaidAndSilent) {
  cycle_with("MemFree: 4 kB\n");
  sampler_->set_enabled(0, false);
  cycle();
  EXPECT_TRUE(std::isnan(value(kFree)));
  EXPECT_EQ(state("disabled"), 1);
  sampler_->set_enabled(0, true);
  cycle();
  EXPECT_EQ(value(kFree), 4096);
}

// Sources whose cost grows with the machine: on a live root, since a copied file costs nobody
// anything.
class ThrottledTest : public SamplerTest {
 protected:
  ThrottledTest() : live_(Root::live()) {
    spared_ = std::make_unique<Sampler>(live_, clock_, samples_, sources<NvmapSource>(),
                                        NoDerived(), Sampler::Options{});
    spared_->on_change([this](const SourceInfo&, const SourceStatus& status) {
      logged_.push_back(status.skipped);
    });
    snapshot_.add("/sys/kernel/debug/nvmap/iovmm/clients",
                  "CLIENT                        PROCESS      PID        SIZE\n"
                  "user                           camera        7          4K\n"
                  "total                                                   4K\n",
                  0);
  }

  void reading(std::chrono::milliseconds elapsed) { spared_->accept(0, snapshot_, elapsed); }
  bool is_there() {
    spared_->finish_cycle();
    return !std::isnan(samples_.value_of("jetmem_nvmap_heap_bytes{heap=\"iovmm\"}"));
  }
  // Minutes until it is read again.
  int minutes_to_the_next() {
    for (int minute = 1;; ++minute) {
      clock_.advance(std::chrono::minutes(1));
      if (spared_->admit(0)) return minute;
    }
  }

  Root live_;
  SampleTable samples_;
  std::unique_ptr<Sampler> spared_;
  Snapshot snapshot_;
  std::vector<std::string> logged_;
};

TEST_F(ThrottledTest, WhatIsCheapIsReadEachTime) {
  for (int i = 0; i < 5; ++i) {
    reading(std::chrono::milliseconds(59));
    EXPECT_EQ(minutes_to_the_next(), 1);
  }
  EXPECT_EQ(logged_.size(), 1U) << "only that it is ok";
}

TEST_F(ThrottledTest, WhatIsDearIsReadLessOftenAndIsNotStaleForThat) {
  reading(std::chrono::milliseconds(300));
  EXPECT_EQ(minutes_to_the_next(), 1) << "one slow reading is no reason to look away";
  reading(std::chrono::milliseconds(300));
  EXPECT_EQ(minutes_to_the_next(), 5);
  reading(std::chrono::milliseconds(300));
  EXPECT_TRUE(is_there());
  clock_.advance(std::chrono::minutes(14));
  EXPECT_TRUE(is_there());
  clock_.advance(std::chrono::minutes(5));
  EXPECT_FALSE(is_there()) << "three times the pause and more";
}

TEST_F(ThrottledTest, TenIntervalsAreTheLongestPause) {
  reading(std::chrono::seconds(100));
  reading(std::chrono::seconds(100));
  EXPECT_EQ(minutes_to_the_next(), 10);
}

TEST_F(ThrottledTest, APauseGoesByTheIntervalInForce) {
  spared_->set_interval(0, std::chrono::minutes(5));
  reading(std::chrono::milliseconds(300));
  reading(std::chrono::milliseconds(300));
  EXPECT_EQ(minutes_to_the_next(), 1) << "five minutes are rest enough for it, whoever asks sooner";
}

TEST_F(ThrottledTest, ItIsSaidOnceWhenItBeginsAndOnceWhenItEnds) {
  for (int i = 0; i < 6; ++i) {
    reading(std::chrono::milliseconds(300));
    minutes_to_the_next();
  }
  ASSERT_EQ(logged_.size(), 2U);
  EXPECT_EQ(logged_[1], "read less often, as one reading takes 300ms: now every 5m");
  EXPECT_EQ(spared_->status(0).real_interval(), std::chrono::minutes(5));
  reading(std::chrono::milliseconds(1));
  EXPECT_EQ(logged_.back(), "");
  EXPECT_EQ(logged_.size(), 3U);
  EXPECT_EQ(spared_->status(0).real_interval(), spared_->status(0).interval);
}

TEST_F(ThrottledTest, SwitchedOnAgainItIsReadAtOnce) {
  reading(std::chrono::seconds(1));
  reading(std::chrono::seconds(1));
  ASSERT_FALSE(spared_->admit(0));
  spared_->set_enabled(0, false);
  spared_->set_enabled(0, true);
  EXPECT_TRUE(spared_->admit(0));
}

TEST_F(SamplerTest, WhatIsNotReadOnPurposeIsPendingAndSaidOnce) {
  sampler_->skip(0, "spared");
  sampler_->skip(0, "spared");
  sampler_->finish_cycle();
  EXPECT_EQ(state("pending"), 1);
  EXPECT_EQ(sampler_->status(0).skipped, "spared");
  EXPECT_EQ(value("jetmem_source_skipped_total{source=\"meminfo\"}"), 2);
  EXPECT_EQ(changes_.size(), 1U);
}

// A program decides itself when it is not to run, and nobody asks a gate before its next answer.
TEST_F(SamplerTest, AnAnswerThatItWasSkippedIsNoFailure) {
  Snapshot snapshot;
  snapshot.add("/proc/meminfo", "MemFree: 4 kB\n", 0);
  sampler_->accept(0, snapshot, Nanoseconds(0));
  changes_.clear();
  sampler_->reject(0, {Errc::kSkipped, "too hot"});
  sampler_->reject(0, {Errc::kSkipped, "too hot"});
  sampler_->finish_cycle();
  EXPECT_EQ(state("ok"), 1);
  EXPECT_EQ(value(kFree), 4096) << "what it had still holds";
  EXPECT_EQ(value("jetmem_source_skipped_total{source=\"meminfo\"}"), 2);
  EXPECT_EQ(changes_.size(), 1U);
  sampler_->accept(0, snapshot, Nanoseconds(0));
  EXPECT_EQ(sampler_->status(0).skipped, "");
  EXPECT_EQ(changes_.size(), 2U) << "that it goes on is reported";
  sampler_->accept(0, snapshot, Nanoseconds(0));
  EXPECT_EQ(changes_.size(), 2U);
  sampler_->reject(0, {Errc::kSkipped, "too hot"});
  sampler_->reject(0, {Errc::kTimeout, "hangs"});
  EXPECT_EQ(sampler_->status(0).skipped, "");
  EXPECT_EQ(sampler_->status(0).state, SourceState::kFailed);
}

// What should be seen and is not; a source that there is not, or that is not to be read, is no
// blindness.
TEST_F(SamplerTest, BlindIsWhatFailedOrIsOldAndNothingElse) {
  constexpr const char* kBlind = "jetmem_source_failing{source=\"meminfo\"}";
  sampler_->finish_cycle();
  EXPECT_TRUE(std::isnan(value(kBlind))) << "pending";
  cycle_with("MemFree: 4 kB\n");
  EXPECT_EQ(value(kBlind), 0);
  cycle_with("garbage\n");
  EXPECT_EQ(value(kBlind), 1) << "at once, though its last values still stand";
  cycle_with("MemFree: 4 kB\n");
  EXPECT_EQ(value(kBlind), 0);
  clock_.advance(seconds(4));
  sampler_->finish_cycle();
  EXPECT_EQ(state("ok"), 1);
  EXPECT_EQ(value(kBlind), 1) << "nobody reads it any more";
  sampler_->reject(0, {Errc::kDenied, "not ours"});
  sampler_->finish_cycle();
  EXPECT_EQ(value(kBlind), 0) << "denied has a series of its own";
  sampler_->reject(0, {Errc::kAbsent, "no such file"});
  sampler_->finish_cycle();
  EXPECT_TRUE(std::isnan(value(kBlind))) << "absent";
  cycle();
  sampler_->set_enabled(0, false);
  sampler_->finish_cycle();
  EXPECT_TRUE(std::isnan(value(kBlind))) << "disabled";
}

TEST_F(SamplerTest, OldDataOfWhatIsLeftAloneOnPurposeIsNoBlindness) {
  constexpr const char* kBlind = "jetmem_source_failing{source=\"meminfo\"}";
  cycle_with("MemFree: 4 kB\n");
  sampler_->skip(0, "it would take too long");
  clock_.advance(seconds(4));
  sampler_->finish_cycle();
  EXPECT_EQ(value("jetmem_source_stale{source=\"meminfo\"}"), 1);
  EXPECT_TRUE(std::isnan(value(kBlind)));
  sampler_->reject(0, {Errc::kTimeout, "hangs"});
  sampler_->finish_cycle();
  EXPECT_EQ(value(kBlind), 1) << "what failed is a fault, whatever was skipped before";
}

TEST_F(SamplerTest, TruncatedTextIsNotParsed) {
  Snapshot snapshot;
  snapshot.add("/proc/meminfo", "MemFree: 4 kB\n", 0);
  snapshot.set_truncated();
  sampler_->accept(0, snapshot, Nanoseconds(1));
  sampler_->finish_cycle();
  EXPECT_EQ(state("failed"), 1);
}

// Each pattern lists its folder by itself. The parser cannot know what it did not see.
class UnlistedTest : public SamplerTest {
 protected:
  UnlistedTest() {
    zram_ = std::make_unique<Sampler>(root_, clock_, table_, sources<ZramSource>(), NoDerived(),
                                      Sampler::Options{});
  }

  void take() {
    zram_->accept(0, snapshot_, Nanoseconds(1));
    zram_->finish_cycle();
  }
  double absent() const {
    return value("jetmem_source_absent_values{reason=\"unreadable\",source=\"zram\"}");
  }

  Snapshot snapshot_;
  std::unique_ptr<Sampler> zram_;
};

TEST_F(UnlistedTest, AFolderThatCouldNotBeListedForOneFileIsCounted) {
  snapshot_.add("/sys/block", {}, EMFILE);
  snapshot_.add("/sys/block/zram0/mm_stat", "4096 74 12288 0 12288 0 0 0\n", 0);
  take();
  EXPECT_EQ(zram_->status(0).state, SourceState::kOk);
  EXPECT_EQ(value("jetmem_zram_original_bytes{device=\"zram0\"}"), 4096);
  EXPECT_EQ(absent(), 1);
  snapshot_.clear();
  snapshot_.add("/sys/block/zram0/mm_stat", "4096 74 12288 0 12288 0 0 0\n", 0);
  take();
  EXPECT_EQ(absent(), 0);
}

TEST_F(UnlistedTest, AFolderThatThereIsNotOrThatIsNotOursIsNot) {
  snapshot_.add("/sys/block", {}, ENOENT);
  snapshot_.add("/sys/block", {}, EACCES);
  snapshot_.add("/sys/block/zram0/mm_stat", "4096 74 12288 0 12288 0 0 0\n", 0);
  snapshot_.add("/sys/block/zram0/io_stat", {}, EIO);  // a file, which zram counts itself
  take();
  EXPECT_EQ(absent(), 1);
}

TEST_F(UnlistedTest, WhatNobodyCouldLookForIsNotAbsent) {
  snapshot_.add("/proc/swaps", {}, ENOENT);
  take();
  EXPECT_EQ(zram_->status(0).state, SourceState::kAbsent);
  snapshot_.add("/sys/block", {}, EMFILE);
  take();
  EXPECT_EQ(zram_->status(0).state, SourceState::kFailed);
  EXPECT_EQ(zram_->status(0).reason, "read /sys/block: Too many open files");
}

}  // namespace
}  // namespace jetmem
