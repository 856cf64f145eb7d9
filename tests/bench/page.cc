// SPDX-License-Identifier: Apache-2.0
// What writing the page as text costs beside prometheus-cpp's serializer, for scripts/bench.
#include <benchmark/benchmark.h>
#include <prometheus/text_serializer.h>

#include <sstream>
#include <string>

#include "base/root/root.h"
#include "collectors/sampler/registry.h"
#include "collectors/sampler/sampler.h"
#include "health/registry.h"
#include "report/exposition/exposition.h"
#include "tests/report/exposition/prometheus_model.h"

namespace jetmem {
namespace {

// Everything a board gives, once.
class Board {
 public:
  Board() {
    for (std::size_t i = 0; i < sampler_.size(); ++i) sampler_.collect(i);
    sampler_.finish_cycle();
  }
  SampleTable table;

 private:
  Root root_ = Root::at(std::string(JETMEM_FIXTURES) + "/orin-nano-8gb").value();
  SystemClock clock_;
  Sampler sampler_{root_, clock_, table, make_all_sources(), make_derived_metrics(), {}};
};

void render(benchmark::State& state) {
  const Board board;
  Page page;
  fill_page(board.table, Nanoseconds(0), 1, page);
  std::string out;
  for (auto _ : state) {
    out.clear();
    render_text(page, TextFormat::kPlain, out);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(render)->Name("page/render");

// The same table by the library: its serializer alone, given the model for nothing.
void prometheus_cpp(benchmark::State& state) {
  const Board board;
  const auto model = prometheus_model(board.table);
  const prometheus::TextSerializer serializer;
  for (auto _ : state) {
    std::ostringstream out;
    serializer.Serialize(out, model);
    benchmark::DoNotOptimize(out.str());
  }
}
BENCHMARK(prometheus_cpp)->Name("page/prometheus-cpp");

}  // namespace
}  // namespace jetmem

BENCHMARK_MAIN();
