// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/drm.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "collectors/dmabuf/gather.h"
#include "collectors/dmabuf/source.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

constexpr const char* kOwnKeys = "pos:\t0\nflags:\t02100002\nmnt_id:\t28\nino:\t391\n";

class DrmTest : public SourceTest<DmabufSource> {
 protected:
  DrmTest() { fixture.file(kNoteProcesses, "5\n"); }
  void comm(std::uint32_t pid, std::string_view name) {
    fixture.file("/proc/" + std::to_string(pid) + "/comm", std::string(name) + "\n");
  }
  // `keys`: "drm-driver: x|drm-total-memory: 4 KiB".
  void client(std::uint32_t pid, int fd, std::string keys) {
    std::replace(keys.begin(), keys.end(), '|', '\n');
    fixture.file("/proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(fd),
                 kOwnKeys + keys + "\n");
  }
  void program(std::uint32_t pid, std::string_view name, std::string keys) {
    comm(pid, name);
    client(pid, 3, std::move(keys));
  }
  double bytes(const std::string& driver, const std::string& region, const std::string& kind) {
    return value("jetmem_drm_bytes{driver=" + driver + ",kind=" + kind + ",region=" + region + "}");
  }
  double process(const std::string& command, const std::string& driver, const std::string& region) {
    return value("jetmem_drm_process_bytes{command=" + command + ",driver=" + driver +
                 ",region=" + region + "}");
  }
};

TEST_F(DrmTest, DescriptorsOfOneClientCountOnce) {
  program(40, "labwc", "drm-driver:\tv3d|drm-client-id:\t7|drm-total-memory:\t2048 KiB");
  client(40, 4, "drm-driver:\tv3d|drm-client-id:\t7|drm-total-memory:\t2048 KiB");
  client(40, 5,
         "drm-driver:\tv3d|drm-client-id:\t8|drm-total-memory:\t1 MiB|drm-shared-memory:\t4096");
  program(50, "child", "drm-driver:\tv3d|drm-client-id:\t7|drm-total-memory:\t2048 KiB");
  EXPECT_EQ(bytes("v3d", "memory", "total"), 3 << 20);
  EXPECT_EQ(bytes("v3d", "memory", "shared"), 4096);
  EXPECT_FALSE(has("jetmem_drm_bytes{driver=v3d,kind=resident,region=memory}"));
  EXPECT_EQ(process("labwc", "v3d", "memory"), 3 << 20);
  EXPECT_FALSE(has("jetmem_drm_process_bytes{command=child,driver=v3d,region=memory}"));
  EXPECT_EQ(value("jetmem_drm_clients"), 2);
  ASSERT_EQ(reading().drm.holders.size(), 2U);
  EXPECT_EQ(reading().drm.holders[0].bytes, 3U << 20);
  // What a thread shows is its process's.
  comm(60, "game");
  fixture.file("/proc/60/task/61/fdinfo/3",
               std::string(kOwnKeys) + "drm-driver:\tv3d\ndrm-total-memory:\t2 MiB\n");
  EXPECT_EQ(process("game", "v3d", "memory"), 2 << 20);
}

// Of two cards a number may be the same client's number of each.
TEST_F(DrmTest, NumbersAreOfOneDevice) {
  comm(40, "game");
  for (const char* device : {"0000:03:00.0", "0000:04:00.0"}) {
    client(40, device[6] - '0',
           std::string("drm-driver:\tamdgpu|drm-pdev:\t") + device +
               "|drm-client-id:\t7|drm-memory-vram:\t100 KiB|drm-memory-gtt:\t10 KiB|"
               "drm-memory-cpu:\t1 KiB");
  }
  EXPECT_EQ(bytes("amdgpu", "vram", "resident"), 2 * 100 * 1024);
  EXPECT_EQ(reading().drm.holders[0].bytes, 2U * 11 * 1024) << "vram is the card's own";
}

TEST_F(DrmTest, ResidentMemoryIsWhatIsInUse) {
  program(
      40, "kwin_x11",
      "drm-driver:\txe|drm-client-id:\t1|drm-total-cycles-rcs:\t7655183225|drm-cycles-rcs:"
      "\t28257900|"
      "drm-total-system:\t8 MiB|drm-resident-system:\t4 MiB|drm-purgeable-system:\t0|"
      "drm-total-gtt:\t2 MiB|drm-shared-gtt:\t0|drm-active-gtt:\t1 MiB|drm-resident-gtt:\t2 MiB|"
      "drm-total-vram0:\t64 MiB|drm-resident-vram0:\t32 MiB|drm-total-stolen:\t1 MiB");
  EXPECT_EQ(process("kwin_x11", "xe", "system"), 4 << 20);
  EXPECT_EQ(process("kwin_x11", "xe", "vram0"), 32 << 20);
  EXPECT_EQ(process("kwin_x11", "xe", "stolen"), 1 << 20);
  EXPECT_EQ(reading().drm.holders[0].bytes, 6U << 20);
  EXPECT_EQ(reading().drm.regions.size(), 4U) << "cycles are no region";
}

