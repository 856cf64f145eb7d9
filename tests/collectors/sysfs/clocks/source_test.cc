// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/clocks/source.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "collectors/sysfs/clocks/engines.h"
#include "collectors/sysfs/clocks/files.h"
#include "collectors/sysfs/clocks/power_mode.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

using std::string_literals::operator""s;

constexpr double kMega = 1e6;

class ClocksTest : public SourceTest<ClocksSource> {
 protected:
  void policy(int number, std::string_view cur, std::string_view max = "1728000\n") {
    const std::string at = "/sys/devices/system/cpu/cpufreq/policy" + std::to_string(number) + "/";
    fixture.file(at + "scaling_cur_freq", cur);
    fixture.file(at + "scaling_min_freq", "729600\n");
    fixture.file(at + "scaling_max_freq", max);
    fixture.file(at + "cpuinfo_max_freq", "1728000\n");
    fixture.file(at + "scaling_governor", "schedutil\n");
  }
  void device(const std::string& name, std::string_view cur,
              const std::string& parent = "/sys/class/devfreq") {
    const std::string at = parent + "/" + name + "/";
    fixture.file(at + "cur_freq", cur);
    fixture.file(at + "min_freq", "306000000\n");
    fixture.file(at + "max_freq", "612000000\n");
    fixture.file(at + "available_frequencies", "306000000 612000000 1020000000\n");
    fixture.file(at + "governor", "nvhost_podgov\n");
  }
  void tegra() { fixture.file("/proc/device-tree/compatible", "nvidia,x\0nvidia,tegra234\0"s); }
  void bpmp(std::string_view rate) {
    const std::string at = "/sys/kernel/debug/bpmp/debug/clk/emc/";
    fixture.file(at + "rate", rate);
    fixture.file(at + "min_rate", "0\n");
    fixture.file(at + "max_rate", "3199000000\n");
    fixture.file(at + "mrq_rate_locked", "0\n");
  }
  std::uint64_t all_absent() {
    std::uint64_t sum = 0;
    for (const auto& entry : fixture.absent.counts()) sum += entry.count;
    return sum;
  }
};

TEST_F(ClocksTest, CpuPoliciesInHertz) {
  policy(10, "1113600\n");
  policy(0, "729600\n", "1497600\n");
  fixture.file("/sys/devices/system/cpu/online", "0-3,6\n");
  fixture.file("/sys/devices/system/cpu/present", "0-11\n");
  const std::string labels = "{clock=\"policy0\",domain=\"cpu\"}";
  EXPECT_EQ(value("jetmem_clock_hertz" + labels), 729.6 * kMega);
  EXPECT_EQ(value("jetmem_clock_min_hertz" + labels), 729.6 * kMega);
  EXPECT_EQ(value("jetmem_clock_max_hertz" + labels), 1497.6 * kMega);
  EXPECT_EQ(value("jetmem_clock_hardware_max_hertz" + labels), 1728 * kMega);
  EXPECT_EQ(value("jetmem_clock_governor_info{clock=policy0,domain=cpu,governor=schedutil}"), 1);
  EXPECT_EQ(value("jetmem_clock_hertz{clock=policy10,domain=cpu}"), 1113.6 * kMega);
  EXPECT_EQ(reading().clocks[0].name, "policy0");
  EXPECT_EQ(value("jetmem_cpus_online"), 5);
  EXPECT_EQ(value("jetmem_cpus_present"), 12);
}

TEST_F(ClocksTest, CpusThatAreOfflineHaveNoClock) {
  policy(0, "729600\n");
  const std::string at = "/sys/devices/system/cpu/cpufreq/policy4/";
  for (const char* leaf : {"scaling_cur_freq", "scaling_governor"}) fixture.error(at + leaf, EBUSY);
  EXPECT_FALSE(has("jetmem_clock_hertz{clock=policy4,domain=cpu}"));
  EXPECT_EQ(absent("offline"), 2U);
}

