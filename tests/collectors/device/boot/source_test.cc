// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/source.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "collectors/device/boot/gather.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

using std::string_view_literals::operator""sv;

class BootSourceTest : public SourceTest<BootSource> {
 protected:
  using SourceTest::value;
  std::string value(boot::What what) { return reading().values[static_cast<std::size_t>(what)]; }
  // Nothing but what each machine has.
  void plain() { fixture.only("/proc/cmdline", "quiet\n"); }
};

TEST_F(BootSourceTest, ReadsWhatIsWatchedForChange) {
  fixture.file("/proc/sys/kernel/osrelease", "5.15.148-tegra\n");
  fixture.file("/proc/cmdline", "root=/dev/nvme0n1p1 password=secret\n");
  fixture.file("/etc/nv_tegra_release",
               "# R36 (release), REVISION: 4.4, GCID: 41062509, BOARD: generic, EABI: aarch64\n");
  fixture.file("/var/lib/nvpmodel/status", "pmode:0002");
  EXPECT_EQ(value(boot::What::kKernel), "5.15.148-tegra");
  EXPECT_EQ(value(boot::What::kL4t), "36.4.4");
  EXPECT_EQ(value(boot::What::kPowerMode), "2");
  EXPECT_EQ(value(boot::What::kCommandLine).size(), 6U) << "a digest, never the text";
  for (const std::string& key : fixture.keys()) EXPECT_EQ(key.find("secret"), std::string::npos);
  const std::string before = value(boot::What::kCommandLine);
  fixture.only("/proc/cmdline", "root=/dev/nvme0n1p1 password=secreT\n");
  EXPECT_NE(value(boot::What::kCommandLine), before);
  EXPECT_EQ(value(boot::What::kKernel), "") << "nothing is left of the reading before";
}

TEST_F(BootSourceTest, WhetherTheClockIsSetAndSynchronised) {
  plain();
  EXPECT_FALSE(has("jetmem_clock_synchronized")) << "nobody asked";
  for (const int is_so : {1, 0}) {
    plain();
    fixture.file(kClockSynchronized, std::to_string(is_so) + "\n");
    EXPECT_EQ(value("jetmem_clock_synchronized"), is_so);
  }
  // One that was never set tells no time.
  plain();
  fixture.facts.boot_time = 12;
  EXPECT_EQ(absent("clock_not_set"), 1U);
  EXPECT_FALSE(has("jetmem_boot_time_seconds"));
}

TEST_F(BootSourceTest, ResetReasonOfEveryPlace) {
  fixture.files("/sys/devices/platform/bus@0/c360000.pmc/",
                "reset_reason=BCCPLEXWDT reset_level=L1");
  constexpr const char* kInfo = "jetmem_boot_reset_reason_info{cause=*}";
  expect(kInfo, "watchdog,level=L1,reason=BCCPLEXWDT=1");
  fixture.clear();
  fixture.files("/sys/kernel/pmc/tegra_reset_",
                "reason=TEGRA_POWER_ON_RESET level=TEGRA_RESET_LEVEL_L0");
  expect(kInfo, "power,level=L0,reason=TEGRA_POWER_ON_RESET=1");
  fixture.only("/sys/devices/platform/c360000.pmc/reset_reason", "(null)\n");
  expect(kInfo, "unknown,level=unknown,reason=UNKNOWN=1");
}

TEST_F(BootSourceTest, RecordsAreCountedByPlaceAndKind) {
  fixture.file("/sys/fs/pstore", "");
  fixture.file("/sys/fs/pstore/dmesg-ramoops-0",
               "Panic#1 Part1\n<0>[1.0] Kernel panic - not syncing: a\n");
  fixture.file("/sys/fs/pstore/console-ramoops-0", "[1.0] begin\n");
  fixture.file("jetmem:end of /sys/fs/pstore/console-ramoops-0", "[9.0] end\n");
  fixture.error("/sys/fs/pstore/pmsg-ramoops-0", EACCES);
  fixture.file("/var/lib/systemd/pstore", "");
  fixture.file("/var/lib/systemd/pstore/17/001/dmesg.txt", "Oops#1 Part1\n<0>[1.0] BUG: b\n");
  expect("jetmem_pstore_records{kind=*}",
         "panic,place=pstore=1 oops,place=pstore=0 oops,place=archive=1");
  ASSERT_EQ(reading().records.size(), 4U);
  EXPECT_EQ(reading().records[1].line, "end");
  EXPECT_EQ(reading().records[3].name, "17/001/dmesg.txt");
  EXPECT_EQ(absent("record_denied"), 1U);
}

