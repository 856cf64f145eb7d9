// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/root/root.h"
#include "collectors/dmabuf/gather.h"
#include "collectors/dmabuf/source.h"
#include "collectors/processes/group/pids.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

constexpr std::string_view kBufinfo =
    "\nDma-buf Objects:\nsize    \tflags   \tmode    \tcount   \texp_name\tino     \tname\n"
    "08294400\t00000002\t00080007\t00000003\tnvmap\t00004311\t<none>\n"
    "\tAttached Devices:\n\t13800000.display\nTotal 1 devices attached\n\n"
    "00004096\t00000002\t00080007\t00000001\tsystem\t00004312\tcam\n"
    "\tAttached Devices:\nTotal 0 devices attached\n\n"
    "\nTotal 2 objects, 8298496 bytes\n";

constexpr const char* kHeader =
    "\nDma-buf Objects:\nsize\tflags\tmode\tcount\texp_name\tino\tname\n";
// A buffer that no device uses.
std::string row(int size, int count, const char* exporter, int inode) {
  char line[160];
  std::snprintf(line, sizeof line,
                "%08d\t00000002\t00080007\t%08d\t%s\t%08d\t<none>\n"
                "\tAttached Devices:\nTotal 0 devices attached\n\n",
                size, count, exporter, inode);
  return line;
}
std::string total(int objects, std::uint64_t bytes) {
  return "\nTotal " + std::to_string(objects) + " objects, " + std::to_string(bytes) + " bytes\n";
}