TEST_F(ClocksTest, AGpuIsKnownByItsNodeOrItsName) {
  device("17000000.gpu", "612000000\n");
  fixture.file("/sys/class/devfreq/17000000.gpu/device/of_node/name", "gpu\0"s);
  fixture.file("/sys/class/devfreq/17000000.gpu/device/load", "992\n");
  device("15340000.vic", "115200000\n");
  fixture.file("/sys/class/devfreq/15340000.vic/device/of_node/name", "vic\0"s);
  device("d8000000.r", "1\n");
  fixture.file("/sys/class/devfreq/d8000000.r/device/of_node/name", "gv11b\0"s);
  device("e.gp10b", "1\n");
  device("f.r", "1\n");
  fixture.file("/sys/class/devfreq/f.r/device/of_node/name", "gpu");  // cut: perhaps of "gpu-fan"
  const std::string labels = "{clock=\"17000000.gpu\",domain=\"gpu\"}";
  EXPECT_EQ(value("jetmem_clock_hertz" + labels), 612 * kMega);
  EXPECT_EQ(value("jetmem_clock_min_hertz" + labels), 306 * kMega);
  EXPECT_EQ(value("jetmem_clock_max_hertz" + labels), 612 * kMega);
  EXPECT_EQ(value("jetmem_clock_hardware_max_hertz" + labels), 1020 * kMega);
  EXPECT_EQ(value("jetmem_gpu_load_ratio{clock=17000000.gpu}"), 0.992);
  EXPECT_EQ(value("jetmem_clock_hertz{clock=15340000.vic,domain=other}"), 115.2 * kMega);
  EXPECT_EQ(value("jetmem_clock_hertz{clock=d8000000.r,domain=gpu}"), 1);
  EXPECT_EQ(value("jetmem_clock_hertz{clock=e.gp10b,domain=gpu}"), 1);
  EXPECT_EQ(value("jetmem_clock_hertz{clock=f.r,domain=other}"), 1);
}

// L4T 28 to 32, seen where the class does not show the device.
TEST_F(ClocksTest, AGpuOutsideTheClassAndALoadBesideIt) {
  device("57000000.gpu", "76800000\n", "/sys/devices/gpu.0/devfreq");
  fixture.file("/sys/devices/gpu.0/load", "125\n");
  EXPECT_EQ(value("jetmem_clock_hertz{clock=57000000.gpu,domain=gpu}"), 76.8 * kMega);
  EXPECT_EQ(value("jetmem_gpu_load_ratio{clock=57000000.gpu}"), 0.125);
}

TEST_F(ClocksTest, ALoadIsNotGivenToOneOfTwoGpus) {
  device("gpu-gpc-0", "76800000\n");
  device("gpu-nvd-0", "76800000\n");
  fixture.file("/sys/devices/gpu.0/load", "125\n");
  for (const auto& clock : reading().clocks) EXPECT_EQ(clock.load, std::nullopt);
}

TEST_F(ClocksTest, LoadAboveAllIsNoLoad) {
  device("17000000.gpu", "612000000\n");
  fixture.file("/sys/class/devfreq/17000000.gpu/device/load", "1001\n");
  EXPECT_EQ(reading().clocks[0].load, std::nullopt);
  EXPECT_EQ(absent("inconsistent"), 1U);
}

// L4T 36 as root: host1x's activity monitor, devfreq's clocks; DLA and PVA are on or off.
TEST_F(ClocksTest, EnginesAreOnOrOffAndSomeAreCounted) {
  const auto engine = [&](const std::string& name, std::string_view status) {
    fixture.file("/sys/bus/platform/devices/" + name + "/power/runtime_status", status);
  };
  device("154c0000.nvenc", "998400000\n");
  engine("154c0000.nvenc", "active\n");
  fixture.file("/sys/kernel/debug/tegra-host1x/actmon/nvenc/module0/usage", "413\n");
  engine("15340000.vic", "suspended\n");
  engine("15380000.nvjpg", "suspended\n");
  engine("15540000.nvjpg", "active\n");
  fixture.file("/sys/kernel/debug/tegra-host1x/actmon/nvjpg1/module0/usage", "7\n");
  engine("15880000.nvdla0", "active\n");
  fixture.file("/sys/kernel/debug/clk/dla0_core/clk_rate", "1420000000\n");
  EXPECT_EQ(value("jetmem_engine_on{engine=NVENC}"), 1);
  EXPECT_EQ(value("jetmem_engine_load_ratio{engine=NVENC}"), 0.413);
  EXPECT_EQ(value("jetmem_engine_clock_hertz{engine=NVENC}"), 998.4 * kMega);
  EXPECT_EQ(value("jetmem_engine_on{engine=VIC}"), 0);
  EXPECT_FALSE(has("jetmem_engine_load_ratio{engine=VIC}"));
  EXPECT_FALSE(has("jetmem_engine_clock_hertz{engine=VIC}"));
  EXPECT_EQ(value("jetmem_engine_on{engine=NVJPG}"), 0);
  EXPECT_EQ(value("jetmem_engine_load_ratio{engine=NVJPG1}"), 0.007);
  EXPECT_EQ(value("jetmem_engine_clock_hertz{engine=NVDLA0}"), 1420 * kMega);
  EXPECT_FALSE(has("jetmem_engine_load_ratio{engine=NVDLA0}"));
  EXPECT_EQ(absent("no_load_counter"), 1U);
}