// Its first line would tell a panic from an oops.
TEST_F(BootSourceTest, ARecordThatCannotBeReadIsNotTakenForHarmless) {
  fixture.file("/sys/fs/pstore", "");
  fixture.error("/sys/fs/pstore/dmesg-ramoops-0", EIO);
  fixture.file("/sys/fs/pstore/console-ramoops-0", "[1.0] begin\n");
  expect("jetmem_pstore_records{kind=*,place=pstore}", "panic=none oops=none dmesg=none console=1");
  EXPECT_EQ(absent("unreadable"), 1U);
}

TEST_F(BootSourceTest, APartIsNotTheSum) {
  constexpr const char* kOopses = "jetmem_pstore_records{kind=oops,place=*}";
  for (const bool archive_cut : {false, true}) {
    SCOPED_TRACE(archive_cut);
    fixture.only("/sys/fs/pstore", "");
    fixture.file("/var/lib/systemd/pstore", "");
    fixture.file("jetmem:pstore records omitted", archive_cut ? "0\n" : "3\n");
    fixture.file("jetmem:archived records omitted", archive_cut ? "3\n" : "0\n");
    expect(kOopses, archive_cut ? "archive=none pstore=0" : "archive=0 pstore=none");
    EXPECT_EQ(absent("too_many_records"), 3U);
  }
  fixture.only("/sys/fs/pstore", "");
  for (std::size_t i = 0; i <= BootFacts::kMaxRecords; ++i) {
    fixture.file("/sys/fs/pstore/dmesg-efi-" + std::to_string(100 + i), "Oops#1 Part1\n");
  }
  expect(kOopses, "pstore=none");
  EXPECT_EQ(absent("too_many_records"), 1U);
}

TEST_F(BootSourceTest, NoCrashIsReportedOnlyWhereRecordsCouldBeSeen) {
  boot::History history;
  history.boots_seen = 1;
  history.boots.emplace_back().number = 1;
  const auto run = [&](int error) {
    plain();
    fixture.file("/var/lib/jetmem/boots.json", to_text(history));
    fixture.error("/sys/fs/pstore", error);
    fixture.error("/var/lib/systemd/pstore", error);
    ASSERT_TRUE(fixture.run());
  };
  for (const int error : {EACCES, ENOENT}) {
    run(error);
    EXPECT_FALSE(has("jetmem_boot_crash_recorded"));
    EXPECT_EQ(absent("crash_not_known"), 1U);
    EXPECT_EQ(value("jetmem_boots_total"), 1) << "the rest of the history is there";
  }
  run(0);
  EXPECT_EQ(value("jetmem_boot_crash_recorded"), 0);
  EXPECT_EQ(absent("crash_not_known"), 0U);
  // What the history has is known, whatever can be read now.
  history.boots.back().crash = "Kernel panic - not syncing: a";
  run(EACCES);
  EXPECT_EQ(value("jetmem_boot_crash_recorded"), 1);
}

TEST_F(BootSourceTest, DeniedIsNotNone) {
  fixture.file("/proc/sys/kernel/osrelease", "5.15.148-tegra\n");
  fixture.error("/sys/fs/pstore", EACCES);
  EXPECT_EQ(absent("pstore_denied"), 1U);
  EXPECT_FALSE(has("jetmem_pstore_records{kind=panic,place=pstore}"));
  EXPECT_EQ(fixture.code_with("/sys/fs/pstore", EACCES), Errc::kDenied);
  EXPECT_EQ(fixture.code_with("/sys/fs/pstore", ENOENT), Errc::kAbsent);
}

TEST_F(BootSourceTest, ABadFileCostsItsValueOnly) {
  for (const std::string_view bad :
       {""sv, "\n"sv, "5.15.148"sv, "a b\n"sv, "\x1b[2J\n"sv, "a\0b\n"sv}) {
    fixture.only("/proc/sys/kernel/osrelease", bad);
    fixture.file("/etc/nv_tegra_release", bad);
    fixture.file("/var/lib/nvpmodel/status", bad);
    fixture.file("/sys/devices/platform/c360000.pmc/reset_reason", bad);
    fixture.file("/sys/module/pstore/parameters/backend", bad);
    fixture.file("/proc/cmdline", "quiet\n");
    EXPECT_EQ(absent("malformed"), 5U) << bad;
    EXPECT_EQ(value(boot::What::kKernel), "");
    EXPECT_NE(value(boot::What::kCommandLine), "");
  }
  // A mode that was cut is not another mode.
  for (const std::string_view bad :
       {"pmode:000", "pmode:00023", "pmode:", "mode:0002", "pmode:00x2"}) {
    plain();
    fixture.file("/var/lib/nvpmodel/status", bad);
    EXPECT_EQ(value(boot::What::kPowerMode), "") << bad;
  }
}

