// SPDX-License-Identifier: Apache-2.0
// NVIDIA's own nvmap, captured while a client allocated, shared, orphaned and leaked what its
// script says: each object against what jetmem makes of it. One tree is a fixture; the others lie
// beside the corpus, and without them their tests are skipped.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using nlohmann::json;

constexpr double kKib = 1024;
constexpr double kMib = 1024 * kKib;

// The archive, unpacked once. Empty: there is none.
std::optional<std::string> captures() {
  static const TempDir folder;
  static const std::optional<std::string> location = [&]() -> std::optional<std::string> {
    const char* corpus = std::getenv("JETMEM_CORPUS");
    if (corpus == nullptr) return std::nullopt;
    const auto archive =
        std::filesystem::path(corpus).parent_path() / "vm" / "l4t" / "capture.tar.zst";
    if (!std::filesystem::exists(archive)) return std::nullopt;
    const std::string unpack =
        "tar -C '" + folder.path() + "' --zstd -xf '" + archive.string() + "'";
    EXPECT_EQ(std::system(unpack.c_str()), 0) << unpack;  // NOLINT(cert-env33-c)
    return folder.path();
  }();
  return location;
}

constexpr const char* kFixture = "nvmap-clients";

class NvmapClients : public testing::Test {
 protected:
  static std::string tree(const std::string& name) {
    return name == kFixture ? board(name) : *captures() + "/" + name;
  }
  static std::string text_of(const std::string& name, const std::string& command,
                             const std::string& option = {}) {
    std::vector<std::string> arguments{command, "--root", tree(name)};
    if (!option.empty()) arguments.push_back(option);
    const CommandRun run = run_command(arguments);
    return run.out + run.err;
  }
  static json top_of(const std::string& name) {
    return json_of({"top", "--root", tree(name), "--limit", "100"});
  }
  // Of `jetmem metrics`, by series.
  static std::map<std::string, double> metrics_of(const std::string& name) {
    std::map<std::string, double> out;
    const CommandRun run = run_command({"metrics", "--root", tree(name)});
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t blank = line.rfind(' ');
      if (line.empty() || line.front() == '#' || blank == std::string::npos) continue;
      out[line.substr(0, blank)] = std::strtod(line.c_str() + blank, nullptr);
    }
    return out;
  }
};

class NvmapCaptures : public NvmapClients {
 protected:
  void SetUp() override {
    if (!captures()) {
      GTEST_SKIP() << "SKIPPED: no vm/l4t/capture.tar.zst beside what JETMEM_CORPUS names";
    }
  }
};

// Of buffers of all clients that ended, one is known, and may be another's.
void expect_ended(const json& top) {
  ASSERT_EQ(top["nvmap_ended"].size(), 1U);
  const json& ended = top["nvmap_ended"][0];
  EXPECT_EQ(ended["process"], "daemonized");
  EXPECT_EQ(ended["holder"], "worker");
  EXPECT_EQ(ended["bytes"], 11 * kMib);
  EXPECT_EQ(ended["certain"], false) << "the capture did not compare open files";
}

struct Held {
  const char* command;
  double gpu;
  double dmabuf = 0;
  double mapped = 0;
};

void expect_groups(const json& top, const std::vector<Held>& all) {
  for (const Held& held : all) {
    SCOPED_TRACE(held.command);
    const auto is_it = [&](const json& each) { return each["command"] == held.command; };
    const auto group = std::find_if(top["groups"].begin(), top["groups"].end(), is_it);
    ASSERT_NE(group, top["groups"].end());
    // nvmap cuts what it charges to whole KiB.
    EXPECT_NEAR((*group)["gpu_bytes"], held.gpu, kKib);
    EXPECT_NEAR((*group)["dmabuf_bytes"], held.dmabuf, kKib);
    EXPECT_EQ((*group)["mapped_bytes"], held.mapped);
    EXPECT_NEAR((*group)["total_bytes"],
                (*group)["resident_bytes"].get<double>() + held.gpu + held.dmabuf - held.mapped,
                2 * kKib);
  }
}

