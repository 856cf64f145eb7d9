// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/text_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectors/kernel_log/decode/decode.h"

namespace jetmem::kernel_log {
namespace {

const std::string kFault =
    "arm-smmu 8000000.iommu: Unhandled context fault: fsr=0x402, iova=0xabc000, fsynr=0x110003, "
    "cbfrsynra=0x3, cb=4";
const std::string kFaultLine = kFault + "\n";

struct Read {
  TextLog::Counts counts;
  std::vector<Event> events;
  std::vector<std::string> times;
};

// As many bytes at a time as `step`.
Read read(std::string_view text, std::size_t step = SIZE_MAX) {
  Read got;
  const auto log =
      std::make_unique<TextLog>(Soc::kUnknown, [&](const Event& event, std::string_view time) {
        got.events.push_back(event);
        got.times.emplace_back(time);
      });
  while (!text.empty()) {
    log->feed(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
  }
  log->finish();
  got.counts = log->counts();
  return got;
}

std::size_t events_in(std::string_view text) { return read(text).events.size(); }

TEST(KernelLogText, EventsWithLineAndTimeAsPrinted) {
  const std::string text =
      "Nov 20 18:53:17 orin kernel: usb 1-1: new device\n"
      "Nov 20 18:53:18 orin kernel: [   71.250000] " +
      kFaultLine + "[   72.000000] " + kFaultLine;
  for (const std::size_t step : {SIZE_MAX, std::size_t{1}, std::size_t{7}}) {
    const Read got = read(text, step);
    ASSERT_EQ(got.events.size(), 2U);
    EXPECT_EQ(got.events[0].kind(), EventKind::kSmmuContextFault);
    EXPECT_EQ(got.events[0].line, 2U);
    EXPECT_EQ(got.events[0].stamp, std::chrono::microseconds(71250000));
    EXPECT_EQ(got.times, (std::vector<std::string>{"Nov 20 18:53:18", "72.000000"}));
    EXPECT_EQ(got.counts.lines, 3U);
    EXPECT_EQ(got.counts.sending, 2U);
    EXPECT_EQ(got.counts.events, 2U);
    EXPECT_EQ(got.counts.first_stamp, std::chrono::microseconds(71250000));
    EXPECT_EQ(got.counts.last_stamp, std::chrono::microseconds(72000000));
  }
}

TEST(KernelLogText, OnlyTheKernelIsBelieved) {
  const Read got =
      read("user  :warn  : [    1.000000] " + kFaultLine +
           "Nov 20 18:53:17 orin app[3]: " + kFaultLine + "12,5,1000000,-;" + kFaultLine);
  EXPECT_TRUE(got.events.empty());
  EXPECT_EQ(got.counts.foreign, 2U);
  EXPECT_EQ(got.counts.lines, 3U);
  // And what jetmem says of an event is no further one.
  const std::string refused = "CUDA error: out of memory\n";
  EXPECT_EQ(events_in("Nov 20 18:53:17 orin app[3]: " + refused), 1U);
  EXPECT_EQ(events_in("Nov 20 18:53:17 orin jetmemd[812]: " + refused), 0U);
  EXPECT_EQ(events_in("<30>1 2026-11-20T18:53:17Z orin jetmemd 812 - - " + refused), 0U);
}

TEST(KernelLogText, RecordsAndTheGapsBetweenThem) {
  const Read got =
      read("6,40,1000000,-;benign\n SUBSYSTEM=pci\n3,41,2000000,-;" + kFaultLine +
           " DEVICE=+platform:8000000.iommu\n" + "6,50,3000000,-;first line\\x0asecond\n");
  ASSERT_EQ(got.events.size(), 1U);
  EXPECT_EQ(got.events[0].seq, 41U);
  EXPECT_EQ(got.events[0].line, 3U);
  EXPECT_EQ(got.times[0], "");
  EXPECT_EQ(got.counts.records, 3U);
  EXPECT_EQ(got.counts.first_seq, 40U);
  EXPECT_EQ(got.counts.lost, 8U);
  EXPECT_EQ(got.counts.lines, 5U);
}

// A device's name, say, with a newline in it: what stands behind is not the kernel's word.
TEST(KernelLogText, AFurtherLineOfARecordIsNoEvent) {
  EXPECT_EQ(events_in("3,41,2000000,-;usb 1-1: Product: x\\x0a" + kFaultLine), 0U);
  EXPECT_EQ(read("3,41,2000000,-;slam: page allocation failure: order:4, "
                 "mode:0xdc0(GFP_KERNEL|__GFP_ZERO), nodemask=(null)\\x0a" +
                 kFaultLine)
                .events.at(0)
                .kind(),
            EventKind::kPageAllocFailure);
  // Blank lines before the first say nothing.
  EXPECT_EQ(events_in("3,41,2000000,-;\\x0a" + kFaultLine), 1U);
}

TEST(KernelLogText, AFurtherLineOfARecordJoinsOnlyWhatThatRecordOpened) {
  const std::string first =
      "arm-smmu 8000000.iommu: Unexpected global fault, this could be serious";
  const std::string second =
      "arm-smmu 8000000.iommu: \tGFSR 0x80000002, GFSYNR0 0x00000001, GFSYNR1 0x00000409, GFSYNR2 "
      "0x00000000";
  const Read own = read("3,41,2000000,-;" + first + "\\x0a" + second + "\n");
  ASSERT_EQ(own.events.size(), 1U);
  EXPECT_EQ(own.events[0].text("gfsr"), "0x80000002");
  const Read other = read("3,41,2000000,-;" + first + "\n3,42,2000000,-;usb 1-1: Product: x\\x0a" +
                          second + "\n3,43,2000000,-;" + second + "\n");
  ASSERT_EQ(other.events.size(), 1U);
  EXPECT_EQ(other.events[0].text("gfsr"), "0x80000002") << "of record 43";
  EXPECT_EQ(other.counts.sending, 2U);
}

// of_reserved_mem.c prints both lines at once.
TEST(KernelLogText, AMessageWithANewlineInItIsOne) {
  const std::string first = "OF: reserved mem: OVERLAP DETECTED!";
  const std::string second =
      "ramoops@b0000000 (0x00000000b0000000--0x00000000b0200000) overlaps with vpr "
      "(0x00000000b0100000--0x00000000b8100000)";
  for (const std::string& text : {"3,41,0,-;" + first + "\\x0a" + second + "\n",
                                  "3,41,0,-;" + first + "\\x0a" + second + "\\x0a\n",
                                  "[    0.000000] " + first + "\n[    0.000000] " + second + "\n",
                                  "[    0.000000] " + first + "\n" + second + "\n"}) {
    const Read got = read(text);
    ASSERT_EQ(got.events.size(), 1U) << text;
    EXPECT_EQ(got.events[0].text("node"), "ramoops@b0000000") << text;
    EXPECT_EQ(got.events[0].text("other"), "vpr") << text;
  }
}

std::string stick(const std::string& disk, const std::string& how = "usb-storage 1-1.2:1.0") {
  return "usb 1-1.2: SerialNumber: 4C530001\nscsi host0: " + how +
         "\nscsi 0:0:0:0: Direct-Access     Vendor   Stick            1.00 PQ: 0 ANSI: 6\n"
         "sd 0:0:0:0: [" +
         disk +
         "] 60062500 512-byte logical blocks: (30.8 GB/28.6 GiB)\n"
         "sd 0:0:0:0: [" +
         disk + "] Attached SCSI removable disk\n";
}

constexpr const char* kPulledOut = "usb 1-1.2: USB disconnect, device number 5\n";

std::string read_error(const std::string& disk) {
  return "blk_update_request: I/O error, dev " + disk + ", sector 8 op 0x0:(READ) flags 0x0\n";
}

// A 1 for each event that is marked as of a drive that was removed, a 0 for each other.
std::string removed(const std::string& text) {
  std::string out;
  for (const Event& each : read(text).events) {
    out += each.boolean("removed").value_or(false) ? '1' : '0';
  }
  return out;
}

TEST(KernelLogText, ErrorsOfADriveThatWasDisconnectedAreMarked) {
  const std::string drive = stick("sda");
  const std::string error = read_error("sda");
  const std::string after = error + "Buffer I/O error on dev sda1, logical block 3\n" +
                            "sd 0:0:0:0: rejecting I/O to dead device\n"
                            "Aborting journal on device sda1-8.\n" +
                            read_error("sdb");
  EXPECT_EQ(removed(drive + error + kPulledOut + after), "01110");
  EXPECT_EQ(removed(stick("sda", "uas") + kPulledOut + after), "1110");
  // Another device was announced at the same time: whose port it is is not known, and its driver
  // prints the same when the machine is suspended.
  const std::string uas = stick("sda", "uas");
  const std::string unclear = "usb 2-1: SerialNumber: 1\n" + uas + kPulledOut;
  EXPECT_EQ(removed(unclear + error + "sd 0:0:0:0: [sda] Synchronizing SCSI cache\n" + error),
            "00");
  EXPECT_EQ(removed(drive +
                    "usb 2-1: USB disconnect, device number 6\n"
                    "sd 0:0:0:0: [sda] Synchronizing SCSI cache\n" +
                    error),
            "0");
  // Of another port; and it came back, under the same name or another.
  EXPECT_EQ(removed(drive + "usb 1-1: USB disconnect, device number 5\n" + after), "0110")
      << "only its driver reports that it is gone";
  EXPECT_EQ(removed(drive + kPulledOut + drive + error), "0");
  EXPECT_EQ(removed(drive + kPulledOut + stick("sdb") + error + read_error("sdb")), "10");
  // A disk that no USB port has, and one of which nothing is known.
  EXPECT_EQ(removed(stick("sda", "ahci") + kPulledOut + error), "0");
  EXPECT_EQ(removed(kPulledOut + error), "0");
  // Its lines are lost, and the kernel says of a command that the drive is gone.
  const auto result = [&](const std::string& hostbyte) {
    return "sd 0:0:0:0: [sda] tag#0 FAILED Result: hostbyte=" + hostbyte +
           " driverbyte=DRIVER_OK cmd_age=0s\n" + error;
  };
  EXPECT_EQ(removed(result("DID_NO_CONNECT") + read_error("sda1") + result("DID_OK")), "110");
  EXPECT_EQ(removed(result("DID_ERROR") + kPulledOut + error), "00");
  EXPECT_EQ(removed("device offline error, dev sda, sector 8 op 0x0:(READ)\n"
                    "Aborting journal on device sda1-8.\n" +
                    read_error("sdb")),
            "110");
  EXPECT_EQ(removed("device offline error, dev sda, sector 8 op 0x0:(READ)\n"
                    "critical medium error, dev sda, sector 8 op 0x0:(READ)\n" +
                    error),
            "100")
      << "it answered";
  EXPECT_EQ(removed(result("0x01") + result("0x00")), "10");
  // A device calls itself so.
  EXPECT_EQ(removed(drive + "usb 1-1.2: Product: USB disconnect, device number 5\n" + error), "0");
  const std::string card = "mmcblk1: mmc1:0001 SD16G 14.9 GiB\n";
  EXPECT_EQ(removed(card + "mmc1: card 0001 removed\n" + read_error("mmcblk1p1") + card +
                    read_error("mmcblk1")),
            "10");
  // Nobody takes out an eMMC.
  EXPECT_EQ(removed("mmcblk0: mmc0:0001 AJTD4R 14.6 GiB\nmmcblk0boot0: mmc0:0001 AJTD4R 4.00 MiB\n"
                    "mmc0: card 0001 removed\n" +
                    read_error("mmcblk0")),
            "0");
}

// A SATA command's event waits for its result, and the ones behind it for that.
TEST(KernelLogText, AnErrorIsMarkedByWhatWasKnownWhenItWasPrinted) {
  const std::string drive = stick("sda");
  const std::string error = read_error("sda");
  const std::string waiting = "ata1.00: failed command: READ FPDMA QUEUED\n";
  EXPECT_EQ(removed(drive + waiting + error + kPulledOut), "00");
  EXPECT_EQ(removed(drive + kPulledOut + waiting + error + drive), "01");
}

TEST(KernelLogText, ALineInPieces) {
  const auto pieces = [](const std::string& first, const std::string& second) {
    return "4,9,99,-;usb 1-1: new device\n" + first + ";cma: cma_alloc: linux,cma: al\n" + second +
           ";loc failed, req-size: 128 pages, ret: -12\n";
  };
  for (const auto& [first, second] : {std::pair("4,10,100,-", "4,11,101,c"),
                                      {"4,10,100,c", "4,11,101,+"},
                                      {"4,10,100,-,caller=T7", "4,11,101,c,caller=T7"}}) {
    const Read got = read(pieces(first, second));
    ASSERT_EQ(got.events.size(), 1U) << first << " " << second;
    EXPECT_EQ(got.events[0].kind(), EventKind::kCmaAllocFailure);
    EXPECT_EQ(got.events[0].number("pages"), 128);
  }
  EXPECT_EQ(events_in(pieces("4,10,100,-,caller=T7", "4,11,101,c,caller=T8")), 0U);
  // The kernel's never goes on with a process's.
  const Read got = read(pieces("12,10,100,-", "4,11,101,c"));
  EXPECT_TRUE(got.events.empty());
  EXPECT_EQ(got.counts.foreign, 1U);
}

TEST(KernelLogText, BlanksBehindALineAreNotOfIt) {
  const std::string line =
      "[    1.000000] cma: cma_alloc: linux,cma: alloc failed, req-size: 7 pages, ret: -12";
  const Read bare = read(line + "\n");
  for (const char* end : {"  \n", "\t\n", " \r\n", "\xc2\xa0\n"}) {
    const Read got = read(line + end);
    ASSERT_EQ(got.events.size(), 1U) << end;
    EXPECT_EQ(describe(got.events[0]), describe(bare.events[0]));
  }
  const Read record = read("4,1,1,-;mc-err: (255) csr_x: EMEM address decode error  \n");
  ASSERT_EQ(record.events.size(), 1U);
  EXPECT_EQ(record.events[0].text("error"), "EMEM address decode error");
}

TEST(KernelLogText, LinesThatEndWithCrAlone) {
  for (const std::size_t step : {SIZE_MAX, std::size_t{1}, std::size_t{5}}) {
    const Read got = read("a line\r" + kFault + "\r" + kFault + "\r\n" + kFault, step);
    EXPECT_EQ(got.events.size(), 3U) << step;
    EXPECT_EQ(got.counts.lines, 4U) << step;
    const Read crlf = read("a line\r\n" + kFault + "\r\nx\ry\n", step);
    EXPECT_EQ(crlf.events.size(), 1U) << step;
    EXPECT_EQ(crlf.counts.lines, 3U) << step;
  }
}

TEST(KernelLogText, APauseTellsWhatIsOpen) {
  std::size_t events = 0;
  const auto log =
      std::make_unique<TextLog>(Soc::kUnknown, [&](const Event&, std::string_view) { ++events; });
  log->feed("arm-smmu 8000000.iommu: Unexpected global fault, this could be serious\n");
  EXPECT_EQ(events, 0U);
  log->flush();
  EXPECT_EQ(events, 1U);
}

TEST(KernelLogText, LongLinesAreCutAndCounted) {
  const std::string text = std::string(3U << 20, 'x') + "\n" + kFaultLine +
                           std::string(TextLog::kMaxLineBytes, 'y') + "\n" +
                           std::string(TextLog::kMaxLineBytes + 1, 'z');
  for (const std::size_t step : {SIZE_MAX, std::size_t{4096}}) {
    const Read got = read(text, step);
    EXPECT_EQ(got.counts.lines, 4U);
    EXPECT_EQ(got.counts.cut, 2U);
    ASSERT_EQ(got.events.size(), 1U);
    EXPECT_EQ(got.events[0].line, 2U);
  }
}

TEST(KernelLogText, ByteOrderMarkNulsAndAnUnfinishedLine) {
  EXPECT_EQ(events_in("\xef\xbb\xbf" + kFaultLine), 1U);
  EXPECT_EQ(read(std::string(5000, '\0')).counts.lines, 1U);
  EXPECT_EQ(read("\n\n\n").counts.lines, 3U);
  EXPECT_EQ(read("").counts.lines, 0U);
  EXPECT_EQ(events_in(kFault), 1U);
}

TEST(KernelLogTextLog, ALineBelowAnInnocentOneIsNoPartOfIt) {
  // Also where that is as wide as a terminal: still nothing that words alone tell.
  for (const char* text :
       {"nvme nvme0: 8/0/0 default/read/poll queues\nE: Failed to allocate memory for cache\n",
        "nvme nvme0: 8/0/0 default/read/poll queues, and further words\n"
        "E: Failed to allocate memory for cache\n",
        "a-rather-long-name 1a00000.bar: allocation of DMA memory here\nfailed\n"}) {
    EXPECT_EQ(events_in(std::string("[   10.125000] ") + text), 0U) << text;
  }
}

TEST(KernelLogTextLog, ThePriorityOfAPastedLineCounts) {
  const std::string line = "foo 1a00000.bar: failed to allocate memory\n";
  for (const auto& [error, info] :
       {std::pair("<3>[   10.125000] ", "<6>[   10.125000] "),
        {"kern  :err   : [   10.125000] ", "kern  :info  : [   10.125000] "},
        {"3,1,10125000,-;", "6,1,10125000,-;"}}) {
    EXPECT_EQ(events_in(error + line), 1U) << error;
    EXPECT_EQ(events_in(info + line), 0U) << info;
  }
}

TEST(KernelLogTextLog, BrokenLinesAreJoined) {
  const Read mail = read(
      "> [   71.250000] arm-smmu 8000000.iommu: Unhandled context fault: fsr=0x402,\n"
      "> iova=0xabc000, fsynr=0x110003, cbfrsynra=0x3, cb=4\n");
  ASSERT_EQ(mail.events.size(), 1U);
  EXPECT_EQ(mail.events[0].number("cb"), 4);
  EXPECT_EQ(mail.events[0].line, 1U);
  EXPECT_EQ(mail.counts.sending, 2U);
  // In the middle of a word, as a terminal does; the next line of the log is its own.
  const Read terminal = read(
      "[   71.250000] arm-smmu 8000000.iommu: Unhandled context fault: fsr=0x402, io\n"
      "va=0xabc000, fsynr=0x110003, cbfrsynra=0x3, cb=4\n"
      "[   71.300000] usb 1-1: new device\n");
  ASSERT_EQ(terminal.events.size(), 1U);
  EXPECT_EQ(terminal.events[0].text("iova"), "0xabc000");
  // Before a comma, and within what the next line adds.
  const Read comma = read(
      "> [   71.250000] arm-smmu 8000000.iommu: Unhandled context fault: fsr=0x402\n"
      "> ,iova=0xabc000, fsynr=0x110003, cbfrsynra=0x3, cb=4\n"
      "> [   71.250100] arm-smmu 8000000.iommu: FSR    = 00000402 [Format=2 TF],\n"
      "> SID=0x3\n");
  ASSERT_EQ(comma.events.size(), 1U);
  EXPECT_EQ(comma.events[0].text("iova"), "0xabc000");
  EXPECT_EQ(comma.events[0].number("cb"), 4);
}

TEST(KernelLogTextLog, AMessageBelowItsHeadIsJoined) {
  const Read got = read(
      "nvgpu: 17000000.gpu nvgpu_set_err_notifier_locked:143  [ERR]\n"
      "  error notifier set to 13 for ch 508 owned by a-program\n"
      "nvgpu: 17000000.gpu nvgpu_grmgr_get_gpu_instance_runlist_id:601\n"
      "  [ERR] gpu_instance_id[0] >= num_gpu_instances[0]\n");
  ASSERT_EQ(got.events.size(), 2U);
  EXPECT_EQ(got.events[0].kind(), EventKind::kGpuError);
  EXPECT_EQ(got.events[1].kind(), EventKind::kGpuError);
}

TEST(KernelLogTextLog, RecordsThatLostTheLineEndBetweenThem) {
  const std::string refused = "cma: cma_alloc: reserved: alloc failed, req-size: ";
  const std::string tail = " pages, ret: -12";
  const Read got = read("kernel: " + refused + "16" + tail + " kernel: " + refused + "64" + tail +
                        " kernel: " + refused + "8" + tail + "\n");
  ASSERT_EQ(got.events.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(got.events[i].text("area"), "reserved");
    EXPECT_EQ(got.events[i].number("pages"), std::vector<int>({16, 64, 8})[i]);
    EXPECT_EQ(got.events[i].line, 1U);
  }
  EXPECT_EQ(got.counts.sending, 1U);
  // Names are anybody's: a record is believed only behind another of its kind, without a time.
  const std::string group =
      "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
      "oom_memcg=/a,task_memcg=/a kernel: " +
      refused + "16" + tail + ",task=x,pid=7,uid=0\n";
  for (const std::string& head : {std::string("kernel: "), std::string("[   71.250000] ")}) {
    const Read one = read(head + group);
    ASSERT_EQ(one.events.size(), 1U) << head;
    EXPECT_EQ(one.events[0].number("pid"), 7) << head;
  }
  EXPECT_EQ(events_in("[   71.250000] " + refused + "16" + tail + " [   71.300000] " + refused +
                      "8" + tail + "\n"),
            1U);
  // Nor what a process prints or a device calls itself.
  for (const Event& event : read("Nov 20 18:53:17 orin app[9]: CUDA out of memory kernel: " +
                                 refused + "16" + tail + "\n")
                                .events) {
    EXPECT_NE(event.kind(), EventKind::kCmaAllocFailure);
  }
  EXPECT_EQ(events_in("[   71.250000] usb 1-1: Product: x kernel: " + refused + "16" + tail + "\n"),
            0U);
}

TEST(KernelLogTextLog, AnEqualsSignOrProseJoinsNothing) {
  const std::string refused = "cma: cma_alloc: alloc failed, req-size: 7 pages, ret: -12\n";
  // A key that ends with "=" is no line that mail broke.
  const std::string key =
      "Nov 20 18:53:17 orin sshd[12]: key AAAAB3NzaC1yc2EAAAADAQABAAABAQDFFFFAa==\n";
  ASSERT_GE(key.size(), 71U);
  EXPECT_EQ(events_in(key + "Nov 20 18:53:17 orin kernel: " + refused), 1U);
  const Read prose = read("[   71.250000] " + refused + "12 more lines follow\n");
  ASSERT_EQ(prose.events.size(), 1U);
  EXPECT_EQ(prose.events[0].number("ret"), -12);
  EXPECT_EQ(prose.counts.sending, 1U);
}

}  // namespace
}  // namespace jetmem::kernel_log
