// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "tests/boards.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

const std::string kBoard = std::string(JETMEM_FIXTURES) + "/orin-nano-8gb";

void expect_narrow(const std::string& text) {
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    // One model's name is longer; no table is.
    if (text.compare(from, 21, "WHERE THE MEMORY WENT") != 0) {
      EXPECT_LE(end - from, 80U) << text.substr(from, end - from);
    }
    from = end + 1;
  }
}

TEST(TopCommand, ShowsHolders) {
  const CommandRun run = run_command({"top", "--root", kBoard});
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.out.find("llama-server"), std::string::npos);
  EXPECT_NE(run.out.find("3 buffers, see below"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("no process holds them"), std::string::npos);
  EXPECT_NE(run.out.find("Do not add totals up"), std::string::npos);
  expect_narrow(run.out);
}

TEST(TopCommand, SortsAndCuts) {
  const CommandRun run =
      run_command({"top", "--root", kBoard, "--sort", "gpu", "--limit", "2", "--json"});
  const auto json = nlohmann::json::parse(run.out);
  ASSERT_EQ(json["groups"].size(), 2U);
  EXPECT_EQ(json["groups"][1]["command"], "gst-launch-1.0");
  EXPECT_EQ(json["groups_omitted"], 5);
}

TEST(TopCommand, DeniedIsNotZero) {
  const CommandRun run =
      run_command({"top", "--root", std::string(JETMEM_FIXTURES) + "/agx-orin", "--json"});
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_TRUE(json["nvmap"].empty());
  EXPECT_NE(json["absent"]["nvmap"].get<std::string>().find("denied"), std::string::npos);
  EXPECT_EQ(json["memory"]["unaccounted_includes_unknown"], true);
}

TEST(TopGpu, TheLargestFirstWithItsPid) {
  const auto json =
      nlohmann::json::parse(run_command({"top", "--gpu", "--root", kBoard, "--json"}).out);
  EXPECT_EQ(json["sort"], "gpu");
  EXPECT_EQ(json["groups"][0]["command"], "llama-server");
  EXPECT_EQ(json["groups"][0]["pid"], 2460);
  EXPECT_EQ(json["groups"].size(), 5U) << "those without GPU memory and DMA-BUFs are omitted";
  EXPECT_EQ(json["nvmap"][0]["processes"][0]["bytes"], 2228224LL * 1024);
  EXPECT_EQ(json["nvmap"][0]["orphan_handles"], 3);
  EXPECT_EQ(json["nvmap"][0]["clients"], 5);
  EXPECT_FALSE(json["nvmap"][0].contains("carveout_bytes")) << "unknown values are omitted";
  EXPECT_EQ(json["nvmap"][1]["carveout_free_bytes"], 64 << 20);
  EXPECT_EQ(json["nvmap_allocatable_bytes"], 1587323216);
  EXPECT_FALSE(json.contains("tables")) << "only with --maps";
  const CommandRun text = run_command({"top", "--gpu", "--root", kBoard});
  EXPECT_EQ(text.status, kExitOk);
  EXPECT_EQ(run_command({"nvmap", "--root", kBoard}).out, text.out);
  EXPECT_EQ(text.out.find("MEMORY OF LINUX"), std::string::npos);
  expect_narrow(text.out);
}

TEST(TopGpu, MapsNeedAnOptionAndWarn) {
  TempDir dir;
  const std::string folder = "sys/kernel/debug/nvmap/iovmm/";
  dir.write(folder + "clients",
            "CLIENT                        PROCESS      PID        SIZE\n"
            "user                         gpu_burn     7979        100K\n"
            "total                                             100K\n"
            "total                                                 100K\n");
  dir.write(folder + "maps", "a buffer of \033[2Jgpu_burn\n");
  const auto gpu = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"top", "--root", dir.path()});
    return run_command(options);
  };
  EXPECT_EQ(gpu({"--gpu"}).out.find("a buffer"), std::string::npos);
  EXPECT_EQ(gpu({"--maps"}).status, kExitUsage);
  const CommandRun run = gpu({"--gpu", "--maps"});
  EXPECT_EQ(run.status, kExitOk);
  EXPECT_EQ(run.err.find("may stall"), std::string::npos) << "nothing runs in a folder";
  EXPECT_NE(run.out.find("1 malformed"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("/sys/kernel/debug/nvmap/iovmm/maps"), std::string::npos);
  EXPECT_EQ(run.out.find("procrank"), std::string::npos);
  const auto json = nlohmann::json::parse(gpu({"--gpu", "--maps", "--json"}).out);
  EXPECT_EQ(json["tables"][0]["lines"][0], "a buffer of ?[2Jgpu_burn");
  EXPECT_EQ(json["nvmap"][0]["heap"], "iovmm");
}

