// SPDX-License-Identifier: Apache-2.0
// What a sampling round costs beside the floor (floor.h), for scripts/bench: both in one process,
// block by block in turn, in CPU time. Prints one line a figure: name, floor, jetmem, both in
// nanoseconds a round; "-" where there is no floor to compare with.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/root/root.h"
#include "collectors/sampler/registry.h"
#include "collectors/sampler/sampler.h"
#include "health/registry.h"
#include "report/exposition/exposition.h"
#include "tests/bench/count_malloc.h"
#include "tests/bench/floor.h"
#include "tests/bench/measuring.h"

namespace jetmem {
namespace {

constexpr int kCycles = 200;
constexpr int kPacedRounds = 150;
constexpr int kAllocationRounds = 1000;
constexpr useconds_t kPauseUs = 10'000;

// A piece of work, and the CPU times of one round of it.
struct Case {
  std::function<void()> work;
  std::vector<double> times{};

  void run(int cycles = kCycles) {
    const auto all = [&] {
      for (int i = 0; i < cycles; ++i) work();
    };
    times.push_back(cpu_ns_of(all) / cycles);
  }
  double result() const { return median(times); }
};

struct Bench {
  Bench() {
    auto sources = make_all_sources();
    std::erase_if(sources, [](const auto& s) { return s->info().access != Access::kDirect; });
    sampler.emplace(root, clock, table, std::move(sources), make_derived_metrics(),
                    Sampler::Options{});
    for (std::size_t i = 0; i < sampler->size(); ++i) {
      floors.emplace_back();
      for (const std::string_view path : sampler->info(i).paths) {
        const int file = floor_open(std::string(path).c_str());
        if (file >= 0) floors.back().push_back(file);
      }
    }
    for (int i = 0; i < 3; ++i) cycle();
  }

  void read_floor(std::size_t i) const {
    for (const int file : floors[i]) floor_read(file);
  }
  void read_floors() const {
    for (std::size_t i = 0; i < floors.size(); ++i) read_floor(i);
  }
  void collect() {
    for (std::size_t i = 0; i < sampler->size(); ++i) sampler->collect(i);
  }
  void fill() { fill_page(table, clock.boot(), 1, page); }
  void cycle() {
    collect();
    sampler->finish_cycle();
    fill();
  }

  Root root = Root::live();
  SystemClock clock;
  SampleTable table;
  std::optional<Sampler> sampler;
  std::vector<std::vector<int>> floors;
  Page page;
};

void print(const std::string& name, double floor, double jetmem) {
  std::printf("%s\t%.1f\t%.1f\n", name.c_str(), floor, jetmem);
}
void print(const std::string& name, double jetmem) {
  std::printf("%s\t-\t%.1f\n", name.c_str(), jetmem);
}

void measure(Bench& bench, int blocks) {
  Case floor{[&] { bench.read_floors(); }};
  Case collect{[&] { bench.collect(); }};
  Case sample{[&] {
    bench.collect();
    bench.sampler->finish_cycle();
  }};
  Case fill{[&] { bench.fill(); }};
  std::vector<Case> source_floors;
  std::vector<Case> sources;
  for (std::size_t i = 0; i < bench.sampler->size(); ++i) {
    source_floors.push_back({[&bench, i] { bench.read_floor(i); }});
    sources.push_back({[&bench, i] { bench.sampler->collect(i); }});
  }
  for (int block = 0; block < blocks; ++block) {
    floor.run();
    sample.run();
    collect.run();
    fill.run();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      source_floors[i].run();
      sources[i].run();
    }
  }
  Case paced_floor{floor.work};
  Case paced_sample{sample.work};
  for (int i = 0; i < kPacedRounds; ++i) {
    ::usleep(kPauseUs);
    paced_floor.run(1);
    ::usleep(kPauseUs);
    paced_sample.run(1);
  }
  print("sample", floor.result(), sample.result());
  print("sample paced", paced_floor.result(), paced_sample.result());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    print("source " + std::string(bench.sampler->info(i).name), source_floors[i].result(),
          sources[i].result());
  }
  print("finish_round", sample.result() - collect.result());
  print("fill_page", fill.result());
}

void count_allocations(Bench& bench) {
  unsigned long before = allocations_of_this_thread();
  const auto since = [&] {
    const unsigned long now = allocations_of_this_thread();
    return static_cast<double>(now - std::exchange(before, now)) / kAllocationRounds;
  };
  for (int i = 0; i < kAllocationRounds; ++i) bench.collect();
  print("allocations collect", since());
  bench.cycle();  // makes the layout
  before = allocations_of_this_thread();
  for (int i = 0; i < kAllocationRounds; ++i) bench.cycle();
  print("allocations round", since());
}

}  // namespace
}  // namespace jetmem

int main(int argc, char** argv) {
  jetmem::Bench bench;
  jetmem::measure(bench, argc > 1 ? std::atoi(argv[1]) : 31);
  jetmem::count_allocations(bench);
  std::size_t series = 0;
  for (const auto& section : bench.table.sections()) series += section.slots.size();
  std::printf("series\t-\t%zu\n", series);
  return 0;
}
