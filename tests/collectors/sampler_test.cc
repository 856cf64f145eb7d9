#include "collectors/sampler.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>

#include "collectors/meminfo.h"
#include "collectors/nvmap.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using std::chrono::seconds;

class SamplerTest : public testing::Test {
 protected:
  SamplerTest() : root_(Root::at(tree_.path()).value()) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(std::make_unique<MeminfoSource>());
    sampler_ =
        std::make_unique<Sampler>(root_, clock_, table_, std::move(sources),
                                  std::vector<std::unique_ptr<Derivation>>(), Sampler::Options{});
    sampler_->on_change([this](const SourceInfo&, const SourceStatus& status) {
      changes_.push_back(std::string(status.stale ? "stale" : state_name(status.state)));
    });
    clock_.advance(seconds(100));
  }

  void round() {
    sampler_->collect(0);
    sampler_->finish_round();
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
  tree_.write("proc/meminfo", "MemFree: 4 kB\n");
  round();
  EXPECT_EQ(value(kFree), 4096);
  EXPECT_EQ(state("ok"), 1);
  EXPECT_EQ(state("failed"), 0);
  EXPECT_NE(sampler_->readings().get<Meminfo>(), nullptr);
}

TEST_F(SamplerTest, AFailureKeepsTheLastValuesUntilTheyAreStale) {
  tree_.write("proc/meminfo", "MemFree: 4 kB\n");
  round();
  tree_.write("proc/meminfo", "garbage\n");
  clock_.advance(seconds(1));
  round();
  EXPECT_EQ(state("failed"), 1);
  EXPECT_EQ(value(kFree), 4096);
  EXPECT_EQ(sampler_->readings().get<Meminfo>(), nullptr) << "nothing is derived from it any more";
  clock_.advance(seconds(3));
  round();
  EXPECT_TRUE(std::isnan(value(kFree))) << "older than three intervals: dropped, not repeated";
  EXPECT_EQ(value("jetmem_source_stale{source=\"meminfo\"}"), 1);
  EXPECT_EQ(value("jetmem_source_errors_total{reason=\"malformed\",source=\"meminfo\"}"), 2);
  tree_.write("proc/meminfo", "MemFree: 8 kB\n");
  round();
  EXPECT_EQ(value(kFree), 8192);
  EXPECT_EQ(value("jetmem_source_stale{source=\"meminfo\"}"), 0);
  EXPECT_EQ(changes_, (std::vector<std::string>{"ok", "failed", "stale", "ok"}));
}

// A reload that shortens the interval makes nothing old that was in time.
TEST_F(SamplerTest, StalenessGoesByTheIntervalTheReadingWasMadeUnder) {
  tree_.write("proc/meminfo", "MemFree: 4 kB\n");
  sampler_->set_interval(0, std::chrono::minutes(1));
  round();
  clock_.advance(seconds(30));
  sampler_->set_interval(0, seconds(1));
  sampler_->finish_round();
  EXPECT_EQ(value(kFree), 4096);
  round();
  clock_.advance(seconds(4));
  sampler_->finish_round();
  EXPECT_TRUE(std::isnan(value(kFree))) << "from the next reading on it is the new one";
}

TEST_F(SamplerTest, TimeInSuspendAgesTheData) {
  tree_.write("proc/meminfo", "MemFree: 4 kB\n");
  round();
  clock_.suspend(std::chrono::hours(8));
  sampler_->finish_round();
  EXPECT_TRUE(std::isnan(value(kFree)));
}

TEST_F(SamplerTest, AbsentHasNoLastValue) {
  tree_.write("proc/meminfo", "MemFree: 4 kB\n");
  round();
  ASSERT_EQ(::unlink(tree_.file("proc/meminfo").c_str()), 0);
  round();
  EXPECT_EQ(state("absent"), 1);
  EXPECT_TRUE(std::isnan(value(kFree)));
  EXPECT_EQ(value("jetmem_source_stale{source=\"meminfo\"}"), 0);
}

TEST_F(SamplerTest, OneLogLineForAChangeNotForATick) {
  tree_.write("proc/meminfo", "garbage 1\n");
  for (int i = 0; i < 10; ++i) {
    tree_.write("proc/meminfo", "garbage " + std::to_string(i) + "\n");
    round();
  }
  EXPECT_EQ(changes_, std::vector<std::string>{"failed"});
  EXPECT_EQ(sampler_->status(0).reason, "line 1: expected 'Name: number', found 'garbage 9'");
}

TEST_F(SamplerTest, DisabledIsSaidAndSilent) {
  tree_.write("proc/meminfo", "MemFree: 4 kB\n");
  round();
  sampler_->set_enabled(0, false);
  round();
  EXPECT_TRUE(std::isnan(value(kFree)));
  EXPECT_EQ(state("disabled"), 1);
  sampler_->set_enabled(0, true);
  round();
  EXPECT_EQ(value(kFree), 4096);
}

// A dear source that is read less often is not stale for that.
TEST_F(SamplerTest, StalenessGoesByThePausesThatASourceTakes) {
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(std::make_unique<NvmapSource>());
  SampleTable table;
  Sampler sampler(root_, clock_, table, std::move(sources), {}, {});
  Snapshot snapshot;
  snapshot.add("/sys/kernel/debug/nvmap/iovmm/clients",
               "CLIENT                        PROCESS      PID        SIZE\n"
               "user                           camera        7          4K\n"
               "total                                                   4K\n",
               0);
  const auto is_there = [&] {
    return !std::isnan(table.value_of("jetmem_nvmap_heap_bytes{heap=\"iovmm\"}"));
  };
  sampler.accept(0, snapshot, std::chrono::milliseconds(600));  // every tenth interval
  sampler.finish_round();
  ASSERT_TRUE(is_there());
  EXPECT_EQ(sampler.status(0).patience, std::chrono::minutes(10));
  clock_.advance(std::chrono::minutes(29));
  sampler.finish_round();
  EXPECT_TRUE(is_there());
  clock_.advance(std::chrono::minutes(2));
  sampler.finish_round();
  EXPECT_FALSE(is_there());
}

TEST_F(SamplerTest, WhatIsNotReadOnPurposeIsPendingAndSaidOnce) {
  sampler_->skip(0, "spared");
  sampler_->skip(0, "spared");
  sampler_->finish_round();
  EXPECT_EQ(state("pending"), 1);
  EXPECT_EQ(sampler_->status(0).skipped, "spared");
  EXPECT_EQ(value("jetmem_source_skipped_total{source=\"meminfo\"}"), 2);
  EXPECT_EQ(changes_.size(), 1U);
}

TEST_F(SamplerTest, TruncatedTextIsNotParsed) {
  Snapshot snapshot;
  snapshot.add("/proc/meminfo", "MemFree: 4 kB\n", 0);
  snapshot.set_truncated();
  sampler_->accept(0, snapshot, Nanoseconds(1));
  sampler_->finish_round();
  EXPECT_EQ(state("failed"), 1);
}

}  // namespace
}  // namespace jetmem
