// SPDX-License-Identifier: Apache-2.0
// Which cause is chosen, by its code; the words are held only as far as numbers and names go.
#include "report/diagnosis/cause.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <set>

#include "collectors/kernel_log/catalogue/catalogue.h"
#include "collectors/kernel_log/event/kinds.h"
#include "report/diagnosis/cause_table.h"
#include "report/diagnosis/known_issues.h"
#include "tests/report/diagnosis/causes_of_log.h"

namespace jetmem::diagnosis {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

EventRecord event_of(const std::string& kind, const std::string& fields,
                     const std::string& summary = "") {
  EventRecord out;
  out.kind = kind;
  out.origin = "system";
  out.fields = fields;
  out.summary = summary;
  return out;
}

std::vector<Cause> explain_all(const std::vector<EventRecord>& events,
                               const MachineFacts& facts = {}) {
  std::vector<const EventRecord*> list;
  for (const EventRecord& each : events) list.push_back(&each);
  return explain(list, facts);
}

Cause only(const EventRecord& event, const MachineFacts& facts = {}) {
  const std::vector<Cause> causes = explain_all({event}, facts);
  EXPECT_FALSE(causes.empty()) << event.kind;
  return causes.empty() ? Cause() : causes.front();
}

// With a space between two.
std::string ids(const std::vector<Cause>& causes) {
  std::string out;
  for (const Cause& each : causes) out += (out.empty() ? "" : " ") + each.id;
  return out;
}

// As the decoder reads it: an event that no decoder makes would show nothing.
std::string ids_of_log(const std::string& text) { return ids(causes_of_log(text)); }

struct LogCase {
  std::string log;
  std::string ids;
};

void expect_ids(const std::vector<LogCase>& cases) {
  for (const LogCase& each : cases) EXPECT_EQ(ids_of_log(each.log), each.ids) << each.log;
}

// Those of the YAML.
struct Example {
  const char* kind;
  const char* fields;
  const char* id;
  const char* shows;             // a number or name in the words
  std::vector<const char*> log;  // kinds of other events
};
const std::vector<Example> kExamples{
#include "cause_examples.inc"
};

TEST(Causes, AreChosenByTheFields) {
  for (const Example& row : kExamples) {
    std::vector<EventRecord> events;
    for (const char* kind : row.log) events.push_back(event_of(kind, "{}"));
    events.push_back(event_of(row.kind, row.fields));
    const std::vector<Cause> causes = explain_all(events);
    const auto found = std::find_if(causes.begin(), causes.end(), [&](const Cause& each) {
      return each.kind == row.kind && each.id == row.id;
    });
    ASSERT_NE(found, causes.end()) << row.id << ": " << row.kind << " " << row.fields << " is "
                                   << (causes.empty() ? "nothing" : causes.back().id);
    EXPECT_THAT(found->cause + found->remedy, HasSubstr(row.shows)) << row.id;
    EXPECT_FALSE(found->cause.empty()) << row.id;
    EXPECT_FALSE(found->remedy.empty()) << row.id;
    EXPECT_FALSE(found->runbook.empty()) << row.id;
  }
}

// Whatever is missing: no placeholder is left, and no sentence with a hole.
TEST(Causes, AreWholeWithoutAnyField) {
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    const Cause cause = only(event_of(std::string(info.name), R"({"kind":"its"})"));
    for (const std::string& text : {cause.cause, cause.remedy}) {
      EXPECT_FALSE(text.empty()) << info.name;
      EXPECT_THAT(text, Not(HasSubstr("{"))) << info.name;
      EXPECT_THAT(text, Not(HasSubstr("}"))) << info.name;
    }
    EXPECT_THAT(cause.cause, Not(HasSubstr("an unknown value"))) << info.name << ": " << cause.id;
    ASSERT_FALSE(cause.cause.empty());
    const char first = cause.cause[0];
    EXPECT_FALSE(first >= 'b' && first <= 'z') << info.name << ": " << cause.cause;
  }
}

// An id that nobody prints any more, or that was never printed, explains nothing.
TEST(Causes, AreOfMessagesThatThereAre) {
  const kernel_log::Catalogue& catalogue = kernel_log::Catalogue::shipped();
  for (const CauseEntry& each : shipped_causes()) {
    for (const std::string_view name : each.of) {
      EXPECT_TRUE(kernel_log::kind_named(name) || catalogue.find(name) != nullptr)
          << each.id << ": " << name;
    }
  }
}

// The first cannot be told from a refusal of GPU memory without looking at the machine.
TEST(Causes, AreChosenByTheMachine) {
  constexpr double kGiB = 1 << 30;
  const EventRecord refused = event_of("cuda_alloc_failure", R"({"size":1476114816})");
  MachineFacts facts;
  facts.l4t = "36.4.4";
  facts.total = 8 * kGiB;
  facts.available = 5 * kGiB;
  facts.free = 0.3 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-free-hidden");
  EXPECT_EQ(only(refused, facts).runbook, "gpu-free-hidden");
  facts.free = 4.5 * kGiB;
  facts.bytes_in_2m_blocks = 0.1 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-no-2m-blocks");
  facts.bytes_in_2m_blocks = 4.0 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-buffer-refused");
  facts.available = 0.5 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-memory-short");

  const EventRecord cma = event_of("cma_alloc_failure", R"({"pages":1846,"errno":12})");
  facts.cma_total = 0;
  EXPECT_EQ(only(cma, facts).id, "cma-missing");
  // Usual on a PC.
  facts.l4t.clear();
  const EventRecord dma = event_of("dma_alloc_failure", R"({"dev":"0000:01:00.0","size":65536})");
  EXPECT_EQ(only(dma, facts).id, "dma-alloc-failure");
  facts.l4t = "36.4.7";
  EXPECT_EQ(only(dma, facts).id, "cma-missing");
  facts.l4t.clear();
  facts.cma_total = 1 << 20;
  EXPECT_EQ(only(cma, facts).id, "cma-too-small");

  MachineFacts arm32;
  arm32.is_32_bit_arm = true;
  EXPECT_EQ(only(event_of("page_alloc_failure", R"({"order":4})"), arm32).id, "lowmem-short");
  EXPECT_EQ(only(event_of("page_alloc_failure", R"({"order":0})"), arm32).id, "page-refused");
  MachineFacts early;
  early.kernel = "4.8.12-040812-generic";
  const EventRecord kill =
      event_of("oom_kill", R"({"comm":"java","swap_total_kb":1000,"swap_free_kb":900})");
  EXPECT_THAT(only(kill, early).cause, HasSubstr("4.8.12"));
  EXPECT_THAT(only(kill).cause, Not(HasSubstr("4.")));
  MachineFacts stuck;
  stuck.backtrace_modules = {"v3d", "gpu_sched"};
  const Cause cause = only(event_of("hung_task", R"({"comm":"kworker/2:0"})"), stuck);
  EXPECT_EQ(cause.id, "task-stuck-gpu");
  EXPECT_THAT(cause.cause, HasSubstr("gpu_sched, v3d"));
}

