// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/allocinfo.h"

#include <gtest/gtest.h>

#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

const std::string kHead = "allocinfo - version: 1.0\n#     <size>  <calls> <tag info>\n";

class AllocinfoTest : public SourceTest<AllocinfoSource> {
 protected:
  void text(const std::string& lines) { fixture.only("/proc/allocinfo", kHead + lines); }
  double part(const std::string& name, const std::string& module) {
    return value("jetmem_kernel_allocated_bytes{module=" + module + ",part=" + name + "}");
  }
};

TEST_F(AllocinfoTest, ByModuleAndByFolder) {
  text(
      "       12288        3 drivers/net/tun.c:1168 func:tun_alloc\n"
      "        4096        1 ./drivers/net/veth.c:11 func:veth_new\n"
      "      262144       64 drivers/gpu/drm/x/x_gem.c:99 [x_drm] func:x_gem_create\n"
      "      100000       64 drivers/gpu/drm/x/x_mmu.c:3 [x_drm] func:x_mmu_map accurate:no\n"
      "      500000       20 mm/slub.c:2390 func:alloc_slab_page\n"
      "           0        0 init/main.c:1314 func:do_initcalls\n");
  EXPECT_EQ(part("drivers/net", "no"), 16384);
  EXPECT_EQ(part("x_drm", "yes"), 362144);
  EXPECT_EQ(part("mm/slub.c", "no"), 500000);
  EXPECT_EQ(value("jetmem_kernel_allocated_total_bytes"), 878528);
  EXPECT_EQ(fixture.keys().size(), 4U);
}

TEST_F(AllocinfoTest, TheLargestAreShown) {
  std::string lines;
  for (int i = 0; i < 50; ++i) {
    lines += std::to_string(1000 + i) + " 1 drivers/d" + std::to_string(i) + "/x.c:1 func:f\n";
  }
  text(lines);
  EXPECT_EQ(reading().largest.size(), Allocinfo::kMaxShown);
  EXPECT_EQ(part("drivers/d49", "no"), 1049);
  EXPECT_FALSE(has("jetmem_kernel_allocated_bytes{module=no,part=drivers/d0}"));
}

TEST_F(AllocinfoTest, AnOddLineCostsThatLine) {
  text("-1 1 mm/a.c:1 func:f\nx 1 mm/b.c:1 func:f\n10 1 mm/c.c:1 func:f\n20 1 mm/d.c:1 func:f\n");
  EXPECT_EQ(part("mm/c.c", "no") + part("mm/d.c", "no"), 30);
  EXPECT_FALSE(has("jetmem_kernel_allocated_total_bytes")) << "a part is no sum";
  EXPECT_EQ(absent("impossible"), 1U);
  EXPECT_EQ(absent("malformed"), 1U);
}

TEST_F(AllocinfoTest, OffCutOrAnotherFile) {
  text("           0        0 init/main.c:1314 func:do_initcalls\n");
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  text("10 1 mm/c.c:1 func:f\n12");
  EXPECT_EQ(fixture.run().error().code, Errc::kMalformed);
  fixture.only("/proc/allocinfo", "slabinfo - version: 2.1\n");
  EXPECT_EQ(fixture.run().error().code, Errc::kMalformed);
  fixture.clear();
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
}

}  // namespace
}  // namespace jetmem
