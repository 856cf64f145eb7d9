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

using std::chrono::milliseconds;
using std::chrono::seconds;

class SamplerTest : public testing::Test {
 protected:
  SamplerTest() {
    tree_.write("proc/meminfo", "MemFree: 4 kB\n");
    sampler_ = make<MeminfoSource>(table_);
    sampler_->on_change([this](const SourceInfo&, const SourceStatus& status) {
      changes_.push_back(std::string(status.stale ? "stale" : state_name(status.state)));
    });
    clock_.advance(seconds(100));
  }

  template <class... S>
  std::unique_ptr<Sampler> make(SampleTable& table, Sampler::Options options = {},
                                std::vector<std::unique_ptr<DerivedMetric>> derived = {}) {
    std::vector<std::unique_ptr<Source>> sources;
    (sources.push_back(std::make_unique<S>()), ...);
    return std::make_unique<Sampler>(root_, clock_, table, std::move(sources), std::move(derived),
                                     options);
  }
  void cycle() {
    sampler_->collect(0);
    sampler_->finish_cycle();
  }
  void cycle_with(std::string_view meminfo) {
    tree_.write("proc/meminfo", meminfo);
    cycle();
  }
  // What nobody reads again gets older.
  void finish_after(Nanoseconds time) {
    clock_.advance(time);
    sampler_->finish_cycle();
  }
  void reject(Errc code) { sampler_->reject(0, {code, "a reason"}); }
  double value(std::string_view key) const { return table_.value_of(key); }
  bool has(std::string_view key) const { return !std::isnan(value(key)); }
  // A series of the sampler's about its source.
  double about(const std::string& name) const {
    return value("jetmem_source_" + name + "{source=\"meminfo\"}");
  }
  double state(std::string_view name) const {
    return value("jetmem_source_state{source=\"meminfo\",state=\"" + std::string(name) + "\"}");
  }

  static constexpr const char* kFree = "jetmem_meminfo_MemFree_bytes";
  TempDir tree_;
  Root root_{Root::at(tree_.path()).value()};
  ManualClock clock_;
  SampleTable table_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<std::string> changes_;
};

TEST_F(SamplerTest, AFailureKeepsTheLastValuesUntilTheyAreStale) {
  cycle_with("MemFree: 4 kB\n");
  EXPECT_EQ(state("ok"), 1);
  EXPECT_NE(sampler_->readings().get<Meminfo>(), nullptr);
  clock_.advance(seconds(1));
  cycle_with("garbage\n");
  EXPECT_EQ(state("failed"), 1);
  EXPECT_EQ(value(kFree), 4096);
  EXPECT_EQ(sampler_->readings().get<Meminfo>(), nullptr) << "nothing is derived from it any more";
  clock_.advance(seconds(3));
  cycle();
  EXPECT_FALSE(has(kFree)) << "older than three intervals: dropped, not repeated";
  EXPECT_EQ(about("stale"), 1);
  EXPECT_EQ(value("jetmem_source_errors_total{reason=\"malformed\",source=\"meminfo\"}"), 2);
  cycle_with("MemFree: 8 kB\n");
  EXPECT_EQ(value(kFree), 8192);
  EXPECT_EQ(about("stale"), 0);
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
  const auto sampler = make<MeminfoSource>(table, {}, std::move(derived));
  const auto cycle = [&] {
    clock_.advance(seconds(1));
    sampler->collect(0);
    sampler->finish_eager();
  };
  using Times = std::pair<int, int>;
  cycle();
  cycle();
  EXPECT_EQ(Times(eager, lazy), Times(2, 0));
  sampler->finish_lazy();
  EXPECT_EQ(Times(eager, lazy), Times(2, 1));
  sampler->finish_cycle();
  EXPECT_EQ(Times(eager, lazy), Times(2, 1)) << "nothing was read since";
  cycle();
  sampler->finish_lazy();
  EXPECT_EQ(Times(eager, lazy), Times(3, 2));
}