// What comes with it decides: a reset makes the V3D's fault a real one.
TEST(Causes, AreChosenByTheOtherEvents) {
  const EventRecord fault = event_of("gpu_mmu_fault", R"({"dev":"fec00000.v3d","client":"CLE"})");
  const EventRecord hang = event_of("gpu_hang", R"({"dev":"fec00000.v3d"})");
  EXPECT_EQ(ids(explain_all({fault})), "v3d-read-ahead");
  EXPECT_THAT(ids(explain_all({fault, hang})),
              AllOf(HasSubstr("gpu-hung"), Not(HasSubstr("v3d-read-ahead"))));
  const EventRecord timeout = event_of("camera_timeout", R"({"dev":"vi"})");
  for (const char* memory : {"dma_alloc_failure", "iova_exhausted", "swiotlb_full",
                             "page_alloc_failure", "driver_alloc_failure"}) {
    EXPECT_THAT(ids(explain_all({timeout, event_of(memory, "{}")})), HasSubstr("camera-no-memory"))
        << memory;
  }
  for (const char* access : {"smmu_context_fault", "smmu_v3_event", "mc_error"}) {
    EXPECT_THAT(ids(explain_all({timeout, event_of(access, "{}")})),
                HasSubstr("camera-access-fault"))
        << access;
  }
  const EventRecord task = event_of("hung_task", R"({"comm":"a"})");
  const EventRecord block = event_of("storage_error", R"({"dev":"sda","error":"I/O error"})");
  const EventRecord medium =
      event_of("storage_error", R"({"dev":"sda","error":"critical medium error"})");
  const EventRecord descriptor =
      event_of("driver_alloc_failure", R"({"message":"edma-no-descriptor","dev":"a.edma"})");
  EXPECT_THAT(ids(explain_all({task, event_of("zram_error", R"({"op":"write"})")})),
              HasSubstr("task-stuck-memory"));
  EXPECT_THAT(ids(explain_all({task, block})), HasSubstr("task-stuck-storage"));
  EXPECT_EQ(ids(explain_all({block, block})), "storage-error-single");
  EXPECT_EQ(ids(explain_all({block, block, block})), "storage-errors-repeated");
  // What is no failed read, write or command of the storage.
  const EventRecord discard = event_of(
      "storage_error", R"({"dev":"sda","error":"discard failed","message":"block-discard-error",)"
                       R"("harmless":true})");
  const EventRecord damage =
      event_of("storage_error", R"({"dev":"sda","error":"file system error"})");
  EXPECT_THAT(ids(explain_all({block, discard, damage})), HasSubstr("storage-error-single"));
  EXPECT_EQ(ids(explain_all({medium})), "storage-bad-block");
  EXPECT_EQ(ids(explain_all({medium, medium, medium})), "storage-failing");
  EXPECT_EQ(ids(explain_all({descriptor, block, block, block})),
            "dma-engine-no-memory storage-lacks-memory");
}

// The driver takes a program's channels from it after an error, of which it says no more.
TEST(Causes, RemovedChannelsAreOfTheXidBefore) {
  const std::string xid = "NVRM: Xid (PCI:0000:0a:00): ";
  const std::string halted = xid + "62, pid=1, name=a, 2023b230 00000000\n";
  const std::string removed = xid + "45, pid=1, name=a, Ch 00000008\n";
  const std::vector<Cause> causes =
      causes_of_log("[  70.687545] " + halted + "[  70.7] " + removed);
  ASSERT_EQ(ids(causes), "xid-microcontroller");
  EXPECT_EQ(causes[0].events, 2U);
  EXPECT_THAT(causes[0].cause, HasSubstr("62"));
  expect_ids(
      {{removed, "xid-removed"},
       {"[  70.7] " + halted + "[ 9970.7] " + removed, "xid-microcontroller xid-removed"},
       // Of another GPU.
       {"NVRM: Xid (PCI:0000:0b:00): 62, x\n" + removed, "xid-microcontroller xid-removed"},
       {xid +
            "31, pid=1, name=a, Ch 00000010, intr 00000000. MMU Fault: ENGINE CE2 HUBCLIENT_CE0 "
            "faulted @ 0x7f29_5b8c9000. Fault is of type FAULT_PRIV_VIOLATION "
            "ACCESS_TYPE_VIRT_READ\n" +
            removed,
        "gpu-access-denied"},
       {halted + xid + "154, GPU recovery action\n" + removed, "xid-microcontroller"}});
  // A kind without a cause of its own.
  const auto unknown = causes_of_log(xid + "38, x\n" + removed);
  ASSERT_EQ(ids(unknown), "xid-removed");
  EXPECT_THAT(unknown[0].cause, HasSubstr("after Xid 38"));
}

TEST(Causes, EachXidKeepsItsNumber) {
  const std::string gpu = "NVRM: Xid (PCI:0000:0a:00): ";
  std::string all;
  for (const Cause& each : causes_of_log(
           "[  70.1] " + gpu + "79, pid=1, name=a, GPU has fallen off the bus.\n[  71.1] " + gpu +
           "119, pid=1, name=a, Timeout after 6s of waiting for RPC response from GPU0 GSP!\n"
           "[  72.1] " +
           gpu + "13, pid=1, name=a, Graphics SM Warp Exception\n")) {
    all += each.cause + "\n";
  }
  EXPECT_THAT(all, AllOf(HasSubstr("(Xid 79)"), HasSubstr("Xid 119: the GPU's firmware"),
                         HasSubstr("Xid 13 of a: the program")));
}

TEST(Causes, AGpusFaultIsTheRootOfWhatFollows) {
  const std::string fault =
      "panfrost ff9a0000.gpu: Unhandled Page fault in AS0 at VA 0x0000000107ED2CC0\n"
      "exception type 0xC1: TRANSLATION_FAULT_1\naccess type 0x2: READ\n";
  const auto causes = causes_of_log(
      fault +
      "panfrost ff9a0000.gpu: js fault, js=0, status=JOB_BUS_FAULT, head=0x8badcc0, tail=0x1\n");
  ASSERT_EQ(ids(causes), "gpu-bad-address");
  EXPECT_EQ(causes[0].events, 2U);
  EXPECT_THAT(causes[0].remedy, Not(HasSubstr("compute-sanitizer")));
  const auto nvgpu = causes_of_log(
      "nvgpu: 17000000.gpu f:294 [ERR] [MMU FAULT] mmu engine id: 18, ch id: 479, fault addr: 0x0, "
      "fault addr aperture: 0, fault type: invalid pde, access type: virt read,\n"
      "nvgpu: 17000000.gpu g:143 [ERR] error notifier set to 31 for ch 479 owned by consumer\n");
  ASSERT_EQ(ids(nvgpu), "gpu-bad-address");
  EXPECT_THAT(nvgpu[0].cause, HasSubstr("consumer"));
  EXPECT_THAT(nvgpu[0].remedy, HasSubstr("compute-sanitizer"));
}

