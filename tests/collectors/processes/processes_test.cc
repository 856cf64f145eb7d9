// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include "base/root/root.h"
#include "collectors/dmabuf/source.h"
#include "collectors/jetson/nvmap/source.h"
#include "collectors/jetson/nvml/source.h"
#include "collectors/processes/source.h"
#include "collectors/reader/protocol.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

using namespace std::string_view_literals;

const std::string kId(64, 'a');

class ProcessesTest : public SourceTest<ProcessesSource> {
 protected:
  ProcessesTest() {
    nvmap.clients_whole = nvml.processes_whole = nvml.has_lists = true;
    fixture.readings.add(Readings::tag<Nvmap>(), &nvmap);
    fixture.readings.add(Readings::tag<Nvml>(), &nvml);
    fixture.readings.add(Readings::tag<Dmabuf>(), &dmabuf);
  }
  void process(std::uint32_t pid, std::string_view name, std::string_view cgroup,
               std::uint64_t resident, std::uint64_t shared = 0) {
    const std::string folder = "/proc/" + std::to_string(pid);
    fixture.file(folder + "/statm",
                 "99999 " + std::to_string(resident) + " " + std::to_string(shared) + " 1 0 5 0\n");
    fixture.file(folder + "/comm", std::string(name) + "\n");
    fixture.file(folder + "/cgroup", "0::" + std::string(cgroup) + "\n");
  }
  void hold(std::uint32_t pid, std::string_view name, std::uint64_t bytes,
            std::uint64_t nvmap_bytes) {
    dmabuf.holders_known = dmabuf.holders_whole = true;
    dmabuf.held.knows_nvmap = true;
    dmabuf.held.holders.push_back({pid, std::string(name), 1, bytes, nvmap_bytes});
    fixture.set_valid(2, true);
  }
  void valid(std::initializer_list<std::size_t> readings) {
    for (const std::size_t reading : readings) fixture.set_valid(reading, true);
  }
  void expect(const std::string& series) { fixture.expect("jetmem_", series); }
  // "metric=7 metric=none" of one group.
  void expect(const std::string& command, const std::string& series, const std::string& unit = "",
              const std::string& container = "") {
    fixture.expect("jetmem_process_group_", series,
                   "{command=" + command + ",container=" + container + ",unit=" + unit + "}");
  }
  // Of a client of nvmap that ended: what its heir holds.
  void expect_left(const std::string& process, const std::string& certainty,
                   const std::string& holder, const std::string& bytes) {
    fixture.expect("jetmem_nvmap_ended_client_bytes", "=" + bytes,
                   "{certainty=" + certainty + ",holder=" + holder + ",process=" + process + "}");
  }

  Nvmap nvmap;
  Nvml nvml;
  Dmabuf dmabuf;
};

TEST_F(ProcessesTest, GroupsByNameUnitAndContainer) {
  process(1, "systemd", "/init.scope", 10, 5);
  process(20, "python3", "/system.slice/a.service", 100, 30);
  process(21, "python3", "/system.slice/a.service", 200, 40);
  process(22, "python3", "/system.slice/b.service", 1);
  process(23, "python3", "/system.slice/docker-" + kId + ".scope", 7);
  expect("processes=5 process_groups=4 processes_resident_bytes=1272*1024");
  expect("python3", "resident_bytes=1200*1024 shared_bytes=280*1024 processes=2", "a.service");
  expect("python3", "resident_bytes=28*1024", "docker-*.scope", "aaaaaaaaaaaa");
  expect("other", "resident_bytes=0");
  EXPECT_TRUE(reading().whole());
}

