// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "tests/boards.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

const std::string kBoard = board("orin-nano-8gb");

void expect_narrow(std::string text) {
  // One model's name is longer; no table is.
  const std::size_t title = text.find("WHERE THE MEMORY WENT");
  if (title != text.npos) text.erase(title, text.find('\n', title) - title);
  EXPECT_LE(widest(text), 80U) << text;
}

TEST(TopCommand, ShowsHolders) {
  const CommandRun run = run_command({"top", "--root", kBoard});
  EXPECT_TRUE(gives(run, 0, {"llama-server", "3 buffers, see below", "Do not add totals up"}));
  EXPECT_TRUE(has_none(run.out, {"no process holds them"}));
  expect_narrow(run.out);
}

TEST(TopCommand, SortsAndCuts) {
  const auto json = json_of({"top", "--root", kBoard, "--sort", "gpu", "--limit", "2"});
  ASSERT_EQ(json["groups"].size(), 2U);
  EXPECT_EQ(json["groups"][1]["command"], "gst-launch-1.0");
  EXPECT_EQ(json["groups_omitted"], 5);
}

TEST(TopCommand, DeniedIsNotZero) {
  const auto json = json_of({"top", "--root", board("agx-orin")});
  EXPECT_TRUE(json["nvmap"].empty());
  EXPECT_TRUE(has_all(json["absent"]["nvmap"].get<std::string>(), {"denied"}));
  EXPECT_EQ(json["memory"]["unaccounted_includes_unknown"], true);
}

TEST(TopGpu, TheLargestFirstWithItsPid) {
  const auto json = json_of({"top", "--gpu", "--root", kBoard});
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
  EXPECT_TRUE(has_none(text.out, {"MEMORY OF LINUX"}));
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
  EXPECT_TRUE(has_none(gpu({"--gpu"}).out, {"a buffer"}));
  const CommandRun run = gpu({"--gpu", "--maps"});
  EXPECT_TRUE(gives(run, kExitOk, {"1 malformed", "/sys/kernel/debug/nvmap/iovmm/maps"}));
  EXPECT_TRUE(has_none(run.err, {"may stall"})) << "nothing runs in a folder";
  EXPECT_TRUE(has_none(run.out, {"procrank"}));
  const auto json = nlohmann::json::parse(gpu({"--gpu", "--maps", "--json"}).out);
  EXPECT_EQ(json["tables"][0]["lines"][0], "a buffer of ?[2Jgpu_burn");
  EXPECT_EQ(json["nvmap"][0]["heap"], "iovmm");
}

TEST(TopGpu, UnknownHasAReason) {
  for (const auto& [name, why, status] :
       {std::tuple("agx-orin", "denied", kExitUnknown), std::tuple("x86-pc", "absent", kExitOk),
        std::tuple("raspberry-pi-5", "absent", kExitOk)}) {
    const CommandRun run = run_command({"top", "--gpu", "--root", board(name), "--json"});
    EXPECT_EQ(run.status, status) << name;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_TRUE(has_all(json["absent"]["nvmap"].get<std::string>(), {why})) << name;
  }
}

TEST(TopGpu, OtherDriversReportByClient) {
  const auto json = json_of({"top", "--gpu", "--root", board("raspberry-pi-5")});
  ASSERT_EQ(json["drm"].size(), 1U);
  EXPECT_EQ(json["drm"][0]["driver"], "v3d");
  EXPECT_EQ(json["drm"][0]["total_bytes"], (61440 + 148480) * 1024);
  EXPECT_EQ(json["drm"][0]["processes"][0]["process"], "chromium");
  EXPECT_EQ(json["drm"][0]["processes"][1]["bytes"], 61440 * 1024);
  EXPECT_EQ(json["drm_clients_unreported"], 1);
  EXPECT_EQ(json["groups"][1]["gpu_bytes"], 61440 * 1024);
}

TEST(Top, ServicesAndContainersByTheirLimits) {
  const auto second = json_of({"top", "--root", board("orin")})["cgroups"];
  EXPECT_EQ(second[0]["container"], "4be1c07d9a3f");
  EXPECT_EQ(second[0]["limit_bytes"], 2048LL << 20);
  EXPECT_EQ(second[0]["oom_kills"], 0);
  EXPECT_EQ(second[1]["unit"], "jetmemd.service");
  const auto first = json_of({"top", "--root", board("xavier-nx")})["cgroups"];
  EXPECT_EQ(first[0]["container"], "9d02b7c41f5e");
  EXPECT_EQ(first[0]["swap_bytes"], 80 << 20);
  EXPECT_EQ(first[0]["oom_kills"], 2);
  EXPECT_FALSE(first[0].contains("stall_ratio"));
}

