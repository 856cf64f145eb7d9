// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

CommandRun nvmap(const std::string& root, std::vector<std::string> options = {}) {
  std::vector<std::string> arguments{"nvmap", "--root", root};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_command(arguments);
}
std::string board(const char* name) { return std::string(JETMEM_FIXTURES) + "/" + name; }

TEST(NvmapCommand, PrintsTheLargestFirst) {
  const CommandRun run = nvmap(board("orin-nano-8gb"));
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, HasSubstr("iovmm"));
  const std::size_t llama = run.out.find("llama-server");
  const std::size_t gnome = run.out.find("gnome-shell");
  ASSERT_NE(llama, std::string::npos);
  EXPECT_LT(llama, gnome);
  EXPECT_THAT(run.out, HasSubstr("2460"));
  EXPECT_THAT(run.out, HasSubstr("27 MiB"));  // orphaned
}

TEST(NvmapCommand, AsJson) {
  const CommandRun run = nvmap(board("orin-nano-8gb"), {"--json"});
  EXPECT_EQ(run.status, 0);
  const json out = json::parse(run.out);
  EXPECT_EQ(out["clients"][0]["process"], "llama-server");
  EXPECT_EQ(out["clients"][0]["pid"], 2460);
  EXPECT_EQ(out["clients"][0]["bytes"], 2228224LL * 1024);
  EXPECT_EQ(out["heaps"][0]["heap"], "iovmm");
  EXPECT_EQ(out["heaps"][0]["orphan_handles"], 3);
  EXPECT_FALSE(out["heaps"][0].contains("size_bytes")) << "unknown values are omitted";
  EXPECT_FALSE(out.contains("tables")) << "only with --maps";
}

TEST(NvmapCommand, MapsNeedAnOptionAndWarn) {
  TempDir dir;
  const std::string folder = "sys/kernel/debug/nvmap/iovmm/";
  dir.write(folder + "clients",
            "CLIENT                        PROCESS      PID        SIZE\n"
            "user                         gpu_burn     7979        100K\n"
            "total                                             100K\n"
            "total                                                 100K\n");
  dir.write(folder + "maps", "a buffer of \033[2Jgpu_burn\n");
  EXPECT_THAT(nvmap(dir.path()).out, Not(HasSubstr("a buffer")));
  const CommandRun run = nvmap(dir.path(), {"--maps"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("may stall"));
  EXPECT_THAT(run.err, HasSubstr("1 malformed"));
  EXPECT_THAT(run.out, HasSubstr("/sys/kernel/debug/nvmap/iovmm/maps"));
  EXPECT_THAT(run.out, HasSubstr("a buffer of ?[2Jgpu_burn"));
  EXPECT_THAT(run.out, Not(HasSubstr("procrank")));
  const json out = json::parse(nvmap(dir.path(), {"--maps", "--json"}).out);
  EXPECT_EQ(out["tables"][0]["lines"][0], "a buffer of ?[2Jgpu_burn");
}

TEST(NvmapCommand, GivesTheReasonForNoData) {
  const CommandRun denied = nvmap(board("agx-orin"));
  EXPECT_EQ(denied.status, kExitUnknown);
  EXPECT_EQ(denied.out, "");
  EXPECT_THAT(denied.err, HasSubstr("denied"));
  EXPECT_THAT(denied.err, HasSubstr("sudo"));
  const CommandRun absent = nvmap(board("x86-pc"));
  EXPECT_EQ(absent.status, kExitUnknown);
  EXPECT_THAT(absent.err, HasSubstr("absent: no nvmap on this machine"));
  EXPECT_EQ(nvmap("/nowhere").status, kExitNoInput);
}

TEST(NvmapCommand, AWrongCommandLineIsAUsageError) {
  EXPECT_EQ(run_command({"nvmap", "--map"}).status, kExitUsage);
}

}  // namespace
}  // namespace jetmem