TEST_F(ProcessesTest, NamesTheLargestProcessOfAGroup) {
  process(20, "python3", "/system.slice/a.service", 300);
  process(21, "python3", "/system.slice/a.service", 200);
  process(22, "python3", "/system.slice/b.service", 5);
  process(23, "python3", "/system.slice/b.service", 5);
  expect("python3", "pid=20", "a.service");
  expect("python3", "pid=22", "b.service");
  expect("other", "pid=none");
  // What it holds beside its resident memory counts.
  nvmap.clients = {{"iovmm", "python3", 21, 200 * 4096}};
  hold(23, "python3", 4096, 0);
  valid({0});
  expect("python3", "pid=21", "a.service");
  expect("python3", "pid=23", "b.service");
}

TEST_F(ProcessesTest, PagesOfOtherSizes) {
  fixture.facts.page_size = 16384;
  process(1, "systemd", "/init.scope", 10);
  fixture.file("/proc/9/statm", "1 2 3 4 5 6 7\n");
  fixture.file("/proc/9/comm", "a\n");
  fixture.error("/proc/9/cgroup", ENOENT);
  expect("systemd", "resident_bytes=160*1024", "init.scope");
  expect("a", "resident_bytes=32*1024");  // without cgroups there is no unit

  fixture.facts.page_size.reset();
  ASSERT_TRUE(fixture.run());
  expect("systemd", "resident_bytes=none", "init.scope");
  expect("processes=2");
  EXPECT_EQ(absent("page_size_unknown"), 1U);
}

TEST_F(ProcessesTest, TheSumOfTheGroupsIsTheSumOfAll) {
  for (std::uint32_t i = 0; i < 200; ++i) {
    process(100 + i, "worker-" + std::string(1 + i % 7, static_cast<char>('a' + i % 26)), "/",
            i + 1, 1);
  }
  double resident = 0;
  double processes = 0;
  int series = 0;
  for (const std::string& key : fixture.keys()) {
    if (key.find("group_resident_bytes") != std::string::npos) {
      resident += value(key);
      ++series;
    }
    if (key.find("group_processes{") != std::string::npos) processes += value(key);
  }
  EXPECT_EQ(series, 21);
  EXPECT_EQ(resident, value("jetmem_processes_resident_bytes"));
  EXPECT_EQ(processes, 200);
}

TEST_F(ProcessesTest, MemoryOfTheGpuIsJoinedByPid) {
  process(1012, "nvargus-daemon", "/", 10);
  process(2215, "python3", "/", 20);
  nvmap.clients = {{"iovmm", "nvargus-daemon", 1012, 1000},
                   {"generic-0", "nvargus-daemon", 1012, 500},
                   {"iovmm", "gone", 4444, 7}};
  valid({0});
  expect("nvargus-daemon", "gpu_bytes=1500");
  expect("python3", "gpu_bytes=0");
  expect("other", "gpu_bytes=0");
  EXPECT_EQ(absent("gpu_process_unknown"), 1U);
  EXPECT_EQ(absent("gpu_unknown"), 0U);
}

TEST_F(ProcessesTest, OtherDriversReportGpuMemoryByClient) {
  process(871, "labwc", "/", 20);
  process(872, "labwc", "/", 20);
  process(2107, "chromium", "/", 20);
  process(300, "logind", "/", 20);
  dmabuf.holders_known = dmabuf.holders_whole = true;
  dmabuf.drm.clients = 4;
  dmabuf.drm.unreported = 1;
  dmabuf.drm.holders = {{300, "logind", 0, true},
                        {871, "labwc", 4000, false},
                        {872, "labwc", 500, false},
                        {2107, "another", 9000, false}};
  valid({2});
  expect("labwc", "gpu_bytes=4500");
  expect("chromium", "gpu_bytes=0");   // its pid was another program's
  expect("logind", "gpu_bytes=none");  // not 0: its driver does not report it
  EXPECT_EQ(absent("gpu_process_unknown"), 1U);
  // The larger: they may mean the same.
  nvmap.clients = {{"iovmm", "labwc", 871, 3000}};
  valid({0});
  expect("labwc", "gpu_bytes=4500");
  expect("logind", "gpu_bytes=0");  // nvmap knows all
  fixture.set_valid(0, false);
  dmabuf.holders_whole = false;
  ASSERT_TRUE(fixture.run());
  expect("labwc", "gpu_bytes=none");
  EXPECT_EQ(absent("gpu_unknown"), 1U);
}

