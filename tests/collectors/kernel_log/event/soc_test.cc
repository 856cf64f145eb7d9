// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/soc.h"

#include <gtest/gtest.h>

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogSoc, NamesGoBothWays) {
  for (const Soc soc :
       {Soc::kTegra210, Soc::kTegra186, Soc::kTegra194, Soc::kTegra234, Soc::kTegra264}) {
    EXPECT_EQ(soc_named(soc_name(soc)), soc);
  }
  EXPECT_EQ(soc_name(Soc::kTegra234), "tegra234");
  EXPECT_EQ(soc_name(Soc::kUnknown), "");
  EXPECT_EQ(soc_named(""), std::nullopt);
  EXPECT_EQ(soc_named("tegra23"), std::nullopt);
}

TEST(KernelLogSoc, FromTheDeviceTree) {
  using namespace std::string_view_literals;
  EXPECT_EQ(soc_of_compatible("nvidia,p3768-0000+p3767-0000\0nvidia,p3767-0000\0"
                              "nvidia,tegra234\0"sv),
            Soc::kTegra234);
  EXPECT_EQ(soc_of_compatible("nvidia,jetson-nano\0nvidia,tegra210"sv), Soc::kTegra210);
  EXPECT_EQ(soc_of_compatible("nvidia,tegra2345\0"sv), Soc::kUnknown);
  EXPECT_EQ(soc_of_compatible("acme,tegra234\0"sv), Soc::kUnknown);
  EXPECT_EQ(soc_of_compatible("\0\0\0"sv), Soc::kUnknown);
  EXPECT_EQ(soc_of_compatible(""), Soc::kUnknown);
}

TEST(KernelLogSoc, StreamIdsAreMaskedWhereTheHardwareIgnoresBits) {
  EXPECT_EQ(stream_id(Soc::kTegra186, "12000000.iommu", 0x1014), 0x14U);
  EXPECT_EQ(stream_id(Soc::kTegra194, "12000000.iommu", 0x821), 0x21U);
  EXPECT_EQ(stream_id(Soc::kTegra234, "8000000.iommu", 0x100f), 0x0fU);
  EXPECT_EQ(stream_id(Soc::kTegra264, "6000000.iommu", 0x3001), std::nullopt);
  EXPECT_EQ(stream_id(Soc::kUnknown, "12000000.iommu", 0x821), std::nullopt);
}

TEST(KernelLogSoc, ClientsOfStreams) {
  const struct {
    Soc soc;
    const char* unit;
    std::uint32_t stream;
    const char* client;
  } kRows[] = {
      {Soc::kTegra186, "12000000.iommu", 0x811, "afi"},
      {Soc::kTegra186, "12000000.iommu", 0x3f, "host1x_ctx7"},
      {Soc::kTegra186, "12000000.iommu", 0x56, ""},
      {Soc::kTegra194, "10000000.iommu", 0x09, "nvdisplay"},
      {Soc::kTegra194, "12000000.iommu", 0x856, "pcie0"},
      {Soc::kTegra194, "12000000.iommu", 0x64, "rce_server"},
      {Soc::kTegra194, "12000000.iommu", 0x7f, "passthrough"},
      {Soc::kTegra194, "12000000.iommu", 0x7e, ""},
      // On Tegra234 the unit decides.
      {Soc::kTegra234, "12000000.iommu", 0x803, "hda"},
      {Soc::kTegra234, "8000000.iommu", 0x1003, "eqos"},
      {Soc::kTegra234, "10000000.iommu", 0x3, "vifalc"},
      {Soc::kTegra234, "10000000.iommu", 0x8, ""},
      {Soc::kTegra234, "12000000.smmu", 0x24, "nvenc"},
      {Soc::kTegra234, "08000000.iommu", 0x34, "vic"},
      {Soc::kTegra234, "bus@0:12000000.iommu", 0x24, "nvenc"},
      // Not one of the three: whose numbers these are is not known.
      {Soc::kTegra234, "13000000.iommu", 0x24, ""},
      {Soc::kTegra234, "arm-smmu.1.auto", 0x24, ""},
      {Soc::kTegra234, "", 0x24, ""},
      // Without a table there is no client.
      {Soc::kUnknown, "12000000.iommu", 0x24, ""},
      {Soc::kTegra210, "12000000.iommu", 0x24, ""},
  };
  for (const auto& [soc, unit, stream, client] : kRows) {
    EXPECT_EQ(stream_client(soc, unit, stream), client) << soc_name(soc) << " " << unit;
  }
  // On Tegra264 the low byte is the client's own.
  EXPECT_EQ(stream_client_v3(Soc::kTegra264, 0x3000), "vic");
  EXPECT_EQ(stream_client_v3(Soc::kTegra264, 0x3010), "vic");
  EXPECT_EQ(stream_client_v3(Soc::kTegra264, 0x13000), "");
  EXPECT_EQ(stream_client_v3(Soc::kTegra264, 0x00), "");
}

}  // namespace
}  // namespace jetmem::kernel_log
