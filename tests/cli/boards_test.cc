// SPDX-License-Identifier: Apache-2.0
// What jetmem says of each board of tests/fixtures: its golden page, so that every accidental
// rename, lost label or changed help text shows; which alerts fire when nothing on it changes for
// twenty minutes, and what an expert would say of it; and which board it is.
#include "tests/boards.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "cli/client/local_snapshot.h"
#include "history/query/selection.h"
#include "report/device/sample_set.h"
#include "report/exposition/exposition.h"
#include "rules/engine/engine.h"
#include "rules/model/closed_labels.h"
#include "rules/parse/check.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"
#include "tests/update.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<LocalSnapshot> snapshot(const std::string& name) {
  return must(LocalSnapshot::read(board(name), {}));
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, Page) {
  const auto shot = snapshot(GetParam());
  Page page;
  fill_page(shot->table(), shot->now(), 1, page);
  std::string text;
  render_text(page, text);
  expect_equals_file(text, std::string(JETMEM_GOLDEN) + "/" + GetParam() + ".prom");
}

INSTANTIATE_TEST_SUITE_P(Boards, Golden, testing::ValuesIn(kWholeBoards), BoardName());

// A label's value that no board has would record nothing, and nobody would notice.
TEST(Golden, TheHistoryRecordsNothingThatNoBoardHas) {
  std::vector<std::string> series;
  for (const auto& file : std::filesystem::directory_iterator(JETMEM_GOLDEN)) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) series.push_back(line);
  }
  for (const std::string_view pattern : default_recorded()) {
    if (pattern.find('{') == std::string_view::npos) continue;
    const std::string whole = std::string(pattern) + " *";
    EXPECT_TRUE(std::any_of(series.begin(), series.end(), [&](const std::string& line) {
      return fnmatch(whole.c_str(), line.c_str(), 0) == 0;
    })) << pattern;
  }
}

struct JudgedBoard {
  const char* name;
  std::set<std::string> fires;  // "JetmemSourceDenied cma"
  int status;
  // Steps of the doctor that are not fine, beside the alerts: one look cannot judge all of them.
  const char* warning;
  const char* unknown;
};

// Or ctest shows its bytes.
void PrintTo(const JudgedBoard& each, std::ostream* out) { *out << each.name; }

const JudgedBoard kJudgedBoards[] = {
    // Captured without root.
    {"agx-orin",
     {"JetmemSourceDenied cma", "JetmemSourceDenied kernel_log", "JetmemSourceDenied nvmap",
      "JetmemSourceDenied pagetypeinfo"},
     3,
     "",
     "camera cma daemon dma gpu gpu_memory hardware smmu stalls storage"},
    // The largest piece of its small area is 11 MiB; a frame is 12.
    {"nano-4gb", {"JetmemCmaFragmented 1"}, 1, "camera cma fragmentation smmu", ""},
    {"orin", {}, 1, "restart", ""},
    // Its last probe got no pinned memory; its log has a refused request of 48 MiB, and the largest
    // run is 36.
    {"orin-nano-8gb",
     {"JetmemCmaFragmented linux,cma", "JetmemProbeFailing pinned"},
     1,
     "cma oom probes restart",
     ""},
    {"raspberry-pi-5", {}, 1, "cma thermal", "restart"},
    {"thor", {}, 3, "", ""},
    {"x86-pc", {}, 3, "", "camera dma gpu hardware restart smmu stalls storage"},
    // A refused request of 95 MiB, and a largest run of 80.
    {"xavier-nx", {"JetmemCmaFragmented linux,cma"}, 1, "cma restart", ""},
    {"agx-orin-industrial", {}, 3, "", "probes restart"},
    {"dgx-spark", {}, 1, "gpu_memory", "probes restart"},
    {"igx-orin", {}, 3, "", "probes restart versions"},
    {"imx8mp-evk", {}, 3, "", "cma probes restart"},
    {"raspberry-pi-zero-2w", {}, 1, "cma", "probes restart"},
    {"rb3gen2", {}, 3, "", "cma probes restart"},
    {"rock-5b", {}, 1, "dma", "cma probes restart"},
    {"thor-t4000", {}, 3, "", "probes restart"},
};