TEST_F(ProcessesTest, NvmlCountsOnlyWhereItIsTheMachinesMemory) {
  process(2215, "python3", "/", 20);
  nvml.processes = {{0, 2215, 9000}};
  valid({1});
  expect("python3", "gpu_bytes=none");  // unknown whether it is
  EXPECT_EQ(absent("gpu_unknown"), 1U);
  nvml.integrated = false;
  ASSERT_TRUE(fixture.run());
  expect("python3", "gpu_bytes=none");
  nvml.integrated = true;
  ASSERT_TRUE(fixture.run());
  expect("python3", "gpu_bytes=9000");
  // Both may mean the same memory.
  nvmap.clients = {{"iovmm", "python3", 2215, 8000}};
  valid({0});
  expect("python3", "gpu_bytes=9000");
}

TEST_F(ProcessesTest, BuffersOfNvmapAreCountedOnce) {
  process(1012, "nvargus-daemon", "/", 10);
  hold(1012, "nvargus-daemon", 1500, 1000);
  expect("nvargus-daemon", "dmabuf_bytes=1500");  // nobody else counts them
  dmabuf.held.processes = dmabuf.held.mappings = 1;
  nvmap.clients = {{"iovmm", "nvargus-daemon", 1012, 1000}};
  valid({0});
  expect("nvargus-daemon", "dmabuf_bytes=500 gpu_bytes=1000");
}

TEST_F(ProcessesTest, TheLargestAreSoWithAllTheyHave) {
  for (std::uint32_t i = 0; i < 30; ++i) {
    process(100 + i, std::string("p") + static_cast<char>('a' + i), "/", 1000 + i);
  }
  process(500, "small", "/", 1);
  nvmap.clients = {{"iovmm", "small", 500, 1U << 30}};
  valid({0});
  expect("small", "gpu_bytes=1048576*1024");
}

TEST_F(ProcessesTest, HostileNamesAreSafeAndMerge) {
  process(1, "a\nb", "/", 1);
  process(2, "a\tb", "/", 2);
  process(3, "", "/", 4);
  process(4, "other", "/", 8);
  process(5, "job-8231", "/", 16);
  process(6, "job-8232", "/", 16);
  expect("a?b", "resident_bytes=12*1024");
  expect("", "resident_bytes=16*1024");
  expect("other", "resident_bytes=32*1024");
  expect("job-*", "processes=2");
  EXPECT_EQ(fixture.table.sections()[0].duplicates, 0U);
}

// The ugly ladder.
TEST_F(ProcessesTest, SharedMemoryThatWrappedCostsItsGroupsSum) {
  process(1, "systemd", "/", 10);
  process(8, "vim", "/", 20);
  fixture.file("/proc/9/statm", "56000 1642 18446744073709551614 2 0 5 0\n");
  fixture.file("/proc/9/comm", "vim\n");
  expect("vim", "processes=2 resident_bytes=6648*1024 shared_bytes=none");
  expect("systemd", "shared_bytes=0");
  expect("processes_omitted{reason=malformed}=0");
  EXPECT_EQ(absent("impossible"), 1U);
}