// Only series whose worst values are kept need each cycle.
TEST_F(SamplerTest, WhatNobodyReadsIsWrittenLater) {
  sampler_ = make<MeminfoSource, VmstatSource>(table_);
  constexpr const char* kKills = "jetmem_vmstat_oom_kill_total";
  constexpr const char* kAge = "jetmem_source_age_seconds{source=\"vmstat\"}";
  const auto collect = [&](std::string_view vmstat) {
    clock_.advance(seconds(1));
    tree_.write("proc/vmstat", vmstat);
    sampler_->collect(0);
    sampler_->collect(1);
    sampler_->finish_eager();
  };
  collect("oom_kill 1\n");
  EXPECT_EQ(value(kFree), 4096);
  EXPECT_FALSE(has(kKills));
  sampler_->finish_lazy();
  EXPECT_EQ(value(kKills), 1);
  EXPECT_EQ(value(kAge), 0);

  collect("oom_kill 2\n");
  collect("oom_kill 3\n");
  EXPECT_EQ(value(kKills), 1);
  sampler_->finish_lazy();
  EXPECT_EQ(value(kKills), 3);

  // A reading that failed leaves nothing of the one before: the age is that of what is shown.
  collect("oom_kill 4\n");
  collect("garbage\n");
  sampler_->finish_lazy();
  EXPECT_EQ(value(kKills), 3);
  EXPECT_EQ(value(kAge), 2);
  EXPECT_EQ(value("jetmem_source_state{source=\"vmstat\",state=\"failed\"}"), 1);
}

// A snapshot of a slow machine takes long; what was read first is as good as what was read last.
TEST_F(SamplerTest, NothingIsStaleInOneShot) {
  sampler_ = make<MeminfoSource>(table_, {.with_timing = false});
  sampler_->collect(0);
  finish_after(seconds(60));
  EXPECT_EQ(value(kFree), 4096);
  EXPECT_FALSE(sampler_->status(0).stale);
}

// With a fast clock an answer may be under way for many intervals. A failure is reported at once,
// and what was read before it gets no older than ever.
TEST_F(SamplerTest, AnAnswerUnderWayMakesNothingStale) {
  Sampler::Options options;
  options.answer_time = seconds(60);
  sampler_ = make<MeminfoSource>(table_, options);
  sampler_->collect(0);
  finish_after(seconds(60));
  EXPECT_EQ(value(kFree), 4096);
  finish_after(seconds(1));
  EXPECT_FALSE(has(kFree));

  sampler_->collect(0);
  clock_.advance(seconds(4));
  cycle_with("garbage\n");
  EXPECT_FALSE(has(kFree));
}

// A reload that shortens the interval makes nothing old that was in time.
TEST_F(SamplerTest, StalenessGoesByTheIntervalTheReadingWasMadeUnder) {
  sampler_->set_interval(0, std::chrono::minutes(1));
  cycle_with("MemFree: 4 kB\n");
  clock_.advance(seconds(30));
  sampler_->set_interval(0, seconds(1));
  sampler_->finish_cycle();
  EXPECT_EQ(value(kFree), 4096);
  cycle();
  finish_after(seconds(4));
  EXPECT_FALSE(has(kFree)) << "from the next reading on it is the new one";
}

TEST_F(SamplerTest, TimeInSuspendAgesTheData) {
  cycle_with("MemFree: 4 kB\n");
  clock_.suspend(std::chrono::hours(8));
  sampler_->finish_cycle();
  EXPECT_FALSE(has(kFree));
  EXPECT_EQ(about("stale"), 0) << "nobody was late";
  finish_after(seconds(2));
  EXPECT_EQ(changes_, std::vector<std::string>{"ok"});
  finish_after(seconds(30));
  EXPECT_EQ(changes_, (std::vector<std::string>{"ok", "stale"})) << "since the resume";
}

TEST_F(SamplerTest, AbsentOrDisabledHasNoLastValue) {
  cycle_with("MemFree: 4 kB\n");
  sampler_->set_enabled(0, false);
  cycle();
  EXPECT_EQ(state("disabled"), 1);
  EXPECT_FALSE(has(kFree));
  sampler_->set_enabled(0, true);
  cycle();
  EXPECT_EQ(value(kFree), 4096);
  ASSERT_EQ(::unlink(tree_.file("proc/meminfo").c_str()), 0);
  cycle();
  EXPECT_EQ(state("absent"), 1);
  EXPECT_FALSE(has(kFree));
  EXPECT_EQ(about("stale"), 0);
}

TEST_F(SamplerTest, OneLogLineForAChangeNotForATick) {
  for (int i = 0; i < 10; ++i) cycle_with("garbage " + std::to_string(i) + "\n");
  EXPECT_EQ(changes_, std::vector<std::string>{"failed"});
  EXPECT_EQ(sampler_->status(0).reason, "no line of the form 'Name: number'");
}