TEST_F(NvmapClients, EachObjectOfTheClientIsWhereItBelongs) {
  const json top = top_of(kFixture);
  constexpr double kThird = 10489856 / 3.0;
  expect_groups(top, {
                         {"nvargus-daemon", 24 * kMib + 4 * kKib + 72 * kKib +  // iovmm
                                                9 * kMib + 128 * kKib},         // carve-outs
                         {"llama-server", 40 * kMib, 0, 40 * kMib},             // mapped
                         {"producer2", 4 * kMib, 4 * kMib},                     // half is charged
                         {"consumer2", 4 * kMib},                               // no descriptor
                         {"producer3", kThird, 2 * kThird},                     // a third
                         {"consumer3a", kThird, 2 * kThird},
                         {"consumer3b", kThird, 2 * kThird},
                         {"fdholder", 0, 6 * kMib},
                         {"cofdholder", 0, 2 * kMib},
                         {"mapper", 0, 7 * kMib, 7 * kMib},
                         {"dup", 9 * kMib},
                         {"fromva", 16 * kMib},
                         {"part", 20 * kMib, 8 * kMib},  // its part is a buffer of its own
                         {"named", 2 * kMib},
                     });
  EXPECT_EQ(top["nvmap_total_bytes"], 183504 * kKib);
  std::map<std::string, double> clients;
  for (const json& heap : top["nvmap"]) {
    for (const json& client : heap["processes"]) {
      clients[client["process"]] += client["bytes"].get<double>();
    }
  }
  // Also of one with a line break in its name.
  for (const char* name : {"a?b", "t?ab", "", "total", "other", "two words"}) {
    EXPECT_EQ(clients[name], kMib) << name;
  }
  EXPECT_EQ(clients.count("unalloc"), 0U) << "a handle without memory";
  expect_ended(top);
}

TEST_F(NvmapClients, WhatHasNoClientHasItsHolders) {
  const json top = top_of(kFixture)["nvmap_clientless"];
  std::map<std::string, double> holders;
  for (const json& holder : top["holders"]) {
    holders[holder["process"]] = holder["bytes"].get<double>();
  }
  const std::map<std::string, double> expected{
      {"fdholder", 6 * kMib}, {"cofdholder", 2 * kMib}, {"mapper", 7 * kMib}, {"part", 8 * kMib}};
  EXPECT_EQ(holders, expected);
  EXPECT_EQ(top["held_bytes"], 23 * kMib);
  EXPECT_EQ(top["bytes"], 23 * kMib);
  EXPECT_EQ(top["orphaned_bytes"], 0);
  for (const char* command : {"nvmap", "top", "doctor"}) {
    const std::string text =
        text_of(kFixture, command, command == std::string("doctor") ? "--all" : "");
    EXPECT_TRUE(has_all(text, {"mapper"})) << command;
    EXPECT_TRUE(has_none(text, {"no process holds", "malformed"})) << command;
  }
}

TEST_F(NvmapClients, PartsNeverExceedTheWholeUnsaid) {
  const json memory = json_of({"map", "--root", tree(kFixture)})["memory"];
  EXPECT_EQ(memory["unaccounted_bytes"], 0);
  // 16 MiB given to nvmap and 8 MiB of a part are counted twice, less what nothing counts.
  EXPECT_GT(memory["overlap_bytes"], 0);
  EXPECT_LT(memory["overlap_bytes"], 24 * kMib);
  EXPECT_TRUE(has_all(text_of(kFixture, "map"), {"counted twice"}));
  const json dmabuf = top_of(kFixture)["dmabuf"];
  EXPECT_EQ(dmabuf["of_nvmap_bytes"], 302174208) << "100 MiB without memory, duplicates, a part";
  EXPECT_EQ(dmabuf["allocated_by_nvmap_bytes"], 183504 * kKib);
}

TEST_F(NvmapCaptures, NvmapsOwnCountBelowZeroMisleadsNobody) {
  const std::map<std::string, double> heaps{
      {"main", 183504 * kKib}, {"va", 183504 * kKib}, {"ended", 0}, {"below-zero", 0}};
  for (const auto& [name, bytes] : heaps) {
    SCOPED_TRACE(name);
    EXPECT_EQ(metrics_of(name)["jetmem_nvmap_total_bytes"], bytes);
    const json top = top_of(name);
    double sum = 0;
    for (const json& heap : top["nvmap"]) sum += heap["bytes"].get<double>();
    EXPECT_EQ(sum, bytes);
    EXPECT_EQ(top["nvmap_total_bytes"], bytes);
    const std::string doctor = text_of(name, "doctor", "--all");
    EXPECT_TRUE(has_all(doctor, {bytes > 0 ? "hold 179 MiB" : "hold 0 B"}));
    EXPECT_TRUE(has_none(doctor, {"not a Jetson"}));
    for (const char* command : {"nvmap", "top", "map", "status", "plan", "metrics"}) {
      EXPECT_TRUE(has_none(text_of(name, command), {"e+19", "EiB"})) << command;
    }
  }
}

