// SPDX-License-Identifier: Apache-2.0
// What judging rules costs, for scripts/bench: 100 rules over 500 series, each with a function over
// the last hour at 15 s, every window full.
//
//   bench_rules                   a line each: nanoseconds of CPU an evaluation, the median of
//   rounds;
//                                 of it by function; bytes; allocations
//   bench_rules count N           an evaluation of so many rules; bytes; allocations
//   bench_rules export DIR END    the same rules and series for Prometheus: DIR/rules.yml and
//                                 DIR/series.txt (OpenMetrics) whose last sample is at END
//                                 (seconds)

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "rules/engine/engine.h"
#include "rules/export/promql.h"
#include "tests/bench/count_malloc.h"
#include "tests/bench/measuring.h"

namespace jetmem {
namespace {

constexpr int kRules = 100;  // where no other number is asked for
constexpr int kSeriesOfRule = 5;
constexpr int kSteps = 241;  // an hour, both ends
constexpr std::chrono::seconds kInterval{15};

// As often as rules ask for them.
constexpr std::array kFunctions{Function::kRate,     Function::kIncrease, Function::kRate,
                                Function::kIncrease, Function::kAverage,  Function::kMaximum,
                                Function::kMinimum,  Function::kDelta,    Function::kSlope,
                                Function::kPredict,  Function::kChanges,  Function::kIncrease};

Function function_of(int rule) {
  return kFunctions[static_cast<std::size_t>(rule) % kFunctions.size()];
}
bool is_counter(int rule) {
  const Function f = function_of(rule);
  return f == Function::kRate || f == Function::kIncrease;
}
std::string metric_of(int rule) {
  return "jetmem_bench_" + std::to_string(rule) + (is_counter(rule) ? "_total" : "_bytes");
}

// Never the same twice in a row, with a counter that begins anew now and then.
double value_of(int rule, int series, int step) {
  if (is_counter(rule)) return ((step + 37 * series) % 211) * 3.0 + series;
  return 1e6 + ((step * 7919 + rule * 104729 + series * 1299709) % 10007) * 1.7;
}

RuleSet make_rules(std::optional<Function> only, int count = kRules) {
  RuleSet rules;
  for (int i = 0; i < count; ++i) {
    Rule rule;
    rule.name = "Bench" + std::to_string(i);
    rule.hold = std::chrono::minutes(1);
    Condition condition;
    condition.metric = metric_of(i);
    condition.function = function_of(i);
    if (only) condition.function = *only;
    condition.window = std::chrono::hours(1);
    if (condition.function == Function::kPredict) condition.ahead = std::chrono::hours(4);
    condition.comparison = Comparison::kAbove;
    condition.threshold.value = i % 10 == 0 ? -1e12 : 1e12;  // one in ten fires
    rule.when.push_back(condition);
    rules.rules.push_back(std::move(rule));
  }
  return rules;
}

struct Cost {
  double nanoseconds = 0;
  std::size_t bytes = 0;
  unsigned long allocations = 0;
};

Cost measure(std::optional<Function> only, int cycles, int count = kRules) {
  RuleEngine engine(make_rules(only, count), {kInterval, 64U << 20});
  std::vector<RuleEngine::SeriesId> ids;
  for (int r = 0; r < count; ++r) {
    for (int s = 0; s < kSeriesOfRule; ++s) {
      ids.push_back(*engine.series(metric_of(r), {{"area", std::to_string(s)}}));
    }
  }
  int step = 0;
  const auto one = [&](bool evaluate) {
    engine.begin(step * kInterval);
    std::size_t at = 0;
    for (int r = 0; r < count; ++r) {
      for (int s = 0; s < kSeriesOfRule; ++s) engine.set(ids[at++], value_of(r, s, step));
    }
    ++step;
    if (evaluate) engine.evaluate();
  };
  while (step < kSteps + 5) one(step >= kSteps);
  Cost cost;
  cost.bytes = engine.bytes();
  const unsigned long before = allocations_of_this_thread();
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(cycles));
  const unsigned long reserved = allocations_of_this_thread() - before;
  for (int i = 0; i < cycles; ++i) {
    times.push_back(cpu_ns_of([&] { one(true); }));
  }
  cost.allocations = allocations_of_this_thread() - before - reserved;
  cost.nanoseconds = median(std::move(times));
  return cost;
}

void print(const Cost& cost) {
  std::printf("evaluation\t%.0f\nbytes\t%zu\nallocations\t%lu\n", cost.nanoseconds, cost.bytes,
              cost.allocations);
}

int print_costs() {
  print(measure(std::nullopt, 400));
  for (const Function f : {Function::kRate, Function::kAverage, Function::kMaximum,
                           Function::kChanges, Function::kSlope}) {
    std::printf("%s\t%.0f\n", std::string(function_name(f)).c_str(),
                measure(f, 100).nanoseconds / (kRules * kSeriesOfRule));
  }
  return 0;
}

int export_to(const std::string& directory, long long end) {
  std::ofstream rules(directory + "/rules.yml");
  rules << "groups:\n- name: bench\n  rules:\n";
  for (const Rule& rule : make_rules(std::nullopt).rules) {
    rules << "  - alert: " << rule.name << "\n    expr: " << promql_expression(rule)
          << "\n    for: 1m\n";
  }
  std::ofstream series(directory + "/series.txt");
  for (int r = 0; r < kRules; ++r) {
    const std::string name = metric_of(r);
    const std::string family = is_counter(r) ? name.substr(0, name.size() - 6) : name;
    series << "# TYPE " << family << (is_counter(r) ? " counter\n" : " gauge\n");
    for (int s = 0; s < kSeriesOfRule; ++s) {
      // A few more, so that the window stays full for a while.
      for (int i = -20; i < kSteps; ++i) {
        char line[200];
        std::snprintf(line, sizeof line, "%s{area=\"%d\"} %.17g %lld\n", name.c_str(), s,
                      value_of(r, s, i + 20), end - (kSteps - 1 - i) * 15LL);
        series << line;
      }
    }
  }
  series << "# EOF\n";
  return rules && series ? 0 : 1;
}

}  // namespace
}  // namespace jetmem

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "export") {
    return jetmem::export_to(argv[2], std::strtoll(argv[3], nullptr, 10));
  }
  if (argc == 3 && std::string(argv[1]) == "count") {
    jetmem::print(jetmem::measure(std::nullopt, 50, std::atoi(argv[2])));
    return 0;
  }
  return jetmem::print_costs();
}