class DmabufTest : public SourceTest<DmabufSource> {
 protected:
  // All processes were looked at, unless a test says otherwise.
  DmabufTest() { scanned(9); }
  void buffer(std::uint32_t pid, int fd, std::uint64_t inode, std::uint64_t size,
              std::string_view exporter = "nvmap", std::string_view name = {}) {
    std::string text = "pos:\t0\nflags:\t02000002\nmnt_id:\t13\n";
    if (inode != 0) text += "ino:\t" + std::to_string(inode) + "\n";
    text += "size:\t" + std::to_string(size) + "\ncount:\t2\nexp_name:\t" + std::string(exporter) +
            "\n";
    if (!name.empty()) text += "name:\t" + std::string(name) + "\n";
    fixture.file("/proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(fd), text);
  }
  void comm(std::uint32_t pid, std::string_view name) {
    fixture.file("/proc/" + std::to_string(pid) + "/comm", std::string(name) + "\n");
  }
  // A process that holds one buffer.
  void holder(std::uint32_t pid, std::string_view name, std::uint64_t inode, std::uint64_t size) {
    comm(pid, name);
    buffer(pid, 3, inode, size);
  }
  void scanned(std::uint64_t processes, std::uint64_t denied = 0) {
    note(kNoteProcesses, processes);
    note(kNoteProcessesDenied, denied);
  }
  void note(std::string_view what, std::uint64_t number) {
    fixture.file(what, std::to_string(number) + "\n");
  }
  void mapped(std::uint32_t pid, const char* lines) {
    fixture.file("/proc/" + std::to_string(pid) + "/maps", lines);
  }
  void sysfs(int inode, std::string_view exporter, std::string_view size) {
    const std::string folder = std::string(kDmabufSysfs) + "/" + std::to_string(inode);
    fixture.file(folder + "/exporter_name", exporter);
    fixture.file(folder + "/size", size);
  }
  void expect(const std::string& series) { fixture.expect("jetmem_dmabuf_", series); }
  // "name bytes name bytes", of all holders.
  std::string mapped_bytes() {
    std::string out;
    for (const DmabufHolder& one : reading().held.holders) {
      if (one.mapped_bytes != 0) out += one.name + " " + std::to_string(one.mapped_bytes) + " ";
    }
    return out;
  }
};

TEST_F(DmabufTest, BufinfoGivesTotalsExportersAndDevices) {
  fixture.file(kBufinfoPath, kBufinfo);
  expect(
      "buffers{origin=bufinfo}=2 bytes{origin=bufinfo}=8298496 largest_bytes=8294400 "
      "exporter_bytes{exporter=nvmap}=8294400 device_bytes{device=13800000.display}=8294400 "
      "unlisted_buffers=0");
  expect("held_bytes=0");  // all were looked at, nobody holds any
  EXPECT_EQ(absent("total_disagrees"), 0U);
}

TEST_F(DmabufTest, WhatTheRowsDoNotMakeIsReported) {
  std::string text(kBufinfo);
  text.replace(text.find("8298496"), 7, "8298497");
  fixture.file(kBufinfoPath, text);
  EXPECT_EQ(absent("total_disagrees"), 1U);
  expect("bytes{origin=bufinfo}=8298497");  // as the kernel has it
  // Not all of it fits.
  fixture.only(kBufinfoPath, kBufinfo.substr(0, kBufinfo.find("00004096")));
  fixture.file(Gatherer::end_of(kBufinfoPath), total(50000, 400000000000));
  expect("buffers{origin=bufinfo}=50000 unlisted_buffers=49999 unlisted_bytes=399991705600");
  EXPECT_EQ(absent("beyond_bound"), 49999U);
  EXPECT_EQ(absent("total_disagrees"), 0U);
}

TEST_F(DmabufTest, BuffersBySizeAreThoseThatMayBeContiguous) {
  comm(10, "viewer");
  buffer(10, 3, 1, 8192, "reserved");
  buffer(10, 4, 2, 8192, "reserved");
  buffer(10, 5, 2, 8192, "reserved");  // the same again
  buffer(10, 6, 3, 8192, "system-uncached");
  buffer(10, 7, 4, 8192);  // nvmap's
  comm(11, "encoder");
  buffer(11, 3, 2, 8192, "reserved");
  buffer(11, 4, 5, 16384, "videobuf2_dma_contig");
  EXPECT_EQ(reading().held.sizes,
            (std::vector<DmabufOfSize>{
                {16384, 1, 11, "encoder"}, {8192, 2, 10, "viewer"}, {8192, 1, 11, "encoder"}}));
}

TEST_F(DmabufTest, ABufferCountsOnceForEachWhoHoldsIt) {
  comm(1012, "nvargus-daemon");
  buffer(1012, 40, 7, 1000);
  comm(1840, "gst-launch-1.0");
  buffer(1840, 31, 7, 1000);
  buffer(1840, 32, 7, 1000);  // the same again
  buffer(1840, 33, 8, 50, "system");
  comm(1841, "gst-launch-1.0");
  buffer(1841, 31, 7, 1000);
  ASSERT_EQ(reading().held.holders.size(), 3U);
  EXPECT_EQ(reading().held.holders[0], (DmabufHolder{1840, "gst-launch-1.0", 2, 1050, 1000, 0, 3}));
  EXPECT_EQ(reading().held.holders[1].pid, 1012U);
  expect(
      "holder_bytes{command=gst-launch-1.0}=1050 holder_buffers{command=gst-launch-1.0}=2 "
      "holder_bytes{command=nvargus-daemon}=1000 held_bytes=1050 held_buffers=2 shared_buffers=1 "
      "shared_bytes=1000");
  EXPECT_TRUE(reading().holders_whole);
  expect("bytes{origin=bufinfo}=none");  // drivers hold buffers too
  EXPECT_EQ(absent("debugfs_absent"), 1U);
}

// References: one for each client of nvmap, descriptor, mapping and driver.
TEST_F(DmabufTest, BuffersOfNvmapWithoutAClientAreTheirHolders) {
  fixture.file(kBufinfoPath,
               kHeader + row(4000, 1, "nvmap_dmabuf", 1) +  // a client only
                   row(5000, 2, "nvmap_dmabuf", 2) +        // a client and a descriptor
                   row(6000, 1, "nvmap_dmabuf", 3) +        // a descriptor only
                   row(8192, 1, "nvmap_dmabuf", 4) +        // a mapping only
                   row(9000, 3, "nvmap_dmabuf", 5) +        // descriptors of two, and one more
                   row(700, 1, "system", 6) +               // none of nvmap's
                   row(12288, 4, "nvmap_dmabuf", 7) +       // a client, a descriptor, two mappings
                   total(7, 45180));
  comm(10, "camera");
  buffer(10, 3, 2, 5000, "nvmap_dmabuf");
  holder(11, "fdholder", 3, 6000);
  comm(12, "mapper");
  mapped(12, "7fa0c23000-7fa0c25000 rw-s 00000000 00:08 4                     /dmabuf:\n");
  holder(13, "a", 5, 9000);
  comm(14, "b");
  buffer(14, 3, 5, 9000);
  buffer(14, 4, 5, 9000);
  buffer(14, 5, 6, 700, "system");
  comm(15, "llama");
  buffer(15, 4, 7, 12288, "nvmap_dmabuf");
  mapped(15,
         "7f0000000000-7f0000002000 rw-s 00000000 00:08 7    /dmabuf:x y\n"
         "7f0000002000-7f0000003000 r--s 00002000 00:08 7    /dmabuf:x y\n"
         "7f0000004000-7f0000005000 r--s 00002000 08:01 7    /home/a b/dmabuf:x\n");
  note(kNoteMappings, 6);
  note(kNoteMappingsMissed, 0);
  expect(
      "clientless_bytes=23192 holder_clientless_bytes{command=camera}=0 "
      "holder_clientless_bytes{command=fdholder}=6000 "
      "holder_clientless_bytes{command=mapper}=8192 holder_clientless_bytes{command=b}=9000 "
      "holder_bytes{command=mapper}=8192 holder_descriptors{command=mapper}=0 held_bytes=41180");
  EXPECT_EQ(mapped_bytes(), "llama 12288 mapper 8192 ");
  // A mapping that was not looked at may be the reference.
  note(kNoteMappingsMissed, 1);
  expect("clientless_bytes=none");
  expect("holder_clientless_bytes{command=fdholder}=6000");  // certain
  EXPECT_EQ(absent("mappings_unknown"), 1U);
  // Without the references nothing is known of clients.
  fixture.clear();
  fixture.error(kBufinfoPath, EACCES);
  holder(11, "fdholder", 3, 6000);
  scanned(6);
  expect("holder_bytes{command=fdholder}=6000 holder_clientless_bytes{command=fdholder}=none");
  EXPECT_EQ(absent("mappings_unknown"), 0U);
}

TEST_F(DmabufTest, ABufinfoThatIsCutSaysNothingOfTheRest) {
  fixture.file(kBufinfoPath, kHeader + row(6000, 1, "nvmap_dmabuf", 3));
  fixture.file(Gatherer::end_of(kBufinfoPath), total(12000, 99999999));
  holder(11, "listed", 3, 6000);
  holder(12, "open", 4, 8192);
  comm(13, "mapper");
  mapped(13, "7f0000000000-7f0000002000 rw-s 00000000 00:08 5    /dmabuf:\n");
  holder(14, "both", 4, 8192);
  mapped(14, "7f0000000000-7f0000002000 rw-s 00000000 00:08 4    /dmabuf:\n");
  note(kNoteMappings, 4);
  note(kNoteMappingsMissed, 0);
  // Certain: what is listed, and what a buffer's own file has. Not known: the mapper's buffer.
  expect(
      "clientless_bytes=none holder_clientless_bytes{command=listed}=6000 "
      "holder_clientless_bytes{command=open}=none holder_bytes{command=open}=8192 "
      "holder_bytes{command=mapper}=none held_bytes=none unlisted_buffers=11999");
  EXPECT_EQ(absent("clientless_unknown"), 1U);
  EXPECT_EQ(mapped_bytes(), "both 8192 ");
  for (const DmabufHolder& one : reading().held.holders) {
    EXPECT_EQ(one.mappings_missed, one.name == "mapper") << one.name;
  }
}

TEST_F(DmabufTest, WhoHasNvmapOpen) {
  comm(7, "worker");
  fixture.file("/proc/7/fd/3", "/dev/nvmap\n");
  fixture.file("/proc/7/fd/4", "/dev/nvmap\n");
  comm(8, "camera");
  fixture.file("/proc/8/fd/3", "/dev/nvmap\nfile:\t2\n");
  fixture.file("/proc/8/fd/4", "/dev/nvmap\nfile:\t1\n");
  fixture.file("/proc/8/fd/6", "/dev/nvmap\nfile:\t2\n");
  buffer(8, 5, 2, 5000, "nvmap_dmabuf");
  // What a thread shows is its process's.
  comm(9, "lens");
  fixture.file("/proc/9/task/10/fdinfo/3", "ino:\t6\nsize:\t70\ncount:\t1\nexp_name:\tnvmap\n");
  fixture.file("/proc/9/task/10/fd/4", "/dev/nvmap\n");
  EXPECT_EQ(reading().held.nvmap_openers,
            (std::vector<NvmapOpener>{
                {7, "worker", 0}, {8, "camera", 1}, {8, "camera", 2}, {9, "lens"}}));
  ASSERT_EQ(reading().held.holders.size(), 2U) << "the device is no buffer";
  EXPECT_EQ(reading().held.holders[1].name, "lens");
  EXPECT_EQ(reading().held.holders[1].bytes, 70U);
}

// 5.3 to 5.13.
TEST_F(DmabufTest, TheInodeMayComeFromARecordOfItsOwn) {
  holder(1, "a", 0, 1000);
  fixture.file("/proc/1/fd/3", "ino:\t77\n");
  buffer(1, 4, 0, 1000);
  fixture.file("/proc/1/fd/4", "ino:\t77\n");
  buffer(1, 5, 0, 1000);  // closed before it could be asked
  EXPECT_EQ(value("jetmem_dmabuf_held_bytes"), 1000);
  EXPECT_EQ(absent("size_unknown"), 1U);
}

// 4.9.
TEST_F(DmabufTest, WithoutSizesThereAreNoBytes) {
  fixture.file(kBufinfoPath, kBufinfo);
  comm(9, "nvargus-daemon");
  fixture.file("/proc/9/fd/12", "anon_inode:dmabuf\n");
  fixture.file("/proc/9/fd/13", "anon_inode:dmabuf\n");
  expect("unsized_descriptors=2 held_bytes=none holder_bytes{command=nvargus-daemon}=none");
  ASSERT_EQ(reading().held.holders.size(), 1U);
  EXPECT_EQ(reading().held.holders[0].unsized, 2U);
  EXPECT_EQ(absent("size_unknown"), 2U);
}

TEST_F(DmabufTest, DeniedProcessesMakeAPart) {
  fixture.error(kBufinfoPath, EACCES);
  holder(1377, "gnome-shell", 1, 8294400);
  scanned(3, 200);
  expect("processes_denied=200 held_bytes=8294400");
  EXPECT_FALSE(reading().holders_whole);
  EXPECT_EQ(absent("process_denied"), 200U);
  EXPECT_EQ(absent("debugfs_denied"), 1U);
  // A bufinfo that fails is reported where the holders are known, too.
  fixture.clear();
  fixture.error(kBufinfoPath, EIO);
  holder(1377, "gnome-shell", 1, 8294400);
  scanned(3);
  expect("held_bytes=8294400 bytes{origin=bufinfo}=none");
  EXPECT_EQ(absent("unreadable"), 1U);
}

TEST_F(DmabufTest, NothingReadableIsDeniedOrAbsent) {
  const struct {
    int bufinfo;
    std::uint64_t scanned, denied, hidden;
    Errc code;
  } kErrors[] = {{EACCES, 3, 200, 0, Errc::kDenied},
                 {ENOENT, 3, 200, 0, Errc::kDenied},   // none found among three of 203
                 {ENOENT, 203, 0, 1, Errc::kDenied}};  // hidepid
  for (const auto& each : kErrors) {
    fixture.clear();
    fixture.error(kBufinfoPath, each.bufinfo);
    scanned(each.scanned, each.denied);
    note(kNoteProcessesHidden, each.hidden);
    EXPECT_EQ(fixture.run().error().code, each.code) << &each - kErrors;
  }
  // Where most, or all, were looked at, it is known that nobody holds any.
  for (const std::uint64_t denied : {3U, 0U}) {
    fixture.clear();
    fixture.error(kBufinfoPath, ENOENT);
    scanned(200, denied);
    ASSERT_TRUE(fixture.run());
    expect("held_bytes=0 processes_denied=" + std::to_string(denied));
    EXPECT_EQ(reading().holders_whole, denied == 0);
  }
  fixture.clear();
  fixture.error(kBufinfoPath, ENOENT);
  fixture.error("/proc", ENOENT);
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  fixture.only(kBufinfoPath, "rubbish\n");
  EXPECT_EQ(fixture.error_message(),
            "bufinfo: line 1: expected 'Dma-buf Objects:', found 'rubbish'");
}

TEST_F(DmabufTest, SysfsStandsInForBufinfo) {
  fixture.error(kBufinfoPath, EACCES);
  fixture.file("jetmem:buffers", "4\n");
  sysfs(11, "nvmap\n", "4096\n");
  sysfs(12, "nvmap\n", "8192\n");
  sysfs(13, "system\n", "100\n");
  fixture.error(std::string(kDmabufSysfs) + "/14/exporter_name", ENOENT);  // freed meanwhile
  fixture.error(std::string(kDmabufSysfs) + "/14/size", ENOENT);
  scanned(1, 1);
  expect(
      "buffers{origin=sysfs}=3 bytes{origin=sysfs}=12388 exporter_bytes{exporter=nvmap}=12288 "
      "exporter_buffers{exporter=system}=1 held_bytes=none");
  EXPECT_EQ(absent("debugfs_denied"), 1U);
  // One that cannot be understood takes the sum with it.
  sysfs(15, "nvmap\n", "12");
  expect("bytes{origin=sysfs}=none unlisted_buffers=1");
  // Nor is their number known where it was cut.
  scanned(2);
  fixture.file(kNoteBuffersCut, "");
  expect("buffers{origin=sysfs}=none");
  EXPECT_EQ(absent("beyond_bound"), 1U);
}

TEST_F(DmabufTest, HostileNamesChangeNoFigure) {
  comm(5, "a\nb\x1b[2J");
  buffer(5, 3, 7, 1000, "nvmap", "x\nsize:\t1\nino:\t5");
  buffer(5, 4, 0, 2000, "nvmap", "x\nino:\t6");  // 5.10: this one has no inode
  expect("held_bytes=1000 holder_bytes{command=a?b?[2J}=1000");
  EXPECT_EQ(reading().held.unsized, 1U);
}

TEST_F(DmabufTest, BadFdinfosAreCounted) {
  comm(5, "a");
  fixture.file("/proc/5/fdinfo/3", "pos:\t0\nino:\t7\nsize:\t1000");
  fixture.file("/proc/5/fdinfo/4", "ino:\tx\nsize:\t1000\nexp_name:\ta\n");
  fixture.file("/proc/5/fdinfo/5", "ino:\t1\nsize:\t99999999999999999999\nexp_name:\ta\n");
  fixture.file("/proc/5/fdinfo/6", "");
  fixture.error("/proc/5/fdinfo/7", ENOENT);  // closed meanwhile
  buffer(5, 8, 9, 70);
  EXPECT_EQ(value("jetmem_dmabuf_held_bytes"), 70);
  EXPECT_EQ(absent("malformed"), 4U);
}

TEST_F(DmabufTest, ManyNamesBecomeOther) {
  for (std::uint32_t i = 0; i < 30; ++i) {
    comm(100 + i,
         "worker-" + std::string(1, static_cast<char>('a' + i % 26)) + std::string(i / 26, 'x'));
    buffer(100 + i, 3, 1000 + i, 100 * (i + 1));
  }
  holder(200, "other", 1, 1'000'000);
  EXPECT_EQ(reading().held.names.size(), 31U);
  int series = 0;
  for (const std::string& key : fixture.keys()) {
    series += key.find("holder_bytes") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(series, 21);
  expect("holder_bytes{command=other}=1005500");  // of the ten smallest, and its own
  fixture.clear();
  fixture.error(kBufinfoPath, EACCES);
  fixture.file("jetmem:buffers", "40\n");
  for (int i = 0; i < 40; ++i) sysfs(100 + i, "driver-" + std::to_string(i) + "\n", "100\n");
  expect("exporter_bytes{exporter=other}=800");
}

// Names that change all the time get no series each.
TEST_F(DmabufTest, ANewNameWaitsForItsSeries) {
  holder(1, "steady", 1, 10);
  ASSERT_TRUE(fixture.run());
  holder(2, "job", 2, 1000);
  expect("holder_bytes{command=job}=none holder_bytes{command=other}=1000");
  ASSERT_TRUE(fixture.run());
  ASSERT_TRUE(fixture.run());
  expect("holder_bytes{command=job}=1000 holder_bytes{command=other}=0 holders_suppressed=0");
}

TEST_F(DmabufTest, OfAWalkThatWasCutThereAreNoTotals) {
  holder(1, "a", 1, 10);
  note(kNoteProcessesLeftOut, 5);
  // An omitted process may be an "a".
  expect(
      "holder_descriptors{command=a}=1 holder_bytes{command=a}=none "
      "holder_descriptors{command=other}=none held_bytes=none shared_bytes=none");
  EXPECT_EQ(absent("walk_cut"), 1U);
}

TEST_F(DmabufTest, ALeakGrowsBeyondTheBound) {
  holder(1, "leak", 1, 10);
  fixture.file("/proc/1/beyond bound", "4904\n");
  holder(2, "a", 2, 70);
  note(kNoteDescriptorsLeftOut, 4904);
  expect(
      "holder_descriptors{command=leak}=4905 holder_bytes{command=leak}=none "
      "holder_buffers{command=leak}=none holder_bytes{command=a}=70 held_bytes=none "
      "shared_buffers=none");
  EXPECT_EQ(absent("holder_cut"), 1U);
  EXPECT_EQ(absent("walk_cut"), 0U);
  EXPECT_FALSE(reading().holders_whole);
}

TEST_F(DmabufTest, NamesOfOneKindAreOne) {
  holder(1, "job-8231", 1, 10);
  holder(2, "job-8232", 2, 10);
  holder(3, "gst-launch-1.0", 3, 5);
  expect("holder_bytes{command=job-*}=20 holder_bytes{command=gst-launch-1.0}=5");
}

TEST_F(DmabufTest, AReusedReadingHoldsNothingOfTheOneBefore) {
  fixture.file(kBufinfoPath, kBufinfo);
  holder(5, "a", 7, 1000);
  fixture.file("/proc/5/fd/9", "anon_inode:dmabuf\n");
  scanned(7, 2);
  ASSERT_TRUE(fixture.run());
  fixture.clear();
  fixture.error(kBufinfoPath, EACCES);
  holder(9, "b", 4, 12);
  note(kNoteProcesses, 3);
  EXPECT_EQ(reading().buffers, std::nullopt);
  EXPECT_TRUE(reading().bufinfo.exporters.empty());
  ASSERT_EQ(reading().held.holders.size(), 1U);
  EXPECT_EQ(reading().held.names.size(), 1U);
  EXPECT_EQ(reading().held.bytes, 12U);
  EXPECT_EQ(reading().held.unsized + reading().held.processes_denied, 0U);
}

// What gather does with a captured tree.
class DmabufTree : public TreeTest<DmabufSource> {
 protected:
  DmabufTree() { process(1, "init"); }
  Result<void> parse() { return parse_dmabuf(read(), out); }
  void bufinfo(const std::string& text) { file(std::string(kBufinfoPath), text); }
  void process(int pid, const std::string& name) { file(proc(pid, "comm"), name + "\n"); }
  void held(int pid, int fd, int inode, int size = 70) {
    file(proc(pid, "fdinfo/" + std::to_string(fd)), "ino:\t" + std::to_string(inode) + "\nsize:\t" +
                                                        std::to_string(size) +
                                                        "\ncount:\t1\nexp_name:\ta\n");
  }
  static std::string proc(int pid, const std::string& leaf) {
    return "/proc/" + std::to_string(pid) + "/" + leaf;
  }

  Dmabuf out;
};

TEST_F(DmabufTree, OneProcessDoesNotTakeAllTheRoom) {
  process(12, "hog");
  for (int i = 0; i < 9000; ++i) held(12, i, 5, 10);
  process(13, "camera");
  held(13, 4, 6);
  // On a machine that is busy with other things the walk's second may end early.
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(parse());
    if (!out.held.is_cut()) break;
  }
  EXPECT_EQ(out.held.descriptors_left_out, 4904U);
  EXPECT_EQ(out.held.beyond, 4904U);
  EXPECT_FALSE(out.held.is_cut());
  EXPECT_EQ(out.held.holders.at(1).name, "hog");
  EXPECT_EQ(out.held.holders[1].descriptors, 9000U);
  EXPECT_EQ(out.held.bytes, 80U);
  EXPECT_FALSE(out.holders_whole);
}

TEST_F(DmabufTree, MappingsAreLookedAtWhereNvmapMadeBuffers) {
  const auto made_by = [&](const char* exporter) {
    bufinfo(kHeader + row(8294400, 1, exporter, 14) + total(1, 8294400));
  };
  dir.write("proc/1/maps", "00400000-00483000 r-xp 00000000 00:02 9     /bin/dmabuf:\n");
  process(12, "mapper");
  dir.write("proc/12/maps",
            "00400000-00483000 r-xp 00000000 00:02 9                 /bin/nvlab\n"
            "7fa0c23000-7fa140c000 rw-s 00000000 00:08 14             /dmabuf:\n");
  process(13, "worker");
  dir.write("proc/13/fdinfo/3", "pos:\t0\nflags:\t04410002\nmnt_id:\t17\nino:\t105\n");
  made_by("system");
  ASSERT_TRUE(parse());
  EXPECT_TRUE(out.held.holders.empty());
  EXPECT_FALSE(out.held.mappings_known());
  made_by("nvmap_dmabuf");
  ASSERT_TRUE(parse());
  ASSERT_EQ(out.held.holders.size(), 1U);
  EXPECT_EQ(out.held.holders[0].name, "mapper");
  EXPECT_EQ(out.held.holders[0].bytes, 8294400U);
  EXPECT_EQ(out.held.holders[0].clientless_bytes, 8294400U);
  EXPECT_TRUE(out.held.mappings_known());
  EXPECT_EQ(out.held.nvmap_openers, (std::vector<NvmapOpener>{{13, "worker"}}));
}

TEST_F(DmabufTree, ManyMappingsOfOneCostOnlyIts) {
  bufinfo(kHeader + row(4096, 900, "nvmap", 14) + total(1, 4096));
  const auto maps = [](int count) {
    std::string text;
    char line[96];
    for (int i = 0; i < count; ++i) {
      std::snprintf(line, sizeof line, "7f%08x000-7f%08x000 rw-s 00000000 00:08 14   /dmabuf:\n", i,
                    i + 1);
      text += line;
    }
    return text;
  };
  dir.write("proc/1/maps", maps(2));
  process(12, "mapper");
  dir.write("proc/12/maps", maps(900));
  ASSERT_TRUE(parse());
  EXPECT_TRUE(out.held.clientless_known());
  dir.write("proc/12/maps", maps(20000));
  ASSERT_TRUE(parse());
  EXPECT_TRUE(out.held.mappings_known());
  EXPECT_FALSE(out.held.clientless_known());
  ASSERT_EQ(out.held.holders.size(), 2U);
  for (const DmabufHolder& one : out.held.holders) {
    EXPECT_EQ(one.mappings_missed, one.name == "mapper");
    EXPECT_EQ(one.mapped_bytes, one.name == "init" ? 8192U : 0U);
  }
}

TEST_F(DmabufTree, TheNewestAreLeftOut) {
  for (const int pid : {1, 9, 80, 1012, 99999}) {
    process(pid, "a");
    held(pid, 4, pid);
  }
  ReadLimits limits = DmabufSource::kInfo.limits;
  limits.files = 8 + 2 + 3 * 2;  // bufinfo and sysfs, notes
  ASSERT_TRUE(parse_dmabuf(read(limits), out));
  std::vector<std::uint32_t> pids;
  for (const auto& one : out.held.holders) pids.push_back(one.pid);
  EXPECT_EQ(pids, (std::vector<std::uint32_t>{1, 9, 80}));
  EXPECT_TRUE(out.held.is_cut());

  const auto gather = [](Gatherer& files) {
    gather_dmabuf_within(files, std::chrono::nanoseconds(0));
  };
  EXPECT_FALSE(parse_dmabuf(read(DmabufSource::kInfo.limits, +gather), out));
  EXPECT_EQ(out.held.processes_omitted, 5U);
}

// Mapped buffers are not looked at: what a process holds is known in part.
TEST_F(DmabufTree, ASparingReadingKnowsWhoHoldsThem) {
  bufinfo(kHeader + row(4096, 900, "nvmap", 14) + total(1, 4096));
  process(12, "camera");
  held(12, 4, 14);
  const Root root = *Root::at(dir.path());
  SnapshotReader reader(DmabufSource::kInfo.paths, DmabufSource::kInfo.limits,
                        DmabufSource::kInfo.gather);
  ASSERT_TRUE(parse_dmabuf(reader.read(root, true), out));
  EXPECT_FALSE(out.buffers.has_value());
  EXPECT_TRUE(out.bufinfo.of_nvmap.empty());
  EXPECT_TRUE(out.held.is_cut());
  EXPECT_FALSE(out.holders_whole);
  ASSERT_EQ(out.held.holders.size(), 1U);
  EXPECT_EQ(out.held.holders[0].name, "camera");
  ASSERT_EQ(out.absent.counts().size(), 1U);
  EXPECT_EQ(out.absent.counts()[0].reason, "bufinfo_omitted");
  // Where there is none, it is not what did not return.
  std::filesystem::remove(dir.path() + std::string(kBufinfoPath));
  ASSERT_TRUE(parse_dmabuf(reader.read(root, true), out));
  EXPECT_THAT(out.absent.counts(),
              testing::Contains(testing::Field(&AbsentValues::Count::reason, "debugfs_absent")));
  EXPECT_FALSE(out.held.is_cut());
}

TEST_F(DmabufTree, ALargeBufinfoIsReadAtItsEnds) {
  std::string text = kHeader;
  for (int i = 0; i < 50000; ++i) {
    text +=
        "08294400\t00000002\t00080007\t00000003\tnvmap\t00004311\tframe\n"
        "\tAttached Devices:\n\ttegra-capture-vi\n\t15340000.vic\nTotal 2 devices attached\n\n";
  }
  bufinfo(text + total(50000, 414720000000));
  ASSERT_TRUE(parse());
  EXPECT_EQ(out.buffers, 50000U);
  EXPECT_EQ(out.bytes, 414720000000U);
  EXPECT_GT(out.bufinfo.rows, 5000U);
  EXPECT_EQ(out.unlisted_buffers, 50000 - out.bufinfo.rows);
  EXPECT_FALSE(out.held.knows_nvmap) << "too many of nvmap's, too";
  // Of fewer each buffer of nvmap's is known.
  text = kHeader;
  for (int i = 1; i <= 12000; ++i) text += row(4096, 1, i % 4 == 0 ? "system" : "nvmap", i);
  bufinfo(text + total(12000, 49152000));
  dir.write("proc/1/maps", "7f0000000000-7f0000001000 rw-s 00000000 00:08 11999   /dmabuf:\n");
  ASSERT_TRUE(parse());
  EXPECT_EQ(out.bufinfo.of_nvmap.size(), 9000U);
  EXPECT_GT(out.unlisted_buffers, 0U);
  EXPECT_TRUE(out.held.clientless_known());
  ASSERT_EQ(out.held.holders.size(), 1U);
  EXPECT_EQ(out.held.holders[0].clientless_bytes, 4096U);
}

// They are not those of processes that ended.
TEST_F(DmabufTree, FoldersThatAreDeniedOrFailAreCounted) {
  process(7, "a");
  held(7, 4, 6);
  for (const std::string error : {"EACCES", "EIO"}) {
    file("/jetmem/manifest.json",
         R"({"format": 1, "facts": {}, "errors": {"/proc/1/fd": ")" + error + R"("}})");
    ASSERT_TRUE(parse());
    EXPECT_EQ(out.held.processes, 1U);
    EXPECT_EQ(out.held.processes_denied, error == "EACCES" ? 1U : 0U);
    EXPECT_EQ(out.held.unreadable, error == "EIO" ? 1U : 0U);
    EXPECT_EQ(out.held.is_cut(), error == "EIO");
    EXPECT_FALSE(out.holders_whole);
  }
}

}  // namespace
}  // namespace jetmem
