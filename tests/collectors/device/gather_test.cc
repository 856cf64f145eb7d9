// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/gather.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "collectors/device/carve_outs.h"
#include "collectors/device/iommu.h"
#include "collectors/device/source.h"
#include "tests/collectors/device/tree_bytes.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem::device {
namespace {

class GatherDevice : public TreeTest<DeviceSource> {
 protected:
  void errors(std::string_view json) {
    dir.write("jetmem/manifest.json",
              "{\"format\": 1, \"facts\": {\"page_size\": 4096}, \"errors\": {" +
                  std::string(json) + "}}\n");
  }
  std::uint64_t absent(std::string_view reason) const { return count_of(device.absent, reason); }

  Device device;
};

// The kernel's /proc/device-tree is a link.
TEST_F(GatherDevice, TheTreeByItsLinkOrInItsOwnPlace) {
  dir.write("sys/firmware/devicetree/base/model", string_property("Jetson"));
  dir.write("sys/firmware/devicetree/base/reserved-memory/a/size", cells64({4096}));
  const auto parses = [&] {
    ASSERT_TRUE(parse_device(read(), device));
    EXPECT_EQ(device.identity.model, "Jetson");
    EXPECT_EQ(device.tree.nodes.size(), 1U);
  };
  parses();
  std::filesystem::create_directories(dir.file("proc"));
  std::filesystem::create_symlink("/sys/firmware/devicetree/base", dir.file("proc/device-tree"));
  parses();
  EXPECT_EQ(read().find("/proc/device-tree/model").text, string_property("Jetson"));
}

TEST_F(GatherDevice, NothingThatNamesOneDeviceIsRead) {
  dir.write("proc/device-tree/model", string_property("Jetson"));
  for (const char* path :
       {"proc/device-tree/serial-number", "proc/device-tree/chosen/nvidia,ethernet-mac",
        "proc/device-tree/reserved-memory/a/secret", "sys/class/dmi/id/product_serial"}) {
    dir.write(path, string_property("SECRET"));
  }
  const Snapshot& snapshot = read();
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    EXPECT_EQ(snapshot[i].text.find("SECRET"), std::string_view::npos) << snapshot[i].path;
  }
}

TEST_F(GatherDevice, WhatIsDeniedIsSaid) {
  errors(R"("/proc/device-tree": "EACCES", "/sys/kernel/iommu_groups": "EACCES")");
  dir.write("proc/meminfo", "MemTotal: 1000 kB\n");
  ASSERT_TRUE(parse_device(read(), device));
  EXPECT_EQ(absent("device_tree_denied"), 1U);
  EXPECT_EQ(device.iommu.why, "iommu_denied");

  errors(R"("/proc/device-tree/reserved-memory/a/reg": "EACCES")");
  dir.write("proc/device-tree/reserved-memory/a/reg", cells64({0, 1}));
  ASSERT_TRUE(parse_device(read(), device));
  EXPECT_EQ(absent("property_unreadable"), 1U);
}

TEST_F(GatherDevice, NodesBeyondTheBoundAreCounted) {
  for (int i = 0; i < 140; ++i) {
    dir.write("proc/device-tree/reserved-memory/n" + std::to_string(i) + "/size", cells64({4096}));
  }
  dir.write("proc/device-tree/reserved-memory/ranges", "");
  dir.write("proc/device-tree/#size-cells", cells({2}));
  dir.write("proc/device-tree/memory@0/reg", cells64({0, 1 << 30}));
  ASSERT_TRUE(parse_device(read(), device));
  EXPECT_EQ(device.tree.nodes.size(), kMaxNodes);
  EXPECT_EQ(absent("too_many_nodes"), 12U);
  EXPECT_TRUE(device.tree.memory.empty()) << "another memory node may be among them";
}

TEST_F(GatherDevice, GroupsWithoutDevicesAndAnEmptyFolder) {
  std::filesystem::create_directories(dir.file("sys/kernel/iommu_groups"));
  (void)parse_device(read(), device);
  EXPECT_TRUE(device.iommu.known);
  EXPECT_TRUE(device.iommu.groups.empty());
  std::filesystem::create_directories(dir.file("sys/kernel/iommu_groups/3/devices"));
  dir.write("sys/kernel/iommu_groups/12/devices/0000:00:02.0", "");
  (void)parse_device(read(), device);
  EXPECT_EQ(device.iommu.groups, (std::vector<Iommu::Group>{{3, 0}, {12, 1}}));
}

TEST_F(GatherDevice, TeeIsLookedAtInBothPlaces) {
  const auto tee = [&] { return std::string(read().find(kTeeRecord).text); };
  EXPECT_EQ(tee(), "") << "neither could be listed: unknown";
  dir.write("dev/null", "");
  EXPECT_EQ(tee(), "0\n");
  dir.write("sys/class/tee/tee0/dev", "");
  EXPECT_EQ(tee(), "1\n") << "a private /dev hides it";
}

}  // namespace
}  // namespace jetmem::device