// L4T 35: nvhost's own load; without root debugfs is denied, which is no "has no counter".
TEST_F(ClocksTest, EnginesLoadsThatCannotBeTaken) {
  const auto engine = [&](const std::string& name) {
    fixture.file("/sys/bus/platform/devices/" + name + "/power/runtime_status", "active\n");
  };
  engine("154c0000.nvenc");
  fixture.file("/sys/bus/platform/devices/154c0000.nvenc/load", "250\n");
  engine("15480000.nvdec");
  fixture.file("/sys/bus/platform/devices/15480000.nvdec/load", "1001\n");
  engine("15340000.vic");
  fixture.error("/sys/kernel/debug/tegra-host1x/actmon/vic/module0/usage", EACCES);
  fixture.file("/sys/bus/platform/devices/16000000.pva0/power/runtime_status", "unsupported\n");
  fixture.file("/sys/bus/platform/devices/15a50000.ofa/power/runtime_status", "act");  // cut
  EXPECT_EQ(value("jetmem_engine_load_ratio{engine=NVENC}"), 0.25);
  EXPECT_FALSE(has("jetmem_engine_load_ratio{engine=NVDEC}"));
  EXPECT_FALSE(has("jetmem_engine_load_ratio{engine=VIC}"));
  EXPECT_FALSE(has("jetmem_engine_on{engine=PVA0}"));
  EXPECT_FALSE(has("jetmem_engine_on{engine=OFA}"));
  EXPECT_EQ(absent("inconsistent"), 1U);
  EXPECT_EQ(absent("debugfs_denied"), 1U);
  EXPECT_EQ(absent("no_runtime_pm"), 1U);
  EXPECT_EQ(absent("malformed"), 1U);
}

// Between on and off it is neither; its load and clock could be read only of one that is on.
TEST_F(ClocksTest, EnginesThatChangePowerAreNeitherOnNorOff) {
  for (const char* status : {"suspending\n", "resuming\n"}) {
    fixture.file("/sys/bus/platform/devices/154c0000.nvenc/power/runtime_status", status);
    fixture.file("/sys/bus/platform/devices/154c0000.nvenc/load", "250\n");
    EXPECT_FALSE(has("jetmem_engine_on{engine=NVENC}")) << status;
    EXPECT_FALSE(has("jetmem_engine_load_ratio{engine=NVENC}")) << status;
    EXPECT_EQ(absent("changing_power"), 1U) << status;
    EXPECT_EQ(absent("malformed"), 0U) << status;
  }
}

TEST(Engines, AreKnownByTheirDevices) {
  EXPECT_EQ(clocks::engine_kind("154c0000.nvenc"), "nvenc");
  EXPECT_EQ(clocks::engine_kind("15a80000.nvenc1"), "nvenc1");
  EXPECT_EQ(clocks::engine_kind("8188050000.vic"), "vic");
  EXPECT_EQ(clocks::engine_kind("16000000.pva0"), "pva0");
  for (const char* other : {"", ".vic", "vic", "13e00000.host1x", "15c10000.vi", "15340000.vicx",
                            "c0.vic123", "x.vic", "15340000.vic:port", "17000000.gpu"}) {
    EXPECT_EQ(clocks::engine_kind(other), "") << other;
  }
  EXPECT_EQ((clocks::EngineName{"nvjpg", 1}.text()), "nvjpg1");
  EXPECT_EQ(clocks::clock_of({"nvdla1", 0}), "dla1_core");
  EXPECT_EQ(clocks::clock_of({"nvdec", 0}), "nvdec");
}