std::string shown(const Rule& rule, const Labels& labels) {
  std::string out = rule.name;
  for (const auto& [name, value] : labels) {
    // Part of the rule's own condition, and so nothing new.
    const bool is_requested = std::any_of(
        rule.when[0].labels.begin(), rule.when[0].labels.end(),
        [&, &label = name](const LabelMatcher& m) { return m.equal && m.label == label; });
    if (!is_requested) out.append(" ").append(value);
  }
  return out;
}

// What is declared to be all values of a label must be all that is written.
TEST(ClosedLabels, HaveEveryValueOfTheBoards) {
  for (const ClosedLabel& label : closed_labels()) {
    const auto metric = MetricCatalog::of_jetmem().find(label.metric);
    ASSERT_TRUE(metric) << label.metric;
    const auto labels = metric->labels();
    EXPECT_TRUE(std::find(labels.begin(), labels.end(), label.label) != labels.end())
        << label.metric << " " << label.label;
    EXPECT_FALSE(label.values().empty());
  }
  std::set<std::string> seen;
  for (const JudgedBoard& each : kJudgedBoards) {
    const SampleSet samples = SampleSet::of(snapshot(each.name)->table());
    for (const Sample& sample : samples.all()) {
      for (const auto& [name, value] : sample.name.labels) {
        const auto known = closed_label_values(sample.name.family, name);
        if (known.empty()) continue;
        seen.insert(sample.name.family + " " + name);
        EXPECT_TRUE(std::find(known.begin(), known.end(), value) != known.end())
            << each.name << ": " << sample.name.key();
      }
    }
  }
  EXPECT_GT(seen.size(), 20U);
}

class JudgedBoards : public testing::TestWithParam<JudgedBoard> {};

// Silence but for what is really in the tree.
TEST_P(JudgedBoards, FireTheirAlerts) {
  const auto shot = snapshot(GetParam().name);
  ParsedRules parsed = load_rules(shipped_rules(), MetricCatalog::of_jetmem(), 15s);
  ASSERT_TRUE(parsed.errors.empty()) << describe(parsed.errors);
  RuleEngine engine(std::move(parsed.rules), {});
  std::set<std::string> fired;
  std::set<std::string> pending;
  for (int step = 0; step < 80; ++step) {
    engine.scrape(shot->table(), 1h + step * 15s);
    engine.evaluate();
    pending.clear();
    for (std::size_t r = 0; r < engine.rules().rules.size(); ++r) {
      for (const RuleEngine::Instance& instance : engine.evaluated(r).instances) {
        const std::string name = shown(engine.rules().rules[r], *instance.labels);
        (instance.state == AlertState::kFiring ? fired : pending).insert(name);
      }
    }
  }
  EXPECT_EQ(fired, GetParam().fires);
  EXPECT_TRUE(pending.empty()) << *pending.begin() << " would fire if this went on";
  EXPECT_EQ(engine.refused_series(), 0U);
}

