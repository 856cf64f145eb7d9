// SPDX-License-Identifier: Apache-2.0
#include "collectors/cgroups/cgroups.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "collectors/processes/group/cgroup.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

const std::string kId = "4be1c07d9a3f52e86d70b1c94e2f8a635dc0718bf3a92e6450d7c1b8e93fa264";
const std::string kOther = "9d02b7c41f5e8a36d1c09e7f4b52a8c6e03f19d7b84c25a6f1e0937d4c8b5a21";
const std::string kNoLimit = "9223372036854771712";

const std::string kControllers = "/sys/fs/cgroup/cgroup.controllers";

class CgroupsTree : public TreeTest<CgroupsSource> {
 protected:
  CgroupsTree() { file(kControllers, "cpu memory pids\n"); }
  void group(const std::string& path, const std::string& leaf, const std::string& text) {
    file("/sys/fs/cgroup" + path + "/memory." + leaf, text);
  }
  void group(const std::string& path, std::uint64_t bytes, const std::string& limit = "max") {
    files("/sys/fs/cgroup" + path + "/memory.",
          "high=max max=" + limit + " current=" + std::to_string(bytes));
  }
  void first(const std::string& path, std::uint64_t bytes, const std::string& limit = kNoLimit) {
    files("/sys/fs/cgroup/memory" + path + "/memory.",
          "limit_in_bytes=" + limit + " usage_in_bytes=" + std::to_string(bytes));
  }
  const Cgroups& parse() {
    const auto ok = parse_cgroups(read(), out_);
    EXPECT_TRUE(ok) << ok.error().message;
    return out_;
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const Cgroups::Group& each : parse().groups) {
      out.push_back(each.key.unit + "|" + each.key.container);
    }
    return out;
  }
  const Cgroups::Group& one(const std::string& unit, const std::string& container = {}) {
    for (const Cgroups::Group& each : parse().groups) {
      if (each.key.unit == unit && each.key.container == container) return each;
    }
    ADD_FAILURE() << unit << "|" << container;
    return none_;
  }

  Cgroups out_;
  Cgroups::Group none_;
};

using Names = std::vector<std::string>;

TEST_F(CgroupsTree, ServicesContainersAndWhatIsLimited) {
  group("/system.slice", 900);
  group("/system.slice/camera.service", 300);
  group("/system.slice/docker-" + kId + ".scope", 400, "800");
  group("/system.slice/docker-" + kId + ".scope/init.scope", 400);
  group("/user.slice/user-1000.slice/user@1000.service", 200);
  group("/user.slice/user-1000.slice/user@1000.service/app.slice/a.service", 150);
  group("/system.slice/udev.service", 30);
  group("/system.slice/udev.service/udev", 30);
  group("/batch", 70, "100");
  group("/plain", 70);
  EXPECT_EQ(names(), (Names{"a.service|", "batch|", "camera.service|",
                            "docker-*.scope|4be1c07d9a3f", "udev.service|"}));
  EXPECT_EQ(one("docker-*.scope", "4be1c07d9a3f").limit, 800U);
  EXPECT_EQ(one("docker-*.scope", "4be1c07d9a3f").used_ratio, 0.5);
  EXPECT_EQ(one("camera.service").limit, std::nullopt);
  EXPECT_EQ(one("camera.service").used_ratio, std::nullopt);
}