TEST(TopGpu, UnknownHasAReason) {
  struct Board {
    const char* name;
    const char* why;
    int status;
  };
  for (const auto& [board, why, status] :
       {Board{"agx-orin", "denied", kExitUnknown}, Board{"x86-pc", "absent", kExitOk},
        Board{"raspberry-pi-5", "absent", kExitOk}}) {
    const CommandRun run = run_command(
        {"top", "--gpu", "--root", std::string(JETMEM_FIXTURES) + "/" + board, "--json"});
    EXPECT_EQ(run.status, status) << board;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_NE(json["absent"]["nvmap"].get<std::string>().find(why), std::string::npos) << board;
  }
}

TEST(TopGpu, OtherDriversReportByClient) {
  const CommandRun run = run_command(
      {"top", "--gpu", "--root", std::string(JETMEM_FIXTURES) + "/raspberry-pi-5", "--json"});
  const auto json = nlohmann::json::parse(run.out);
  ASSERT_EQ(json["drm"].size(), 1U);
  EXPECT_EQ(json["drm"][0]["driver"], "v3d");
  EXPECT_EQ(json["drm"][0]["total_bytes"], (61440 + 148480) * 1024);
  EXPECT_EQ(json["drm"][0]["processes"][0]["process"], "chromium");
  EXPECT_EQ(json["drm"][0]["processes"][1]["bytes"], 61440 * 1024);
  EXPECT_EQ(json["drm_clients_unreported"], 1);
  EXPECT_EQ(json["groups"][1]["gpu_bytes"], 61440 * 1024);
}

TEST(Top, ServicesAndContainersByTheirLimits) {
  const auto cgroups = [](const std::string& board) {
    const CommandRun run =
        run_command({"top", "--root", std::string(JETMEM_FIXTURES) + "/" + board, "--json"});
    return nlohmann::json::parse(run.out)["cgroups"];
  };
  const auto second = cgroups("orin");
  EXPECT_EQ(second[0]["container"], "4be1c07d9a3f");
  EXPECT_EQ(second[0]["limit_bytes"], 2048LL << 20);
  EXPECT_EQ(second[0]["oom_kills"], 0);
  EXPECT_EQ(second[1]["unit"], "jetmemd.service");
  const auto first = cgroups("xavier-nx");
  EXPECT_EQ(first[0]["container"], "9d02b7c41f5e");
  EXPECT_EQ(first[0]["swap_bytes"], 80 << 20);
  EXPECT_EQ(first[0]["oom_kills"], 2);
  EXPECT_FALSE(first[0].contains("stall_ratio"));
}

TEST(MapCommand, AddsUpToTheModule) {
  const CommandRun run = run_command({"map", "--root", kBoard});
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.out.find("pva-carveout"), std::string::npos) << run.out;
  expect_narrow(run.out);
  for (const std::string board : kWholeBoards) {
    const std::string root = JETMEM_FIXTURES "/" + board;
    const auto json = nlohmann::json::parse(run_command({"map", "--root", root, "--json"}).out);
    const double whole = json.value("module_bytes", json.value("physical_bytes", 0.0));
    EXPECT_EQ(json["sum_bytes"], whole) << board;
    EXPECT_EQ(json["missing_bytes"], 0) << board;
  }
}

// One memory, one reckoning: what Linux has of it is the same wherever it is shown.
TEST(Views, AgreeOnEveryBoard) {
  for (const char* board : kWholeBoards) {
    const std::string root = std::string(JETMEM_FIXTURES) + "/" + board;
    const auto json = [&](const char* name) {
      return nlohmann::json::parse(run_command({name, "--root", root, "--json"}).out);
    };
    const auto status = json("status")["memory"]["budget"];
    const auto top = json("top")["memory"];
    EXPECT_EQ(top, json("map")["memory"]) << board;
    ASSERT_EQ(status["parts"].size(), top["parts"].size() + 1) << board;
    for (std::size_t i = 0; i < top["parts"].size(); ++i) {
      const auto& part = status["parts"][i + 1];
      ASSERT_EQ(part["part"], top["parts"][i]["part"]);
      // The kernel's has what it took before MemTotal was counted.
      if (part["part"] != "kernel") {
        EXPECT_EQ(part, top["parts"][i]) << board;
      }
    }
    EXPECT_NEAR(status["unaccounted_bytes"].get<double>(), top["unaccounted_bytes"].get<double>(),
                4096)
        << board;
    EXPECT_EQ(status["unaccounted_includes_unknown"], top["unaccounted_includes_unknown"]) << board;
  }
}