// "Paging request" is any; what it was, the code of the line below says.
TEST(Causes, AnOopsIsNotAlwaysMemoryThatWasFreed) {
  const std::string at =
      "Unable to handle kernel paging request at virtual address ffff80001200a000\n";
  const auto code = [&](const std::string& esr) {
    return at + "Internal error: Oops: " + esr + " [#1] PREEMPT SMP\n";
  };
  const std::string x86 = "BUG: unable to handle page fault for address: ffffa10000001000\n";
  expect_ids(
      {{code("0000000096000007"), "kernel-bug"},
       {code("0000000096000041"), "page-table-unusable"},
       {code("000000009600000b"), "page-table-unusable"},
       {code("0000000096000016"), "page-table-unusable"},
       {code("0000000096000061"), "access-unsuitable"},
       {code("0000000096000030"), "tlb-conflict"},
       {code("000000009600004f"), "access-forbidden"},
       {code("0000000096000210"), "bus-access-refused"},
       {code("000000009600001d"), "parity-error"},
       {at, "kernel-bug-probable"},
       {x86 + "Oops: 0000 [#1] SMP PTI\n", "kernel-bug"},
       {x86 + "Oops: 0003 [#1] SMP PTI\n", "access-forbidden"},
       {x86 + "Oops: 0009 [#1] SMP PTI\n", "page-table-unusable"},
       {"Internal error: ttbr address size fault: 96000040 [#1] SMP\n", "page-table-unusable"},
       {"kernel BUG at mm/slub.c:305!\nOops: invalid opcode: 0000 [#1] SMP PTI\n",
        "kernel-check-failed"},
       {"Oops: general protection fault, probably for non-canonical address 0xdead000000000122: "
        "0000 [#1] PREEMPT SMP NOPTI\n",
        "protection-fault"},
       {"Oops: divide error: 0000 [#1] SMP PTI\n", "kernel-error"},
       {"invalid opcode: 0000 [#1] SMP PTI\n", "kernel-error"}});
}

// The killed task's locks stay held, whatever it was.
TEST(Causes, AnOopsIsAlwaysCritical) {
  for (const std::string line :
       {"Internal error: Oops: 0000000096000061 [#1] PREEMPT SMP\n",
        "Internal error: : 96000210 [#1] PREEMPT SMP\n", "Oops: divide error: 0000 [#1] SMP PTI\n",
        "invalid opcode: 0000 [#1] SMP PTI\n",
        // Joined with the one of the line above, which a program may have met.
        "Unable to handle kernel paging request at virtual address ffff80001200a000\n"
        "Internal error: Oops: 0000000096000061 [#1] PREEMPT SMP\n",
        "Unhandled fault: synchronous external abort (0x96000210) at 0xb6f55000\n"
        "Internal error: : 96000210 [#1] PREEMPT SMP\n"}) {
    const std::vector<Cause> causes = causes_of_log(line);
    ASSERT_EQ(causes.size(), 1U) << line;
    EXPECT_EQ(causes[0].harm, Harm::kCritical) << line;
  }
  const std::vector<Cause> abort =
      causes_of_log("Unhandled fault: alignment exception (0x001) at 0xb6f55001\n");
  ASSERT_EQ(ids(abort), "abort-unsuitable");
  EXPECT_EQ(abort[0].harm, Harm::kWarning) << "may be a program's";
}

// One line names the device, the other the processor: as many crashed as the second says.
TEST(Causes, CrashesOfTwoProcessorsAreTwo) {
  const std::string fatal = ".remoteproc: fatal error received: err_qdi.c:456\n";
  const std::vector<Cause> both =
      causes_of_log("[   10.1] qcom_q6v5_pas 1" + fatal + "[   10.1] qcom_q6v5_pas 2" + fatal +
                    "[   10.1] remoteproc remoteproc1: crash detected in wpss: type fatal error\n"
                    "[   10.1] remoteproc remoteproc2: crash detected in adsp: type fatal error\n");
  ASSERT_EQ(both.size(), 2U);
  for (const Cause& each : both) EXPECT_EQ(each.events, 1U);
  EXPECT_THAT(both[0].cause, AllOf(HasSubstr("1.remoteproc"), Not(HasSubstr("wpss"))));

  for (const auto& [first, type] :
       {std::pair("pas 3000000.remoteproc: fatal error received: err_qdi.c:456", "watchdog"),
        std::pair("mss 3000000.remoteproc: watchdog without message", "mmufault")}) {
    const std::vector<Cause> causes = causes_of_log(
        "[   10.1] qcom_q6v5_" + std::string(first) +
        "\n[   10.2] remoteproc remoteproc2: crash detected in wpss: type " + type + "\n");
    ASSERT_EQ(causes.size(), 2U) << first;
    EXPECT_THAT(causes[0].cause, AllOf(HasSubstr("3000000.remoteproc"), Not(HasSubstr("wpss"))));
    EXPECT_THAT(causes[1].cause, AllOf(HasSubstr("wpss"), Not(HasSubstr("3000000"))));
  }
}

// L4T's driver removes it to start it again, as that of a dock does that was unplugged.
TEST(Causes, AUsbControllerThatDiedIsNoUnpluggedDock) {
  const std::vector<Cause> causes = causes_of_log(
      "[   10.1] tegra-xusb 3610000.usb: HC died; cleaning up\n"
      "[   10.2] tegra-xusb 3610000.usb: remove, state 1\n");
  ASSERT_EQ(ids(causes), "usb-controller-dead");
  EXPECT_EQ(causes[0].harm, Harm::kWarning);
}

TEST(Causes, ADriveThatTheKernelLostMayHaveFailed) {
  const std::string lines =
      "scsi host0: usb-storage 1-1:1.0\nsd 0:0:0:0: [sda] Attached SCSI removable disk\n"
      "usb 1-1: USB disconnect, device number 5\n"
      "blk_update_request: I/O error, dev sda, sector 8 op 0x0:(READ) flags 0x0\n"
      "blk_update_request: I/O error, dev sda, sector 9 op 0x0:(READ) flags 0x0\n"
      "Buffer I/O error on dev sda1, logical block 1, lost async page write\n"
      "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading directory\n";
  const std::vector<Cause> causes = causes_of_log(lines);
  ASSERT_FALSE(causes.empty());
  for (const Cause& each : causes) {
    EXPECT_EQ(each.id, "storage-removed");
    EXPECT_EQ(each.harm, Harm::kCritical);
    EXPECT_THAT(each.cause, HasSubstr("itself stopped answering"));
  }
  // Its first commands fail before it is gone, and the lines of its start are lost.
  const std::vector<Cause> early = causes_of_log(
      "sd 0:0:0:0: [sda] tag#0 FAILED Result: hostbyte=DID_ERROR driverbyte=DRIVER_OK\n"
      "I/O error, dev sda, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2\n"
      "usb 1-1: USB disconnect, device number 5\n"
      "device offline error, dev sda, sector 9 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2\n"
      "Aborting journal on device sda1-8.\n");
  ASSERT_EQ(early.size(), 3U);
  for (const Cause& each : early) EXPECT_THAT(each.cause, HasSubstr("pulled out")) << each.id;
  // The kernel removes a card that does not answer: its errors count as others do.
  const std::string error = "blk_update_request: I/O error, dev mmcblk1, sector 8\n";
  const std::string card = "mmcblk1: mmc1:0001 SD16G 14.9 GiB\n";
  EXPECT_EQ(ids_of_log(card + "mmc1: card 0001 removed\n" + error + error + card + error),
            "storage-removed storage-errors-repeated");
}

