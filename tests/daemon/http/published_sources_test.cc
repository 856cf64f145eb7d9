// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/published_sources.h"

#include <gtest/gtest.h>

#include "collectors/jetson/tegrastats/source.h"
#include "collectors/proc/meminfo.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

class PublishedSourcesTest : public testing::Test {
 protected:
  PublishedSourcesTest() : root_(Root::at(tree_.path()).value()) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(std::make_unique<MeminfoSource>());
    sources.push_back(std::make_unique<TegrastatsSource>());
    sampler_ = std::make_unique<Sampler>(root_, clock_, table_, std::move(sources),
                                         std::vector<std::unique_ptr<DerivedMetric>>(),
                                         Sampler::Options{});
    clock_.advance(std::chrono::seconds(100));
  }
  static std::vector<std::string> reported(ProgramTextsBuffer& buffer) {
    std::vector<std::string> out;
    buffer.each([&](const std::string& path, const std::string& text) {
      out.push_back(path + "=" + text);
    });
    return out;
  }

  TempDir tree_;
  Root root_;
  ManualClock clock_;
  SampleTable table_;
  std::unique_ptr<Sampler> sampler_;
};

TEST_F(PublishedSourcesTest, StatesAreReportedWhenTheyChange) {
  SourceStatesBuffer buffer;
  EXPECT_TRUE(buffer.latest().sources.empty());
  buffer.notify(*sampler_);
  ASSERT_EQ(buffer.latest().sources.size(), 2U);
  EXPECT_EQ(buffer.latest().sources[0].state, "pending");
  EXPECT_EQ(buffer.latest().changes, 1U);

  sampler_->collect(0);
  buffer.notify(*sampler_);
  EXPECT_EQ(buffer.latest().sources[0].state, "absent");
  EXPECT_NE(buffer.latest().sources[0].reason, "");

  tree_.write("proc/meminfo", "MemTotal: 4 kB\nMemFree: 4 kB\n");
  sampler_->collect(0);
  buffer.notify(*sampler_);
  const SourceNow& now = buffer.latest().sources[0];
  EXPECT_EQ(now.name, "meminfo");
  EXPECT_EQ(now.state, "ok");
  EXPECT_EQ(now.reason, "");
  EXPECT_EQ(now.interval_seconds, 1);
  EXPECT_FALSE(now.stale);
  const std::uint64_t changes = buffer.latest().changes;
  for (int i = 0; i < 5; ++i) {
    sampler_->collect(0);
    buffer.notify(*sampler_);
  }
  EXPECT_EQ(buffer.latest().changes, changes);

  clock_.advance(std::chrono::seconds(60));
  sampler_->finish_cycle();
  buffer.notify(*sampler_);
  EXPECT_TRUE(buffer.latest().sources[0].stale);
}

TEST_F(PublishedSourcesTest, TextsOfProgramsAreKept) {
  ProgramTextsBuffer buffer(*sampler_);
  EXPECT_TRUE(reported(buffer).empty());
  Snapshot snapshot;
  snapshot.add("/run/a", "one\n", 0);
  snapshot.add("/run/denied", "", EACCES);
  buffer.notify("tegrastats", &snapshot);
  EXPECT_EQ(reported(buffer), std::vector<std::string>{"/run/a=one\n"});
  buffer.notify("meminfo", &snapshot);  // read, unknown by a program
  EXPECT_EQ(reported(buffer).size(), 1U);

  snapshot.clear();
  snapshot.add("/run/b", "two\n", 0);
  buffer.notify("tegrastats", &snapshot);
  EXPECT_EQ(reported(buffer), std::vector<std::string>{"/run/b=two\n"});
  buffer.notify("tegrastats", nullptr);
  EXPECT_TRUE(reported(buffer).empty());
}

TEST_F(PublishedSourcesTest, ATextBeyondTheBoundIsLeftOutWhole) {
  ProgramTextsBuffer buffer(*sampler_);
  Snapshot snapshot;
  snapshot.add("/run/long", std::string(ProgramTextsBuffer::kMaxBytes + 1, 'x'), 0);
  snapshot.add("/run/short", "y", 0);
  buffer.notify("tegrastats", &snapshot);
  EXPECT_EQ(reported(buffer), std::vector<std::string>{"/run/short=y"});
}

}  // namespace
}  // namespace jetmem
