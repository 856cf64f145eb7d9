// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cerrno>

#include "collectors/device/source.h"
#include "tests/collectors/device/tree_bytes.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

using namespace std::string_literals;
using device::cells;
using device::cells64;
using device::string_property;

constexpr std::string_view kMeminfo =
    "MemTotal:        7802736 kB\n"
    "CmaTotal:         262144 kB\n";
constexpr std::string_view kIomem =
    "80000000-26a40ffff : System RAM\n"
    "26a410000-26a60ffff : reserved\n";
constexpr std::string_view kHiddenIomem = "00000000-00000000 : System RAM\n";
constexpr std::string_view kZoneinfo =
    "Node 0, zone   Normal\n"
    "        spanned  2008080\n"
    "        present  2008080\n"
    "        managed  1950684\n"
    "  start_pfn:           524288\n";

class DeviceTest : public SourceTest<DeviceSource> {
 protected:
  void tree(const std::string& path, std::string_view bytes) {
    fixture.file("/proc/device-tree/" + path, bytes);
  }
  // What each board with a device tree has, and a map of its memory.
  void orin(std::string_view iomem = kIomem) {
    if (!iomem.empty()) fixture.file("/proc/iomem", iomem);
    tree("#address-cells", cells({2}));
    tree("#size-cells", cells({2}));
    tree("compatible", "nvidia,p3768-0000+p3767-0005\0nvidia,p3767-0005\0nvidia,tegra234\0"s);
    tree("model", string_property("NVIDIA Jetson Orin Nano Developer Kit"));
    fixture.file("/proc/meminfo", kMeminfo);
    fixture.file("/proc/sys/kernel/osrelease", "5.15.148-tegra\n");
    fixture.file("/proc/sys/kernel/version", "#1 SMP PREEMPT Mon Jun 16 08:24:48 PDT 2025\n");
  }
  void carve_out(const std::string& node, std::uint64_t begin, std::uint64_t size) {
    tree("reserved-memory/" + node + "/reg", cells64({begin, size}));
  }
  double budget(const std::string& part, const std::string& kind = "carveout") {
    return value("jetmem_memory_budget_bytes{kind=\"" + kind + "\",part=\"" + part + "\"}");
  }
  double sum() {
    double sum = 0;
    for (const std::string& key : fixture.keys()) {
      if (key.rfind("jetmem_memory_budget_bytes", 0) == 0) sum += value(key);
    }
    return sum;
  }
};

TEST_F(DeviceTest, AnOrinReadAsRoot) {
  orin();
  fixture.file("/etc/nv_tegra_release",
               "# R36 (release), REVISION: 4.4, GCID: 41062509, BOARD: generic, EABI: aarch64, "
               "DATE: Mon Jun 16 16:07:13 UTC 2025\n# KERNEL_VARIANT: oot\n");
  carve_out("pva-carveout", 0x273180000, 0x280000);
  tree("reserved-memory/pva-carveout/no-map", "");
  tree("reserved-memory/linux,cma/compatible", string_property("shared-dma-pool"));
  for (const char* leaf : {"linux,cma-default", "reusable"}) {
    tree("reserved-memory/linux,cma/" + std::string(leaf), "");
  }
  tree("reserved-memory/linux,cma/size", cells64({0x10000000}));
  tree("firmware/optee/status", string_property("okay"));
  EXPECT_TRUE(
      has("jetmem_device_info{kernel=\"5.15.148-tegra\",l4t=\"36.4.4\","
          "model=\"NVIDIA Jetson Orin Nano Developer Kit\",soc=\"tegra234\"}"));
  EXPECT_EQ(value("jetmem_memory_module_bytes"), 8589934592.0);
  EXPECT_EQ(value("jetmem_memory_physical_bytes{source=iomem}"), 8227192832.0);
  EXPECT_EQ(budget("mem_total", "linux"), 7802736.0 * 1024);
  EXPECT_EQ(budget("pva-carveout"), 0x280000);
  EXPECT_EQ(budget("reserved", "firmware"), 0x200000);
  EXPECT_TRUE(std::isnan(budget("linux,cma"))) << "a part of MemTotal";
  EXPECT_EQ(sum(), 8589934592.0);
  EXPECT_EQ(value("jetmem_optee_present"), 1);
  ASSERT_EQ(reading().tree.nodes.size(), 2U);
  const device::CarveOut& cma = reading().tree.nodes[1];
  EXPECT_TRUE(cma.reusable && !cma.no_map);
}

