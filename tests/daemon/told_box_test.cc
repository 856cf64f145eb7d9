#include "daemon/told_box.h"

#include <gtest/gtest.h>

#include "collectors/meminfo.h"
#include "collectors/tegrastats/source.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

class ToldBoxTest : public testing::Test {
 protected:
  ToldBoxTest() : root_(Root::at(tree_.path()).value()) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(std::make_unique<MeminfoSource>());
    sources.push_back(std::make_unique<TegrastatsSource>());
    sampler_ =
        std::make_unique<Sampler>(root_, clock_, table_, std::move(sources),
                                  std::vector<std::unique_ptr<Derivation>>(), Sampler::Options{});
    clock_.advance(std::chrono::seconds(100));
  }
  static std::vector<std::string> told(TextsBox& box) {
    std::vector<std::string> out;
    box.each([&](const std::string& path, const std::string& text) {
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

TEST_F(ToldBoxTest, StatesAreToldWhenTheyChange) {
  SourcesBox box;
  EXPECT_TRUE(box.latest().sources.empty());
  box.tell(*sampler_);
  ASSERT_EQ(box.latest().sources.size(), 2U);
  EXPECT_EQ(box.latest().sources[0].state, "pending");
  EXPECT_EQ(box.latest().changes, 1U);

  sampler_->collect(0);
  box.tell(*sampler_);
  EXPECT_EQ(box.latest().sources[0].state, "absent");
  EXPECT_NE(box.latest().sources[0].reason, "");

  tree_.write("proc/meminfo", "MemTotal: 4 kB\nMemFree: 4 kB\n");
  sampler_->collect(0);
  box.tell(*sampler_);
  const SourceNow& now = box.latest().sources[0];
  EXPECT_EQ(now.name, "meminfo");
  EXPECT_EQ(now.state, "ok");
  EXPECT_EQ(now.reason, "");
  EXPECT_EQ(now.interval_seconds, 1);
  EXPECT_FALSE(now.stale);
  const std::uint64_t changes = box.latest().changes;
  for (int i = 0; i < 5; ++i) {
    sampler_->collect(0);
    box.tell(*sampler_);
  }
  EXPECT_EQ(box.latest().changes, changes);

  clock_.advance(std::chrono::seconds(60));
  sampler_->finish_round();
  box.tell(*sampler_);
  EXPECT_TRUE(box.latest().sources[0].stale);
}

TEST_F(ToldBoxTest, TextsOfProgramsAreKept) {
  TextsBox box(*sampler_);
  EXPECT_TRUE(told(box).empty());
  Snapshot snapshot;
  snapshot.add("/run/a", "one\n", 0);
  snapshot.add("/run/denied", "", EACCES);
  box.tell("tegrastats", &snapshot);
  EXPECT_EQ(told(box), std::vector<std::string>{"/run/a=one\n"});
  box.tell("meminfo", &snapshot);  // read, not told by a program
  EXPECT_EQ(told(box).size(), 1U);

  snapshot.clear();
  snapshot.add("/run/b", "two\n", 0);
  box.tell("tegrastats", &snapshot);
  EXPECT_EQ(told(box), std::vector<std::string>{"/run/b=two\n"});
  box.tell("tegrastats", nullptr);
  EXPECT_TRUE(told(box).empty());
}

TEST_F(ToldBoxTest, ATextBeyondTheBoundIsLeftOutWhole) {
  TextsBox box(*sampler_);
  Snapshot snapshot;
  snapshot.add("/run/long", std::string(TextsBox::kMaxBytes + 1, 'x'), 0);
  snapshot.add("/run/short", "y", 0);
  box.tell("tegrastats", &snapshot);
  EXPECT_EQ(told(box), std::vector<std::string>{"/run/short=y"});
}

}  // namespace
}  // namespace jetmem