TEST(Views, BriefJsonIsOneLine) {
  const CommandRun run = run_command({"status", "--root", kBoard, "--brief", "--json"});
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1);
  EXPECT_EQ(nlohmann::json::parse(run.out)["host"], "orin-nano-8gb");
}

TEST(WatchCommand, NeedsATerminal) {
  const CommandRun run = run_command({"watch", "--root", kBoard});
  EXPECT_EQ(run.status, kExitUsage);
  EXPECT_NE(run.err.find("jetmem watch: "), std::string::npos);
}

// meminfo is lxcfs', of a container of 1 GiB; zoneinfo the host's, of 8 GiB.
TEST(TopMap, MeminfoOfAContainerContradictsTheHostsZones) {
  const TempDir root;
  root.write("jetmem/manifest.json",
             R"({"format": 1, "facts": {"page_size": 4096}, "errors": {}})");
  root.write("proc/meminfo", "MemTotal: 1048576 kB\nMemFree: 900000 kB\nMemAvailable: 900000 kB\n");
  root.write("proc/zoneinfo",
             "Node 0, zone   Normal\n  pages free     5000\n        min      100\n"
             "        low      200\n        high     300\n        spanned  2097152\n"
             "        present  2097152\n        managed  2000000\n  start_pfn:           0\n");
  const auto json =
      nlohmann::json::parse(run_command({"map", "--root", root.path(), "--json"}).out);
  EXPECT_TRUE(json["memory"].contains("contradiction"));
  EXPECT_FALSE(json.contains("physical_bytes"));
  EXPECT_TRUE(json["parts"].empty());
  EXPECT_EQ(json["absent"]["parts"], json["memory"]["contradiction"]);
  for (const char* command : {"map", "status", "top"}) {
    const std::string text = run_command({command, "--root", root.path()}).out;
    EXPECT_NE(text.find("contradicts"), std::string::npos) << command << "\n" << text;
  }
}

// The documented procedure: set cma=, reboot, verify.
TEST(Cma, ARequestThatWasNotMetIsSaidWhereItIsVerified) {
  const auto board = [](const TempDir& root, const char* cma, const char* kernel = "5.15.148") {
    root.write("jetmem/manifest.json",
               R"({"format": 1, "facts": {"page_size": 4096}, "errors": {}})");
    root.write("proc/meminfo",
               "MemTotal: 8000000 kB\nMemFree: 900000 kB\nMemAvailable: 900000 kB\n"
               "CmaTotal: 262144 kB\nCmaFree: 100000 kB\n");
    root.write("proc/cmdline", std::string("root=/dev/mmcblk0p1 ") + cma + " quiet\n");
    root.write("proc/sys/kernel/osrelease", std::string(kernel) + "-tegra\n");
    return root.path();
  };
  const TempDir one;
  const TempDir two;
  const std::string fits = board(one, "cma=256M");
  const std::string fails = board(two, "cma=1G");
  const auto answer = [](const std::string& root) {
    return nlohmann::json::parse(run_command({"cma", "--root", root, "--json"}).out);
  };
  EXPECT_EQ(answer(fits)["requested_bytes"], 256 << 20);
  EXPECT_FALSE(answer(fits).contains("reservation"));
  EXPECT_TRUE(answer(fails).contains("reservation"));
  const std::string said = "1 GiB requested (cma=), 256 MiB reserved";
  for (const std::vector<std::string>& command : {std::vector<std::string>{"cma", "--root", fails},
                                                  {"doctor", "--step", "cma", "--root", fails},
                                                  {"diff", fits, fails}}) {
    const std::string text = run_command(command).out;
    EXPECT_NE(text.find(said), std::string::npos) << command[0] << "\n" << text;
  }
  const TempDir three;
  const std::string old = board(three, "cma=1G", "4.9.337");
  const auto status = [](const std::string& root) {
    return run_command({"doctor", "--step", "cma", "--root", root}).status;
  };
  EXPECT_EQ(status(old), status(fits)) << "this kernel prefers the device tree";
  EXPECT_NE(status(fails), status(fits));
}

}  // namespace
}  // namespace jetmem
