// SPDX-License-Identifier: Apache-2.0
// The loop allocates nothing while the machine's shape stands: a program of its own, because it
// replaces malloc by one that counts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <string>

#include "base/root/root.h"
#include "base/root/snapshot.h"
#include "collectors/probe/source.h"
#include "collectors/sampler/registry.h"
#include "collectors/sampler/sampler.h"
#include "daemon/children/memory_protection.h"
#include "daemon/parts/daemon_metrics.h"
#include "health/registry.h"
#include "report/exposition/exposition.h"
#include "tests/bench/count_malloc.h"

namespace jetmem {
namespace {

constexpr int kCycles = 50;

// What jetmemd's loop does in a round, its own figures included. What jetmem-reader reads for it,
// in a process of its own or is printed by a program, is read here once and accepted in each round.
class Loop {
 public:
  explicit Loop(Root root)
      : root_(std::move(root)),
        sampler_(root_, clock_, table_, make_all_sources(), make_derived_metrics(), {}),
        daemon_metrics_section_(table_.add_section("jetmemd")),
        processes_section_(table_.add_section("processes of jetmem")) {
    for (std::size_t i = 0; i < sampler_.size(); ++i) {
      const SourceInfo& info = sampler_.info(i);
      if (info.access != Access::kReader && info.access != Access::kProgram) continue;
      answers_.push_back({i, SnapshotReader(info.paths, info.limits, info.gather), nullptr});
      answers_.back().snapshot = &answers_.back().reader.read(root_);
    }
  }

  void cycle() {
    for (std::size_t i = 0; i < sampler_.size(); ++i) {
      if (sampler_.info(i).access == Access::kDirect && is_asked_again(i)) sampler_.collect(i);
    }
    for (const Answer& answer : answers_) {
      if (!is_asked_again(answer.source)) continue;
      sampler_.accept(answer.source, *answer.snapshot, std::chrono::microseconds(100));
    }
    sampler_.finish_cycle();
    ++counters_.cycles;
    const Nanoseconds now = clock_.boot();
    {
      SampleWriter out(table_, daemon_metrics_section_, now);
      write_cycle_metrics(out, counters_);
      write_daemon_metrics(out, counters_);
    }
    {
      SampleWriter out(table_, processes_section_, now);
      write_process_usage(out, own_facts_, ::getpid(), "jetmemd");
      write_memory_protection(out, read_memory_protection());
    }
    fill_page(table_, now, counters_.cycles, page_);
  }

  std::uint64_t shape() const { return table_.shape(); }
  std::size_t series() const {
    std::size_t sum = 0;
    for (const auto& section : table_.sections()) sum += section.slots.size();
    return sum;
  }
  bool is_ok(std::string_view source) const {
    for (std::size_t i = 0; i < sampler_.size(); ++i) {
      if (sampler_.info(i).name == source) return sampler_.status(i).state == SourceState::kOk;
    }
    return false;
  }
  bool none_failed() const {
    for (std::size_t i = 0; i < sampler_.size(); ++i) {
      if (sampler_.status(i).state == SourceState::kFailed) return false;
    }
    return true;
  }

 private:
  struct Answer {
    std::size_t source;
    SnapshotReader reader;
    const Snapshot* snapshot;
  };

  // What is absent or denied is asked for once a minute only, and its error may allocate. So may
  // what jetmem-probe found, each five minutes: a tree is made of its JSON. Writing it may not.
  bool is_asked_again(std::size_t i) const {
    const SourceState state = sampler_.status(i).state;
    if (sampler_.info(i).name == ProbeSource::kInfo.name && state == SourceState::kOk) return false;
    return state != SourceState::kAbsent && state != SourceState::kDenied;
  }

  Root root_;
  Facts own_facts_ = Facts::of_this_machine();
  SystemClock clock_;
  SampleTable table_;
  Sampler sampler_;
  std::size_t daemon_metrics_section_;
  std::size_t processes_section_;
  DaemonCounters counters_;
  Page page_;
  std::deque<Answer> answers_;  // they stay where they are
};

// Allocations in `kCycles` rounds. On a live machine a zone's last free block may go in between and
// change the shape, which may allocate: such a try says nothing and is made again.
unsigned long allocations_in_steady_state(Loop& loop) {
  constexpr int kTries = 20;
  // With the fifth reading the growth of groups of processes begins.
  for (int cycle = 0; cycle < 10; ++cycle) loop.cycle();
  unsigned long allocations = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t shape = loop.shape();
    const unsigned long before = allocations_of_this_thread();
    for (int cycle = 0; cycle < kCycles; ++cycle) loop.cycle();
    allocations = allocations_of_this_thread() - before;
    if (loop.shape() == shape) return allocations;
  }
  ADD_FAILURE() << "the shape of the samples never stands still";
  return allocations;
}

TEST(Allocation, IsCounted) {
  const unsigned long before = allocations_of_this_thread();
  const std::string long_enough(1000, 'x');
  EXPECT_EQ(allocations_of_this_thread() - before, 1U);
}

TEST(Allocation, NoneInSteadyStateOnThisMachine) {
  Loop loop(Root::live());
  EXPECT_EQ(allocations_in_steady_state(loop), 0U);
  EXPECT_GT(loop.series(), 100U);
  EXPECT_TRUE(loop.none_failed());
}

// Another root's files are opened anew each round. That allocates nothing either.
TEST(Allocation, NoneInSteadyStateOnABoard) {
  for (const char* board : {"orin-nano-8gb", "nano-4gb", "raspberry-pi-5"}) {
    auto root = Root::at(std::string(JETMEM_FIXTURES) + "/" + board);
    ASSERT_TRUE(root.has_value());
    Loop loop(std::move(*root));
    EXPECT_EQ(allocations_in_steady_state(loop), 0U) << board;
    EXPECT_GT(loop.series(), 100U) << board;
    EXPECT_TRUE(loop.is_ok("thermal")) << board;
    EXPECT_TRUE(loop.is_ok("cma")) << board;
    EXPECT_TRUE(loop.is_ok("pagetypeinfo")) << board;
  }
}

TEST(Allocation, NoneToWriteWhatAProbeFound) {
  auto root = Root::at(std::string(JETMEM_FIXTURES) + "/orin");
  ASSERT_TRUE(root.has_value());
  const SourceInfo& info = ProbeSource::kInfo;
  SnapshotReader reader(info.paths, info.limits);
  ProbeSource source;
  ASSERT_TRUE(source.parse(reader.read(*root), {}).has_value());
  SampleTable table;
  const std::size_t section = table.add_section("probe");
  const Facts facts;
  const Readings readings;
  AbsentValues absent;
  const auto write = [&] {
    absent.reset();
    WriteContext context{facts, readings, absent};
    SampleWriter out(table, section, std::chrono::hours(1));
    source.write(out, context);
  };
  write();
  const unsigned long before = allocations_of_this_thread();
  write();
  EXPECT_EQ(allocations_of_this_thread() - before, 0U);
  EXPECT_GT(table.sections()[section].slots.size(), 100U);
}

}  // namespace
}  // namespace jetmem
