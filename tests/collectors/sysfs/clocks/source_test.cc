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

const std::string kCpufreq = "/sys/devices/system/cpu/cpufreq/";
const std::string kDevfreq = "/sys/class/devfreq/";
const std::string kDevices = "/sys/bus/platform/devices/";
const std::string kDebug = "/sys/kernel/debug/";

class ClocksTest : public SourceTest<ClocksSource> {
 protected:
  void policy(int number, std::string_view cur, const std::string& max = "1728000") {
    const std::string at = kCpufreq + "policy" + std::to_string(number) + "/";
    fixture.file(at + "scaling_cur_freq", cur);
    fixture.files(at,
                  "scaling_min_freq=729600 cpuinfo_max_freq=1728000 "
                  "scaling_governor=schedutil scaling_max_freq=" +
                      max);
  }
  void device(const std::string& name, std::string_view cur, const std::string& in = kDevfreq) {
    fixture.file(in + name + "/cur_freq", cur);
    fixture.file(in + name + "/available_frequencies", "306000000 612000000 1020000000\n");
    fixture.files(in + name + "/", "min_freq=306000000 max_freq=612000000 governor=nvhost_podgov");
  }
  void tegra() { fixture.file("/proc/device-tree/compatible", "nvidia,x\0nvidia,tegra234\0"s); }
  void bpmp(std::string_view rate) {
    fixture.file(kDebug + "bpmp/debug/clk/emc/rate", rate);
    fixture.files(kDebug + "bpmp/debug/clk/emc/",
                  "min_rate=0 max_rate=3199000000 mrq_rate_locked=0");
  }
};

TEST_F(ClocksTest, CpuPoliciesInHertz) {
  policy(10, "1113600\n");
  policy(0, "729600\n", "1497600");
  fixture.files("/sys/devices/system/cpu/", "online=0-3,6 present=0-11");
  expect("jetmem_clock_*hertz{clock=policy0,domain=cpu}",
         "=729.6e6 min_=729.6e6 max_=1497.6e6 hardware_max_=1728e6");
  EXPECT_EQ(value("jetmem_clock_governor_info{clock=policy0,domain=cpu,governor=schedutil}"), 1);
  EXPECT_EQ(value("jetmem_clock_hertz{clock=policy10,domain=cpu}"), 1113.6e6);
  EXPECT_EQ(reading().clocks[0].name, "policy0");
  expect("jetmem_cpus_*", "online=5 present=12");
  // One that is offline has no clock.
  fixture.error(kCpufreq + "policy4/scaling_cur_freq", EBUSY);
  fixture.error(kCpufreq + "policy4/scaling_governor", EBUSY);
  EXPECT_FALSE(has("jetmem_clock_hertz{clock=policy4,domain=cpu}"));
  EXPECT_EQ(all_absent(), "offline 2");
}

TEST_F(ClocksTest, AGpuIsKnownByItsNodeOrItsName) {
  device("17000000.gpu", "612000000\n");
  fixture.file(kDevfreq + "17000000.gpu/device/of_node/name", "gpu\0"s);
  fixture.file(kDevfreq + "17000000.gpu/device/load", "992\n");
  device("15340000.vic", "115200000\n");
  fixture.file(kDevfreq + "15340000.vic/device/of_node/name", "vic\0"s);
  device("d8000000.r", "1\n");
  fixture.file(kDevfreq + "d8000000.r/device/of_node/name", "gv11b\0"s);
  device("e.gp10b", "1\n");
  device("f.r", "1\n");
  fixture.file(kDevfreq + "f.r/device/of_node/name", "gpu");  // cut: perhaps of "gpu-fan"
  expect("jetmem_clock_*hertz{clock=17000000.gpu,domain=gpu}",
         "=612e6 min_=306e6 max_=612e6 hardware_max_=1020e6");
  EXPECT_EQ(value("jetmem_gpu_load_ratio{clock=17000000.gpu}"), 0.992);
  expect("jetmem_clock_hertz{clock=*}",
         "15340000.vic,domain=other=115.2e6 d8000000.r,domain=gpu=1 e.gp10b,domain=gpu=1 "
         "f.r,domain=other=1");
}