// What happened hours before is not the cause.
TEST(Causes, AnotherEventExplainsOnlyWhatIsNearIt) {
  const auto killed_at = [](const std::string& at) {
    return ids_of_log("[" + at +
                      "] Out of memory: Killed process 43 (ld) total-vm:1000kB, anon-rss:400kB, "
                      "file-rss:0kB, shmem-rss:0kB\n"
                      "[ 9000.000000] uvcvideo 1-8:1.1: Failed to resubmit video URB (-12).\n");
  };
  EXPECT_THAT(killed_at(" 8900.000000"), HasSubstr("camera-no-memory"));
  EXPECT_THAT(killed_at("  900.000000"), Not(HasSubstr("camera-no-memory")));
}

// What was not reserved at boot is missing until the next one.
TEST(Causes, WhatHappenedAtBootLasts) {
  EventRecord not_reserved = event_of("reserved_memory_failure", R"({"node":"linux,cma"})");
  not_reserved.at = Nanoseconds(0);
  EventRecord refused = event_of("dma_alloc_failure", R"({"dev":"fe801000.csi","size":65536})");
  refused.at = std::chrono::hours(1);
  MachineFacts facts;
  facts.cma_total = 0;
  const auto causes = [&] { return ids(explain_all({not_reserved, refused}, facts)); };
  EXPECT_THAT(causes(), HasSubstr("cma-missing"));
  not_reserved.fields = R"({"node":"ramoops@b0000000","other":"vpr"})";
  EXPECT_THAT(causes(), Not(HasSubstr("cma-missing"))) << "of another area";
  not_reserved.fields = R"({"node":"linux,cma"})";
  not_reserved.boot = 1;
  not_reserved.wall = Nanoseconds(0);
  refused.boot = 2;
  refused.wall = std::chrono::hours(1);
  EXPECT_THAT(causes(), Not(HasSubstr("cma-missing"))) << "of another boot";
}

// A disk's queue has up to 32 commands, which fail at once.
TEST(Causes, CommandsThatFailTogetherAreOneFailure) {
  const auto failed = [](const std::string& at) {
    return at + "ata1.00: failed command: READ FPDMA QUEUED\n";
  };
  const auto dated = [&](std::initializer_list<const char*> dates) {
    std::string out;
    for (const char* date : dates) out += failed(date);
    return out;
  };
  std::string together;
  for (const std::string at : {"[   10.1] ", "[   10.2] ", "[   10.3] ", "[   10.4] "}) {
    together +=
        failed(at) + at + "         res 40/00:01:00:10:20/00:00:17:00:00/40 Emask 0x4 (timeout)\n";
  }
  const std::string link =
      failed("[   10.1] ") +
      "[   10.1]          res 40/00:01:00:10:20/00:00:17:00:00/40 Emask 0x10 (ATA bus error)\n";
  expect_ids(
      {{together, "storage-error-single"},
       {together + failed("[   20.1] ") + failed("[   30.1] "), "storage-errors-repeated"},
       {link + link + link, "storage-link"},
       // A second begins with its first command; without times nothing is known to be apart.
       {dated({"[   10.0] ", "[   10.8] ", "[   11.6] ", "[   12.4] ", "[   13.2] "}),
        "storage-errors-repeated"},
       {dated({"", "", ""}), "storage-error-single"},
       // Logs without the kernel's stamp have dates.
       {dated({"Nov 01 10:00:00 host kernel: ", "Nov 02 10:00:00 host kernel: ",
               "Nov 03 10:00:00 host kernel: "}),
        "storage-errors-repeated"},
       {dated({"[Fri Nov  1 10:00:00 2024] ", "[Fri Nov  1 10:00:02 2024] ",
               "[Fri Nov  1 10:00:04 2024] "}),
        "storage-errors-repeated"},
       {dated({"Nov 01 10:00:00 host kernel: ", "Nov 01 10:00:01 host kernel: ",
               "Nov 01 10:00:01 host kernel: "}),
        "storage-error-single"},
       {dated({"2026-11-20T18:53:17.003+00:00 host kernel: ",
               "2026-11-20T18:53:17.103+00:00 host kernel: ",
               "2026-11-20T18:53:17.203+00:00 host kernel: "}),
        "storage-error-single"},
       {dated({"1761991200.1 host kernel: ", "1761991202.1 host kernel: ",
               "1761991204.1 host kernel: "}),
        "storage-errors-repeated"},
       {dated({"Nov 01 23:59:59 host kernel: ", "Nov 02 00:00:00 host kernel: ", ""}),
        "storage-error-single"},
       {dated({"Nov 01 10:00:00 host kernel: ", "[   10.0] ", ""}), "storage-error-single"}});
}

TEST(Causes, OneGpuOfNvidiaIsNamedInTwoWays) {
  const auto causes = explain_all(
      {event_of("gpu_xid", R"({"pci":"0000:02:00","xid":79})"),
       event_of("gpu_error", R"({"pci":"0000:02:00.0","text":"GPU has fallen off the bus."})"),
       event_of("gpu_xid", R"({"pci":"0000:03:00","xid":79})")});
  EXPECT_EQ(ids(causes), "xid-bus xid-bus");
  EXPECT_EQ(causes[0].events, 2U);
}

// The recorder keeps those of a minute as one.
TEST(Causes, CommandsThatFailedInAMinuteAreNotOneFailure) {
  EventRecord failed =
      event_of("storage_error", R"({"message":"ata-command-failed","dev":"ata1.00",)"
                                R"("error":"command failed"})");
  failed.at = std::chrono::seconds(100);
  failed.until = std::chrono::seconds(155);
  failed.count = 12;
  EXPECT_EQ(only(failed).id, "storage-errors-repeated");
  failed.until = *failed.at + std::chrono::milliseconds(300);
  EXPECT_EQ(only(failed).id, "storage-error-single");
  EventRecord link =
      event_of("storage_error", R"({"message":"ata-command-failed","dev":"ata1.00",)"
                                R"("error":"command failed","reason":"ATA bus error"})");
  link.count = 3;
  EXPECT_EQ(only(link).harm, Harm::kWarning);
  link.at = std::chrono::seconds(100);
  link.until = std::chrono::seconds(155);
  EXPECT_EQ(only(link).id, "storage-link");
  EXPECT_EQ(only(link).harm, Harm::kCritical);
}

// A CPU that stands still takes no interrupts.
TEST(Causes, AStalledCpuIsTheRootOfLateAnswers) {
  const std::string stall =
      "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n"
      "rcu:     0-...0: (1 GPs behind) idle=2b4/1/0x4000000000000000\n"
      "Task dump for CPU 0:\n"
      "task:cuda-EvtHandlr  state:R  running task\n";
  const std::string late = "nvme nvme0: I/O 12 QID 4 timeout, completion polled\n";
  const auto causes = causes_of_log(stall + late);
  ASSERT_EQ(ids(causes), "cpu-stuck storage-interrupt-late");
  EXPECT_THAT(causes[0].cause, AllOf(HasSubstr("CPU 0"), HasSubstr("cuda-EvtHandlr")));
  EXPECT_EQ(ids_of_log(late), "storage-interrupt-lost");
  const EventRecord firmware = event_of("firmware_hang", R"({"driver":"bpmp"})");
  EXPECT_EQ(only(firmware).id, "firmware-hang");
  EXPECT_EQ(explain_all({event_of("rcu_stall", R"({"cpus":"0"})"), firmware})[1].id,
            "firmware-late");
}

