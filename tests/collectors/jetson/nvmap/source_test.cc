// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/nvmap/source.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "collectors/jetson/nvmap/tables.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

const std::string kRoot = "/sys/kernel/debug/nvmap/";
constexpr const char* kOrphanHeader =
    "    BASE        SIZE USERFLAGS   REFS  KMAPS  UMAPS      UID\n";
constexpr std::uint64_t kKib = 1024;

std::string line(const char* format, auto... values) {
  char text[256];
  const int size = std::snprintf(text, sizeof text, format, values...);
  return std::string(text, static_cast<std::size_t>(size));
}

std::string header() { return line("%-18s %18s %8s %11s\n", "CLIENT", "PROCESS", "PID", "SIZE"); }
std::string row(const char* process, unsigned pid, unsigned kib) {
  return line("%-18s %18s %8u %10uK\n", "user", process, pid, kib);
}
std::string total(unsigned kib) { return line("%-18s %18s %8s %10uK\n", "total", "", "", kib); }
std::string orphan(unsigned kib, const char* uid) {
  return line("%8x %10uK %9x %6u %6u %6u %8s\n", 0, kib, 0xd000b03, 1, 0, 1, uid);
}

class NvmapTest : public SourceTest<NvmapSource> {
 protected:
  void heap(const std::string& name, std::string_view clients,
            std::string_view orphans = kOrphanHeader) {
    fixture.file(kRoot + name + "/clients", clients);
    fixture.file(kRoot + name + "/orphan_handles", orphans);
  }
  std::string message() { return fixture.error_message(); }
  Errc code() { return fixture.run().error().code; }
  void expect(const std::string& series) { fixture.expect("jetmem_nvmap_", series); }
};

TEST_F(NvmapTest, FromTablesToSamples) {
  heap("iovmm",
       header() + row("nvargus-daemon", 1012, 262144) + row("gst-launch-1.0", 1840, 1024) +
           row("gst-launch-1.0", 1841, 2048) + row("gnome-shell", 1377, 0) + total(269312),
       kOrphanHeader + orphan(4000, "00000000b7d0c5a2") + orphan(96, "000000003ce1f9d4"));
  fixture.file(kRoot + "pagepool/page_pool_available_pages", "340\n");
  fixture.file(kRoot + "pagepool/page_pool_pages_to_zero", "12\n");
  fixture.file(kRoot + "iovmm/free_size", "Max allocatable IOVMM memory: 1587323216 bytes\n");
  expect(
      "heap_bytes{heap=iovmm}=269312*1024 heap_unattributed_bytes{heap=iovmm}=4096*1024 "
      "orphan_bytes{heap=iovmm}=4096*1024 orphan_handles{heap=iovmm}=2 "
      "process_bytes{heap=iovmm,process=gst-launch-1.0}=3072*1024 "
      "process_bytes{heap=iovmm,process=nvargus-daemon}=262144*1024 total_bytes=269312*1024 "
      "allocatable_bytes=1587323216 page_pool_bytes=1408*1024");
  expect("heap_clients{heap=iovmm}=3");  // one of four has nothing
  ASSERT_EQ(reading().clients.size(), 3U);
  EXPECT_EQ(reading().clients[1], (Nvmap::Client{"iovmm", "gst-launch-1.0", 1840, 1024 * kKib}));
  for (const auto& count : fixture.absent.counts()) EXPECT_EQ(count.count, 0U) << count.reason;
}

TEST_F(NvmapTest, CarveOutsHaveASizeInHex) {
  heap("vpr", header() + total(0));
  fixture.file(kRoot + "vpr/size", "0x0000000004000000\n");
  fixture.file(kRoot + "vpr/free_size", "0x0000000003fff000\n");
  // What is in use is measured to be 0.
  expect(
      "carveout_bytes{heap=vpr}=65536*1024 carveout_free_bytes{heap=vpr}=65532*1024 "
      "heap_bytes{heap=vpr}=0 carveout_free_ratio{heap=vpr}=0.99993896484375");
  heap("iovmm", header() + total(8));
  expect("carveout_free_ratio{heap=iovmm}=none");
  // Before L4T 36 what is free is what is not allocated.
  fixture.clear();
  heap("vpr", header() + row("a", 1, 48) + total(48));
  fixture.file(kRoot + "vpr/size", "0x0000000000010000\n");
  expect("carveout_free_ratio{heap=vpr}=0.25 carveout_free_bytes{heap=vpr}=none");
}