// L4T 28 to 32, seen where the class does not show the device.
TEST_F(ClocksTest, AGpuOutsideTheClassAndALoadBesideIt) {
  device("57000000.gpu", "76800000\n", "/sys/devices/gpu.0/devfreq/");
  fixture.file("/sys/devices/gpu.0/load", "125\n");
  EXPECT_EQ(value("jetmem_clock_hertz{clock=57000000.gpu,domain=gpu}"), 76.8e6);
  EXPECT_EQ(value("jetmem_gpu_load_ratio{clock=57000000.gpu}"), 0.125);
}

TEST_F(ClocksTest, ALoadIsNotGivenToOneOfTwoGpusAndNotAboveAll) {
  device("gpu-gpc-0", "76800000\n");
  device("gpu-nvd-0", "76800000\n");
  fixture.file("/sys/devices/gpu.0/load", "125\n");
  for (const auto& clock : reading().clocks) EXPECT_EQ(clock.load, std::nullopt);
  // Nor is one above all.
  fixture.clear();
  device("17000000.gpu", "612000000\n");
  fixture.file(kDevfreq + "17000000.gpu/device/load", "1001\n");
  EXPECT_EQ(reading().clocks[0].load, std::nullopt);
  EXPECT_EQ(all_absent(), "inconsistent 1");
}

// L4T 36 as root: host1x's activity monitor, devfreq's clocks; DLA and PVA are on or off.
TEST_F(ClocksTest, EnginesAreOnOrOffAndSomeAreCounted) {
  device("154c0000.nvenc", "998400000\n");
  fixture.files(kDevices,
                "154c0000.nvenc/power/runtime_status=active "
                "15340000.vic/power/runtime_status=suspended "
                "15380000.nvjpg/power/runtime_status=suspended "
                "15540000.nvjpg/power/runtime_status=active "
                "15880000.nvdla0/power/runtime_status=active");
  fixture.files(kDebug,
                "tegra-host1x/actmon/nvenc/module0/usage=413 "
                "tegra-host1x/actmon/nvjpg1/module0/usage=7 clk/dla0_core/clk_rate=1420000000");
  expect("jetmem_engine_*{engine=NVENC}", "on=1 load_ratio=0.413 clock_hertz=998.4e6");
  expect("jetmem_engine_*{engine=VIC}", "on=0 load_ratio=none clock_hertz=none");
  EXPECT_EQ(value("jetmem_engine_on{engine=NVJPG}"), 0);
  EXPECT_EQ(value("jetmem_engine_load_ratio{engine=NVJPG1}"), 0.007);
  expect("jetmem_engine_*{engine=NVDLA0}", "clock_hertz=1420e6 load_ratio=none");
  EXPECT_EQ(all_absent(), "no_load_counter 1");
}

// L4T 35: nvhost's own load; without root debugfs is denied, which is no "has no counter".
TEST_F(ClocksTest, EnginesLoadsThatCannotBeTaken) {
  fixture.files(kDevices,
                "154c0000.nvenc/power/runtime_status=active 154c0000.nvenc/load=250 "
                "15480000.nvdec/power/runtime_status=active 15480000.nvdec/load=1001 "
                "15340000.vic/power/runtime_status=active "
                "16000000.pva0/power/runtime_status=unsupported");
  fixture.error(kDebug + "tegra-host1x/actmon/vic/module0/usage", EACCES);
  fixture.file(kDevices + "15a50000.ofa/power/runtime_status", "act");  // cut
  expect("jetmem_engine_load_ratio{engine=*}", "NVENC=0.25 NVDEC=none VIC=none");
  expect("jetmem_engine_on{engine=*}", "PVA0=none OFA=none");
  EXPECT_EQ(all_absent(), "debugfs_denied 1, inconsistent 1, malformed 1, no_runtime_pm 1");
}