TEST(Causes, AHungTaskIsJudgedByItsBacktrace) {
  const std::string hung =
      "INFO: task swapper/0:1 blocked for more than 10 seconds.\n"
      "Call trace:\n"
      " __switch_to+0xc0/0x104\n";
  const auto causes = causes_of_log(hung +
                                    " drain_all_pages+0x1e4/0x210\n"
                                    " alloc_contig_range+0xdc/0x37c\n"
                                    " cma_alloc+0x190/0x2d4\n");
  ASSERT_EQ(ids(causes), "task-stuck-cma");
  EXPECT_THAT(causes[0].cause, HasSubstr("alloc_contig_range"));
  expect_ids(
      {{hung + " [<c01>] (try_to_free_pages) from [<c02>] (x+0x1/0x2)\n"
               " try_to_free_pages.part.0+0x1e4/0x210\n",
        "task-stuck-memory"},
       {hung + " schedule+0x1e4/0x210\n", "task-stuck"},
       // Not the backtrace of the task.
       {hung + "------------[ cut here ]------------\n cma_alloc+0x190/0x2d4\n", "task-stuck"}});
}

// A fatal error of a PCIe device breaks no memory.
TEST(Causes, AnErrorOfOtherHardwareIsNotOfMemory) {
  const auto is_of_memory = [](const std::string& section) {
    return is_uncorrected_memory(EventFields(event_of(
        "memory_error", R"({"ghes":1,"severity":"fatal","section_type":")" + section + "\"}")));
  };
  EXPECT_FALSE(is_of_memory("PCIe error"));
  EXPECT_TRUE(is_of_memory("memory error"));
}

// The kernel kills another than who asked. What comes later for another reason is not nvmap's.
TEST(Causes, ABufferOfNvmapThatTheKernelKilledFor) {
  const EventRecord for_nvmap = event_of("oom_invoked", R"({"comm":"vlm","allocator":"nvmap"})");
  const EventRecord kill = event_of("oom_kill", R"({"comm":"sshd","memcg":false})");
  const std::vector<Cause> one = explain_all({for_nvmap, kill});
  ASSERT_EQ(ids(one), "oom-gpu-buffer");
  EXPECT_THAT(one[0].cause, AllOf(HasSubstr("vlm"), HasSubstr("sshd")));
  EXPECT_THAT(one[0].remedy, HasSubstr("vlm"));
  const EventRecord itself = event_of("oom_kill", R"({"comm":"vlm"})");
  EXPECT_THAT(explain_all({for_nvmap, itself})[0].cause, Not(HasSubstr("killed for it: ")));
  const EventRecord other = event_of("oom_invoked", R"({"comm":"cc1plus"})");
  const std::vector<Cause> two = explain_all({for_nvmap, kill, other, kill});
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[1].id, "memory-exhausted");
  EXPECT_THAT(two[1].cause, AllOf(HasSubstr("cc1plus"), Not(HasSubstr("vlm"))));
}

// The log names the killed one, and not always who requested.
TEST(Causes, TheKilledProcessNeedNotHaveAsked) {
  const std::vector<Cause> causes = causes_of_log(
      "[ 2000.1] Out of memory: Killed process 42 (cron) total-vm:1000kB, "
      "anon-rss:400kB, file-rss:0kB, shmem-rss:0kB\n");
  ASSERT_EQ(ids(causes), "memory-exhausted");
  EXPECT_THAT(causes[0].cause, AllOf(HasSubstr("killed cron"), Not(HasSubstr("needed"))));
}