TEST_F(NvmapTest, TablesOfOtherReleases) {
  // Before L4T 32 there is none of orphans.
  fixture.file(kRoot + "iovmm/clients", header() + row("Xorg", 2599, 17854) + total(17854));
  fixture.error(kRoot + "iovmm/orphan_handles", ENOENT);
  expect("heap_bytes{heap=iovmm}=17854*1024");
  EXPECT_EQ(reading().heaps[0].orphan_bytes, std::nullopt);
  EXPECT_EQ(absent("no_orphan_table"), 1U);
  // Old carve-outs print rows without a unit.
  heap("generic-0",
       header() + line("%-18s %18s %8u %10u\n", "user", "Xorg", 2599U, 100U) + total(100));
  expect("heap_unattributed_bytes{heap=generic-0}=0");
  // Where shared buffers count in full the rest is below zero.
  heap("vpr", header() + row("Xorg", 1, 100) + row("gst", 2, 100) + total(100));
  expect("heap_unattributed_bytes{heap=vpr}=-100*1024");
}

// The protected heap prints a row for each page of a handle, each with the size of all of it.
TEST_F(NvmapTest, TheRowsOfOneHandleAreOneHandle) {
  heap("vpr", header() + total(12),
       kOrphanHeader + orphan(8, "00000000b7d0c5a2") + orphan(8, "00000000b7d0c5a2") +
           orphan(4, "000000003ce1f9d4"));
  EXPECT_EQ(reading().heaps[0].orphan_handles, 2U);
  EXPECT_EQ(reading().heaps[0].orphan_bytes, 12 * kKib);

  fixture.clear();
  heap("iovmm", header() + total(16),
       kOrphanHeader + orphan(8, "0000000000000000") + orphan(8, "0000000000000000"));
  EXPECT_EQ(reading().heaps[0].orphan_handles, 2U) << "hidden UIDs tell nothing apart";
}

TEST_F(NvmapTest, OfManyNamesTheLargestAndTheRest) {
  std::string table = header();
  unsigned sum = 0;
  for (unsigned i = 0; i < 40; ++i) {
    table += row(("worker-" + std::to_string(i)).c_str(), 5000 + i, 1000 + i);
    sum += 1000 + i;
  }
  heap("iovmm", table + row("other", 6000, 5000) + total(sum + 5000));
  ASSERT_TRUE(fixture.run());
  // "other" is among the 32 with most, so 31 workers are reported.
  ASSERT_EQ(reading().processes.size(), 32U);
  EXPECT_TRUE(reading().processes.back().is_rest);
  double reported = 0;
  for (const Nvmap::Process& process : reading().processes) {
    reported += static_cast<double>(process.bytes);
  }
  EXPECT_EQ(reported, (sum + 5000) * 1024.0) << "nothing is lost";
  expect(
      "process_bytes{heap=iovmm,process=other}=14036*1024 "
      "process_bytes{heap=iovmm,process=worker-8}=none "
      "process_bytes{heap=iovmm,process=worker-9}=1009*1024");
}

// Processes choose their names, and the kernel prints them as they are.
TEST_F(NvmapTest, ANameCannotForgeLines) {
  heap("iovmm", header() + row("x\ntotal 9G\ny", 7979, 100) + row("\nu e 1 9G", 7980, 100) +
                    row("\n\n", 7982, 7) + row("honest", 7981, 50) + total(257));
  expect("heap_bytes{heap=iovmm}=257*1024");
  using Client = Nvmap::Client;
  EXPECT_EQ(reading().clients, (std::vector<Client>{{"iovmm", "x\ntotal 9G\ny", 7979, 100 * kKib},
                                                    {"iovmm", "\nu e 1 9G", 7980, 100 * kKib},
                                                    {"iovmm", "\n\n", 7982, 7 * kKib},
                                                    {"iovmm", "honest", 7981, 50 * kKib}}));
  EXPECT_EQ(reading().heaps[0].charged_bytes, 257 * kKib);
  EXPECT_TRUE(reading().clients_whole);
  EXPECT_EQ(absent("malformed"), 0U);
}

TEST_F(NvmapTest, ATornRowCostsNoOther) {
  heap("iovmm", header() + "user      a\n" + row("honest", 7981, 50) + total(250));
  expect("heap_bytes{heap=iovmm}=250*1024");
  ASSERT_EQ(reading().clients.size(), 1U);
  EXPECT_EQ(reading().clients[0].name, "honest");
  EXPECT_EQ(reading().heaps[0].charged_bytes, std::nullopt) << "not every row is known";
  EXPECT_EQ(absent("malformed"), 1U);
}