// Between on and off it is neither; its load and clock could be read only of one that is on.
TEST_F(ClocksTest, EnginesThatChangePowerAreNeitherOnNorOff) {
  for (const char* status : {"suspending\n", "resuming\n"}) {
    SCOPED_TRACE(status);
    fixture.file(kDevices + "154c0000.nvenc/power/runtime_status", status);
    fixture.file(kDevices + "154c0000.nvenc/load", "250\n");
    expect("jetmem_engine_*{engine=NVENC}", "on=none load_ratio=none");
    EXPECT_EQ(all_absent(), "changing_power 1");
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
  fixture.file(kDebug + "cactmon/mc_all", "1386450\n");
  expect("jetmem_clock_*hertz{clock=emc,domain=memory}",
         "=2133e6 min_=0 hardware_max_=3199e6 max_=none");
  expect("jetmem_emc_*",
         "cap_hertz=2133e6 locked=0 activity_hertz=1386.45e6 utilization_ratio=0.65 "
         "utilization_max_1m_ratio=0.65");
  EXPECT_EQ(all_absent(), "");
  // Use above the clock is not clamped.
  fixture.clear();
  tegra();
  bpmp("204000000\n");
  fixture.file(kDebug + "cactmon/mc_all", "204001\n");
  EXPECT_EQ(reading().emc.activity, 204001000U);
  EXPECT_EQ(reading().emc.utilization, std::nullopt);
  EXPECT_EQ(all_absent(), "inconsistent 1");
}

TEST_F(ClocksTest, TheCapAndWhereJetPack6HasIt) {
  policy(0, "729600\n");
  fixture.file("/sys/kernel/nvpmodel_emc_cap/emc_iso_cap", "0\n");
  EXPECT_EQ(reading().emc.cap, std::nullopt) << "none";
  fixture.clear();
  fixture.file("/sys/kernel/nvpmodel_clk_cap/emc", "2133000000\n");
  EXPECT_EQ(value("jetmem_emc_cap_hertz"), 2133e6);
}

// tegra210: the unit of the activity is not known, so no share is made of it.
TEST_F(ClocksTest, TheMemoryOfNanoAndThor) {
  tegra();
  fixture.files(kDebug,
                "clk/emc/clk_rate=1600000000 clk/override.emc/clk_rate=1 "
                "tegra_bwmgr/emc_min_rate=40800000 tegra_bwmgr/emc_max_rate=1600000000");
  fixture.file("/sys/kernel/actmon_avg_activity/mc_all", "143360\n");
  EXPECT_EQ(value("jetmem_clock_hertz{clock=emc,domain=memory}"), 1600e6);
  EXPECT_EQ(value("jetmem_emc_activity_raw{counter=actmon_avg_activity}"), 143360);
  EXPECT_EQ(reading().emc.utilization, std::nullopt);
  EXPECT_EQ(all_absent(), "");
  // Thor's is a devfreq device.
  fixture.clear();
  tegra();
  device("bwmgr", "3200000000\n");
  fixture.file(kDebug + "bpmp/debug/actmon/mc_all_avg_activity", "613376\n");
  EXPECT_EQ(value("jetmem_clock_hertz{clock=bwmgr,domain=memory}"), 3200e6);
  EXPECT_EQ(value("jetmem_emc_activity_raw{counter=mc_all_avg_activity}"), 613376);
  EXPECT_EQ(all_absent(), "") << "nothing is missing of an EMC that is reported elsewhere";
}

TEST_F(ClocksTest, WithoutDebugfsTheMemoryOnlyIsMissing) {
  tegra();
  policy(0, "729600\n");
  EXPECT_EQ(all_absent(), "debugfs_absent 4") << "it is not mounted";
  for (const auto& emc : clocks::kEmcFiles) {
    if (emc.path.find("/debug/") != std::string_view::npos) fixture.error(emc.path, EACCES);
  }
  fixture.error(clocks::kFirmwareActivity.path, EACCES);
  EXPECT_EQ(reading().clocks.size(), 1U);
  EXPECT_EQ(all_absent(), "debugfs_denied 4");  // clock, least, most, activity
  // On a PC debugfs is denied too, and hides no EMC.
  fixture.clear();
  fixture.file("/proc/device-tree/compatible", "raspberrypi,5-model-b\0brcm,bcm2712\0"s);
  policy(0, "729600\n");
  fixture.error(kDebug + "bpmp/debug/clk/emc/rate", EACCES);
  fixture.error(kDebug + "cactmon/mc_all", EACCES);
  EXPECT_EQ(all_absent(), "");
}

TEST_F(ClocksTest, AClockThatIsOffOrFailsIsCounted) {
  policy(0, "729600\n");
  const std::string at = kDevfreq + "17000000.gpu/";
  fixture.error(at + "cur_freq", EAGAIN);
  fixture.error(at + "min_freq", EIO);
  fixture.error(at + "max_freq", ENODEV);
  fixture.error(at + "device/load", EINVAL);
  EXPECT_EQ(all_absent(), "powered_off 2, unreadable 2");
  EXPECT_FALSE(has("jetmem_clock_hertz{clock=17000000.gpu,domain=gpu}"));
}

TEST_F(ClocksTest, NoLimitIsNoFrequency) {
  device("a", "5\n");
  fixture.files(kDevfreq, "b/cur_freq=0 b/max_freq=18446744073709551615 c/max_freq=0");
  fixture.file(kDevfreq + "b/available_frequencies", "\n");
  EXPECT_EQ(reading().clocks[1].now, 0U) << "gated: that is its clock";
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
  expect("jetmem_power_mode*", "=2 _info{mode=2,name=MODE_15W_6CORE}=1");

  // Somebody changes it.
  fixture.only("/var/lib/nvpmodel/status", "pmode:0000\n");
  fixture.file("/etc/nvpmodel.conf", "< POWER_MODEL ID=0 NAME=MAXN >\n");
  expect("jetmem_power_mode*",
         "=0 _info{mode=0,name=MAXN}=1 _info{mode=2,name=MODE_15W_6CORE}=none");

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
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  EXPECT_EQ(fixture.error_message(),
            "neither cpufreq nor devfreq nor a power mode of nvpmodel on this machine");
  fixture.error(kCpufreq + "policy0/scaling_cur_freq", EIO);
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
    fixture.file(kDebug + "cactmon/mc_all", bad);
    fixture.file("/sys/devices/system/cpu/online", "0-5");
    for (const auto& clock : reading().clocks) {
      EXPECT_EQ(clock.now, std::nullopt);
      EXPECT_NE(clock.min, std::nullopt);
    }
    EXPECT_EQ(all_absent(), "malformed 5");
  }
}