TEST_F(ProcessesTest, WhatCannotBeUnderstoodIsCounted) {
  process(1, "systemd", "/", 10);
  for (const auto bad :
       {""sv, "\n"sv, "1 2 3 4 5 6 7"sv, "1 4503599627370497 3 4 5 6 7\n"sv, "1\n"sv,
        "1 -2 3 4 5 6 7\n"sv, "1 99999999999999999999 3 4 5 6 7\n"sv, "\0\xff"sv}) {
    fixture.file("/proc/9/statm", bad);
    fixture.file("/proc/9/comm", "a\n");
  }
  fixture.file("/proc/10/statm", "1 2 3 4 5 6 7\n");
  fixture.file("/proc/10/comm", "cut");
  fixture.file("/proc/11/statm", "1 2 3 4 5 6 7\n");
  fixture.error("/proc/11/comm", ENOENT);  // it ended
  fixture.error("/proc/12/statm", EPERM);
  fixture.file("jetmem:processes denied", "3\n");
  fixture.file("jetmem:processes omitted", "5\n");
  fixture.file("jetmem:processes hidden", "1\n");
  expect(
      "processes=1 processes_omitted{reason=malformed}=9 processes_omitted{reason=denied}=4 "
      "processes_omitted{reason=bound}=5");
  EXPECT_EQ(absent("processes_hidden"), 1U);
  EXPECT_EQ(absent("other_pid_namespace"), 0U);
  fixture.file("jetmem:processes hidden", "2\n");
  EXPECT_EQ(absent("processes_hidden"), 1U);
  EXPECT_EQ(absent("other_pid_namespace"), 1U);
  expect("processes_omitted{reason=hidden}=none");  // how many, nobody knows
  fixture.file("jetmem:processes unseen", "80\n");
  expect("processes_omitted{reason=hidden}=80");
  fixture.file("jetmem:processes hidden", "0\n");
  expect("processes_omitted{reason=hidden}=0");
}

// Every one of these had been 0 for all.
TEST_F(ProcessesTest, GpuMemoryKnownInPartIsNoZero) {
  process(1012, "nvargus-daemon", "/", 10);
  hold(1012, "nvargus-daemon", 1500, 1000);
  nvmap.clients_whole = false;
  valid({0});
  expect("nvargus-daemon", "gpu_bytes=none dmabuf_bytes=1500");  // in no other figure
  EXPECT_EQ(absent("gpu_known_in_part"), 1U);
  EXPECT_EQ(absent("gpu_unknown"), 0U);

  nvmap.clients_whole = true;
  nvml.integrated = true;
  nvml.processes_whole = false;
  valid({1});
  expect("nvargus-daemon", "gpu_bytes=none dmabuf_bytes=1500");
  // Where NVML has no lists nvmap is all there is, and charges it with nothing.
  nvml.has_lists = false;
  ASSERT_TRUE(fixture.run());
  expect("nvargus-daemon", "gpu_bytes=0 dmabuf_bytes=1500");
  // What is known of some processes is no zero for the others.
  process(1013, "root", "/", 10);
  dmabuf.holders_whole = false;
  expect("root", "dmabuf_bytes=none");
  EXPECT_EQ(absent("dmabuf_known_in_part"), 1U);
}

TEST_F(ProcessesTest, OnlyWhatNvmapChargesIsSubtracted) {
  process(1012, "producer", "/", 10);
  process(1013, "holder", "/", 10);
  process(1014, "camera", "/", 10);
  // A third of a shared buffer; a descriptor without a client; both kinds in one process.
  hold(1012, "producer", 900, 900);
  hold(1013, "holder", 600, 600);
  hold(1014, "camera", 1000, 1000);
  dmabuf.held.holders[2].clientless_bytes = 400;
  dmabuf.held.processes = dmabuf.held.mappings = 3;
  nvmap.clients = {{"iovmm", "producer", 1012, 300}, {"iovmm", "camera", 1014, 5000}};
  valid({0});
  expect("producer", "gpu_bytes=300 dmabuf_bytes=600");
  expect("holder", "gpu_bytes=0 dmabuf_bytes=600");
  expect("camera", "dmabuf_bytes=400");
}