TEST_F(NvmapTest, WhatTheDriverCouldNotFindOutIsNotMalformed) {
  heap("iovmm", header() + total(8));
  heap("vpr1", header() + row("a", 1, 4) + total(4));
  fixture.file(kRoot + "iovmm/free_size", "Error while fetching free size of IOVMM memory\n");
  expect("allocatable_bytes=none heap_bytes{heap=vpr1}=4*1024");
  EXPECT_EQ(absent("malformed"), 0U);
  EXPECT_EQ(absent("unreadable"), 1U);
}

TEST_F(NvmapTest, TheTotalIsThatOfAllHeapsOrNone) {
  // nvmap's own count falls below zero when memory that a program gave is freed.
  fixture.file(kRoot + "stats/total_memory", "18446744073583722496\n");
  heap("iovmm", header() + row("a", 1, 100) + total(108));
  heap("vpr", header() + total(8));
  expect("total_bytes=116*1024");
  EXPECT_EQ(absent("malformed"), 0U);
  heap("fsi", header() + row("a", 1, 100));
  expect("total_bytes=none");
  EXPECT_EQ(absent("heap_total_unknown"), 1U);
}

TEST_F(NvmapTest, TheTotalIsTheLastRow) {
  heap("iovmm", header() + row("a", 1, 100) + total(100) + row("b", 2, 100) + total(1));
  EXPECT_EQ(reading().heaps[0].bytes, 100 * kKib);
  EXPECT_EQ(reading().clients.size(), 1U);
  EXPECT_EQ(absent("malformed"), 2U) << "rows behind it are none";
  fixture.clear();
  heap("iovmm", header() + row("a", 1, 100));
  EXPECT_EQ(reading().heaps[0].bytes, std::nullopt);
  EXPECT_EQ(reading().heaps[0].charged_bytes, 100 * kKib);
  EXPECT_EQ(absent("malformed"), 1U);
}

TEST_F(NvmapTest, ABadTableCostsItsFiguresOnly) {
  for (const std::string& bad : {std::string(), std::string("\n"), header().substr(0, 20),
                                 header() + row("a", 1, 100) + "total         1",
                                 row("a", 1, 100) + total(100), std::string("\0\xff\n", 3)}) {
    fixture.clear();
    heap("iovmm", bad);
    heap("vpr", header() + row("a", 1, 8) + total(8));
    ASSERT_TRUE(fixture.run()) << bad;
    ASSERT_EQ(reading().heaps.size(), 2U);
    EXPECT_EQ(reading().heaps[0].bytes, std::nullopt) << bad;
    EXPECT_EQ(reading().heaps[0].orphan_bytes, 0U);
    EXPECT_EQ(reading().heaps[1].bytes, 8 * kKib);
    EXPECT_EQ(absent("malformed"), 1U);
  }
}

TEST_F(NvmapTest, AllClientsAreKnownOnlyWhenEveryTableIs) {
  const std::string good = header() + row("a", 1, 4) + total(4);
  heap("iovmm", good, "rubbish");
  heap("vpr", good);
  EXPECT_TRUE(reading().clients_whole) << "orphans are no clients";
  for (const std::string& bad : {std::string("garbage\n"), std::string(), good + "x\n",
                                 header() + row("a", 1, 4), good.substr(0, good.size() - 1)}) {
    fixture.clear();
    heap("iovmm", good);
    heap("vpr", bad);
    EXPECT_FALSE(reading().clients_whole) << bad;
  }
  fixture.clear();
  heap("iovmm", good);
  fixture.error(kRoot + "vpr/clients", EACCES);
  EXPECT_FALSE(reading().clients_whole);

  std::string many = header();
  for (unsigned i = 0; i < 600; ++i) many += row("w", 100 + i, 4);
  fixture.clear();
  heap("iovmm", many + total(2400));
  EXPECT_FALSE(reading().clients_whole);

  fixture.clear();
  heap("iovmm", good);
  fixture.file("jetmem:nvmap folders omitted", "1\n");
  EXPECT_FALSE(reading().clients_whole);
}