// Orin, as root: firmware's clock, the driver's activity in kHz.
TEST_F(ClocksTest, TheMemorysClockAndUse) {
  tegra();
  bpmp("2133000000\n");
  fixture.file("/sys/kernel/nvpmodel_emc_cap/emc_iso_cap", "2133000000\n");
  fixture.file("/sys/kernel/debug/cactmon/mc_all", "1386450\n");
  const std::string labels = "{clock=\"emc\",domain=\"memory\"}";
  EXPECT_EQ(value("jetmem_clock_hertz" + labels), 2133 * kMega);
  EXPECT_EQ(value("jetmem_clock_min_hertz" + labels), 0);
  EXPECT_EQ(value("jetmem_clock_hardware_max_hertz" + labels), 3199 * kMega);
  EXPECT_TRUE(std::isnan(value("jetmem_clock_max_hertz" + labels)));
  EXPECT_EQ(value("jetmem_emc_cap_hertz"), 2133 * kMega);
  EXPECT_EQ(value("jetmem_emc_locked"), 0);
  EXPECT_EQ(value("jetmem_emc_activity_hertz"), 1386.45 * kMega);
  EXPECT_EQ(value("jetmem_emc_utilization_ratio"), 0.65);
  EXPECT_EQ(value("jetmem_emc_utilization_max_1m_ratio"), 0.65);
  EXPECT_EQ(all_absent(), 0U);
}

TEST_F(ClocksTest, UseAboveTheClockIsNotClamped) {
  tegra();
  bpmp("204000000\n");
  fixture.file("/sys/kernel/debug/cactmon/mc_all", "204001\n");
  EXPECT_EQ(reading().emc.activity, 204001000U);
  EXPECT_EQ(reading().emc.utilization, std::nullopt);
  EXPECT_EQ(absent("inconsistent"), 1U);
}

TEST_F(ClocksTest, JetPack6HasTheCapElsewhere) {
  tegra();
  bpmp("204000000\n");
  fixture.file("/sys/kernel/nvpmodel_clk_cap/emc", "2133000000\n");
  EXPECT_EQ(value("jetmem_emc_cap_hertz"), 2133 * kMega);
}

TEST_F(ClocksTest, ACapOfNoneIsNone) {
  policy(0, "729600\n");
  fixture.file("/sys/kernel/nvpmodel_emc_cap/emc_iso_cap", "0\n");
  EXPECT_EQ(reading().emc.cap, std::nullopt);
}

// tegra210: the unit of the activity is not known, so no share is made of it.
TEST_F(ClocksTest, TheNanosMemory) {
  tegra();
  fixture.file("/sys/kernel/debug/clk/emc/clk_rate", "1600000000\n");
  fixture.file("/sys/kernel/debug/clk/override.emc/clk_rate", "1\n");
  fixture.file("/sys/kernel/debug/tegra_bwmgr/emc_min_rate", "40800000\n");
  fixture.file("/sys/kernel/debug/tegra_bwmgr/emc_max_rate", "1600000000\n");
  fixture.file("/sys/kernel/actmon_avg_activity/mc_all", "143360\n");
  EXPECT_EQ(value("jetmem_clock_hertz{clock=emc,domain=memory}"), 1600 * kMega);
  EXPECT_EQ(value("jetmem_emc_activity_raw{counter=actmon_avg_activity}"), 143360);
  EXPECT_EQ(reading().emc.utilization, std::nullopt);
  EXPECT_EQ(all_absent(), 0U);
}

TEST_F(ClocksTest, ThorsMemoryIsADevfreqDevice) {
  tegra();
  device("bwmgr", "3200000000\n");
  fixture.file("/sys/kernel/debug/bpmp/debug/actmon/mc_all_avg_activity", "613376\n");
  EXPECT_EQ(value("jetmem_clock_hertz{clock=bwmgr,domain=memory}"), 3200 * kMega);
  EXPECT_EQ(value("jetmem_emc_activity_raw{counter=mc_all_avg_activity}"), 613376);
  EXPECT_EQ(all_absent(), 0U) << "nothing is missing of an EMC that is reported elsewhere";
}