TEST_P(JudgedBoards, HaveTheirVerdicts) {
  const std::string root = board(GetParam().name);
  const CommandRun run = run_command({"--root", root, "doctor", "--json"});
  EXPECT_EQ(run.err, "");
  const auto answer = nlohmann::json::parse(run.out);
  EXPECT_EQ(answer["schema"], "jetmem-doctor/1");
  std::map<std::string, std::set<std::string>> steps;
  for (const auto& step : answer["steps"]) {
    steps[step["verdict"]].insert(step["step"].get<std::string>());
    EXPECT_NE(step["summary"], "") << step["step"];
  }
  steps.erase("ok");
  const auto expect = [&](const char* verdict, const std::string& names) {
    std::istringstream in(names);
    EXPECT_EQ(steps[verdict], (std::set<std::string>{std::istream_iterator<std::string>(in), {}}));
    steps.erase(verdict);
  };
  expect("warning", GetParam().warning);
  expect("unknown", std::string("alerts ") + GetParam().unknown);
  EXPECT_TRUE(steps.empty()) << steps.begin()->first;
  EXPECT_EQ(run.status, GetParam().status);

  const CommandRun text = run_command({"--root", root, "doctor", "--all"});
  EXPECT_EQ(text.status, run.status);
  EXPECT_TRUE(has_none(text.out, {"\x1b", "unknown B"}));
  EXPECT_FALSE(std::regex_search(text.out, std::regex("[^.][.][.]([^.]|$)")))
      << "a sentence that ends twice";
}

INSTANTIATE_TEST_SUITE_P(Boards, JudgedBoards, testing::ValuesIn(kJudgedBoards), BoardName());

// How large its module is, and what a plan takes it for.
struct SmallBoard {
  const char* name;
  const char* model;
  double module_gib;
  const char* known_as;
  double cma_mib;
  bool has_cuda;
};

void PrintTo(const SmallBoard& each, std::ostream* out) { *out << each.name; }

const SmallBoard kSmallBoards[] = {
    {"agx-orin-industrial", "Jetson AGX Orin Industrial", 64, "agx-orin-industrial-64gb", 256,
     true},
    {"dgx-spark", "NVIDIA_DGX_Spark", 128, "dgx-spark", 0, true},
    {"igx-orin", "NVIDIA IGX Orin Development Kit", 64, "igx-orin-64gb", 256, true},
    {"imx8mp-evk", "NXP i.MX8MPlus EVK board", 6, "imx8mp-evk", 960, false},
    {"raspberry-pi-zero-2w", "Raspberry Pi Zero 2 W Rev 1.0", 0.5, "raspberry-pi-zero-2w", 256,
     false},
    {"rb3gen2", "Qualcomm Technologies, Inc. Robotics RB3gen2", 6, "rb3gen2-6gb", 32, false},
    {"rock-5b", "Radxa ROCK 5B", 16, "rock-5b-16gb", 256, false},
    {"thor-t4000", "NVIDIA Jetson AGX Thor Developer Kit", 64, "t4000-64gb", 256, true},
};

class SmallBoards : public testing::TestWithParam<SmallBoard> {};

TEST_P(SmallBoards, AreKnown) {
  const SmallBoard& expected = GetParam();
  const std::string root = board(expected.name);
  const auto parts = json_of({"--root", root, "map"});
  EXPECT_EQ(parts["model"], expected.model);
  EXPECT_EQ(parts["module_bytes"], expected.module_gib * (1 << 30));
  EXPECT_EQ(parts["sum_bytes"], parts["module_bytes"]);
  for (const char* command : {"status", "top"}) {
    EXPECT_EQ(run_command({"--root", root, command}).err, "") << command;
  }

  const TempDir folder;
  const std::string file = folder.write("plan.yaml", "models: [{name: m, weights: 1MB}]\n");
  for (const std::string device : {"this", expected.known_as}) {
    const auto plan = json_of({"--root", root, "plan", "--device", device, file});
    EXPECT_EQ(plan["device"]["known_as"], expected.known_as);
    EXPECT_EQ(plan["device"]["module_bytes"], expected.module_gib * (1 << 30));
    if (device == "this") {
      EXPECT_EQ(plan["device"]["cma_bytes"], expected.cma_mib * (1 << 20));
    }
    const auto& items = plan["items"];
    EXPECT_EQ(std::any_of(items.begin(), items.end(),
                          [](const auto& item) { return item["group"] == "cuda"; }),
              expected.has_cuda);
  }
}

INSTANTIATE_TEST_SUITE_P(Boards, SmallBoards, testing::ValuesIn(kSmallBoards), BoardName());

}  // namespace
}  // namespace jetmem