TEST_F(NvmapTest, WithoutAllRowsOrphansAreWhatNoClientIsChargedWith) {
  const std::string clients = header() + row("a", 1, 100) + total(120);
  const std::string bad =
      kOrphanHeader + orphan(8, "00000000b7d0c5a2") + "rubbish\n" + orphan(4, "ff");
  heap("iovmm", clients, bad);
  EXPECT_EQ(reading().heaps[0].orphan_bytes, 20 * kKib);
  EXPECT_EQ(reading().heaps[0].orphan_handles, std::nullopt);
  EXPECT_EQ(absent("malformed"), 1U);
  // Not all that clients are charged with is known.
  heap("vpr", header() + "user      a\n" + total(120), bad);
  ASSERT_EQ(reading().heaps.size(), 2U);
  EXPECT_EQ(reading().heaps[1].orphan_bytes, std::nullopt);

  fixture.clear();
  fixture.file(kRoot + "iovmm/clients", clients);
  fixture.error(kRoot + "iovmm/orphan_handles", FileText::kTooLarge);
  expect("orphan_bytes{heap=iovmm}=20*1024 orphan_handles{heap=iovmm}=none");
  EXPECT_EQ(absent("beyond_bound"), 1U);
  EXPECT_EQ(absent("unreadable"), 0U);
  EXPECT_TRUE(reading().clients_whole);
}

TEST_F(NvmapTest, PagesThatAreNoAmount) {
  heap("iovmm", header() + total(8));
  fixture.file(kRoot + "pagepool/page_pool_pages_to_zero", "18446744073709547520\n");  // below 0
  fixture.file(kRoot + "pagepool/page_pool_available_pages", "3");
  EXPECT_EQ(reading().pool_pages, std::nullopt);
  EXPECT_EQ(absent("malformed"), 2U);
  fixture.clear();
  fixture.facts.page_size.reset();
  heap("iovmm", header() + total(8));
  fixture.file(kRoot + "pagepool/page_pool_available_pages", "3\n");
  expect("page_pool_bytes=none");
  EXPECT_EQ(absent("page_size_unknown"), 1U);
}

TEST_F(NvmapTest, StatesWithoutTables) {
  const std::string folder = "/sys/kernel/debug/nvmap";
  const std::string device = "jetmem:nvmap device";
  fixture.error(folder, ENOENT);
  EXPECT_EQ(code(), Errc::kAbsent);
  EXPECT_EQ(message(), "no nvmap on this machine");
  fixture.file(device, "1\n");
  EXPECT_EQ(code(), Errc::kAbsent);
  EXPECT_EQ(message(),
            "nvmap is here, but nothing of it in debugfs: debugfs is not mounted, or this kernel "
            "was built without nvmap's tables");
  fixture.clear();
  fixture.error(folder, EACCES);
  EXPECT_EQ(code(), Errc::kDenied);
  fixture.file(device, "1\n");
  EXPECT_EQ(code(), Errc::kDenied);
  fixture.clear();
  fixture.error(folder, EACCES);
  fixture.file(device, "0\n");
  EXPECT_EQ(code(), Errc::kAbsent) << "a PC is not denied what it has not";
  fixture.clear();
  EXPECT_EQ(message().substr(0, 32), "nvmap shows no tables in debugfs");
  fixture.file(kRoot + "fsi/size", "0x0\n");
  EXPECT_EQ(code(), Errc::kAbsent) << "not a measured 0";
  for (const auto& [error, as] : {std::pair(EACCES, Errc::kDenied), {EIO, Errc::kIo}}) {
    fixture.clear();
    fixture.error(kRoot + "iovmm/clients", error);
    EXPECT_EQ(code(), as);
  }
  fixture.only(kRoot + "iovmm/clients", "a\033[2Jb");
  EXPECT_EQ(message(),
            "/sys/kernel/debug/nvmap/iovmm/clients: cut off: no newline at its end: 'a?[2Jb'");
}

TEST_F(NvmapTest, TooManyClientsAndHeapsAreCounted) {
  std::string table = header();
  for (unsigned i = 0; i < 1100; ++i) table += row("a", i + 1, 1);
  heap("iovmm", table + total(1100));
  for (int i = 0; i < 20; ++i) heap("x" + std::to_string(i), header() + total(1));
  EXPECT_EQ(reading().clients.size(), 512U);
  EXPECT_EQ(reading().heaps.size(), 16U);
  expect("heap_clients{heap=iovmm}=1100 heap_unattributed_bytes{heap=iovmm}=0");
  EXPECT_TRUE(reading().processes.empty()) << "parts of sums are no sums";
  EXPECT_EQ(absent("beyond_bound"), 1100U - 512 + 2 * 5);
}

