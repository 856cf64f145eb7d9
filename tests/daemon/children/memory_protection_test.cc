// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/memory_protection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/temp_dir.h"

namespace jetmem {
namespace {

constexpr const char* kService = "/system.slice/jetmemd.service";
constexpr double kMebibyte = 1U << 20;

// Trees as the kernel lays them out: version 2 on Debian 12, a hybrid on Ubuntu 20.04 and Debian
// 11, a container.
class MemoryProtectionTest : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) { root.write(path, text + "\n"); }
  void low(const std::string& directory, const std::string& text,
           const std::string& mount = "sys/fs/cgroup") {
    put(mount + directory + "/memory.low", text);
  }
  void own(const std::string& lines) { put("proc/self/cgroup", lines); }
  void controllers(const std::string& names, const std::string& mount = "sys/fs/cgroup") {
    put(mount + "/cgroup.controllers", names);
  }
  void expect_low(double bytes) {
    const MemoryProtection found = read_memory_protection(root.path());
    ASSERT_TRUE(found.low) << found.absent_reason;
    EXPECT_EQ(*found.low, bytes);
    EXPECT_EQ(found.absent_reason, "");
  }
  void expect_absent(const char* reason) {
    const MemoryProtection found = read_memory_protection(root.path());
    EXPECT_FALSE(found.low);
    EXPECT_EQ(found.absent_reason, reason);
  }
  TempDir root;
};

TEST_F(MemoryProtectionTest, TheLeastOfTheCgroupAndThoseAbove) {
  controllers("cpuset cpu io memory hugetlb pids rdma misc");
  own("0::/system.slice/jetmemd.service");
  low(kService, "25165824");
  low("/system.slice", "25165824");
  expect_low(24 * kMebibyte);
  low("/system.slice", "8388608");
  expect_low(8 * kMebibyte);
  low("/system.slice", "max");
  expect_low(24 * kMebibyte);
  low(kService, "max");
  expect_low(INFINITY);
  low("/system.slice", "0");
  expect_low(0);
}

TEST_F(MemoryProtectionTest, VersionOneHasNoSuchFile) {
  own("12:blkio:/system.slice\n9:memory:/system.slice/jetmemd.service\n"
      "1:name=systemd:/system.slice/jetmemd.service\n0::/system.slice/jetmemd.service");
  controllers("", "sys/fs/cgroup/unified");
  put(std::string("sys/fs/cgroup/memory") + kService + "/memory.limit_in_bytes", "67108864");
  expect_absent("cgroup_v1");
  // Several controllers in one hierarchy.
  own("3:cpuset,memory,pids:/a");
  expect_absent("cgroup_v1");
  // cgroup_disable=memory, as Raspberry Pi's firmware sets: of version 1, which may then be the
  // only one, and of version 2.
  own("4:pids:/user.slice");
  expect_absent("no_memory_controller");
  own("0::/system.slice/jetmemd.service");
  controllers("cpuset cpu io pids memory_like");
  put(std::string("sys/fs/cgroup") + kService + "/cgroup.procs", "1");
  expect_absent("no_memory_controller");
}

TEST_F(MemoryProtectionTest, TheSecondVersionBesideTheFirst) {
  own("2:pids:/system.slice/jetmemd.service\n0::/system.slice/jetmemd.service");
  std::filesystem::create_directories(root.file("sys/fs/cgroup/unified") + kService);
  controllers("", "sys/fs/cgroup/unified");
  expect_absent("no_memory_controller");
  controllers("memory", "sys/fs/cgroup/unified");
  expect_low(0);
  low(kService, "4096", "sys/fs/cgroup/unified");
  low("/system.slice", "8192", "sys/fs/cgroup/unified");
  expect_low(4096);
}

// Charged to the next one above that counts memory.
TEST_F(MemoryProtectionTest, ACgroupWithoutTheController) {
  own("0::/user.slice/user-1000.slice/session-1.scope");
  controllers("memory");
  const std::string user = "/user.slice/user-1000.slice";
  put("sys/fs/cgroup" + user + "/session-1.scope/cgroup.procs", "1");
  expect_low(0);
  low("/user.slice", "1048576");
  expect_low(kMebibyte);
  low(user, "4096");
  expect_low(4096);
}

TEST_F(MemoryProtectionTest, TheRootCgroupAndInAContainer) {
  own("0::/");
  controllers("memory pids");
  expect_low(0);
  // Its own cgroup is mounted as the root, and has the file.
  low("", "0");
  expect_low(0);
  low("", "1048576");
  expect_low(kMebibyte);
  own("0::/inner");
  low("/inner", "8192");
  expect_low(8192);
  // The path is the host's, the mount the container's.
  own("0::/docker/0123456789ab");
  expect_absent("hidden");
  own("0::/../../elsewhere");
  expect_absent("hidden");
}

TEST_F(MemoryProtectionTest, WhatCannotBeReadIsUnknown) {
  expect_absent("unreadable");
  own("0::/system.slice/jetmemd.service");
  expect_absent("hidden");
  controllers("memory");
  low("/system.slice", "25165824");
  for (const char* text : {"24M", ""}) {
    low(kService, text);
    expect_absent("unreadable");
  }
  const std::string file = root.file(std::string("sys/fs/cgroup") + kService + "/memory.low");
  std::filesystem::remove(file);
  std::filesystem::create_directories(file);
  expect_absent("unreadable");
  std::filesystem::remove(file);
  low(kService, "4096");
  std::filesystem::remove(root.file("sys/fs/cgroup/system.slice/memory.low"));
  expect_absent("unreadable");
}

TEST_F(MemoryProtectionTest, EndlessTextIsRefused) {
  own(std::string(100'000, 'x'));
  expect_absent("unreadable");
  own("garbage\n::\n0:");
  expect_absent("no_memory_controller");
  std::string deep = "0::";
  for (int i = 0; i < 100; ++i) deep += "/a";
  own(deep);
  controllers("memory");
  std::filesystem::create_directories(root.file("sys/fs/cgroup" + deep.substr(3)));
  expect_absent("unreadable");
}

TEST_F(MemoryProtectionTest, WritesTheBytesOrTheReason) {
  SampleTable table;
  const std::size_t section = table.add_section("own");
  const auto write = [&](const MemoryProtection& protection) {
    SampleWriter out(table, section, Nanoseconds(1));
    write_memory_protection(out, protection);
  };
  write({24 * kMebibyte, {}});
  EXPECT_EQ(table.value_of("jetmem_daemon_memory_low_bytes"), 24 * kMebibyte);
  write({std::nullopt, "cgroup_v1"});
  EXPECT_TRUE(std::isnan(table.value_of("jetmem_daemon_memory_low_bytes")));
  EXPECT_EQ(table.value_of("jetmem_daemon_memory_low_absent{reason=\"cgroup_v1\"}"), 1);
}

}  // namespace
}  // namespace jetmem