// A bound that one process exceeds costs the figures of that process, and those that depend on it.
TEST_F(ProcessesTest, MappingsOfOneThatAreTooManyCostNobodyElses) {
  process(1012, "llama", "/", 100, 90);
  process(1013, "manymaps", "/", 100, 90);
  process(1014, "system", "/", 100, 90);
  hold(1012, "llama", 80 * 4096, 80 * 4096);
  hold(1013, "manymaps", 0, 0);
  hold(1014, "system", 700, 0);
  dmabuf.held.holders[0].mapped_bytes = 80 * 4096;
  dmabuf.held.holders[1].mappings_missed = true;
  dmabuf.held.processes = 3;
  dmabuf.held.mappings = 2;
  dmabuf.held.mappings_missed = dmabuf.held.holders_missed = 1;
  ASSERT_TRUE(fixture.run());
  expect("llama", "mapped_bytes=320*1024 dmabuf_bytes=320*1024");
  expect("manymaps", "mapped_bytes=none dmabuf_bytes=none");
  // Which of its buffers llama is charged with is not known; it may be all of them or none.
  nvmap.clients = {{"iovmm", "llama", 1012, 80 * 4096}};
  valid({0});
  expect("llama", "dmabuf_bytes=none mapped_bytes=none");
  expect("system", "dmabuf_bytes=700 mapped_bytes=0");
  EXPECT_EQ(absent("dmabuf_known_in_part"), 2U);
}

TEST_F(ProcessesTest, MappedBuffersAreInResidentMemoryAsFarAsTheyCanBe) {
  process(1012, "llama", "/", 100, 90);
  process(1013, "lazy", "/", 100, 2);
  hold(1012, "llama", 80 * 4096, 80 * 4096);
  hold(1013, "lazy", 80 * 4096, 80 * 4096);
  for (DmabufHolder& holder : dmabuf.held.holders) holder.mapped_bytes = 80 * 4096;
  expect("llama", "mapped_bytes=none");  // mappings are not known
  dmabuf.held.processes = dmabuf.held.mappings = 2;
  ASSERT_TRUE(fixture.run());
  expect("llama", "mapped_bytes=320*1024");
  expect("lazy", "mapped_bytes=8*1024");  // it touched no more
  expect("other", "mapped_bytes=0");
  dmabuf.held.mappings_missed = 1;
  ASSERT_TRUE(fixture.run());
  expect("llama", "mapped_bytes=none");
}

TEST_F(ProcessesTest, AClientThatEndedIsItsHeirs) {
  process(3841, "worker", "/", 10);
  process(3842, "camera", "/", 10);
  nvmap.clients = {{"iovmm", "daemonized", 3838, 1000},
                   {"vpr", "daemonized", 3838, 100},
                   {"iovmm", "camera", 3842, 70}};
  nvmap.client_pids = {3838, 3842};
  dmabuf.holders_known = dmabuf.holders_whole = true;
  // A child of camera has camera's open file.
  process(3844, "helper", "/", 10);
  dmabuf.held.nvmap_openers = {{3841, "worker", 1}, {3842, "camera", 2}, {3844, "helper", 2}};
  valid({0, 2});
  expect("worker", "gpu_bytes=1100");
  expect("camera", "gpu_bytes=70");
  expect_left("daemonized", "certain", "worker", "1100");
  EXPECT_EQ(absent("gpu_process_unknown"), 0U);
  // Its pid went to another program.
  process(3838, "bash", "/", 10);
  valid({0});
  expect("worker", "gpu_bytes=1100");
  // Where a living client closed its own, the open file may be that client's.
  dmabuf.held.nvmap_openers = {{3841, "worker", 1}};
  valid({0});
  expect("worker", "gpu_bytes=0");
  expect_left("daemonized", "possible", "worker", "1100");
  // Open files that cannot be compared.
  dmabuf.held.nvmap_openers = {{3841, "worker"}, {3842, "camera"}};
  valid({0});
  expect_left("daemonized", "possible", "worker", "1100");
  // One of two, nobody knows which.
  process(3843, "other-worker", "/", 10);
  dmabuf.held.nvmap_openers = {{3841, "worker", 1}, {3842, "camera", 2}, {3843, "other-worker", 3}};
  valid({0});
  expect("worker", "gpu_bytes=0");
  expect_left("daemonized", "certain", "", "1100");
  EXPECT_EQ(absent("gpu_process_unknown"), 2U);
  // Whom the processes' reading does not show may be alive.
  fixture.file("jetmem:processes denied", "1\n");
  ASSERT_TRUE(fixture.run());
  expect_left("daemonized", "certain", "", "none");
}

