// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/cgroup.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

const std::string kId(64, 'a');

std::string unit(std::string_view text) {
  std::string out;
  assign_unit_kind(out, parse_cgroup(text).unit);
  return out;
}
std::string container(std::string_view text) { return std::string(parse_cgroup(text).container); }

TEST(Cgroup, UuidsOfTransientUnitsAreOneKind) {
  const std::string id = "0b6a2c64-90ab-4f51-8e1d-0123456789ab";
  EXPECT_EQ(unit("0::/user.slice/vte-spawn-" + id + ".scope\n"), "vte-spawn-*.scope");
  EXPECT_EQ(unit("0::/user.slice/snap.firefox.firefox-" + id + ".scope\n"),
            "snap.firefox.firefox-*.scope");
  EXPECT_EQ(unit("0::/user.slice/snap.firefox.hook." + id + ".scope\n"),
            "snap.firefox.hook.*.scope");
  EXPECT_EQ(unit("0::/a-" + id + "0.scope\n"), "a-" + id + "0.scope") << "none: a digit more";
}

TEST(Cgroup, Version2) {
  EXPECT_EQ(unit("0::/system.slice/camera.service\n"), "camera.service");
  EXPECT_EQ(unit("0::/init.scope\n"), "init.scope");
  EXPECT_EQ(unit("0::/user.slice/user-1000.slice/user@1000.service/session.slice/"
                 "org.gnome.Shell@wayland.service\n"),
            "org.gnome.Shell@wayland.service");
  EXPECT_EQ(unit("0::/system.slice/camera.service (deleted)\n"), "camera.service");
  EXPECT_EQ(unit("0::/system.slice/camera.service/payload/worker\n"), "camera.service");
  EXPECT_EQ(unit("0::/\n"), "");
  EXPECT_EQ(container("0::/system.slice/camera.service\n"), "");
}

TEST(Cgroup, Version1BySystemdThenMemory) {
  EXPECT_EQ(unit("12:cpuset:/\n9:memory:/system.slice/a.service\n"
                 "1:name=systemd:/system.slice/b.service\n"),
            "b.service");
  EXPECT_EQ(unit("12:cpuset:/\n9:cpu,memory:/system.slice/a.service\n"), "a.service");
  EXPECT_EQ(unit("1:name=systemd:/system.slice/b.service\n0::/system.slice/c.service\n"),
            "c.service");
  EXPECT_EQ(unit("9:memoryless:/system.slice/a.service\n"), "");
}

TEST(Cgroup, Containers) {
  for (const std::string& path :
       {"/system.slice/docker-" + kId + ".scope", "/docker/" + kId,
        "/machine.slice/libpod-" + kId + ".scope/container",
        "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod12_34.slice/"
        "cri-containerd-" +
            kId + ".scope",
        "/kubepods/burstable/pod0f1e2d3c-aaaa-bbbb-cccc-1234567890ab/" + kId,
        "/kubepods.slice/crio-" + kId + ".scope"}) {
    EXPECT_EQ(container("0::" + path + "\n"), "aaaaaaaaaaaa") << path;
  }
  EXPECT_EQ(unit("0::/system.slice/docker-" + kId + ".scope\n"), "docker-*.scope");
  EXPECT_EQ(unit("0::/docker/" + kId + "\n"), "");
  EXPECT_EQ(container("0::/lxc.payload.cam/init.scope\n"), "cam");
  EXPECT_EQ(container("0::/x/" + kId + "b\n"), "") << "65 digits are no id";
  EXPECT_EQ(container("0::/docker/" + kId + "/docker/" + std::string(64, 'b') + "\n"),
            "bbbbbbbbbbbb");
}

// Docker with the driver "cgroupfs" on Ubuntu 20.04.
TEST(Cgroup, InAHybridTheIdMayBeInOneLineOnly) {
  const std::string text = "9:memory:/docker/" + kId + "\n1:name=systemd:/docker/" + kId +
                           "\n0::/system.slice/containerd.service\n";
  EXPECT_EQ(container(text), "aaaaaaaaaaaa");
  EXPECT_EQ(unit(text), "") << "not the unit of who started it";
}

TEST(Cgroup, UnitsOfOneKindAreOne) {
  EXPECT_EQ(unit("0::/system.slice/run-u8231.service\n"), "run-u*.service");
  EXPECT_EQ(unit("0::/system.slice/run-r" + std::string(32, 'e') + ".scope\n"), "run-r*.scope");
  EXPECT_EQ(unit("0::/a/app-gnome-firefox-2301.scope\n"), "app-gnome-firefox-*.scope");
  EXPECT_EQ(unit("0::/a/user@1000.service\n"), "user@1000.service");
  EXPECT_EQ(unit("0::/a/session-12.scope\n"), "session-12.scope");
  EXPECT_EQ(unit("0::/a/1234.service\n"), "1234.service");
}

TEST(Cgroup, OnlyLinesOfUseAreKept) {
  std::string kept;
  append_cgroup_lines(kept, "11:pids:/a\n9:memory:/b\n1:name=systemd:/c\nrubbish\n0::/d\n");
  EXPECT_EQ(kept, "9:memory:/b\n1:name=systemd:/c\n0::/d\n");
}

TEST(Cgroup, RubbishIsNoUnit) {
  for (const std::string_view text :
       {"", "\n", ":", "::", "0:", "0::", "a:b:c:d.service", "0:.service", "0::/.service\n"}) {
    EXPECT_EQ(unit(text), "") << text;
  }
  EXPECT_EQ(unit("0::/" + std::string(300, 'x') + ".service\n"), std::string(63, 'x') + '*');
  EXPECT_EQ(unit("0::/\x1b[2J.service\n"), "?[2J.service");
}

}  // namespace
}  // namespace jetmem