TEST_F(CgroupsTree, AllFiguresOfVersion2) {
  const std::string path = "/system.slice/camera.service";
  group(path, 300, "1000");
  files("/sys/fs/cgroup" + path + "/memory.", "high=500 peak=600 swap.current=40");
  group(path, "events", "low 0\nhigh 7\nmax 3\noom 2\noom_kill 1\noom_group_kill 0\n");
  group(path, "pressure",
        "some avg10=1.00 avg60=25.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=10.00 "
        "avg300=0.00 total=3\n");
  const Cgroups::Group& group = one("camera.service");
  EXPECT_EQ(group.bytes, 300U);
  EXPECT_EQ(group.peak, 600U);
  EXPECT_EQ(group.high, 500U);
  EXPECT_EQ(group.swap, 40U);
  EXPECT_EQ(group.used_ratio, 0.6) << "of the lower limit";
  EXPECT_EQ(group.some, 0.25);
  EXPECT_EQ(group.full, 0.1);
  EXPECT_EQ(group.high_events, 7U);
  EXPECT_EQ(group.limit_events, 3U);
  EXPECT_EQ(group.ooms, 2U);
  EXPECT_EQ(group.oom_kills, 1U);
}

TEST_F(CgroupsTree, Version1WhereVersion2HasNoMemory) {
  std::filesystem::remove(dir.path() + kControllers);
  file("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
  first("", 5000);
  first("/docker", 2000);
  first("/docker/" + kId, 900, "1000");
  files("/sys/fs/cgroup/memory/docker/" + kId + "/memory.",
        "max_usage_in_bytes=1000 memsw.usage_in_bytes=950 failcnt=77");
  group("/memory/docker/" + kId, "oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  first("/system.slice/camera.service", 100);
  EXPECT_EQ(names(), (Names{"|4be1c07d9a3f", "camera.service|"}));
  const Cgroups::Group& group = one("", "4be1c07d9a3f");
  EXPECT_EQ(group.used_ratio, 0.9);
  EXPECT_EQ(group.swap, 50U);
  EXPECT_EQ(group.peak, 1000U);
  EXPECT_EQ(group.limit_events, 77U);
  EXPECT_EQ(group.oom_kills, 4U);
  EXPECT_EQ(group.some, std::nullopt);
  EXPECT_EQ(one("camera.service").limit, std::nullopt) << "near 2^63 is none";
}

// Of a pod with a limit, what its containers count is not counted again.
TEST_F(CgroupsTree, PodsOfKubernetes) {
  const std::string pod =
      "/kubepods.slice/kubepods-burstable.slice/"
      "kubepods-burstable-pod0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0.slice";
  group("/kubepods.slice", 5000, "9000");
  group(pod, 900, "1000");
  group(pod, "events", "oom_kill 3\n");
  group(pod, "events.local", "oom_kill 0\n");
  group(pod + "/cri-containerd-" + kId + ".scope", 800, "1000");
  group(pod + "/cri-containerd-" + kId + ".scope", "events", "oom_kill 3\n");
  group("/kubepods/besteffort/pod7/" + kOther, 50);
  Names found = names();
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(out_.groups[2].oom_kills, 0U) << found[2];
  found.erase(found.begin() + 2);
  EXPECT_EQ(found,
            (Names{"|9d02b7c41f5e", "cri-containerd-*.scope|4be1c07d9a3f", "kubepods.slice|"}));
  EXPECT_EQ(one("cri-containerd-*.scope", "4be1c07d9a3f").oom_kills, 3U);
}

TEST_F(CgroupsTree, ContainersOfLxcHaveNames) {
  group("/lxc.payload.web", 500, "600");
  group("/lxc.payload.web/system.slice/nginx.service", 100);
  group("/lxc.monitor.web", 5);
  group("/lxc/101", 400, "max");
  group("/lxc/101/ns/init.scope", 400);
  EXPECT_EQ(names(), (Names{"|101", "|web"}));
  const Cgroup inner = parse_cgroup("0::/lxc.payload.web/system.slice/nginx.service\n");
  EXPECT_EQ(inner.container, "");
  EXPECT_EQ(inner.unit, "nginx.service");
  EXPECT_EQ(parse_cgroup("4:memory:/lxc/101/ns\n").container, "101");
}

// In a container with a namespace of its own the root is the container.
TEST_F(CgroupsTree, TheRootMayHaveALimit) {
  group("", 500, "600");
  group("/system.slice/a.service", 100);
  EXPECT_EQ(names(), (Names{"|", "a.service|"}));
}

TEST_F(CgroupsTree, GroupsOfOneNameAreAddedUp) {
  for (const auto& [number, limit] : {std::pair{"10001", "1000"}, std::pair{"10002", "400"}}) {
    group("/system.slice/run-u" + std::string(number) + ".service", 300, limit);
    group("/system.slice/run-u" + std::string(number) + ".service", "events", "oom_kill 2\n");
  }
  const Cgroups::Group& group = one("run-u*.service");
  EXPECT_EQ(group.members, 2U);
  EXPECT_EQ(group.bytes, 600U);
  EXPECT_EQ(group.used_ratio, 0.75) << "the closest";
  EXPECT_EQ(group.limit, 400U);
  EXPECT_EQ(group.oom_kills, std::nullopt) << "their sum is no counter";
}

TEST_F(CgroupsTree, GroupsAreBounded) {
  for (int i = 0; i < 300; ++i) {
    group("/system.slice/s" + std::to_string(i) + "x.service", 1);
  }
  EXPECT_EQ(parse().groups.size(), Cgroups::kMaxGroups);
  EXPECT_EQ(out_.left_out, 44U);
}

TEST_F(CgroupsTree, WithoutAMemoryController) {
  file(kControllers, "cpu pids\n");
  EXPECT_EQ(parse_cgroups(read(), out_).error().code, Errc::kAbsent);
}

class CgroupsTest : public SourceTest<CgroupsSource> {
 protected:
  CgroupsTest() { fixture.file(kNoteCgroupVersion, "2\n"); }
  void group(const std::string& name, const std::string& leaf, std::string_view text) {
    fixture.file(kSystem + name + "/memory." + leaf, text);
  }
  const std::string kSystem = "/sys/fs/cgroup/system.slice/";
};

TEST_F(CgroupsTest, AnOddFieldCostsThatField) {
  fixture.files(kSystem + "a.service/memory.", "max=lots current=100 peak=-5");
  group("a.service", "swap.current", "12");
  group("a.service", "events", "oom_kill x\nmax 3\nnonsense\n");
  group("a.service", "pressure", "some avg10=0.00 avg60=150.00 avg300=0.00 total=1\n");
  EXPECT_EQ(value("jetmem_cgroup_memory_bytes{container=,unit=a.service}"), 100);
  EXPECT_EQ(value("jetmem_cgroup_memory_events_total{container=,event=max,unit=a.service}"), 3);
  EXPECT_EQ(fixture.keys().size(), 2U + 2U + 1U) << "and the worst of a minute";
  EXPECT_EQ(all_absent(), "impossible 2, malformed 3");
}

TEST_F(CgroupsTest, WhoIsCloseToItsLimitIsShown) {
  for (int i = 0; i < 30; ++i) {
    group("big" + std::to_string(i) + ".service", "current", std::to_string(5000 + i) + "\n");
  }
  fixture.files(kSystem, "small.service/memory.current=99 small.service/memory.max=100");
  EXPECT_EQ(value("jetmem_cgroup_limit_used_ratio{container=,unit=small.service}"), 0.99);
  expect("jetmem_cgroup_memory_bytes{container=,unit=*}", "big29.service=5029 big0.service=none");
  EXPECT_EQ(value("jetmem_cgroups"), 31);
}

TEST_F(CgroupsTest, AGroupThatWasRemovedMeanwhileIsNone) {
  group("a.service", "current", "100\n");
  fixture.error(kSystem + "b.service/memory.current", ENODEV);
  fixture.error(kSystem + "c.service/memory.current", EACCES);
  EXPECT_EQ(reading().groups.size(), 1U);
  EXPECT_EQ(all_absent(), "denied 1");
  EXPECT_EQ(fixture.code_with(kSystem + "c.service/memory.current", EACCES), Errc::kDenied);
}

}  // namespace
}  // namespace jetmem