TEST_F(ProcessesTest, WhoEndedSinceTheTableWasReadKeepsNothing) {
  process(3838, "camera", "/", 10);
  process(3841, "worker", "/", 10);
  nvmap.clients = {{"iovmm", "camera", 3838, 1000}, {"iovmm", "gone", 3000, 20}};
  nvmap.client_pids = {3000, 3838};
  dmabuf.holders_known = dmabuf.holders_whole = true;
  dmabuf.held.nvmap_openers = {{3838, "camera", 1}, {3841, "worker", 2}};
  valid({0, 2});
  expect_left("gone", "certain", "worker", "20");
  // It restarts; the table is still the old one.
  fixture.clear();
  process(3841, "worker", "/", 10);
  process(3900, "camera", "/", 10);
  dmabuf.held.nvmap_openers = {{3841, "worker", 2}, {3900, "camera", 3}};
  ASSERT_TRUE(fixture.run());
  expect_left("gone", "certain", "worker", "20");
  expect_left("camera", "certain", "worker", "none");
  expect("worker", "gpu_bytes=20");
  expect("camera", "gpu_bytes=0");  // nobody knows what it has now
  EXPECT_EQ(absent("gpu_process_unknown"), 1U);
  // The next one tells that its memory stayed.
  valid({0});
  expect_left("camera", "certain", "", "1000");
}

TEST_F(ProcessesTest, WhatIsLargeNowIsKnownBeforeItHasASeries) {
  for (std::uint32_t i = 0; i < 25; ++i) {
    process(100 + i, std::string("p") + static_cast<char>('a' + i), "/", 1000 + i);
  }
  ASSERT_TRUE(fixture.run());
  EXPECT_TRUE(reading().newcomers->empty());
  process(900, "huge", "/x.service", 50000, 7);
  ASSERT_TRUE(fixture.run());
  expect("huge", "resident_bytes=none", "x.service");
  ASSERT_EQ(reading().newcomers->size(), 1U);
  const Processes::Newcomer& huge = reading().newcomers->front();
  EXPECT_EQ(huge.key.command, "huge");
  EXPECT_EQ(huge.key.unit, "x.service");
  EXPECT_EQ(huge.processes, 1U);
  EXPECT_EQ(huge.resident, 50000U * 4096);
  EXPECT_EQ(huge.shared, 7U * 4096);
  EXPECT_EQ(huge.gpu, std::nullopt) << "not known of any";
  ASSERT_TRUE(fixture.run());
  ASSERT_TRUE(fixture.run());
  expect("huge", "resident_bytes=200000*1024", "x.service");
  EXPECT_TRUE(reading().newcomers->empty());
}

TEST_F(ProcessesTest, ATableUnreadableForOneReadingIsNoGrowth) {
  process(1012, "nvargus-daemon", "/", 10);
  nvmap.clients = {{"iovmm", "nvargus-daemon", 1012, 1U << 30}};
  valid({0});
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(fixture.run());
  expect("nvargus-daemon", "growth_bytes_per_second=0");
  nvmap.clients_whole = false;
  ASSERT_TRUE(fixture.run());
  nvmap.clients_whole = true;
  expect("nvargus-daemon", "growth_bytes_per_second=none");
  EXPECT_GT(absent("growth_needs_readings"), 0U);
}