TEST_F(ClocksTest, DeniedDebugfsCostsTheMemoryOnly) {
  tegra();
  policy(0, "729600\n");
  for (const auto& emc : clocks::kEmcFiles) {
    if (emc.path.find("/debug/") != std::string_view::npos) fixture.error(emc.path, EACCES);
  }
  fixture.error(clocks::kFirmwareActivity.path, EACCES);
  EXPECT_EQ(reading().clocks.size(), 1U);
  EXPECT_EQ(absent("debugfs_denied"), 4U);  // clock, least, most, activity
  EXPECT_EQ(all_absent(), 4U);
}

TEST_F(ClocksTest, DebugfsThatIsNotMountedIsSaid) {
  tegra();
  policy(0, "729600\n");
  EXPECT_EQ(absent("debugfs_absent"), 4U);
}

// On a PC debugfs is denied too, and hides no EMC.
TEST_F(ClocksTest, NothingIsMissedOnOtherMachines) {
  fixture.file("/proc/device-tree/compatible", "raspberrypi,5-model-b\0brcm,bcm2712\0"s);
  policy(0, "729600\n");
  fixture.error("/sys/kernel/debug/bpmp/debug/clk/emc/rate", EACCES);
  fixture.error("/sys/kernel/debug/cactmon/mc_all", EACCES);
  ASSERT_TRUE(fixture.run());
  EXPECT_EQ(all_absent(), 0U);
}

TEST_F(ClocksTest, AClockThatIsOffOrFailsIsCounted) {
  policy(0, "729600\n");
  const std::string at = "/sys/class/devfreq/17000000.gpu/";
  fixture.error(at + "cur_freq", EAGAIN);
  fixture.error(at + "min_freq", EIO);
  fixture.error(at + "max_freq", ENODEV);
  fixture.error(at + "device/load", EINVAL);
  EXPECT_EQ(absent("powered_off"), 2U);
  EXPECT_EQ(absent("unreadable"), 2U);
  EXPECT_FALSE(has("jetmem_clock_hertz{clock=17000000.gpu,domain=gpu}"));
}

TEST_F(ClocksTest, NoLimitIsNoFrequency) {
  device("a", "5\n");
  fixture.file("/sys/class/devfreq/b/cur_freq", "0\n");  // gated: that is its clock
  fixture.file("/sys/class/devfreq/b/max_freq", "18446744073709551615\n");
  fixture.file("/sys/class/devfreq/b/available_frequencies", "\n");
  fixture.file("/sys/class/devfreq/c/max_freq", "0\n");
  EXPECT_EQ(reading().clocks[1].now, 0U);
  EXPECT_EQ(reading().clocks[1].max, std::nullopt);
  EXPECT_EQ(reading().clocks[1].hardware_max, std::nullopt);
  EXPECT_EQ(reading().clocks[2].max, std::nullopt);
  EXPECT_EQ(absent("placeholder"), 2U);
}

TEST_F(ClocksTest, ThePowerModeAndItsName) {
  fixture.file("/var/lib/nvpmodel/status", "pmode:0002\n");
  fixture.file("/etc/nvpmodel.conf",
               "# < POWER_MODEL ID=2 NAME=NOT_THIS >\n"
               "< PARAM TYPE=FILE NAME=CPU_ONLINE >\n"
               "< POWER_MODEL ID=0 NAME=MAXN >\n"
               "< POWER_MODEL ID=2 NAME=MODE_15W_6CORE >\n"
               "< PM_CONFIG DEFAULT=2 >\n");
  // Without an answer elsewhere, too: the mode alone is worth showing.
  EXPECT_EQ(value("jetmem_power_mode"), 2);
  EXPECT_EQ(value("jetmem_power_mode_info{mode=2,name=MODE_15W_6CORE}"), 1);

  // Somebody changes it.
  fixture.only("/var/lib/nvpmodel/status", "pmode:0000\n");
  fixture.file("/etc/nvpmodel.conf", "< POWER_MODEL ID=0 NAME=MAXN >\n");
  EXPECT_EQ(value("jetmem_power_mode"), 0);
  EXPECT_EQ(value("jetmem_power_mode_info{mode=0,name=MAXN}"), 1);
  EXPECT_FALSE(has("jetmem_power_mode_info{mode=2,name=MODE_15W_6CORE}"));

  fixture.only("/var/lib/nvpmodel/status", "pmode:0000\n");
  EXPECT_EQ(value("jetmem_power_mode"), 0);
  EXPECT_EQ(absent("name_unknown"), 1U);
  EXPECT_EQ(reading().power_mode_name, "");
}