TEST_F(DeviceTest, WithoutPrivilegeZoneinfoTellsAndTheReasonIsGiven) {
  orin(kHiddenIomem);
  fixture.error("/sys/kernel/debug/memblock/memory", EACCES);
  fixture.file("/proc/zoneinfo", kZoneinfo);
  EXPECT_EQ(value("jetmem_memory_physical_bytes{source=zoneinfo}"), 2008080.0 * 4096);
  EXPECT_EQ(sum(), 8589934592.0);
  EXPECT_EQ(absent("iomem_addresses_hidden"), 1U);
  EXPECT_EQ(absent("memblock_denied"), 1U);
  // What was kept at boot without the privilege is no better.
  fixture.file("/run/jetmem-iomem/iomem", kHiddenIomem);
  EXPECT_TRUE(has("jetmem_memory_physical_bytes{source=zoneinfo}"));
  EXPECT_EQ(absent("iomem_addresses_hidden"), 1U);
  // What root saw then stands for them.
  fixture.clear();
  orin(kHiddenIomem);
  fixture.file("/run/jetmem-iomem/iomem", kIomem);
  EXPECT_EQ(value("jetmem_memory_physical_bytes{source=iomem}"), 8227192832.0);
  EXPECT_EQ(absent("iomem_addresses_hidden"), 0U);
}

TEST_F(DeviceTest, WithoutAnyMapThereIsNoBudgetAndMemTotalAloneIsNone) {
  orin(kHiddenIomem);
  EXPECT_EQ(sum(), 0);
  EXPECT_FALSE(has("jetmem_memory_module_bytes"));
  for (const char* reason : {"physical_unknown", "iomem_addresses_hidden", "zoneinfo_unreadable"}) {
    EXPECT_EQ(absent(reason), 1U) << reason;
  }
}

TEST_F(DeviceTest, MemoryNodesTakeTheRootsCellsCarveOutsTheirOwn) {
  tree("#address-cells", cells({2}));
  tree("#size-cells", cells({1}));
  tree("memory@0/reg", cells({0, 0, 0x3b400000, 0, 0x40000000, 0xc0000000}));
  tree("memory@100000000/reg", cells({1, 0, 0x80000000}));
  tree("reserved-memory/#address-cells", cells({1}));
  tree("reserved-memory/#size-cells", cells({1}));
  tree("reserved-memory/atf@0/reg", cells({0, 0x80000}));
  fixture.file("/proc/meminfo", "MemTotal: 6000000 kB\n");
  EXPECT_EQ(value("jetmem_memory_physical_bytes{source=device_tree}"),
            0x3b400000ULL + 0xc0000000ULL + 0x80000000ULL);
  EXPECT_EQ(budget("atf@0"), 0x80000);
}

TEST_F(DeviceTest, AMemoryNodeInPartIsNotItsSize) {
  orin();
  tree("memory@80000000/reg", cells64({0x80000000, 0x200000000}));
  tree("memory@280000000/reg", cells64({0x280000000, 0x1000}).substr(1));
  EXPECT_FALSE(has("jetmem_memory_physical_bytes{source=device_tree}"));
  EXPECT_TRUE(has("jetmem_memory_physical_bytes{source=iomem}"));
  EXPECT_EQ(absent("property_malformed"), 1U);
}

TEST_F(DeviceTest, ABadPropertyCostsItsCarveOutOnly) {
  for (const std::string& bad : {""s + '\0', cells64({0x90000000}), cells({1, 2, 3}),
                                 cells64({UINT64_MAX, 0x1000}), "garbage"s}) {
    fixture.clear();
    orin();
    tree("reserved-memory/bad/reg", bad);
    carve_out("good", 0x90000000, 0x100000);
    EXPECT_TRUE(std::isnan(budget("bad")));
    EXPECT_EQ(budget("good"), 0x100000);
    EXPECT_EQ(sum(), 8589934592.0);
    EXPECT_EQ(absent("property_malformed"), 1U);
  }
}

TEST_F(DeviceTest, StatusDecides) {
  orin();
  for (const auto& [node, status] : {std::pair("a", "okay"), {"b", "ok"}, {"c", "disabled"}}) {
    carve_out(node, 0x90000000 + 0x100000U * static_cast<unsigned char>(*node), 0x100000);
    tree("reserved-memory/"s + node + "/status", string_property(status));
  }
  EXPECT_EQ(budget("a"), 0x100000);
  EXPECT_EQ(budget("b"), 0x100000);
  EXPECT_TRUE(std::isnan(budget("c")));
}