TEST_F(BootSourceTest, TheHistoryOfFilesOrOfTheDaemon) {
  boot::History history;
  history.boots_seen = 3;
  history.boots.resize(2);
  history.boots[0].number = 2;
  history.boots[0].end = boot::DeviceEnd::kUnclean;
  history.boots[1].number = 3;
  plain();
  fixture.file("/var/lib/jetmem/boots.json", to_text(history));
  expect("jetmem_boot*",
         "s_total=3 _last_shutdown{clean=no}=1 _last_shutdown{clean=yes}=0 "
         "_history_errors_total{reason=write}=none");

  plain();
  fixture.file("/var/lib/jetmem/boots.json", "{}\n");
  EXPECT_EQ(absent("history_malformed"), 1U);
  EXPECT_EQ(absent("no_history"), 1U);
  EXPECT_FALSE(has("jetmem_boots_total"));

  // The daemon's own is the one that holds.
  const BootFacts* shown = nullptr;
  history.boots_seen = 4;
  fixture.source.set_history([&](const BootFacts& facts) {
    shown = &facts;
    BootHistoryView view;
    view.history = &history;
    view.boot_time = 1763690000;
    view.failed_writes = 2;
    return view;
  });
  ASSERT_TRUE(fixture.run());
  EXPECT_EQ(shown, &reading());
  expect("jetmem_boot*",
         "s_total=4 _time_seconds=1763690000 _history_errors_total{reason=write}=2");
  EXPECT_EQ(absent("history_malformed"), 0U);
}

class BootGather : public TreeTest<BootSource> {
 protected:
  const BootFacts& gathered() {
    EXPECT_TRUE(parse_boot(read(), true, facts_));
    return facts_;
  }
  BootFacts facts_;
};

TEST_F(BootGather, OnlyTheEndsOfLargeRecordsAndNotAllOfMany) {
  std::string large = "Panic#1 Part1\n";
  for (int i = 0; i < 20000; ++i) large += "<6>[1.0] line " + std::to_string(i) + "\n";
  large += "<0>[2.0] Kernel panic - not syncing: at the end\n";
  dir.write("sys/fs/pstore/dmesg-ramoops-0", large);
  for (int i = 0; i < 60; ++i) {
    dir.write("sys/fs/pstore/a-" + std::to_string(i), large);
    dir.write("var/lib/systemd/pstore/" + std::to_string(1000 + i) + "/dmesg.txt", large);
  }
  dir.write("var/lib/systemd/pstore/1059/dmesg-efi-1", large);
  const Snapshot& snapshot = read();
  EXPECT_FALSE(snapshot.truncated());
  EXPECT_LT(snapshot.buffer_size(), 700U << 10);
  BootFacts facts;
  ASSERT_TRUE(parse_boot(snapshot, true, facts));
  ASSERT_EQ(facts.records.size(), 36U);
  EXPECT_EQ(facts.records[0].name, "dmesg-ramoops-0") << "first what tells of a crash";
  EXPECT_EQ(facts.records[0].line, "Kernel panic - not syncing: at the end");
  EXPECT_EQ(facts.records[24].name, "1059/dmesg.txt") << "the newest, and the whole of its parts";
  EXPECT_EQ(count_of(facts.absent, "too_many_records"), 37U + 48U);
}

// An EFI record's name begins with when it was written.
TEST_F(BootGather, TheNewestOfManyRecords) {
  for (int i = 100; i < 140; ++i) {
    dir.write("sys/fs/pstore/dmesg-efi_pstore-1758600146" + std::to_string(i),
              "Panic#1 Part1\n<0>[1.0] Kernel panic - not syncing: " + std::to_string(i) + "\n");
  }
  const BootFacts& facts = gathered();
  ASSERT_EQ(facts.records.size(), 24U);
  EXPECT_EQ(facts.records[0].line, "Kernel panic - not syncing: 139");
  EXPECT_EQ(facts.records[23].line, "Kernel panic - not syncing: 116");
}

