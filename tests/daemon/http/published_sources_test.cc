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
  static std::vector<std::string> reported(const ProgramTexts& texts) {
    std::vector<std::string> out;
    for (const auto& source : texts.newest()) {
      for (const auto& [path, text] : source->files) out.push_back(path + "=" + text);
    }
    return out;
  }

  TempDir tree_;
  Root root_;
  ManualClock clock_;
  SampleTable table_;
  std::unique_ptr<Sampler> sampler_;
};

TEST_F(PublishedSourcesTest, StatesAreThoseOfTheSampler) {
  const auto first = [&] { return sources_now(*sampler_).sources.at(0); };
  EXPECT_EQ(sources_now(*sampler_).sources.size(), 2U);
  EXPECT_EQ(first().state, "pending");

  sampler_->collect(0);
  EXPECT_EQ(first().state, "absent");
  EXPECT_NE(first().reason, "");

  tree_.write("proc/meminfo", "MemTotal: 4 kB\nMemFree: 4 kB\n");
  sampler_->collect(0);
  const SourceNow now = first();
  EXPECT_EQ(now.name, "meminfo");
  EXPECT_EQ(now.state, "ok");
  EXPECT_EQ(now.reason, "");
  EXPECT_EQ(now.interval_seconds, 1);
  EXPECT_FALSE(now.stale);
  sampler_->collect(0);
  EXPECT_EQ(first(), now);

  clock_.advance(std::chrono::seconds(60));
  sampler_->finish_cycle();
  EXPECT_TRUE(first().stale);
}

TEST_F(PublishedSourcesTest, TextsOfProgramsAreKept) {
  using List = std::vector<std::string>;
  ProgramTexts texts(*sampler_);
  EXPECT_EQ(reported(texts), List{});
  Snapshot snapshot;
  snapshot.add("/run/a", "one\n", 0);
  snapshot.add("/run/denied", "", EACCES);
  snapshot.add("/run/long", std::string(ProgramTexts::kMaxBytes + 1, 'x'), 0);
  snapshot.add("/run/short", "y", 0);
  texts.take("tegrastats", &snapshot);
  EXPECT_EQ(reported(texts), (List{"/run/a=one\n", "/run/short=y"})) << "beyond its bound none";
  texts.take("meminfo", &snapshot);  // read, unknown by a program
  EXPECT_EQ(reported(texts).size(), 2U);

  snapshot.clear();
  snapshot.add("/run/b", "two\n", 0);
  texts.take("tegrastats", &snapshot);
  EXPECT_EQ(reported(texts), List{"/run/b=two\n"});
  texts.take("tegrastats", nullptr);
  EXPECT_EQ(reported(texts), List{});
}

}  // namespace
}  // namespace jetmem