TEST_F(DeviceTest, ANodeOfBothFoldersCountsOnce) {
  orin();
  carve_out("vpr", 0x90000000, 0x100000);
  tree("tegra-carveouts/vpr/reg", cells64({0xa0000000, 0x100000}));
  tree("tegra-carveouts/old/reg", cells64({0xb0000000, 0x100000}));
  EXPECT_EQ(budget("vpr"), 0x100000);
  EXPECT_EQ(budget("old"), 0x100000);
  EXPECT_EQ(absent("carveout_twice"), 1U);
  EXPECT_EQ(sum(), 8589934592.0);
}

TEST_F(DeviceTest, AHostileTreeBreaksNeitherLabelsNorSum) {
  tree("#address-cells", cells({2}));
  tree("#size-cells", cells({2}));
  tree("model", "Jetson\x1b[2J\n\"evil\"\\ \xff"s + std::string(500, 'x') + '\0');
  tree("compatible", "\n\0,\0"s);
  fixture.file("/proc/meminfo", kMeminfo);
  fixture.file("/proc/iomem", kIomem);
  carve_out("a\x01", 0x90000000, 0x100000);
  carve_out("a\x02", 0xa0000000, 0x100000);
  carve_out("mem_total", 0xb0000000, 0x100000);
  carve_out("(others)", 0xc0000000, 0x100000);
  ASSERT_TRUE(fixture.run());
  EXPECT_EQ(fixture.table.sections()[0].duplicates, 0U);
  EXPECT_EQ(budget("(others)"), 0x300000);
  EXPECT_EQ(budget("mem_total"), 0x100000);
  EXPECT_EQ(sum(), 8589934592.0);
  EXPECT_LE(reading().identity.model.size(), 96U);
  for (const std::string& key : fixture.keys()) {
    EXPECT_EQ(key.find('\x1b'), std::string::npos);
    EXPECT_EQ(key.find('\n'), std::string::npos);
  }
}

TEST_F(DeviceTest, L4tOfTheReleaseFileElseOfTheKernel) {
  const auto taken_by = [](auto take) {
    return [=](std::string_view text) {
      std::string out;
      take(text, out);
      return out;
    };
  };
  const auto of_file = taken_by(device::take_l4t_release);
  EXPECT_EQ(of_file("# R36 (release), REVISION: 4.4, GCID: 1, BOARD: generic\n"), "36.4.4");
  EXPECT_EQ(of_file("# R21 (release), REVISION: 3.0, GCID: 1, BOARD: ardbeg\nabc\n"), "21.3.0");
  for (const char* bad :
       {"", "# R36 (release), REVISION: 4.4", "# R36 (release)\n", "R36\n", "# Rx, REVISION: 1\n",
        "# R36, REVISION: x\n", "\n# R36 (release), REVISION: 4.4\n"}) {
    EXPECT_EQ(of_file(bad), "") << bad;
  }
  const auto of_kernel = taken_by(device::take_l4t_of_kernel);
  EXPECT_EQ(of_kernel("5.15.148-l4t-r36.4.4-1012.12+gc8a82765359e"), "36.4.4");
  EXPECT_EQ(of_kernel("5.15.0-l4t-r36.x"), "36");
  EXPECT_EQ(of_kernel("5.15.148-tegra"), "");

  fixture.file("/proc/sys/kernel/osrelease", "5.15.148-l4t-r36.4.4-1012\n");
  fixture.file("/etc/nv_tegra_release", "who knows\n");
  EXPECT_EQ(reading().identity.l4t, "36.4.4");
  EXPECT_EQ(absent("identity_malformed"), 1U);

  // The file alone is enough.
  fixture.only("/etc/nv_tegra_release", "# R36 (release), REVISION: 5.0, GCID: 1\n");
  EXPECT_TRUE(has("jetmem_device_info{kernel=\"\",l4t=\"36.5.0\",model=\"\",soc=\"\"}"));
}

TEST_F(DeviceTest, TheSocIsTheTegraElseTheLast) {
  using device::soc_among;
  EXPECT_EQ(soc_among("nvidia,jetson-nano\0nvidia,tegra210\0"s), "tegra210");
  EXPECT_EQ(soc_among("raspberrypi,5-model-b\0brcm,bcm2712\0"s), "bcm2712");
  EXPECT_EQ(soc_among("a,b\0nvidia,tegra234\0nvidia,generic\0"s), "tegra234");
  EXPECT_EQ(soc_among("linux,dummy-virt\0"s), "dummy-virt");
  EXPECT_EQ(soc_among("board\0"s), "board");
  EXPECT_EQ(soc_among("nvidia,tegra234"), std::nullopt);
  EXPECT_EQ(soc_among(""), "");
}