// The kernel warns at each reading of a value without a name; what was reported stays reported.
TEST_F(BootGather, AResetWithoutANameIsReadOnceAndLosesNothing) {
  SavedReset kept;
  const auto gathers = [&](const std::string& reason, const std::string& level) {
    const auto root = Root::at(dir.path()).value();
    Snapshot snapshot;
    const ReadLimits limits;
    Gatherer gatherer(root, snapshot, limits);
    gather_reset(gatherer, &kept);
    ASSERT_TRUE(parse_boot(snapshot, true, facts_));
    EXPECT_EQ(facts_.reset_reason, reason);
    EXPECT_EQ(facts_.reset_level, level);
  };
  const auto write = [&](const std::string& reason, const std::string& level) {
    files("/sys/devices/platform/bus@0/c360000.pmc/reset_", "reason=" + reason + " level=" + level);
  };
  write("SENSOR", "L0");
  gathers("SENSOR", "L0");
  EXPECT_FALSE(kept.kept) << "what has a name is read each time";
  // The reason's name may be the missing one, or the level's.
  for (const auto& [reason, level] : {std::pair("UNKNOWN", "L1"), {"SENSOR", "UNKNOWN"}}) {
    kept = {};
    write(reason, level);
    gathers(reason, level);
    write("READ_AGAIN", "READ_AGAIN");
    gathers(reason, level);
    gathers(reason, level);
  }
}

TEST_F(BootGather, FindsTheControllerWhereverItIs) {
  files("/sys/devices/platform/",
        "intel_pmc_core.0/reset_reason=NOT_OURS bus@0/c360000.pmc/reset_reason=SENSOR");
  EXPECT_EQ(gathered().reset_reason, "SENSOR");
}

TEST_F(BootSourceTest, UptimeIsTheClocksOrTheCaptures) {
  plain();
  EXPECT_FALSE(has("jetmem_boot_uptime_seconds"));
  EXPECT_EQ(absent("uptime_unknown"), 1U);
  for (const std::string_view text : {"123", "123.4", "x\n", "99999999999.00 1.00\n", ""}) {
    SCOPED_TRACE(text);
    plain();
    fixture.file("/proc/uptime", text);
    EXPECT_FALSE(has("jetmem_boot_uptime_seconds"));
    EXPECT_EQ(absent("malformed"), 1U);
  }
  plain();
  fixture.file("/proc/uptime", "4712.34 15000.00\n");
  EXPECT_EQ(value("jetmem_boot_uptime_seconds"), 4712);
  // Live, the file is some minutes older than the clock: it is not looked at.
  fixture.facts.live = true;
  ASSERT_TRUE(fixture.run());
  EXPECT_EQ(value("jetmem_boot_uptime_seconds"), 3600) << "the fixture's clock";
}

TEST_F(BootSourceTest, RecentStartsOfThisBoot) {
  const auto run = [&](const std::string& starts) {
    plain();
    fixture.file("/proc/uptime", "10000.00 1.00\n");
    if (!starts.empty()) fixture.file("/run/jetmem/starts", starts);
    ASSERT_TRUE(fixture.run());
  };
  run("");
  EXPECT_FALSE(has("jetmem_daemon_recent_starts"));
  EXPECT_EQ(absent("starts_unknown"), 1U);
  const std::string other = "5b0f21aa-0c1d-4e2f-8a3b-445566778899";
  const std::string boot = "c0ffee00-0c1d-4e2f-8a3b-445566778899";
  run(other + "\n12\n6399\n6401\n9000\n9990\n");
  EXPECT_EQ(value("jetmem_daemon_recent_starts"), 3);
  run(other + "\n12\n");
  EXPECT_EQ(value("jetmem_daemon_recent_starts"), 0);
  fixture.facts.boot_id = boot;
  run(other + "\n9990\n");
  EXPECT_FALSE(has("jetmem_daemon_recent_starts")) << "of another boot";
  run(boot + "\n99");
  EXPECT_FALSE(has("jetmem_daemon_recent_starts")) << "it was cut";
  EXPECT_EQ(absent("malformed"), 1U);

  // What the daemon tells counts, not a file.
  boot::Starts starts;
  for (const int at : {9998, 9999}) starts.add(boot, std::chrono::seconds(at));
  fixture.source.set_history([&](const BootFacts&) {
    BootHistoryView view;
    view.starts = &starts;
    view.wall_offset = std::chrono::seconds(77);
    return view;
  });
  run(boot + "\n9990\n");
  EXPECT_EQ(value("jetmem_daemon_recent_starts"), 2);
  EXPECT_EQ(reading().wall_offset, std::chrono::seconds(77));
}

}  // namespace
}  // namespace jetmem
