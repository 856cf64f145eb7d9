// SPDX-License-Identifier: Apache-2.0
// The small trees of tests/fixtures: which board it is, how large its module is, and what a plan
// takes it for.
#include "tests/boards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

struct Board {
  const char* name;
  const char* model;
  double module_gib;
  const char* known_as;
  double cma_mib;
  bool has_cuda;
};

void PrintTo(const Board& board, std::ostream* out) { *out << board.name; }

const Board kBoards[] = {
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

class SmallBoards : public testing::TestWithParam<Board> {};

TEST_P(SmallBoards, AreKnown) {
  const Board& board = GetParam();
  const std::string root = std::string(JETMEM_FIXTURES) + "/" + board.name;
  const CommandRun map = run_command({"--root", root, "map", "--json"});
  ASSERT_EQ(map.status, 0) << map.err;
  const auto parts = nlohmann::json::parse(map.out);
  EXPECT_EQ(parts["model"], board.model);
  EXPECT_EQ(parts["module_bytes"], board.module_gib * (1 << 30));
  EXPECT_EQ(parts["sum_bytes"], parts["module_bytes"]);
  for (const char* command : {"status", "top"}) {
    EXPECT_EQ(run_command({"--root", root, command}).err, "") << command;
  }

  const TempDir folder;
  const std::string file = folder.path() + "/plan.yaml";
  std::ofstream(file) << "models: [{name: m, weights: 1MB}]\n";
  for (const std::string device : {"this", board.known_as}) {
    const CommandRun run =
        run_command({"--root", root, "plan", "--device", device, "--json", file});
    const auto plan = nlohmann::json::parse(run.out);
    EXPECT_EQ(plan["device"]["known_as"], board.known_as);
    EXPECT_EQ(plan["device"]["module_bytes"], board.module_gib * (1 << 30));
    if (device == "this") {
      EXPECT_EQ(plan["device"]["cma_bytes"], board.cma_mib * (1 << 20));
    }
    const auto& items = plan["items"];
    EXPECT_EQ(std::any_of(items.begin(), items.end(),
                          [](const auto& item) { return item["group"] == "cuda"; }),
              board.has_cuda);
  }
}

INSTANTIATE_TEST_SUITE_P(Boards, SmallBoards, testing::ValuesIn(kBoards), BoardName());

}  // namespace
}  // namespace jetmem