// Both names of what is resident are one figure, and other drivers' keys are none of it.
TEST_F(DrmTest, OldAndNewNamesAreOneFigure) {
  program(
      40, "weston",
      "drm-driver:\tamdgpu|drm-client-id:\t1|drm-memory-vram:\t300 KiB|drm-resident-vram:\t300 KiB|"
      "amd-evicted-vram:\t9 KiB|drm-total-vram:\t400 KiB");
  client(40, 4,
         "drm-driver:\tpanthor|drm-client-id:\t2|panthor-resident-memory:\t17 "
         "KiB|drm-total-memory:\t20 KiB|"
         "drm-resident-memory:\t12 KiB");
  EXPECT_EQ(bytes("amdgpu", "vram", "resident"), 300 * 1024);
  EXPECT_EQ(bytes("amdgpu", "vram", "total"), 400 * 1024);
  EXPECT_EQ(process("weston", "panthor", "memory"), 12 * 1024);
  EXPECT_EQ(absent("malformed"), 0U);
}

TEST_F(DrmTest, WithoutANumberNothingCountsTwice) {
  program(40, "Xorg", "drm-driver:\tetnaviv|drm-total-memory:\t20 KiB");
  client(40, 4, "drm-driver:\tetnaviv|drm-total-memory:\t30 KiB");
  program(41, "app", "drm-driver:\tetnaviv|drm-total-memory:\t5 KiB");
  EXPECT_EQ(process("Xorg", "etnaviv", "memory"), 30 * 1024);
  EXPECT_EQ(process("app", "etnaviv", "memory"), 5 * 1024);
}

TEST_F(DrmTest, AnOddFigureCostsThatFigure) {
  program(
      40, "app",
      "drm-driver:\tlima|drm-client-id:\t1|drm-total-memory:\t-4 KiB|drm-resident-memory:\t8 KiB|"
      "drm-shared-memory:\t99999999999999999999 KiB|drm-total-a:\t4 parsecs|drm-total-b:\tx");
  EXPECT_EQ(process("app", "lima", "memory"), 8 * 1024);
  EXPECT_FALSE(has("jetmem_drm_bytes{driver=lima,kind=total,region=memory}"));
  EXPECT_EQ(absent("impossible"), 2U);
  EXPECT_EQ(absent("malformed"), 2U);
  fixture.clear();
  fixture.file(kNoteProcesses, "5\n");
  comm(40, "app");
  fixture.file("/proc/40/fdinfo/3", "drm-driver:\tlima\ndrm-total-memory:\t123");
  EXPECT_EQ(reading().drm.unreported, 1U) << "what was cut is no figure";
  program(41, "systemd-logind", "drm-driver:\tvc4|drm-client-id:\t3");
  EXPECT_EQ(absent("gpu_memory_unreported"), 2U);
  EXPECT_TRUE(reading().drm.holders[1].unreported);
  EXPECT_EQ(reading().drm.regions.size(), 0U);
}

// A buffer's name may hold anything.
TEST_F(DrmTest, ABufferIsNoClient) {
  comm(40, "app");
  fixture.file("/proc/40/fdinfo/3", std::string(kOwnKeys) +
                                        "size:\t4096\ncount:\t1\nexp_name:\tsystem\nname:\tx\n"
                                        "drm-driver:\tx\ndrm-total-memory:\t1 MiB\n");
  EXPECT_EQ(reading().drm.clients, 0U);
  EXPECT_EQ(reading().held.bytes, 4096U);
}

TEST_F(DrmTest, ManyNamesBecomeOther) {
  for (std::uint32_t i = 0; i < 30; ++i) {
    comm(100 + i, "app-" + std::string(1, static_cast<char>('a' + i % 26)) + (i < 26 ? "" : "x"));
    client(100 + i, 3,
           "drm-driver:\tmsm|drm-client-id:\t" + std::to_string(i) + "|drm-total-memory:\t" +
               std::to_string(1024 * (i + 1)));
  }
  EXPECT_EQ(reading().drm.uses.size(), Drm::kMaxNames + 1);
  EXPECT_EQ(process("other", "msm", "memory"), 1024 * 55);
  EXPECT_EQ(process("app-dx", "msm", "memory"), 1024 * 30);
  EXPECT_EQ(bytes("msm", "memory", "total"), 1024 * 465);
}

class DrmTree : public TreeTest<DmabufSource> {};

TEST_F(DrmTree, OfATreeClientsAreTaken) {
  file("/proc/40/comm", "labwc\n");
  file("/proc/40/fdinfo/12",
       std::string(kOwnKeys) + "drm-driver:\tv3d\ndrm-client-id:\t7\ndrm-total-memory:\t64 KiB\n");
  Dmabuf out;
  ASSERT_TRUE(parse_dmabuf(read(), out).has_value());
  ASSERT_EQ(out.drm.holders.size(), 1U);
  EXPECT_EQ(out.drm.holders[0].bytes, 64U << 10);
  EXPECT_TRUE(out.held.nvmap_openers.empty());
}

}  // namespace
}  // namespace jetmem