TEST_F(NvmapCaptures, OnABoardOfToday) {
  const json top = top_of("clean");
  expect_groups(top, {{"nvargus-daemon", 32 * kMib + 76 * kKib},
                      {"llama-server", 40 * kMib, 0, 40 * kMib},
                      {"cuda-like", 30 * kMib},
                      {"producer2", 4 * kMib, 4 * kMib},
                      {"consumer2", 4 * kMib},
                      {"fdholder", 0, 6 * kMib},
                      {"mapper", 0, 7 * kMib, 7 * kMib}});
  expect_ended(top);
  auto metrics = metrics_of("clean");
  EXPECT_EQ(metrics["jetmem_emc_cap_hertz"], 204e6);
  EXPECT_EQ(metrics["jetmem_dmabuf_clientless_bytes"], 13 * kMib);
  EXPECT_EQ(metrics["jetmem_nvmap_orphan_bytes{heap=\"iovmm\"}"], 13 * kMib);
  EXPECT_EQ(metrics["jetmem_nvmap_total_bytes"], 134 * kMib + 76 * kKib);
}

TEST_F(NvmapCaptures, ALeakHasItsOwner) {
  const json top = top_of("leak");
  EXPECT_EQ(top["groups"][0]["command"], "gpuleak");
  EXPECT_EQ(top["groups"][0]["gpu_bytes"], 912 * kMib);
}

TEST_F(NvmapCaptures, AnOomKillSaysWhoAskedNvmap) {
  const std::string log = *captures() + "/text/dmesg-oom-nvmap-single-request.txt";
  const CommandRun run = run_command({"decode", "kernel-log", "--json", "--causes", log});
  EXPECT_TRUE(has_all(run.out, {R"("comm":"big")", R"("allocator":"nvmap")", "oom-gpu-buffer"}));
  EXPECT_TRUE(has_none(run.out, {"oom-swap-unused"}));
}

// The page pool: 212 MiB that MemAvailable has not.
TEST_F(NvmapCaptures, ThePagePoolIsForTheGpu) {
  auto metrics = metrics_of("swapping");
  const double pool = 54316 * 4 * kKib;
  EXPECT_EQ(metrics["jetmem_nvmap_page_pool_bytes"], pool);
  EXPECT_EQ(metrics["jetmem_gpu_available_bytes"], metrics["jetmem_meminfo_MemAvailable_bytes"] -
                                                       metrics["jetmem_meminfo_CmaFree_bytes"] +
                                                       pool);
  EXPECT_TRUE(has_all(text_of("swapping", "doctor", "--all"), {"page pool has 212 MiB"}));
}

class NvmapCapture : public NvmapCaptures, public testing::WithParamInterface<const char*> {};

TEST_P(NvmapCapture, EveryTreeIsReadToItsEnd) {
  const std::string name = GetParam();
  const auto metrics = metrics_of(name);
  for (const char* source : {"nvmap", "dmabuf", "processes"}) {
    const auto absent = metrics.find(
        std::string("jetmem_source_absent_values{reason=\"malformed\",source=\"") + source + "\"}");
    if (absent != metrics.end()) {
      EXPECT_EQ(absent->second, 0) << source;
    }
  }
  const json top = top_of(name);
  EXPECT_GE(top["memory"].value("unaccounted_bytes", 0.0), 0);
  double heaps = 0;
  for (const json& heap : top["nvmap"]) heaps += heap["bytes"].get<double>();
  EXPECT_EQ(metrics.at("jetmem_nvmap_total_bytes"), heaps);
  // What has a client is in some group's GPU memory, but for what only may be a living process's.
  double gpu = 0;
  for (const json& ended : top["nvmap_ended"]) {
    if (!ended["certain"].get<bool>()) gpu += ended["bytes"].get<double>();
  }
  for (const json& group : top["groups"]) gpu += group["gpu_bytes"].get<double>();
  EXPECT_NEAR(gpu, heaps - top["nvmap_clientless"]["bytes"].get<double>(), 8 * kKib);
}
INSTANTIATE_TEST_SUITE_P(All, NvmapCapture,
                         testing::Values("main", "va", "ended", "below-zero", "empty", "clean",
                                         "hot", "swapping", "leak", "oom"));

}  // namespace
}  // namespace jetmem
