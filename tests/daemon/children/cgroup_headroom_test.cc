// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/cgroup_headroom.h"

#include <gtest/gtest.h>

#include "tests/temp_dir.h"

namespace jetmem {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

class OwnLimit : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) { temporary.write(path, text + "\n"); }
  void put(const std::string& path, std::uint64_t bytes) { put(path, std::to_string(bytes)); }
  TempDir temporary;
  std::string root = temporary.path();
};

TEST_F(OwnLimit, TheLeastOfAllAboveWhereThereAreCgroups) {
  EXPECT_FALSE(cgroup_headroom(root));
  EXPECT_TRUE(check_probe_headroom(root, 64 * kMiB, true));
  put("/proc/self/cgroup", "0::/");
  EXPECT_FALSE(cgroup_headroom(root));
  put("/proc/self/cgroup", "0::/system.slice/jetmemd.service");
  const std::string slice = "/sys/fs/cgroup/system.slice";
  put(slice + "/jetmemd.service/memory.max", "max");
  put(slice + "/jetmemd.service/memory.current", 20 * kMiB);
  EXPECT_FALSE(cgroup_headroom(root));
  put(slice + "/jetmemd.service/memory.max", 64 * kMiB);
  EXPECT_EQ(cgroup_headroom(root), 44 * kMiB);
  put(slice + "/jetmemd.service/memory.stat", "anon 1\ninactive_file " + std::to_string(10 * kMiB));
  EXPECT_EQ(cgroup_headroom(root), 54 * kMiB) << "what is only cache makes room";
  put(slice + "/memory.max", 100 * kMiB);
  put(slice + "/memory.current", 70 * kMiB);
  EXPECT_EQ(cgroup_headroom(root), 30 * kMiB);
  put(slice + "/memory.current", 170 * kMiB);
  EXPECT_EQ(cgroup_headroom(root), 0U) << "lowered while in use";
  put(slice + "/memory.max", "max");
  put(slice + "/jetmemd.service/memory.high", 21 * kMiB);
  EXPECT_EQ(cgroup_headroom(root), 11 * kMiB);
}

TEST_F(OwnLimit, OfTheFirstVersion) {
  put("/proc/self/cgroup", "12:cpu,cpuacct:/\n9:blkio,memory:/docker/1\n0::/docker/1");
  const std::string memory = "/sys/fs/cgroup/memory";
  put(memory + "/memory.limit_in_bytes", 50 * kMiB);
  put(memory + "/memory.usage_in_bytes", 8 * kMiB);
  put(memory + "/memory.stat", "inactive_file 1\ntotal_inactive_file " + std::to_string(kMiB));
  EXPECT_EQ(cgroup_headroom(root), 43 * kMiB) << "a container's cgroup is the mount's root";
  put(memory + "/docker/1/memory.limit_in_bytes", 10 * kMiB);
  put(memory + "/docker/1/memory.usage_in_bytes", 8 * kMiB);
  EXPECT_EQ(cgroup_headroom(root), 2 * kMiB);
}

TEST_F(OwnLimit, AProbeWantsItsFramesAndItself) {
  put("/proc/self/cgroup", "0::/a");
  put("/sys/fs/cgroup/a/memory.current", "0");
  put("/sys/fs/cgroup/a/memory.max", 88 * kMiB);
  EXPECT_TRUE(check_probe_headroom(root, 12 * kMiB, false));
  const auto cuda = check_probe_headroom(root, 12 * kMiB, true);
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.error().code, Errc::kSkipped);
  EXPECT_EQ(cuda.error().message,
            "jetmemd's own unit leaves only 88MiB, and 280 are wanted: enable "
            "jetmem-probe.socket, which has limits of its own");
  EXPECT_FALSE(check_probe_headroom(root, 12 * kMiB + 1, false));
  put("/sys/fs/cgroup/a/memory.max", 280 * kMiB);
  EXPECT_TRUE(check_probe_headroom(root, 12 * kMiB, true));
}

}  // namespace
}  // namespace jetmem