TEST_F(ProcessesTest, APidThatWentToAnotherProgramBringsItNothing) {
  process(1012, "bash", "/", 10);
  process(2215, "12345678", "/", 10);
  process(2216, " job-8231 ", "/", 10);
  hold(1012, "nvargus-daemon", 1500, 0);
  nvmap.clients = {{"iovmm", "nvargus-daemon", 1012, 1000},
                   {"iovmm", "12345678", 2215, 70},
                   {"iovmm", "kernel", 0, 5},
                   {"iovmm", "job-8232 ", 2216, 7}};
  valid({0});
  expect("bash", "gpu_bytes=0 dmabuf_bytes=0");
  expect("*", "gpu_bytes=70");
  EXPECT_EQ(absent("gpu_process_unknown"), 2U) << "bash and the blanks of a job";
  EXPECT_EQ(absent("dmabuf_process_unknown"), 1U);
}

TEST_F(ProcessesTest, OfAWalkThatWasCutThereAreNoTotals) {
  process(1, "systemd", "/", 10);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(fixture.run());
  fixture.file("jetmem:processes omitted", "5\n");
  expect("systemd", "resident_bytes=40*1024 growth_bytes_per_second=none");
  expect("other", "resident_bytes=none");
  expect("processes_resident_bytes=none processes_omitted{reason=bound}=5");
  EXPECT_EQ(absent("walk_cut"), 1U);
}