// What the reader does: from a tree to a reading.
class NvmapTree : public TreeTest<NvmapSource> {
 protected:
  Result<void> parse() { return parse_nvmap(read(), nvmap); }
  static std::string orphans(unsigned count, unsigned kib) {
    std::string table = kOrphanHeader;
    for (unsigned i = 1; i <= count; ++i) table += orphan(kib, line("%016x", i).c_str());
    return table;
  }
  Nvmap nvmap;
};

TEST_F(NvmapTree, OnlyFoldersWithTablesAreHeaps) {
  file(kRoot + "iovmm/clients", header() + row("a", 1, 8) + total(8));
  file(kRoot + "iovmm/maps", "never read");
  file(kRoot + "handles_by_pid/1", "never read");
  file(kRoot + "stats/total_memory", "8192\n");
  file(kRoot + "max_handle_count", "3\n");
  file(kRoot + "fsi/size", "0x0\n");
  file(kRoot + "pagepool/page_pool_available_pages", "3\n");
  ASSERT_TRUE(parse());
  ASSERT_EQ(nvmap.heaps.size(), 1U);
  EXPECT_EQ(nvmap.heaps[0].bytes, 8 * kKib);
  EXPECT_EQ(nvmap.total_bytes, 8192U);
}

TEST_F(NvmapTree, OfATableThatIsTooLargeTheTotalIsKnown) {
  std::string table = header();
  for (unsigned i = 0; i < 3000; ++i) table += row("a", i + 1, 1);
  file(kRoot + "iovmm/clients", table + total(3000));
  file(kRoot + "iovmm/orphan_handles", orphans(20000, 8));
  file(kRoot + "vpr/clients", header() + row("b", 2, 8) + total(8));
  ASSERT_TRUE(parse());
  ASSERT_EQ(nvmap.heaps.size(), 2U);
  EXPECT_EQ(nvmap.heaps[0].bytes, 3000 * kKib);
  EXPECT_EQ(nvmap.heaps[0].clients, std::nullopt);
  EXPECT_TRUE(nvmap.heaps[0].is_partial);
  EXPECT_EQ(nvmap.heaps[0].orphan_bytes, std::nullopt) << "a part would look like less of a leak";
  EXPECT_FALSE(nvmap.clients_whole);
  EXPECT_GT(nvmap.clients.size(), 500U);
  ASSERT_EQ(nvmap.processes.size(), 1U);
  EXPECT_EQ(nvmap.processes[0].heap, "vpr");
  EXPECT_GE(count_of(nvmap.absent, "beyond_bound"), 2U);
  EXPECT_EQ(count_of(nvmap.absent, "malformed"), 0U);
}

TEST_F(NvmapTree, OrphansInAnyNumberCostNoClient) {
  file(kRoot + "iovmm/clients", header() + row("a", 1, 8) + total(8 + 20000 * 4));
  file(kRoot + "iovmm/orphan_handles", orphans(20000, 4));
  ASSERT_TRUE(parse());
  EXPECT_EQ(nvmap.heaps[0].orphan_bytes, 20000 * 4 * kKib);
  EXPECT_EQ(nvmap.heaps[0].orphan_handles, std::nullopt);
  EXPECT_TRUE(nvmap.clients_whole);
  EXPECT_EQ(nvmap.clients.size(), 1U);
  EXPECT_EQ(nvmap.processes.size(), 1U);
}

TEST_F(NvmapTree, AWalkThatTakesLongIsNotRepeatedForOrphans) {
  file(kRoot + "iovmm/clients", header() + row("a", 1, 8) + total(20));
  std::filesystem::resize_file(dir.file((kRoot + "iovmm/clients").substr(1)), 64U << 20);
  file(kRoot + "iovmm/orphan_handles", kOrphanHeader);
  EXPECT_EQ(read().find(kRoot + "iovmm/orphan_handles").error, FileText::kTooLarge);
}

TEST_F(NvmapTree, TheDeviceTellsAbsentFromHidden) {
  file("/sys/class/misc/nvmap/dev", "10:56\n");
  file("/sys/kernel/debug/tracing/README", "\n");
  EXPECT_EQ(parse().error().message.substr(0, 28), "nvmap is here, but nothing o");
}

}  // namespace
}  // namespace jetmem