TEST(Causes, ReportsOfMemoryAreNotMixedUp) {
  const auto report = [](const std::string& time, int slab) {
    return "[" + time + "2] Mem-Info:\n[" + time +
           "3]  slab_reclaimable:9012 slab_unreclaimable:" + std::to_string(slab) + "\n[" + time +
           "4] 983040 pages RAM\n";
  };
  const auto kill = [](const std::string& time) {
    return "[" + time + "5] Out of memory: Killed process 99 (java) total-vm:900kB, " +
           "anon-rss:500000kB, file-rss:0kB, shmem-rss:0kB\n";
  };
  const auto call = [&](const std::string& time, int slab) {
    return "[" + time + "1] java invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), " +
           "order=0, oom_score_adj=0\n" + report(time, slab) + kill(time);
  };
  const std::string early = "  100.00000";
  const std::string soon = "  600.00000";
  const std::string late = "90000.00000";
  const auto both =
      testing::AnyOf("oom-kernel-objects memory-exhausted", "memory-exhausted oom-kernel-objects");
  for (const std::string& text :
       {call(early, 20'000) + call(late, 600'000), call(early, 600'000) + call(late, 20'000)}) {
    for (const Cause& each : causes_of_log(text)) EXPECT_EQ(each.events, 2U) << each.id;
    EXPECT_THAT(ids_of_log(text), both) << text;
  }
  // A kill whose call the kernel did not print, and one whose report alone it did.
  EXPECT_THAT(ids_of_log(call(early, 600'000) + kill(soon)), both);
  EXPECT_THAT(ids_of_log(call(early, 20'000) + report(soon, 600'000) + kill(soon)),
              HasSubstr("oom-kernel-objects"));
  // The report of a request that was refused is not of the kill before it.
  EXPECT_THAT(ids_of_log(kill(early) +
                         "[  105.000001] kworker/0:1: page allocation failure: order:4, "
                         "mode:0x40cc0(GFP_KERNEL|__GFP_COMP), nodemask=(null)\n" +
                         report("  105.00000", 600'000)),
              Not(HasSubstr("oom-kernel-objects")));
}

TEST(Causes, TheLimitOfAControlGroupIsTheCauseOfTheWholeCall) {
  const std::string invoked =
      "[  500.000001] python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
      "oom_score_adj=0\n";
  const std::string group =
      "[  500.000002] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,"
      "mems_allowed=0,oom_memcg=/system.slice/vision.service,task_memcg=/system.slice/"
      "vision.service,task=python3,pid=42,uid=0\n"
      "[  500.000003] Memory cgroup out of memory: Killed process 42 (python3) total-vm:1000kB, "
      "anon-rss:400kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:100kB oom_score_adj:0\n";
  const std::vector<Cause> causes = causes_of_log(invoked + group);
  ASSERT_EQ(ids(causes), "oom-group-limit");
  EXPECT_THAT(causes[0].cause, HasSubstr(": /system.slice/vision.service;"));
  // The next call is the machine's own.
  const std::vector<Cause> both = causes_of_log(
      invoked + group +
      "[  900.000001] cc1plus invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
      "oom_score_adj=0\n"
      "[  900.000002] Out of memory: Killed process 43 (ld) total-vm:1000kB, anon-rss:400kB, "
      "file-rss:0kB, shmem-rss:0kB\n");
  ASSERT_EQ(both.size(), 2U);
  EXPECT_THAT(both[0].cause + both[1].cause,
              AllOf(HasSubstr("vision.service"), HasSubstr("cc1plus needed")));
}

TEST(Causes, AGuessHasNoCause) {
  const EventRecord guess =
      event_of("cma_alloc_failure", R"({"known":false,"text":"abc: alloc failed","pages":9})");
  const Cause cause = only(guess);
  EXPECT_EQ(cause.id, "not-known");
  EXPECT_EQ(cause.harm, Harm::kNone);
  EXPECT_THAT(cause.cause, AllOf(HasSubstr("its words suggest"), HasSubstr("abc: alloc failed")));
  EXPECT_EQ(cause.remedy + cause.runbook, "");
  // Nor is it evidence.
  EXPECT_EQ(ids(explain_all({guess, event_of("camera_timeout", R"({"dev":"vi"})")})),
            "camera-no-frames not-known");
}

TEST(Causes, OfOneLogNameOneSize) {
  const auto causes =
      explain_all({event_of("cma_alloc_failure", R"({"dev":"a","pages":1000})"),
                   event_of("dma_alloc_failure", R"({"dev":"b","size":99000000})")});
  ASSERT_EQ(causes.size(), 2U);
  for (const Cause& each : causes) EXPECT_THAT(each.remedy, HasSubstr("cma=512M")) << each.id;
  MachineFacts facts;
  facts.cma_total = 256 << 20;
  EXPECT_THAT(only(event_of("cma_alloc_failure", R"({"pages":10})"), facts).remedy,
              HasSubstr("cma=512M"));
}

// As a kernel with NVIDIA's nvmap of L4T 36.4 printed it.
TEST(Causes, AnOomKillWithNvmapInItsBacktrace) {
  const std::vector<Cause> causes = causes_of_log(
      "[  153.059962] big invoked oom-killer: gfp_mask=0x2dc2(GFP_KERNEL|__GFP_HIGHMEM|"
      "__GFP_NOWARN|__GFP_ZERO), order=0, oom_score_adj=0\n"
      "[  153.060456] CPU: 0 PID: 10156 Comm: big Tainted: G           O       6.1.192-tegra #1 \n"
      "[  153.060982] Call trace:\n"
      "[  153.061109]  dump_backtrace.part.0+0xb8/0xc4\n"
      "[  153.061545]  out_of_memory+0x1c0/0x2f4\n"
      "[  153.061585]  __alloc_pages+0x75c/0xd74\n"
      "[  153.061630]  nvmap_alloc_pages_exact+0x50/0xd0 [nvmap]\n"
      "[  153.061711]  nvmap_alloc_handle+0x908/0xfa0 [nvmap]\n"
      "[  153.061774]  nvmap_ioctl_alloc+0x150/0x1e0 [nvmap]\n"
      "[  153.061837]  nvmap_ioctl+0x3ac/0x450 [nvmap]\n"
      "[  153.062108]  el0t_64_sync+0x148/0x14c\n"
      "[  153.062288] Mem-Info:\n"
      "[  153.064751] Free swap  = 514812kB\n"
      "[  153.064789] Total swap = 524284kB\n"
      "[  153.075294] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,"
      "global_oom,task_memcg=/,task=llama-server,pid=279,uid=0\n"
      "[  153.077010] Out of memory: Killed process 279 (llama-server) total-vm:41652kB, "
      "anon-rss:0kB, file-rss:104kB, shmem-rss:40960kB, UID:0 pgtables:120kB oom_score_adj:0\n");
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].id, "oom-gpu-buffer");
  EXPECT_THAT(causes[0].cause, AllOf(HasSubstr("big"), HasSubstr("llama-server")));
}

TEST(Causes, ABusErrorExplainsWhatFollowsSoon) {
  EventRecord refused = event_of("bus_error", R"({"addr":"0x381031c","error":"SLAVE_ERR"})");
  EventRecord stall = event_of("soft_lockup", R"({"cpu":2,"seconds":23})");
  const auto of = [&](int first, int second) {
    refused.at = std::chrono::minutes(first);
    stall.at = std::chrono::minutes(second);
    return ids(explain_all({refused, stall})) + " ";
  };
  EXPECT_THAT(of(1, 10), HasSubstr("cpu-stuck-bus "));
  EXPECT_THAT(of(1, 20), HasSubstr("cpu-stuck "));
  EXPECT_THAT(of(20, 1), HasSubstr("cpu-stuck ")) << "what came later is no reason";
}

TEST(Causes, ALineThatWasCutAddsNothingToAWholeOne) {
  // Without fields nothing is known but the kind.
  const EventRecord cut = event_of("bus_error", "");
  const EventRecord whole = event_of("bus_error", R"({"addr":"0x381031c","error":"SLAVE_ERR"})");
  ASSERT_EQ(only(cut).id, "bus-error");
  const auto causes = explain_all({cut, whole});
  ASSERT_EQ(ids(causes), "bus-access-refused");
  EXPECT_EQ(causes[0].events, 2U);
}

TEST(Causes, APcHasNoSmmuAndNoDeviceTree) {
  for (const char* fault : {"configuration", "permission", "address size", "external abort",
                            "translation", "translation or permission"}) {
    const Cause cause = only(event_of("smmu_context_fault",
                                      R"({"dev":"AMD-Vi","fault":")" + std::string(fault) + "\"}"));
    EXPECT_THAT(cause.cause + cause.remedy, Not(HasSubstr("SMMU"))) << fault;
    EXPECT_THAT(cause.cause + cause.remedy, Not(HasSubstr("device tree"))) << fault;
  }
}

TEST(Causes, AnSErrorStallsCpus) {
  const std::string serror =
      "[  382.132025] CPU1: SError detected, daif=140, spsr=0x40000045, mpidr=80000001, "
      "esr=bf000002\n";
  const std::string stall =
      "[  403.142401] INFO: rcu_preempt detected stalls on CPUs/tasks:\n"
      "[  403.164264]  (detected by 0, t=5252 jiffies, g=2309, c=2308, q=148)\n";
  expect_ids({{serror + stall, "serror cpu-stuck-bus"},
              {stall, "cpu-stuck"},
              {"[  381.0] EDAC MC0: 1 UE memory read error on DIMM_A1 (channel:2 slot:0 page:0x0 "
               "offset:0x0 grain:8)\n" +
                   serror,
               "ecc-uncorrected serror-memory"},
              // A DMA engine that hangs explains no stall.
              {"[  381.0] tegra-gpcdma 2600000.dma-controller: Timeout waiting for DMA burst "
               "completion!\n" +
                   stall,
               "dma-engine-timeout cpu-stuck"}});
}

// Only the kind is known, or what was left of a cut line: nothing was tested.
TEST(Causes, WithoutFieldsAreThoseOfTheKind) {
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    const std::string kind(info.name);
    std::string id = kind;
    std::replace(id.begin(), id.end(), '_', '-');
    for (const char* fields : {"", "{}"}) {
      EXPECT_EQ(ids(explain_all({event_of(kind, fields, "errno 14 nvreleasefd uvc acr flush")})),
                id);
    }
  }
}

TEST(Causes, GspIsOnlyDisabledOnACard) {
  MachineFacts jetson;
  jetson.kernel = "6.8.12-tegra";
  const EventRecord xid = event_of("gpu_xid", R"({"xid":119})");
  EXPECT_THAT(only(xid).remedy, HasSubstr("NVreg_EnableGpuFirmware"));
  EXPECT_THAT(only(xid, jetson).remedy, Not(HasSubstr("NVreg_EnableGpuFirmware")));
}

// The time alone says nothing: a video codec is refused at boot as well.
TEST(Causes, OnlyAFrameBuffersCmaRefusalIsHarmless) {
  EventRecord event = event_of("cma_alloc_failure", R"({"pages":2025,"errno":12})");
  event.at = std::chrono::milliseconds(125);
  EXPECT_EQ(only(event).id, "cma-refused");
  event.fields = R"({"pages":2025,"errno":12,"harmless":true})";
  EXPECT_EQ(only(event).id, "cma-boot-fallback");
  EXPECT_EQ(only(event).harm, Harm::kNone);
  EXPECT_EQ(ids_of_log("[    1.91] cma: cma_alloc: linux,cma: alloc failed, req-size: 4096 "
                       "pages, ret: -12\n"),
            "cma-refused");
}

TEST(Causes, EventsOfOneCauseAndDeviceAreOne) {
  std::vector<EventRecord> events(5, event_of("iova_exhausted", R"({"dev":"a"})"));
  events.push_back(event_of("iova_exhausted", R"({"dev":"b"})"));
  events[0].count = 10;
  const std::vector<Cause> causes = explain_all(events);
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].events, 14U);
  EXPECT_EQ(causes[1].device, "b");
  // Those of jetmem's own probe need no explanation.
  events.resize(1);
  events[0].origin = "probe";
  EXPECT_TRUE(explain_all(events).empty());
}