TEST_F(ProcessesTest, NoProcessAtAllIsAnError) {
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  fixture.file("jetmem:processes denied", "7\n");
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
  fixture.clear();
  fixture.error("/proc", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
  fixture.only("/proc/9/statm", "x\n");
  EXPECT_EQ(fixture.error_message(), "no process could be understood");
}

TEST_F(ProcessesTest, AReusedReadingHoldsNothingOfTheOneBefore) {
  process(1, "systemd", "/init.scope", 10);
  process(20, "python3", "/a.service", 100);
  fixture.file("jetmem:processes denied", "7\n");
  ASSERT_TRUE(fixture.run());
  fixture.clear();
  process(5, "b", "/", 2);
  expect("processes_resident_bytes=8*1024 processes_omitted{reason=denied}=0");
  EXPECT_EQ(fixture.reading().groups.size(), 1U);
  EXPECT_EQ(fixture.reading().processes.size(), 1U);
}

class ProcessesTree : public TreeTest<ProcessesSource> {
 protected:
  Result<void> parse() {
    snapshot = &read();
    return parse_processes(*snapshot, out);
  }
  void process(int pid, std::uint64_t resident, const std::string& cgroup,
               const std::string& name = "worker") {
    const std::string folder = "proc/" + std::to_string(pid);
    dir.write(folder + "/statm", "9 " + std::to_string(resident) + " 1 0 0 0 0\n");
    dir.write(folder + "/comm", name + "\n");
    dir.write(folder + "/cgroup", cgroup);
  }

  Processes out;
  const Snapshot* snapshot = nullptr;
};

TEST_F(ProcessesTree, KernelThreadsLeaveNoRecord) {
  process(1, 100, "0::/init.scope\n");
  process(2, 0, "0::/\n");
  dir.write("proc/2/statm", "0 0 0 0 0 0 0\n");
  process(3, 0, "0::/\n");  // swapped out: it may have buffers
  dir.write("proc/meminfo", "");
  ASSERT_TRUE(parse());
  EXPECT_EQ(out.processes.size(), 2U);
  for (std::size_t i = 0; i < snapshot->size(); ++i) {
    EXPECT_EQ((*snapshot)[i].path.find("/proc/2/"), std::string_view::npos);
  }
}

// The kernel shows nothing of a process's memory in /proc/<pid> once its first thread has ended.
TEST(ProcessesLive, AProcessWhoseFirstThreadEndedIsAlive) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::thread([] { ::pause(); }).detach();
    // Not pthread_exit(), which unwinds through the test.
    ::syscall(SYS_exit, 0);
  }
  const std::string folder = "/proc/" + std::to_string(child);
  const auto shows_nothing = [&] {
    std::ifstream statm(folder + "/statm");
    int size = -1;
    return statm >> size && size == 0;
  };
  for (int i = 0; i < 1000 && !shows_nothing(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(shows_nothing());
  const Root root = Root::live();
  SnapshotReader reader(ProcessesSource::kInfo.paths, ProcessesSource::kInfo.limits,
                        ProcessesSource::kInfo.gather);
  Processes out;
  EXPECT_TRUE(parse_processes(reader.read(root), out));
  const auto at = std::find_if(out.processes.begin(), out.processes.end(), [&](const auto& one) {
    return one.pid == static_cast<std::uint32_t>(child);
  });
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_NE(at, out.processes.end());
  EXPECT_GT(at->resident_pages, 0U);
  EXPECT_EQ(out.groups[at->group].key.command, "test_collectors");
}

TEST_F(ProcessesTree, LongCgroupsAreCutToWhatIsOfUse) {
  std::string cgroup;
  for (int i = 14; i > 1; --i) cgroup += std::to_string(i) + ":cpuset" + ":/docker/" + kId + "\n";
  process(1, 100, cgroup + "1:name=systemd:/docker/" + kId + "\n0::/system.slice/d.service\n");
  ASSERT_TRUE(parse());
  EXPECT_LT(snapshot->buffer_size(), 400U);
  EXPECT_EQ(out.groups[0].key.container, "aaaaaaaaaaaa");
}

TEST_F(ProcessesTree, TenThousandInATreeAreAllCounted) {
  const std::string pods = "0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-" + kId;
  for (int i = 1; i <= 10000; ++i) {
    process(i, 10, pods + ".scope\n", "w" + std::to_string(i % 977) + "x");
  }
  const auto begin = std::chrono::steady_clock::now();
  // Their time is of this file system: the bound on it has a test of its own.
  const auto gather = [](Gatherer& files) {
    gather_processes_within(files, std::chrono::minutes(1));
  };
  snapshot = &read(ProcessesSource::kInfo.limits, +gather);
  const auto was_read = std::chrono::steady_clock::now();
  ASSERT_TRUE(parse_processes(*snapshot, out));
  const auto parsed = std::chrono::steady_clock::now();
  ByteBuffer answer;
  reader::encode(*snapshot, answer);
  std::printf("10000 processes: %zu bytes, read in %.0f ms, parsed in %.0f ms\n", answer.size(),
              to_seconds(was_read - begin) * 1e3, to_seconds(parsed - was_read) * 1e3);
  EXPECT_EQ(out.processes.size(), 10000U);
  EXPECT_EQ(out.resident_pages, 100000U);
  EXPECT_EQ(out.groups.size(), 977U);
  EXPECT_LT(parsed - was_read, std::chrono::seconds(2)) << "a look-up for each takes minutes";
  EXPECT_TRUE(out.whole());
  EXPECT_FALSE(snapshot->truncated());
  EXPECT_LT(answer.size(), reader::kMaxAnswer);
}

TEST_F(ProcessesTree, TheNewestAreLeftOut) {
  for (const int pid : {1, 9, 80, 700, 1012, 2215, 10000, 99999}) process(pid, 10, "0::/\n");
  ReadLimits limits = ProcessesSource::kInfo.limits;
  limits.files = 8 + 4 * 3;  // with room for notes
  ASSERT_TRUE(parse_processes(read(limits), out));
  std::vector<std::uint32_t> pids;
  for (const auto& one : out.processes) pids.push_back(one.pid);
  EXPECT_EQ(pids, (std::vector<std::uint32_t>{1, 9, 80, 700}));
  EXPECT_EQ(out.left_out, 4U);
}

TEST_F(ProcessesTree, WithoutTimeAllAreLeftOutAndSaidSo) {
  for (int pid = 1; pid <= 3; ++pid) process(pid, 10, "0::/\n");
  const auto gather = [](Gatherer& files) {
    gather_processes_within(files, std::chrono::nanoseconds(-1));
  };
  EXPECT_FALSE(parse_processes(read(ProcessesSource::kInfo.limits, +gather), out));
  EXPECT_EQ(out.left_out, 3U);
}

}  // namespace
}  // namespace jetmem
