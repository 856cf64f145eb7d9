// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks: every parser on every board's real text, and the page against prometheus-cpp's
// serializer. By hand:  bench_parsers --benchmark_filter=meminfo
#include <benchmark/benchmark.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/root/root.h"
#include "collectors/sampler/registry.h"
#include "collectors/sampler/sampler.h"
#include "health/registry.h"
#include "report/exposition/exposition.h"
#include "tests/report/exposition/prometheus_model.h"

namespace jetmem {
namespace {

constexpr std::array<const char*, 5> kBoards{"agx-orin", "nano-4gb", "orin-nano-8gb",
                                             "raspberry-pi-5", "x86-pc"};

Root root_of(const std::string& board) {
  return Root::at(std::string(JETMEM_FIXTURES) + "/" + board).value();
}

// What one source reads on one board, and the source that parses it.
struct Input {
  explicit Input(const std::string& board, std::unique_ptr<Source> its_source)
      : source(std::move(its_source)),
        reader(source->info().paths, source->info().limits, source->info().gather) {
    snapshot = &reader.read(root_of(board));
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < snapshot->size(); ++i) sum += (*snapshot)[i].text.size();
    return sum;
  }

  std::unique_ptr<Source> source;
  SnapshotReader reader;
  const Snapshot* snapshot = nullptr;
};

void parse(benchmark::State& state, const std::shared_ptr<Input>& input) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(input->source->parse(*input->snapshot, Nanoseconds(0)));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(input->bytes()) * state.iterations());
}

void register_parsers() {
  for (const char* board : kBoards) {
    for (auto& source : make_all_sources()) {
      const auto input = std::make_shared<Input>(board, std::move(source));
      if (!input->source->parse(*input->snapshot, Nanoseconds(0))) continue;  // not on this board
      const std::string name = "parse/" + std::string(input->source->info().name) + "/" + board;
      benchmark::RegisterBenchmark(name.c_str(), parse, input);
    }
  }
}

// Everything a board gives, once.
class Board {
 public:
  explicit Board(const std::string& board)
      : root_(root_of(board)),
        sampler_(root_, clock_, table, make_all_sources(), make_derived_metrics(), {}) {
    for (std::size_t i = 0; i < sampler_.size(); ++i) sampler_.collect(i);
    sampler_.finish_cycle();
  }
  SampleTable table;

 private:
  Root root_;
  SystemClock clock_;
  Sampler sampler_;
};

constexpr const char* kPageBoard = "orin-nano-8gb";

void page_fill(benchmark::State& state) {
  const Board board(kPageBoard);
  Page page;
  for (auto _ : state) fill_page(board.table, Nanoseconds(0), 1, page);
}
BENCHMARK(page_fill)->Name("page/fill");

template <TextFormat kFormat>
void page_render(benchmark::State& state) {
  const Board board(kPageBoard);
  Page page;
  fill_page(board.table, Nanoseconds(0), 1, page);
  std::string out;
  for (auto _ : state) {
    out.clear();
    render_text(page, kFormat, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["series"] = static_cast<double>(page.layout->series().size());
}
BENCHMARK(page_render<TextFormat::kPlain>)->Name("page/render");
BENCHMARK(page_render<TextFormat::kOpenMetrics>)->Name("page/render OpenMetrics");

// The same table by the library: its serializer alone, given the model for nothing.
void page_prometheus_cpp(benchmark::State& state) {
  const Board board(kPageBoard);
  const auto model = prometheus_model(board.table);
  const prometheus::TextSerializer serializer;
  for (auto _ : state) {
    std::ostringstream out;
    serializer.Serialize(out, model);
    benchmark::DoNotOptimize(out.str());
  }
}
BENCHMARK(page_prometheus_cpp)->Name("page/prometheus-cpp");

}  // namespace
}  // namespace jetmem

int main(int argc, char** argv) {
  jetmem::register_parsers();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
