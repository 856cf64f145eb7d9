// SPDX-License-Identifier: Apache-2.0
// The loop allocates nothing while the machine's shape stands: a program of its own, because it
// replaces malloc by one that counts.
#include <string>

#include "base/root/root.h"
#include "base/root/snapshot.h"
#include "collectors/cma/source.h"
#include "collectors/sampler/registry.h"
#include "collectors/sampler/sampler.h"
#include "daemon/parts/daemon_metrics.h"
#include "health/registry.h"
#include "report/exposition/exposition.h"
#include "tests/allocation/allocations.h"
#include "tests/collectors/cma/cma_kernel.h"

namespace jetmem {
namespace {

constexpr int kCycles = 50;

// What jetmemd's loop does in a round, its counters included. Of what it reads seldom, or
// jetmem-reader or a program for it, each reading is a new one: these are taken once, before.
class Loop {
 public:
  explicit Loop(Root root)
      : root_(std::move(root)),
        sampler_(root_, clock_, table_, make_all_sources(), make_derived_metrics(), {}),
        daemon_metrics_section_(table_.add_section("jetmemd")) {
    for (std::size_t i = 0; i < sampler_.size(); ++i) {
      const SourceInfo& info = sampler_.info(i);
      if (info.access == Access::kStream) continue;
      SnapshotReader reader(info.paths, info.limits, info.gather);
      sampler_.accept(i, reader.read(root_), std::chrono::microseconds(100));
    }
  }

  void cycle() {
    for (std::size_t i = 0; i < sampler_.size(); ++i) {
      if (is_read_each_round(i)) sampler_.collect(i);
    }
    sampler_.finish_cycle();
    ++counters_.cycles;
    const Nanoseconds now = clock_.boot();
    {
      SampleWriter out(table_, daemon_metrics_section_, now);
      write_cycle_metrics(out, counters_);
      write_daemon_metrics(out, counters_);
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
  // What is absent or denied is asked for once a minute only, and its error may allocate.
  bool is_read_each_round(std::size_t i) const {
    const SourceInfo& info = sampler_.info(i);
    const SourceState state = sampler_.status(i).state;
    return info.access == Access::kDirect && info.interval <= std::chrono::seconds(5) &&
           state != SourceState::kAbsent && state != SourceState::kDenied;
  }

  Root root_;
  SystemClock clock_;
  SampleTable table_;
  Sampler sampler_;
  std::size_t daemon_metrics_section_;
  DaemonCounters counters_;
  Page page_;
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
    allocations = allocations_in([&] {
      for (int cycle = 0; cycle < kCycles; ++cycle) loop.cycle();
    });
    if (loop.shape() == shape) return allocations;
  }
  ADD_FAILURE() << "the shape of the samples never stands still";
  return allocations;
}

TEST(Allocation, IsCounted) {
  std::string text;
  EXPECT_EQ(allocations_in([&] { text.assign(1000, 'x'); }), 1U);
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

// Whatever it took to read it.
TEST(Allocation, NoneToWriteAReadingAgain) {
  std::size_t written = 0;
  for (const char* board : {"orin", "orin-nano-8gb", "nano-4gb", "raspberry-pi-5"}) {
    auto root = Root::at(std::string(JETMEM_FIXTURES) + "/" + board);
    ASSERT_TRUE(root.has_value());
    for (const auto& source : make_all_sources()) {
      const SourceInfo& info = source->info();
      if (info.access == Access::kStream) continue;
      SnapshotReader reader(info.paths, info.limits, info.gather);
      if (!source->parse(reader.read(*root), {})) continue;
      SampleTable table;
      const std::size_t section = table.add_section("one");
      const Facts facts;
      const Readings readings;
      AbsentValues absent;
      const auto write = [&] {
        absent.reset();
        WriteContext context{facts, readings, absent};
        SampleWriter out(table, section, std::chrono::hours(1));
        source->write(out, context);
      };
      write();
      EXPECT_EQ(allocations_in(write), 0U) << board << ' ' << info.name;
      ++written;
    }
  }
  EXPECT_GT(written, 40U);
}

TEST(Allocation, NoneForATraceWithoutNews) {
  CmaKernel kernel(CmaFormat::k612, 4, 64);
  kernel.add_area("linux,cma", 4096, 4096);
  const CmaKernel::Thread camera{412, "camera-thread", 1};
  for (unsigned i = 0; i < 20; ++i) {
    kernel.set(0, i * 100, 60, true);
    kernel.trace_alloc(camera, 0, i * 100, 60, "vb2_dc_alloc");
  }
  Snapshot snapshot;
  kernel.render(snapshot, true, true);
  SampleTable table;
  const std::size_t section = table.add_section("cma_map");
  CmaMapSource source;
  Facts facts;
  facts.page_size = 4096;
  Readings readings;
  AbsentValues absent;
  const auto cycles = [&] {
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(source.parse(snapshot, Nanoseconds(0)));
      absent.reset();
      WriteContext context{facts, readings, absent};
      SampleWriter writer(table, section, Nanoseconds(0));
      source.write(writer, context);
    }
  };
  cycles();
  EXPECT_EQ(source.reading().areas[0].taken_pieces, 20U);
  EXPECT_EQ(allocations_in(cycles), 0U);
}

}  // namespace
}  // namespace jetmem