TEST(PowerMode, StatusIsReadWithItsFourDigits) {
  EXPECT_EQ(clocks::power_mode_of("pmode:0002\n"), 2U);
  EXPECT_EQ(clocks::power_mode_of("pmode:0002"), 2U) << "four digits are a whole number";
  EXPECT_EQ(clocks::power_mode_of("pmode:0008 fmode:quiet\n"), 8U);
  EXPECT_EQ(clocks::power_mode_of("pmode:12345\n"), 12345U);
  for (const std::string_view bad :
       {"", "\n", "pmode:", "pmode:\n", "pmode:2\n", "pmode:000", "pmode:0002x\n", "pmode: 0002\n",
        "pmode:-002\n", "PMODE:0002\n", "pmode:99999999999999999999\n", "fmode:quiet\n"}) {
    EXPECT_EQ(clocks::power_mode_of(bad), std::nullopt) << bad;
  }
}

TEST(PowerMode, NamesAreThoseOfPowerModels) {
  constexpr std::string_view kConf =
      "<POWER_MODEL ID=7 NAME=SEVEN>\n"
      "  < POWER_MODEL ID=10 NAME=TEN >\r\n"
      "< POWER_MODEL NAME=REVERSED ID=4 >\n"
      "< POWER_MODEL ID=5 >\n"
      "< POWER_MODEL ID=6 NAME=CU";
  EXPECT_EQ(clocks::power_mode_name(kConf, 7), "SEVEN");
  EXPECT_EQ(clocks::power_mode_name(kConf, 4), "REVERSED");
  EXPECT_EQ(clocks::power_mode_name(kConf, 5), "");
  EXPECT_EQ(clocks::power_mode_name(kConf, 6), "") << "cut";
  EXPECT_EQ(clocks::power_mode_name(kConf, 1), "");
  EXPECT_EQ(clocks::power_mode_name("", 0), "");
}

TEST(CpuLists, AreCounted) {
  EXPECT_EQ(clocks::count_of_cpus("0\n"), 1U);
  EXPECT_EQ(clocks::count_of_cpus("0-11\n"), 12U);
  EXPECT_EQ(clocks::count_of_cpus("0-3,6,8-9\n"), 7U);
  for (const std::string_view bad :
       {"", "\n", "0-3", "3-0\n", "0,0\n", "0-3,2\n", "0-\n", ",1\n", "0,\n", "0-3x\n", " -3\n",
        "0- 3\n", "0-99999999\n", "0-18446744073709551615\n"}) {
    EXPECT_EQ(clocks::count_of_cpus(bad), std::nullopt) << bad;
  }
}