// Sources whose cost grows with the machine: on a live root, since a copied file costs nobody
// anything.
class ThrottledTest : public SamplerTest {
 protected:
  ThrottledTest() {
    root_ = Root::live();
    sampler_ = make<NvmapSource>(table_);
    sampler_->on_change([this](const SourceInfo&, const SourceStatus& status) {
      logged_.push_back(status.skipped);
    });
    snapshot_.add("/sys/kernel/debug/nvmap/iovmm/clients",
                  "CLIENT                        PROCESS      PID        SIZE\n"
                  "user                           camera        7          4K\n"
                  "total                                                   4K\n",
                  0);
  }

  void readings(int count, milliseconds elapsed) {
    for (; count > 0; --count) sampler_->accept(0, snapshot_, elapsed);
  }
  bool is_there() {
    sampler_->finish_cycle();
    return has("jetmem_nvmap_heap_bytes{heap=\"iovmm\"}");
  }
  // Minutes until it is read again.
  int minutes_to_the_next() {
    for (int minute = 1;; ++minute) {
      clock_.advance(std::chrono::minutes(1));
      if (sampler_->admit(0)) return minute;
    }
  }

  Snapshot snapshot_;
  std::vector<std::string> logged_;
};

TEST_F(ThrottledTest, WhatIsCheapIsReadEachTime) {
  for (int i = 0; i < 5; ++i) {
    readings(1, milliseconds(59));
    EXPECT_EQ(minutes_to_the_next(), 1);
  }
  EXPECT_EQ(logged_.size(), 1U) << "only that it is ok";
}

TEST_F(ThrottledTest, WhatIsDearIsReadLessOftenAndIsNotStaleForThat) {
  readings(1, milliseconds(300));
  EXPECT_EQ(minutes_to_the_next(), 1) << "one slow reading is no reason to look away";
  readings(1, milliseconds(300));
  EXPECT_EQ(minutes_to_the_next(), 5);
  readings(1, milliseconds(300));
  EXPECT_TRUE(is_there());
  clock_.advance(std::chrono::minutes(14));
  EXPECT_TRUE(is_there());
  clock_.advance(std::chrono::minutes(5));
  EXPECT_FALSE(is_there()) << "three times the pause and more";
  readings(2, seconds(100));
  EXPECT_EQ(minutes_to_the_next(), 10) << "the longest pause: ten intervals";
}

TEST_F(ThrottledTest, APauseGoesByTheIntervalInForce) {
  sampler_->set_interval(0, std::chrono::minutes(5));
  readings(2, milliseconds(300));
  EXPECT_EQ(minutes_to_the_next(), 1) << "five minutes are rest enough for it, whoever asks sooner";
}

TEST_F(ThrottledTest, ItIsSaidOnceWhenItBeginsAndOnceWhenItEnds) {
  for (int i = 0; i < 6; ++i) {
    readings(1, milliseconds(300));
    minutes_to_the_next();
  }
  ASSERT_EQ(logged_.size(), 2U);
  EXPECT_EQ(logged_[1], "read less often, as one reading takes 300ms: now every 5m");
  EXPECT_EQ(sampler_->status(0).real_interval(), std::chrono::minutes(5));
  readings(1, milliseconds(1));
  EXPECT_EQ(logged_.back(), "");
  EXPECT_EQ(logged_.size(), 3U);
  EXPECT_EQ(sampler_->status(0).real_interval(), sampler_->status(0).interval);
}

TEST_F(ThrottledTest, SwitchedOnAgainItIsReadAtOnce) {
  readings(2, seconds(1));
  ASSERT_FALSE(sampler_->admit(0));
  sampler_->set_enabled(0, false);
  sampler_->set_enabled(0, true);
  EXPECT_TRUE(sampler_->admit(0));
}

TEST_F(SamplerTest, WhatIsNotReadOnPurposeIsPendingAndSaidOnce) {
  sampler_->skip(0, "spared");
  sampler_->skip(0, "spared");
  sampler_->finish_cycle();
  EXPECT_EQ(state("pending"), 1);
  EXPECT_EQ(sampler_->status(0).skipped, "spared");
  EXPECT_EQ(about("skipped_total"), 2);
  EXPECT_EQ(changes_.size(), 1U);
}