TEST(Causes, OfDifferentThingsAreNotOne) {
  const auto killed = [](const std::string& at, const std::string& comm) {
    return "[" + at +
           "1] a invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
           "oom_score_adj=0\n[" +
           at + "2] Out of memory: Killed process 43 (" + comm +
           ") total-vm:1000kB, anon-rss:400kB, file-rss:0kB, shmem-rss:0kB\n";
  };
  const auto kills = causes_of_log(killed("  100.00000", "detector") + killed("90100.00000", "b") +
                                   killed("90200.00000", "b"));
  ASSERT_EQ(kills.size(), 2U);
  EXPECT_THAT(kills[0].cause, HasSubstr("The kernel killed detector"));
  EXPECT_EQ(kills[0].events, 2U);
  EXPECT_THAT(kills[1].cause, HasSubstr("The kernel killed b"));
  EXPECT_EQ(kills[1].events, 4U);
  std::string many;
  for (int i = 0; i < 50; ++i) {
    many += killed("  1" + std::to_string(10 + i) + ".00000", "p" + std::to_string(i));
  }
  const auto most = causes_of_log(many + killed(" 900.00000", "p3"));
  ASSERT_EQ(most.size(), 8U);
  EXPECT_EQ(most[3].events, 4U) << "what has its own stays there";
  EXPECT_THAT(most[7].cause, HasSubstr("The kernel killed p7"));
  EXPECT_EQ(most[7].events, 86U);

  EXPECT_EQ(
      ids_of_log("[  1.000001] __vm_enough_memory: pid: 42, comm: a, no enough memory for the "
                 "allocation\n[  2.000001] foo 1a00000.bar: failed to allocate memory\n"),
      "overcommit-limit driver-alloc-failure");

  const auto suppressed = causes_of_log(
      "[  1.000001] arm_smmu_context_fault: 41 callbacks suppressed\n"
      "[  2.000001] cma_alloc: 24 callbacks suppressed\n");
  EXPECT_EQ(ids(suppressed), "messages-suppressed messages-suppressed");
  for (const Cause& each : suppressed) {
    EXPECT_EQ(each.runbook, kernel_log::info_of(*kernel_log::kind_named(each.about)).runbook);
  }
}

TEST(Causes, TextsAreFilled) {
  const EventFields event(event_of("kmemleak", R"({"a":"1","b":"2"})"));
  const Case it{event, {}, {}};
  EXPECT_EQ(fill("x {a}{? and {b}}{? or {c}}.", it), "x 1 and 2.");
  EXPECT_EQ(fill("{?{a}{? or {c}}}", it), "1");
  EXPECT_EQ(fill("{c|b}, {c|'none'}", it), "2, none");
  EXPECT_EQ(fill("{dev} {", it), "a device an unknown value");
}

TEST(Causes, BrokenFieldsAreNone) {
  for (const char* fields :
       {"", "[", "[1]", "{\"size\":", "{\"size\":null}", "{\"dev\":{}}", "{\"size\":\"0x\"}",
        "{\"errno\":1e300}", "{\"dev\":\"\\u001b[2J\"}"}) {
    const Cause cause = only(event_of("swiotlb_full", fields));
    EXPECT_FALSE(cause.cause.empty()) << fields;
    EXPECT_THAT(cause.cause, Not(HasSubstr("\x1b"))) << fields;
  }
  EXPECT_EQ(only(event_of("custom", R"({"message":"pump-dry"})")).id, "custom");
}

TEST(KnownIssues, MatchByReleaseAndSign) {
  MachineFacts facts;
  facts.backtrace_modules = {"v3d"};
  const auto ids_on = [&](const char* kernel) {
    facts.kernel = kernel;
    return ids(explain_all({event_of("hung_task", R"({"comm":"kworker/2:0"})")}, facts));
  };
  EXPECT_THAT(ids_on("6.18.34+rpt-rpi-v8"), HasSubstr("v3d-reset-6.18"));
  EXPECT_THAT(ids_on("6.12.1"), Not(HasSubstr("v3d-reset-6.18")));
  // Which release it is may be unknown: then the words say for which it holds.
  const auto of_tensorrt = [](const char* l4t) {
    MachineFacts board;
    board.l4t = l4t;
    std::string out;
    for (const Cause& each :
         explain_all({event_of("cuda_alloc_failure", R"({"library":"tensorrt"})")}, board)) {
      if (each.id == "l4t-36-myelin-scratch") out = each.cause;
    }
    return out;
  };
  EXPECT_THAT(of_tensorrt("36.5.0"), Not(HasSubstr("Known issue, if")));
  EXPECT_THAT(of_tensorrt(""), HasSubstr("Known issue, if this is L4T 36.4.7 or 36.5.0"));
  EXPECT_EQ(of_tensorrt("36.4.4"), "");
  EXPECT_EQ(known_issues_of_release("36.4.7").size(), 1U);
  EXPECT_TRUE(known_issues_of_release("36.4.4").empty());
  EXPECT_TRUE(known_issues_of_release("").empty());
  constexpr std::array<std::string_view, 2> kReleases{"36.4.x", "36.6"};
  EXPECT_TRUE(is_release_of(kReleases, "36.4.3"));
  EXPECT_TRUE(is_release_of(kReleases, "36.6.0"));
  EXPECT_FALSE(is_release_of(kReleases, "36.40.1"));
  EXPECT_FALSE(is_release_of(kReleases, "36.5.0"));
}