TEST_F(ClocksTest, NothingThereIsAbsentAndDeniedIsDenied) {
  fixture.file("/sys/devices/system/cpu/online", "0-3\n");
  const auto none = fixture.run();
  EXPECT_EQ(none.error().code, Errc::kAbsent);
  EXPECT_EQ(none.error().message,
            "neither cpufreq nor devfreq nor a power mode of nvpmodel on this machine");
  fixture.error("/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", EIO);
  EXPECT_EQ(fixture.run().error().code, Errc::kIo);
  fixture.error("/sys/class/devfreq", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
  fixture.only("/var/lib/nvpmodel/status", "pmode:\n");
  EXPECT_EQ(fixture.error_message(), "/var/lib/nvpmodel/status: found 'pmode:?'");
}

// The ugly ladder.
TEST_F(ClocksTest, ABadFileCostsItsValueOnly) {
  for (const std::string_view bad : no_numbers({"-1\n"})) {
    fixture.clear();
    tegra();
    policy(0, bad);
    device("17000000.gpu", bad);
    bpmp(bad);
    fixture.file("/sys/kernel/debug/cactmon/mc_all", bad);
    fixture.file("/sys/devices/system/cpu/online", "0-5");
    for (const auto& clock : reading().clocks) {
      EXPECT_EQ(clock.now, std::nullopt);
      EXPECT_NE(clock.min, std::nullopt);
    }
    EXPECT_EQ(absent("malformed"), 5U);
  }
}

TEST_F(ClocksTest, AvailableFrequenciesAreAllNumbersOrNone) {
  for (const std::string_view bad :
       {"306000000 612", "306000000 6e8\n", "306000000,612000000\n", "x\n", "1 -2\n"}) {
    fixture.only("/sys/class/devfreq/a/cur_freq", "1\n");
    fixture.file("/sys/class/devfreq/a/available_frequencies", bad);
    EXPECT_EQ(reading().clocks[0].hardware_max, std::nullopt) << bad;
    EXPECT_EQ(absent("malformed"), 1U) << bad;
  }
  fixture.only("/sys/class/devfreq/a/available_frequencies", "3 1 2 \n");
  EXPECT_EQ(reading().clocks[0].hardware_max, 3U) << "in whatever order";
}

TEST_F(ClocksTest, HostileNames) {
  device("good", "1\n");
  device("bad\x1b[2J", "2\n");
  device(std::string(65, 'a'), "3\n");
  policy(0, "1\n");
  fixture.file("/sys/devices/system/cpu/cpufreq/policy/scaling_cur_freq", "1\n");
  fixture.file("/sys/devices/system/cpu/cpufreq/policy1x/scaling_cur_freq", "1\n");
  fixture.file("/sys/devices/system/cpu/cpufreq/policy99999999999/scaling_cur_freq", "1\n");
  fixture.file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "a\x01z\n");
  ASSERT_EQ(reading().clocks.size(), 2U);
  EXPECT_EQ(reading().clocks[0].governor, "");
  EXPECT_EQ(reading().clocks[1].name, "good");
  EXPECT_EQ(absent("malformed"), 3U);
}

TEST_F(ClocksTest, BeyondTheBoundsIsCountedNotStored) {
  for (int i = 0; i < 70; ++i) policy(i, "1\n");
  for (int i = 0; i < 40; ++i) device("d" + std::to_string(i), "1\n");
  fixture.file("jetmem:clocks omitted", "3\n");
  EXPECT_EQ(reading().clocks.size(), 64U + 32U);
  EXPECT_EQ(absent("beyond_bound"), 6U + 8U + 3U);
}

// What is read at all.
class ClocksGather : public TreeTest<ClocksSource> {
 protected:
  Result<void> parse() {
    const Snapshot& snapshot = read();
    paths_ = paths_of(snapshot);
    return parse_clocks(snapshot, clocks_);
  }
  bool has_read(const std::string& path) const {
    return std::find(paths_.begin(), paths_.end(), path) != paths_.end();
  }
  std::vector<std::string> paths_;
  Clocks clocks_;
};

TEST_F(ClocksGather, OnlyAGpuIsAskedForItsLoad) {
  file("/sys/class/devfreq/1.gpu/cur_freq", "1\n");
  file("/sys/class/devfreq/1.gpu/device/load", "10\n");
  file("/sys/class/devfreq/2.vic/cur_freq", "1\n");
  file("/sys/class/devfreq/2.vic/device/load", "10\n");
  ASSERT_TRUE(parse());
  EXPECT_TRUE(has_read("/sys/class/devfreq/1.gpu/device/load"));
  EXPECT_FALSE(has_read("/sys/class/devfreq/2.vic/device/load"));
  EXPECT_EQ(clocks_.clocks[0].load, 0.01);
}