TEST_F(DeviceTest, DmiStandsInWhereThereIsNoTree) {
  fixture.file("/sys/class/dmi/id/product_name", "NVIDIA Jetson AGX Thor\n");
  fixture.file("/sys/class/dmi/id/sys_vendor", "NVIDIA\n");
  EXPECT_EQ(reading().identity.model, "NVIDIA Jetson AGX Thor");
  fixture.only("/sys/class/dmi/id/product_name", "PRIME B450M\n");
  fixture.file("/sys/class/dmi/id/sys_vendor", "ASUS\n");
  EXPECT_EQ(reading().identity.model, "ASUS PRIME B450M");
}

TEST_F(DeviceTest, OpteeByItsNodeOrItsDevice) {
  const auto present = [&] { return value("jetmem_optee_present"); };
  orin();
  tree("firmware/optee/status", string_property("disabled"));
  fixture.file("jetmem:tee", "0\n");
  EXPECT_EQ(present(), 0);
  fixture.clear();
  orin();
  EXPECT_TRUE(std::isnan(present()));
  EXPECT_EQ(absent("optee_unknown"), 1U);
  fixture.file("jetmem:tee", "1\n");
  EXPECT_EQ(present(), 1) << "found over FF-A, without a node";
  fixture.only("/proc/meminfo", kMeminfo);
  fixture.file("jetmem:tee", "1\n");
  EXPECT_TRUE(std::isnan(present()));
  EXPECT_EQ(absent("tee_of_unknown_kind"), 1U) << "AMD's looks the same";
  fixture.only("/proc/meminfo", kMeminfo);
  fixture.file("jetmem:tee", "0\n");
  EXPECT_EQ(present(), 0);
}

TEST_F(DeviceTest, SharedIommuGroups) {
  fixture.file("jetmem:iommu_groups",
               "0\n0 2600000.dma-controller\n10\n10 0004:01:00.0\n10 0004:00:00.0\n2\n2 vi\n3\n");
  expect("jetmem_iommu_*",
         "groups=4 devices=4 group_devices{group=10}=2 group_devices{group=2}=none "
         "shared_group_info{device=0004:00:00.0,group=10}=1");
}

TEST_F(DeviceTest, NoIommuAndNoneAtWorkAreKeptApart) {
  orin();
  EXPECT_EQ(absent("iommu_absent"), 1U);
  EXPECT_FALSE(has("jetmem_iommu_groups"));
  fixture.file("jetmem:iommu_groups", "");
  EXPECT_EQ(value("jetmem_iommu_groups"), 0);
  fixture.clear();
  orin();
  fixture.error("jetmem:iommu_groups", EACCES);
  EXPECT_EQ(absent("iommu_denied"), 1U);
}

TEST_F(DeviceTest, ManyIommuDevicesAreCountedNotAllNamed) {
  std::string text;
  for (int group = 0; group < 100; ++group) {
    for (int device = 0; device < 3; ++device) {
      text += std::to_string(group) + " " + std::to_string(group * 10 + device) + ".dev\n";
    }
  }
  text += "x y\n12";
  fixture.file("jetmem:iommu_groups", text);
  fixture.file("jetmem:iommu_left_out", "7\n");
  EXPECT_EQ(value("jetmem_iommu_devices"), 300);
  EXPECT_EQ(fixture.table.sections()[0].dropped, 0U);
  EXPECT_EQ(absent("iommu_malformed"), 2U);
  EXPECT_EQ(absent("iommu_beyond_bound"), 7U + 36U + (64U * 3U - 128U));
}

TEST_F(DeviceTest, NothingAtAllIsAbsentOrDenied) {
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  EXPECT_EQ(fixture.code_with("/proc/meminfo", EACCES), Errc::kDenied);
  fixture.file("/proc/device-tree/model", "cut");
  EXPECT_TRUE(fixture.run()) << "there is a device tree";
  // A denied tree is said.
  fixture.clear();
  fixture.file("/proc/meminfo", kMeminfo);
  fixture.file("/proc/iomem", kIomem);
  fixture.error("/proc/device-tree", EACCES);
  EXPECT_EQ(absent("device_tree_denied"), 1U);
  EXPECT_FALSE(has("jetmem_memory_module_bytes"));
}

TEST_F(DeviceTest, AJetsonWithAWholeNumberOfGiBHasMore) {
  orin("");
  tree("memory@80000000/reg", cells64({0x80000000, 15ULL << 30}));
  EXPECT_EQ(value("jetmem_memory_module_bytes"), 17179869184.0);
  EXPECT_EQ(budget("unattributed", "firmware"), 1073741824.0);
}

}  // namespace
}  // namespace jetmem