// A program decides itself when it is not to run, and nobody asks a gate before its next answer.
TEST_F(SamplerTest, AnAnswerThatItWasSkippedIsNoFailure) {
  Snapshot snapshot;
  snapshot.add("/proc/meminfo", "MemFree: 4 kB\n", 0);
  const auto accept = [&] { sampler_->accept(0, snapshot, Nanoseconds(0)); };
  accept();
  changes_.clear();
  reject(Errc::kSkipped);
  reject(Errc::kSkipped);
  sampler_->finish_cycle();
  EXPECT_EQ(state("ok"), 1);
  EXPECT_EQ(value(kFree), 4096) << "what it had still holds";
  EXPECT_EQ(about("skipped_total"), 2);
  EXPECT_EQ(changes_.size(), 1U);
  accept();
  EXPECT_EQ(sampler_->status(0).skipped, "");
  EXPECT_EQ(changes_.size(), 2U) << "that it goes on is reported";
  accept();
  EXPECT_EQ(changes_.size(), 2U);
  reject(Errc::kSkipped);
  reject(Errc::kTimeout);
  EXPECT_EQ(sampler_->status(0).skipped, "");
  EXPECT_EQ(sampler_->status(0).state, SourceState::kFailed);
}

// What should be seen and is not; a source that there is not, or that is not to be read, is no
// blindness.
TEST_F(SamplerTest, BlindIsWhatFailedOrIsOldAndNothingElse) {
  const auto blind = [&] {
    sampler_->finish_cycle();
    return about("failing");
  };
  EXPECT_TRUE(std::isnan(blind())) << "pending";
  cycle_with("MemFree: 4 kB\n");
  EXPECT_EQ(blind(), 0);
  cycle_with("garbage\n");
  EXPECT_EQ(blind(), 1) << "at once, though its last values still stand";
  cycle_with("MemFree: 4 kB\n");
  EXPECT_EQ(blind(), 0);
  clock_.advance(seconds(4));
  EXPECT_EQ(blind(), 1) << "nobody reads it any more";
  EXPECT_EQ(state("ok"), 1);
  reject(Errc::kDenied);
  EXPECT_EQ(blind(), 0) << "denied has a series of its own";
  reject(Errc::kAbsent);
  EXPECT_TRUE(std::isnan(blind())) << "absent";
  cycle();
  sampler_->set_enabled(0, false);
  EXPECT_TRUE(std::isnan(blind())) << "disabled";
  // Nor are old data of what is left alone on purpose.
  sampler_->set_enabled(0, true);
  cycle();
  sampler_->skip(0, "it would take too long");
  clock_.advance(seconds(4));
  EXPECT_TRUE(std::isnan(blind()));
  EXPECT_EQ(about("stale"), 1);
  reject(Errc::kTimeout);
  EXPECT_EQ(blind(), 1) << "what failed is a fault, whatever was skipped before";
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
TEST_F(SamplerTest, AFolderThatCouldNotBeListedIsCounted) {
  sampler_ = make<ZramSource>(table_);
  const auto take = [&](std::initializer_list<std::pair<const char*, int>> errors, bool has_file) {
    Snapshot snapshot;
    for (const auto& [path, error] : errors) snapshot.add(path, {}, error);
    if (has_file) snapshot.add("/sys/block/zram0/mm_stat", "4096 74 12288 0 12288 0 0 0\n", 0);
    sampler_->accept(0, snapshot, Nanoseconds(1));
    sampler_->finish_cycle();
    return sampler_->status(0).state;
  };
  const auto absent = [&] {
    return value("jetmem_source_absent_values{reason=\"unreadable\",source=\"zram\"}");
  };
  EXPECT_EQ(take({{"/sys/block", EMFILE}}, true), SourceState::kOk);
  EXPECT_EQ(value("jetmem_zram_original_bytes{device=\"zram0\"}"), 4096);
  EXPECT_EQ(absent(), 1);
  take({}, true);
  EXPECT_EQ(absent(), 0);
  // One that there is not, or that is not ours, is not; a file that fails zram counts itself.
  take({{"/sys/block", ENOENT}, {"/sys/block", EACCES}, {"/sys/block/zram0/io_stat", EIO}}, true);
  EXPECT_EQ(absent(), 1);
  // What nobody could look for is not absent.
  EXPECT_EQ(take({{"/proc/swaps", ENOENT}}, false), SourceState::kAbsent);
  EXPECT_EQ(take({{"/proc/swaps", ENOENT}, {"/sys/block", EMFILE}}, false), SourceState::kFailed);
  EXPECT_EQ(sampler_->status(0).reason, "read /sys/block: Too many open files");
}

}  // namespace
}  // namespace jetmem