// Of an engine without power nothing but its state is read: to read more could wake it.
TEST_F(ClocksGather, AnEngineThatIsOffIsLeftAlone) {
  const std::string at = "/sys/bus/platform/devices/";
  file(at + "154c0000.nvenc/power/runtime_status", "suspended\n");
  file(at + "154c0000.nvenc/load", "999\n");
  file(at + "15340000.vic/power/runtime_status", "active\n");
  file(at + "15340000.vic/load", "120\n");
  file(at + "15480000.nvdec/power/runtime_status", "resuming\n");
  file(at + "15480000.nvdec/load", "999\n");
  file("/sys/kernel/debug/clk/nvdec/clk_rate", "1\n");
  file("/sys/kernel/debug/tegra-host1x/actmon/nvenc/module0/usage", "999\n");
  file("/sys/kernel/debug/tegra-host1x/actmon/vic/module0/usage", "999\n");
  file("/sys/kernel/debug/clk/nvenc/clk_rate", "1\n");
  file("/sys/kernel/debug/clk/vic/clk_rate", "115200000\n");
  ASSERT_TRUE(parse());
  ASSERT_EQ(clocks_.engines.size(), 3U);
  EXPECT_EQ(clocks_.engines[0].load, 0.12);
  EXPECT_EQ(clocks_.engines[1].load, std::nullopt);
  EXPECT_TRUE(has_read("/sys/kernel/debug/clk/vic/clk_rate"));
  EXPECT_FALSE(has_read("/sys/kernel/debug/tegra-host1x/actmon/vic/module0/usage"));
  for (const std::string& path : paths_) {
    const bool is_off = path.find("nvenc") != path.npos || path.find("nvdec") != path.npos;
    EXPECT_TRUE(!is_off || path.ends_with("/power/runtime_status")) << path;
  }
}

TEST_F(ClocksGather, OldKernelsPlacesAreLookedAtOnlyWhereTheClassHasNoGpu) {
  file("/sys/class/devfreq/2.vic/cur_freq", "1\n");
  file("/sys/devices/platform/17000000.gv11b/devfreq/17000000.gv11b/cur_freq", "7\n");
  file("/sys/devices/platform/17000000.gv11b/load", "500\n");
  ASSERT_TRUE(parse());
  ASSERT_EQ(clocks_.clocks.size(), 2U);
  EXPECT_EQ(clocks_.clocks[0].domain, Clocks::Domain::kGpu);
  EXPECT_EQ(clocks_.clocks[0].now, 7U);
  EXPECT_EQ(clocks_.clocks[0].load, 0.5);

  file("/sys/class/devfreq/17000000.gv11b/cur_freq", "8\n");
  ASSERT_TRUE(parse());
  ASSERT_EQ(clocks_.clocks.size(), 2U);
  EXPECT_EQ(clocks_.clocks[0].now, 8U);
  EXPECT_EQ(clocks_.clocks[0].load, 0.5);
}

TEST_F(ClocksGather, FirmwareIsAskedForActivityOnlyWhereNoDriverTellsIt) {
  const std::string firmware = "/sys/kernel/debug/bpmp/debug/actmon/mc_all_avg_activity";
  file(firmware, "9\n");
  file("/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "1\n");
  ASSERT_TRUE(parse());
  EXPECT_EQ(clocks_.emc.raw[1], 9U);
  file("/sys/kernel/debug/cactmon/mc_all", "1\n");
  ASSERT_TRUE(parse());
  EXPECT_FALSE(has_read(firmware));
}

TEST_F(ClocksGather, SaysWhatItLeftOut) {
  for (int i = 0; i < 100; ++i) {
    file("/sys/devices/system/cpu/cpufreq/policy" + std::to_string(i) + "/scaling_cur_freq", "1\n");
  }
  for (int i = 0; i < 33; ++i) {
    file("/sys/class/devfreq/d" + std::to_string(i) + "/cur_freq", "1\n");
  }
  ASSERT_TRUE(parse());
  ASSERT_EQ(clocks_.clocks.size(), 96U);
  EXPECT_EQ(clocks_.clocks[63].name, "policy63") << "the first by number";
  EXPECT_TRUE(has_read("jetmem:clocks omitted"));
  ASSERT_EQ(clocks_.absent.counts().size(), 1U);
  EXPECT_EQ(clocks_.absent.counts()[0].reason, "beyond_bound");
  EXPECT_EQ(clocks_.absent.counts()[0].count, 36U + 1U);
}

}  // namespace
}  // namespace jetmem