TEST(MapCommand, AddsUpToTheModule) {
  const CommandRun run = run_command({"map", "--root", kBoard});
  EXPECT_TRUE(gives(run, 0, {"pva-carveout"}));
  expect_narrow(run.out);
  for (const char* name : kWholeBoards) {
    const auto json = json_of({"map", "--root", board(name)});
    const double whole = json.value("module_bytes", json.value("physical_bytes", 0.0));
    EXPECT_EQ(json["sum_bytes"], whole) << name;
    EXPECT_EQ(json["missing_bytes"], 0) << name;
  }
}

// One memory, one reckoning: what Linux has of it is the same wherever it is shown.
TEST(Views, AgreeOnEveryBoard) {
  for (const char* name : kWholeBoards) {
    SCOPED_TRACE(name);
    const auto json = [&](const char* command) {
      return json_of({command, "--root", board(name)});
    };
    const auto status = json("status")["memory"]["budget"];
    const auto top = json("top")["memory"];
    EXPECT_EQ(top, json("map")["memory"]);
    ASSERT_EQ(status["parts"].size(), top["parts"].size() + 1);
    for (std::size_t i = 0; i < top["parts"].size(); ++i) {
      const auto& part = status["parts"][i + 1];
      ASSERT_EQ(part["part"], top["parts"][i]["part"]);
      // The kernel's has what it took before MemTotal was counted.
      EXPECT_TRUE(part["part"] == "kernel" || part == top["parts"][i]) << part;
    }
    EXPECT_NEAR(status["unaccounted_bytes"].get<double>(), top["unaccounted_bytes"].get<double>(),
                4096);
    EXPECT_EQ(status["unaccounted_includes_unknown"], top["unaccounted_includes_unknown"]);
  }
}

TEST(Views, BriefJsonIsOneLine) {
  const CommandRun run = run_command({"status", "--root", kBoard, "--brief", "--json"});
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1);
  EXPECT_EQ(nlohmann::json::parse(run.out)["host"], "orin-nano-8gb");
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
  const auto json = json_of({"map", "--root", root.path()});
  EXPECT_TRUE(json["memory"].contains("contradiction"));
  EXPECT_FALSE(json.contains("physical_bytes"));
  EXPECT_TRUE(json["parts"].empty());
  EXPECT_EQ(json["absent"]["parts"], json["memory"]["contradiction"]);
  for (const char* command : {"map", "status", "top"}) {
    EXPECT_TRUE(has_all(run_command({command, "--root", root.path()}).out, {"contradicts"}))
        << command;
  }
}

// The documented procedure: set cma=, reboot, verify.
TEST(Cma, ARequestThatWasNotMetIsSaidWhereItIsVerified) {
  const auto made = [](const TempDir& root, const char* cma, const char* kernel = "5.15.148") {
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
  const std::string fits = made(one, "cma=256M");
  const std::string fails = made(two, "cma=1G");
  const auto met = json_of({"cma", "--root", fits});
  EXPECT_EQ(met["requested_bytes"], 256 << 20);
  EXPECT_FALSE(met.contains("reservation"));
  EXPECT_TRUE(json_of({"cma", "--root", fails}).contains("reservation"));
  for (const std::vector<std::string>& command : {std::vector<std::string>{"cma", "--root", fails},
                                                  {"doctor", "--step", "cma", "--root", fails},
                                                  {"diff", fits, fails}}) {
    EXPECT_TRUE(has_all(run_command(command).out, {"1 GiB requested (cma=), 256 MiB reserved"}))
        << command[0];
  }
  const TempDir three;
  const std::string old = made(three, "cma=1G", "4.9.337");
  const auto status = [](const std::string& root) {
    return run_command({"doctor", "--step", "cma", "--root", root}).status;
  };
  EXPECT_EQ(status(old), status(fits)) << "this kernel prefers the device tree";
  EXPECT_NE(status(fails), status(fits));
}

}  // namespace
}  // namespace jetmem