namespace jetmem::nvmap {
namespace {

TEST(NvmapSize, HasAUnitOrIsKibibytes) {
  EXPECT_EQ(size_of("23525644K"), 23525644ULL * 1024);
  EXPECT_EQ(size_of("0K"), 0U);
  EXPECT_EQ(size_of("17M"), 17ULL << 20);
  EXPECT_EQ(size_of("2G"), 2ULL << 30);
  EXPECT_EQ(size_of("12"), 12ULL * 1024);
  for (const char* bad : {"", "K", "12X", "12KB", "-1K", "0x10K", "12 K", "99999999999999K",
                          "18446744073709551616K"}) {
    EXPECT_EQ(size_of(bad), std::nullopt) << bad;
  }
}

TEST(NvmapClientRow, NamesAreWhatProcessesCallThemselves) {
  constexpr const char* kRows[][2] = {
      {"user                      Web Content     1840       1024K", "Web Content/1840/1048576"},
      {"user                     queue1:src-2     1840       1024K", "queue1:src-2/1840/1048576"},
      {"user                        worker 12     1840       1024K", "worker 12/1840/1048576"},
      {"user                             4711     1840       1024K", "4711/1840/1048576"},
      {"user                         7 10K 9G     1840       1024K", "7 10K 9G/1840/1048576"},
      {"user                                      1840       1024K", "/1840/1048576"},
      {"nvdla0                         kernel        0        512K", "kernel/0/524288"},
      {"a-driver-with-a-long-name             kernel        0        512K", "kernel/0/524288"},
      {"user                   nvargus-daemon  4194304   23525644K",
       "nvargus-daemon/4194304/24090259456"},
      // A column of PSS is passed over.
      {"user                   nvargus-daemon     1012      20480K     262144K",
       "nvargus-daemon/1012/268435456"},
  };
  for (const auto& [line, parts] : kRows) {
    const auto row = client_row(line);
    ASSERT_TRUE(row) << line;
    EXPECT_EQ(std::string(row->process) + "/" + std::to_string(row->pid) + "/" +
                  std::to_string(row->bytes),
              parts);
  }
}

TEST(NvmapClientRow, RefusesWhatIsNone) {
  for (const char* bad : {"", " ", "user", "1024K", "7979 1024K", "user gpu_burn pid 1024K",
                          "user gpu_burn 7979 many", "user gpu_burn 99999999999 1024K",
                          "total                                             23549320K"}) {
    const auto row = client_row(bad);
    EXPECT_FALSE(row && !row->process.empty()) << bad;
  }
}

TEST(NvmapTotalRow, IsTheWordAndASize) {
  EXPECT_EQ(total_row("total                                            23549320K"),
            23549320ULL * 1024);
  EXPECT_EQ(total_row("total                                   10K         20K"), 20480U);
  EXPECT_EQ(total_row("total     evil       1012      20K"), std::nullopt);
  EXPECT_EQ(total_row("totals                                         20K"), std::nullopt);
  EXPECT_EQ(total_row("total"), std::nullopt);
}

TEST(NvmapOrphanRow, WithAndWithoutShare) {
  const auto bytes_and_uid = [](std::string_view line) {
    const auto row = orphan_row(line);
    return row ? std::to_string(row->bytes) + " " + std::string(row->uid) : "none";
  };
  EXPECT_EQ(bytes_and_uid("       0      12288K   d000b03      1      0      1 00000000b7d0c5a2"),
            "12582912 00000000b7d0c5a2");
  EXPECT_EQ(
      bytes_and_uid("f0000000         64K   d000b03      1      0      1      0 ffffffc0a1c3e480"),
      "65536 ffffffc0a1c3e480");
  // A hidden UID is none.
  EXPECT_EQ(bytes_and_uid("       0      12288K   d000b03      1      0      1 (____ptrval____)"),
            "12582912 ");
}

TEST(NvmapOrphanRow, RefusesWhatIsNone) {
  for (const char* bad :
       {"", "0", "zz 1K 0 1 0 0 ff", "0 many 0 1 0 0 ff", "0 1K zz 1 0 0 ff", "0 1K 0 x 0 0 ff",
        "0 1K 0 1 ff", "0 1K 0 1 1 1 1 1 1 1 ff", "    BASE        SIZE USERFLAGS"}) {
    EXPECT_EQ(orphan_row(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace jetmem::nvmap