// A sign that other programs and boards print too does not make it theirs.
TEST(KnownIssues, NeedTheirProgramBoardAndFields) {
  const auto issues = [](const EventRecord& event, const MachineFacts& facts) {
    std::string out;
    for (const Cause& each : explain_all({event}, facts)) {
      if (!each.link.empty()) out += each.id + ": " + each.cause + " ";
    }
    return out;
  };
  const EventRecord stale = event_of("nvbufsurface", R"({"function":"NvReleaseFd","fd":1292})");
  MachineFacts facts;
  EXPECT_EQ(issues(stale, facts), "");
  facts.programs = {"jetson-inference"};
  EXPECT_THAT(issues(stale, facts), HasSubstr("jetson-utils-nvmm"));

  const EventRecord mask =
      event_of("dma_map_failure", R"({"dev":"0001:01:00.0","mask":"0xffffffff"})");
  EXPECT_EQ(issues(mask, {}), "");
  facts.programs = {"nouveau"};
  EXPECT_THAT(issues(mask, facts), HasSubstr("Known issue, if this is a Raspberry Pi 5"));
  facts.board = "Raspberry Pi 5 Model B Rev 1.0";
  EXPECT_THAT(issues(mask, facts), HasSubstr("pi5-nouveau-mask: nouveau"));
  facts.board = "ASUS X670E";
  EXPECT_EQ(issues(mask, facts), "");

  // A program that starts well has the line too: only without large free blocks it means trouble.
  const EventRecord check = event_of("gpu_alloc_failure", R"({"message":"nvrm-no-memory-check"})");
  MachineFacts spark;
  spark.board = "NVIDIA_DGX_Spark";
  spark.free = spark.bytes_in_2m_blocks = 9e9;
  EXPECT_EQ(issues(check, spark), "");
  EXPECT_EQ(explain_all({check}, spark).front().harm, Harm::kNone);
  spark.bytes_in_2m_blocks = 1e9;
  EXPECT_THAT(issues(check, spark), HasSubstr("gb10-no-oom-kill: GB10"));
  EXPECT_EQ(explain_all({check}, spark).front().harm, Harm::kWarning);
  spark.board = "ASUS X670E";
  EXPECT_EQ(issues(check, spark), "");

  EXPECT_EQ(issues(event_of("program_alloc_failure", R"({"library":"go","errno":14})"), {}), "");
  EXPECT_THAT(issues(event_of("program_alloc_failure", R"({"library":"rknn","errno":14})"), {}),
              HasSubstr("rknpu-before-0.9.7"));

  facts.kernel = "4.8.12";
  EXPECT_EQ(issues(event_of("oom_kill", R"({"comm":"java","swap_free_kb":0})"), facts), "");
  EXPECT_THAT(issues(event_of("oom_kill", R"({"comm":"java","swap_free_kb":9})"), facts),
              HasSubstr("java-oom-4.8: Kernels"));
  EXPECT_THAT(issues(event_of("oom_kill", R"({"comm":"java"})"), facts),
              HasSubstr("if swap was still free"));
}

MachineFacts facts_of(const std::string& text, std::size_t piece = std::string::npos) {
  LogFacts log;
  piece = std::min(piece, text.size());
  for (std::size_t at = 0; at < text.size(); at += piece) log.feed(text.substr(at, piece));
  log.finish();
  return log.facts();
}

TEST(LogFacts, OfTheMachineFromItsLog) {
  const std::string text =
      "[    0.000000] Linux version 5.15.148-tegra (buildbrain@mobile-u64)\n"
      "[    0.000000] Kernel command line: root=/dev/mmcblk0p1 swiotlb=65535 cma=256M\n"
      "[    0.000000] software IO TLB: mapped [mem 0xf7fff000-0xfffff000] (128MB)\n"
      "[    0.000000] cma: Reserved 256 MiB at 0x00000000f0000000\n"
      "# R36 (release), REVISION: 4.7, GCID: 41062509, BOARD: generic\n"
      "[ 8338.504182]  v3d_bin_job_timedout+0x80/0xa0 [v3d]\n"
      "[ 8338.504221]  drm_sched_job_timedout+0x80/0x180 [gpu_sched]\n"
      "CUDA0: Orin (15655 MiB, 12229 MiB free)\n"
      "nvgpu: 17000000.gpu nvgpu_x:12 [ERR] a+0x1/0x2 [ERR]\n";
  for (const std::size_t piece : {text.size(), std::size_t{1}, std::size_t{7}}) {
    const MachineFacts facts = facts_of(text, piece);
    EXPECT_EQ(facts.kernel, "5.15.148-tegra");
    EXPECT_EQ(facts.l4t, "36.4.7");
    EXPECT_THAT(facts.command_line, HasSubstr("swiotlb=65535"));
    EXPECT_EQ(facts.swiotlb_bytes, 128.0 * (1 << 20));
    EXPECT_EQ(facts.cma_total, 256.0 * (1 << 20));
    EXPECT_THAT(facts.backtrace_modules, ElementsAre("gpu_sched", "v3d"));
    EXPECT_FALSE(facts.is_32_bit_arm);
    EXPECT_EQ(facts.gpu_free, 12229.0 * (1 << 20));
  }
}

// What was free when a program was refused: not swap, not what another program prints later.
TEST(LogFacts, FreeGpuMemoryBeforeTheRefusal) {
  constexpr double kMiB = 1 << 20;
  EXPECT_NEAR(facts_of("CUDA0: Orin, 120.44 MiB free\n").gpu_free.value_or(0), 120.44 * kMiB, 1);
  EXPECT_EQ(facts_of("swap: 4096 MiB, 800 MiB free\n").gpu_free, std::nullopt);
  EXPECT_EQ(facts_of("GPU 0: 900 MiB free\nGPU 0: 700 MiB free\n"
                     "cudaMalloc failed: out of memory\nGPU 0: 6000 MiB free\n")
                .gpu_free,
            700 * kMiB);
}

TEST(LogFacts, OtherWaysToSayIt) {
  EXPECT_EQ(facts_of("[2.0] CPU: 3 PID: 118 Comm: kworker/3:1H Tainted: G         C        "
                     "4.19.63-v8-g75f1d14ce #1")
                .kernel,
            "4.19.63-v8-g75f1d14ce");
  EXPECT_EQ(facts_of("ii  nvidia-l4t-core 36.4.7-20250918154033 arm64").l4t, "36.4.7");
  EXPECT_EQ(facts_of("Jetson Orin Nano, L4T 36.5.0.").l4t, "36.5.0");
  EXPECT_EQ(facts_of("L4T is fine").l4t, "");
  EXPECT_EQ(facts_of("CmaTotal:         262144 kB").cma_total, 262144.0 * 1024);
  EXPECT_TRUE(
      facts_of("[<c0013e1c>] (unwind_backtrace+0x0/0xf0) from [<c008e01c>] (x)").is_32_bit_arm);
  // A line that was cut.
  EXPECT_FALSE(facts_of("software IO TLB: mapped [mem 0x00f9000000-0x00").swiotlb_bytes);
  EXPECT_FALSE(facts_of("software IO TLB: mapped (MB)").swiotlb_bytes);
  const std::string overlong(1 << 20, 'x');
  EXPECT_EQ(facts_of(overlong + "\nLinux version 6.1.0 x\n").kernel, "6.1.0");
}

}  // namespace
}  // namespace jetmem::diagnosis