TEST_F(ClocksTest, AvailableFrequenciesAreAllNumbersOrNone) {
  for (const std::string_view bad :
       {"306000000 612", "306000000 6e8\n", "306000000,612000000\n", "x\n", "1 -2\n"}) {
    fixture.only(kDevfreq + "a/cur_freq", "1\n");
    fixture.file(kDevfreq + "a/available_frequencies", bad);
    EXPECT_EQ(reading().clocks[0].hardware_max, std::nullopt) << bad;
    EXPECT_EQ(absent("malformed"), 1U) << bad;
  }
  fixture.only(kDevfreq + "a/available_frequencies", "3 1 2 \n");
  EXPECT_EQ(reading().clocks[0].hardware_max, 3U) << "in whatever order";
}

TEST_F(ClocksTest, HostileNames) {
  device("good", "1\n");
  device("bad\x1b[2J", "2\n");
  device(std::string(65, 'a'), "3\n");
  policy(0, "1\n");
  fixture.files(kCpufreq,
                "policy/scaling_cur_freq=1 policy1x/scaling_cur_freq=1 "
                "policy99999999999/scaling_cur_freq=1 policy0/scaling_governor=a\x01z");
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

TEST_F(ClocksGather, OnlyAGpuIsAskedForItsLoadAndFirmwareForWhatNoDriverTells) {
  files(kDevfreq, "1.gpu/cur_freq=1 1.gpu/device/load=10 2.vic/cur_freq=1 2.vic/device/load=10");
  ASSERT_TRUE(parse());
  EXPECT_TRUE(has_read(kDevfreq + "1.gpu/device/load"));
  EXPECT_FALSE(has_read(kDevfreq + "2.vic/device/load"));
  EXPECT_EQ(clocks_.clocks[0].load, 0.01);
  const std::string firmware = kDebug + "bpmp/debug/actmon/mc_all_avg_activity";
  file(firmware, "9\n");
  file(kCpufreq + "policy0/scaling_cur_freq", "1\n");
  ASSERT_TRUE(parse());
  EXPECT_EQ(clocks_.emc.raw[1], 9U);
  file(kDebug + "cactmon/mc_all", "1\n");
  ASSERT_TRUE(parse());
  EXPECT_FALSE(has_read(firmware));
}

// Of an engine without power nothing but its state is read: to read more could wake it.
TEST_F(ClocksGather, AnEngineThatIsOffIsLeftAlone) {
  files(kDevices,
        "154c0000.nvenc/power/runtime_status=suspended 154c0000.nvenc/load=999 "
        "15340000.vic/power/runtime_status=active 15340000.vic/load=120 "
        "15480000.nvdec/power/runtime_status=resuming 15480000.nvdec/load=999");
  files(kDebug,
        "clk/nvdec/clk_rate=1 clk/nvenc/clk_rate=1 clk/vic/clk_rate=115200000 "
        "tegra-host1x/actmon/nvenc/module0/usage=999 tegra-host1x/actmon/vic/module0/usage=999");
  ASSERT_TRUE(parse());
  ASSERT_EQ(clocks_.engines.size(), 3U);
  EXPECT_EQ(clocks_.engines[0].load, 0.12);
  EXPECT_EQ(clocks_.engines[1].load, std::nullopt);
  EXPECT_TRUE(has_read(kDebug + "clk/vic/clk_rate"));
  EXPECT_FALSE(has_read(kDebug + "tegra-host1x/actmon/vic/module0/usage"));
  for (const std::string& path : paths_) {
    const bool is_off = path.find("nvenc") != path.npos || path.find("nvdec") != path.npos;
    EXPECT_TRUE(!is_off || path.ends_with("/power/runtime_status")) << path;
  }
}

TEST_F(ClocksGather, OldKernelsPlacesAreLookedAtOnlyWhereTheClassHasNoGpu) {
  file(kDevfreq + "2.vic/cur_freq", "1\n");
  files("/sys/devices/platform/17000000.gv11b/", "devfreq/17000000.gv11b/cur_freq=7 load=500");
  for (const std::uint64_t now : {7U, 8U}) {
    ASSERT_TRUE(parse());
    ASSERT_EQ(clocks_.clocks.size(), 2U);
    EXPECT_EQ(clocks_.clocks[0].domain, Clocks::Domain::kGpu);
    EXPECT_EQ(clocks_.clocks[0].now, now);
    EXPECT_EQ(clocks_.clocks[0].load, 0.5);
    file(kDevfreq + "17000000.gv11b/cur_freq", "8\n");
  }
}

TEST_F(ClocksGather, SaysWhatItLeftOut) {
  for (int i = 0; i < 100; ++i) {
    file(kCpufreq + "policy" + std::to_string(i) + "/scaling_cur_freq", "1\n");
  }
  for (int i = 0; i < 33; ++i) file(kDevfreq + "d" + std::to_string(i) + "/cur_freq", "1\n");
  ASSERT_TRUE(parse());
  ASSERT_EQ(clocks_.clocks.size(), 96U);
  EXPECT_EQ(clocks_.clocks[63].name, "policy63") << "the first by number";
  EXPECT_TRUE(has_read("jetmem:clocks omitted"));
  EXPECT_EQ(absent_text(clocks_.absent), "beyond_bound 37");
}

}  // namespace
}  // namespace jetmem
