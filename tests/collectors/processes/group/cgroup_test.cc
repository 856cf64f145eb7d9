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

TEST(Cgroup, UnitOfVersion2) {
  const std::string id = "0b6a2c64-90ab-4f51-8e1d-0123456789ab";
  const std::pair<std::string, std::string> kRows[] = {
      {"/system.slice/camera.service", "camera.service"},
      {"/init.scope", "init.scope"},
      {"/user.slice/user-1000.slice/user@1000.service/session.slice/"
       "org.gnome.Shell@wayland.service",
       "org.gnome.Shell@wayland.service"},
      {"/system.slice/camera.service (deleted)", "camera.service"},
      {"/system.slice/camera.service/payload/worker", "camera.service"},
      {"/", ""},
      // Units of one kind are one.
      {"/system.slice/run-u8231.service", "run-u*.service"},
      {"/system.slice/run-r" + std::string(32, 'e') + ".scope", "run-r*.scope"},
      {"/a/app-gnome-firefox-2301.scope", "app-gnome-firefox-*.scope"},
      {"/a/user@1000.service", "user@1000.service"},
      {"/a/session-12.scope", "session-12.scope"},
      {"/a/1234.service", "1234.service"},
      {"/user.slice/vte-spawn-" + id + ".scope", "vte-spawn-*.scope"},
      {"/user.slice/snap.firefox.firefox-" + id + ".scope", "snap.firefox.firefox-*.scope"},
      {"/user.slice/snap.firefox.hook." + id + ".scope", "snap.firefox.hook.*.scope"},
      {"/a-" + id + "0.scope", "a-" + id + "0.scope"},  // none: a digit more
      {"/system.slice/docker-" + kId + ".scope", "docker-*.scope"},
      {"/docker/" + kId, ""},
      // Of rubbish.
      {"/.service", ""},
      {"/" + std::string(300, 'x') + ".service", std::string(63, 'x') + '*'},
      {"/\x1b[2J.service", "?[2J.service"},
  };
  for (const auto& [path, name] : kRows) EXPECT_EQ(unit("0::" + path + "\n"), name) << path;
  for (const std::string_view text :
       {"", "\n", ":", "::", "0:", "0::", "a:b:c:d.service", "0:.service"}) {
    EXPECT_EQ(unit(text), "") << text;
  }
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
  EXPECT_EQ(container("0::/system.slice/camera.service\n"), "");
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

TEST(Cgroup, OnlyLinesOfUseAreKept) {
  std::string kept;
  append_cgroup_lines(kept, "11:pids:/a\n9:memory:/b\n1:name=systemd:/c\nrubbish\n0::/d\n");
  EXPECT_EQ(kept, "9:memory:/b\n1:name=systemd:/c\n0::/d\n");
}

}  // namespace
}  // namespace jetmem
