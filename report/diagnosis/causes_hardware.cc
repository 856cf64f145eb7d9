// SPDX-License-Identifier: Apache-2.0
// ECC and the bus, faults of IOMMUs, processors and tasks that stand still, storage.
#include <array>

#include "base/text/text.h"
#include "report/diagnosis/cause.h"
#include "report/diagnosis/format.h"

namespace jetmem::diagnosis {
namespace {

constexpr std::array kHardwareTexts{
    CauseText{"ecc-corrected", Harm::kWarning,
              "Memory errors were corrected{? ({count})}{? at {label}}{? (memory controller "
              "{mc})}: the module there is failing if they keep coming.",
              "Watch the rate: grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_ce_count. More "
              "than a few per day at one place: replace that DIMM{? ({label})} or the module; "
              "nothing is lost yet."},
    CauseText{"ecc-uncorrected", Harm::kCritical,
              "A memory error could not be corrected{? at {label}}{? (address {addr})}: data there "
              "is lost.",
              "Take the device out of service now, save its data, and replace the DIMM{? "
              "({label})} or the module: one uncorrected error is enough."},
    CauseText{"page-poisoned", Harm::kCritical,
              "The kernel took a page of memory out of use after a hardware error{? (outcome: "
              "{outcome})}{?; {comm} was killed}.",
              "Replace the DIMM or the module; until then restart the program. grep "
              "HardwareCorrupted /proc/meminfo shows how much is lost."},
    CauseText{
        "page-retired", Harm::kWarning,
        "The kernel moved data off a page that had corrected errors; nothing is lost.",
        "Replace the DIMM or the module if it repeats: grep HardwareCorrupted /proc/meminfo."},
    CauseText{"cache-error", Harm::kWarning,
              "A cache or unit of the processor{? ({label})} reported errors that were corrected.",
              "Watch: sudo jetmem events --kind memory_error --since 7d. If they repeat, replace "
              "the module."},
    CauseText{"cache-error-uncorrected", Harm::kCritical,
              "A cache or unit of the processor{? ({label})} reported an error that it could not "
              "correct.",
              "Power the device off and on, and replace the module if it happens again."},
    CauseText{"software-address", Harm::kWarning,
              "A driver or firmware accessed an address that does not exist{?: {addr}}; memory is "
              "not broken.",
              "Update kernel, device tree and firmware of one release; sudo cat /proc/iomem shows "
              "what lies at the address.",
              "bus-error"},
    CauseText{"gpu-ecc-corrected", Harm::kWarning,
              "The GPU{? {dev}} corrected bit errors in its own memory or caches.",
              "Watch: sudo jetmem events --kind gpu_ecc_error --since 7d (nvidia-smi -q -d ECC). "
              "If they repeat, replace the module or card."},
    CauseText{"gpu-ecc-uncorrected", Harm::kCritical,
              "The GPU{? {dev}} found a bit error that it could not correct: the job's results are "
              "wrong or lost.",
              "Restart the device, run the job again, and replace the module or card if it happens "
              "again."},
    CauseText{
        "bus-access-refused", Harm::kWarning,
        "The processor's bus refused an access{? to {addr}}{? ({error})}{? of {master}}: a driver "
        "touched a register that is protected, powered off or without clock. It is no DRAM error.",
        "sudo cat /proc/iomem shows which device lies there. Do not read that range (nvmem, fuses, "
        "devmem); update the kernel and device tree of the board."},
    CauseText{"serror", Harm::kCritical,
              "An asynchronous bus error (SError) arrived{? at CPU {cpu}}: a unit was "
              "accessed while powered down or without clock. Stalls that follow come from it; "
              "memory is not short.",
              "Match bootloader, device tree and kernel of one release for exactly this board "
              "revision; remove the driver or overlay added last."},
    CauseText{"smmu-unmapped", Harm::kWarning,
              "{client}{?, at {dev},} accessed {?address {iova} }without a mapping: a buffer was "
              "freed while the device still used it, or the driver gave the device an address that "
              "nobody mapped.",
              "Restart the program that uses the device: sudo jetmem faults names it. If it "
              "returns, update the driver (codec library, firmware), or send its vendor the output "
              "of: sudo jetmem capture"},
    CauseText{"smmu-permission", Harm::kWarning,
              "{client}{?, at {dev},} wrote to or read from memory that is mapped for it without "
              "that permission{?: {iova}}.",
              "Update the driver that maps the buffer (wrong direction of a DMA mapping); sudo "
              "jetmem faults names the device."},
    CauseText{"smmu-configuration", Harm::kWarning,
              "The SMMU refuses a device{? (stream ID {sid})} by its configuration{? ({name})}: no "
              "entry for it, or a broken one. It is no freed buffer and no memory shortage.",
              "Give the device its iommus entry in the device tree, or disable the device; match "
              "firmware, device tree and kernel of one release."},
    CauseText{"smmu-ats", Harm::kWarning,
              "A device{? with stream ID {sid}} sends DMA that is already translated, which is not "
              "allowed for it (ATS is off): a defect of firmware or kernel, no memory shortage.",
              "Disable ATS: pci=noats on the kernel command line; update firmware and kernel of "
              "the board's vendor."},
    CauseText{"smmu-abort", Harm::kWarning,
              "The SMMU's access to memory was aborted (external abort){? at {dev}}: hardware or "
              "configuration of the bus, not a freed buffer.",
              "Update firmware and device tree; if it returns, exchange the module."},
    CauseText{"mc-decode", Harm::kWarning,
              "{client}{? ({dev})} addressed memory that does not exist or is protected{?: "
              "{addr}}: a driver or firmware uses a wrong address.",
              "Restart the program that uses that client; if it returns, update L4T and the "
              "driver. sudo jetmem faults shows whether an SMMU fault reports the same access."},
    CauseText{"task-stuck", Harm::kWarning,
              "{who} has been waiting in the kernel{? for {seconds} s}: what it waits for does not "
              "answer{?; the backtrace is in {modules}}. It is not a lack of memory.",
              "sudo jetmem capture saves the state. Update or unload the driver{? ({modules})} "
              "that the backtrace names, or run without it; check storage: sudo dmesg | grep -iE "
              "'mmc|nvme|I/O error'. A reboot clears it."},
    CauseText{
        "task-stuck-gpu", Harm::kWarning,
        "{who} waits in the GPU driver{? {modules}}{? for {seconds} s} for work that never "
        "finishes: a defect of the GPU driver, not a lack of memory.",
        "sudo jetmem capture; reboot. Update kernel and GPU driver or return to the version "
        "before; until then run without GPU acceleration (Xorg: Option \"AccelMethod\" \"none\")."},
    CauseText{"task-stuck-storage", Harm::kWarning,
              "{who} waits for storage{? for {seconds} s}: a disk, card or network file system "
              "does not answer.",
              "sudo dmesg | grep -iE 'mmc|nvme|ata|I/O error'; replace the card or disk; lower "
              "vm.dirty_bytes (sudo sysctl vm.dirty_bytes=67108864) if it is only slow.",
              "storage-error"},
    CauseText{"cpu-stuck", Harm::kCritical,
              "{who}{? (task {comm})} did not leave the kernel{? for {seconds} s}: a driver loops "
              "or interrupts storm{?; the backtrace is in {modules}}. Freed memory cannot come "
              "back meanwhile.",
              "sudo jetmem capture; cat /proc/interrupts twice shows a storm. Update or unload the "
              "driver in the backtrace{? ({modules})}."},
    CauseText{"cpu-stuck-bus", Harm::kCritical,
              "CPUs stand still after a bus error: see bus_error, which is the cause.",
              "Match bootloader, device tree and kernel of one release for exactly this board.",
              "bus-error"},
    CauseText{"kernel-bug", Harm::kCritical,
              "The kernel hit a bug{? in {comm}}{?; the backtrace is in {modules}}: it used memory "
              "that was freed or never valid.",
              "sudo jetmem capture, then reboot: locks stay held. Update or unload the driver in "
              "the backtrace{? ({modules})}. If traces differ each time, test the memory: sudo "
              "memtester 100M 1."},
    CauseText{"panic-memory", Harm::kCritical, "The kernel stopped because memory ran out.",
              "sudo jetmem top after the reboot shows the largest programs; limit them. sysctl "
              "vm.panic_on_oom=0 kills one instead of stopping.",
              "oom-kill"},
    CauseText{"storage-dma", Harm::kWarning,
              "The storage controller{? {dev}} met a DMA or bus error: a bad descriptor, an SMMU "
              "fault or broken hardware.",
              "sudo jetmem faults shows SMMU faults of it. Update the kernel, try another card, "
              "and save the data."},
    CauseText{"storage-failing", Harm::kCritical,
              "Storage{? {dev}} fails or does not answer: programs and swap that need it hang.",
              "Save the data now. sudo dmesg | grep -iE 'mmc|nvme|I/O error'; sudo smartctl -a "
              "/dev/nvme0; replace the card or disk."},
};

std::string modules_of(const MachineFacts& facts) {
  std::string out;
  for (const std::string& each : facts.backtrace_modules) out += (out.empty() ? "" : ", ") + each;
  return out;
}

// Names as values where the event has them.
void take(const Case& it, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const auto text = it.event.text(name); !text.empty()) it.values[name] = printable(text, 80);
  }
}

std::string_view memory_error(const Case& it) {
  take(it, {"label", "count", "mc", "addr", "outcome", "comm"});
  if (!it.values.contains("label")) {
    for (const std::string_view name : {"name", "block", "instance"}) {
      if (const auto text = it.event.text(name); !text.empty()) {
        it.values["label"] = printable(text, 80);
        break;
      }
    }
  }
  if (!it.values.contains("addr")) {
    for (const std::string_view name : {"address", "physical_address"}) {
      if (const auto text = it.event.text(name); !text.empty()) {
        it.values["addr"] = printable(text, 40);
        break;
      }
    }
  }
  if (it.event.says_any({"software fault", "illegal address"})) return "software-address";
  if (it.event.text("error") == "SError") {
    take(it, {"cpu"});
    return "serror";
  }
  const std::string_view severity = it.event.text("severity");
  const bool bad = severity == "UE" || contains(severity, "ncorrect") || severity == "UC" ||
                   contains(severity, "atal") || contains(severity, "unrecoverable") ||
                   it.event.says_any({"uncorrect", "uncorrected"});
  if (it.event.has("outcome") || it.event.has("pfn")) {
    return it.event.text("soft_offline") == "true" ? "page-retired" : "page-poisoned";
  }
  const std::string label = it.values.contains("label") ? it.values["label"] : "";
  const bool is_cache = it.event.says_any({"l1", "l2", "l3", "scf", "cache", "cluster"}) &&
                        !it.event.says_any({"dimm", "channel", "dram"});
  if (is_cache) return bad ? "cache-error-uncorrected" : "cache-error";
  // Without a severity it is neither: the kind as such.
  const bool corrected =
      !bad && (severity == "CE" || it.event.says("correct") || contains(severity, "orrected"));
  return bad ? "ecc-uncorrected" : corrected ? "ecc-corrected" : "";
}

std::string_view smmu(const Case& it) {
  take(it, {"client", "iova", "sid", "name"});
  if (!it.values.contains("iova")) {
    if (const auto addr = it.event.text("addr"); !addr.empty()) {
      it.values["iova"] = printable(addr, 40);
    }
  }
  it.values.try_emplace("client", "A device");
  const auto event = it.event.number("event");
  if (it.event.says_any({"transl_forbidden", "transl forbidden"}) || (event && *event == 0x07)) {
    return "smmu-ats";
  }
  if (it.event.says_any({"c_bad", "ste_fetch", "stream_disabled", "cd_fetch", "unidentified stream",
                         "unknown stream", "bad_ste", "bad_substream"}) ||
      it.event.kind() == "smmu_global_fault" ||
      (event && *event != 0x0b && *event < 0x10 && *event > 0)) {
    return "smmu-configuration";
  }
  if (it.event.says_any({"external abort", "eabt", "f_walk_eabt", "tlb conflict"}) ||
      (event && *event == 0x0b)) {
    return "smmu-abort";
  }
  if (it.event.says_any({"permission"}) || (event && *event == 0x13)) return "smmu-permission";
  return "smmu-unmapped";
}

std::string_view stall(const Case& it) {
  take(it, {"comm", "seconds", "cpu"});
  const bool is_task = it.event.kind() == "hung_task";
  const auto who = it.values.find(is_task ? "comm" : "cpu");
  it.values["who"] = who == it.values.end() ? (is_task ? "A task" : "A CPU")
                     : is_task              ? who->second
                                            : "CPU " + who->second;
  if (const std::string modules = modules_of(it.facts); !modules.empty()) {
    it.values["modules"] = modules;
  }
  if (!is_task) return it.has_kind("bus_error") ? "cpu-stuck-bus" : "cpu-stuck";
  for (const std::string_view gpu : {"v3d", "gpu_sched", "nvidia", "nvgpu", "amdgpu", "panfrost",
                                     "panthor", "lima", "etnaviv", "msm", "i915", "nouveau"}) {
    if (it.facts.backtrace_modules.contains(gpu)) return "task-stuck-gpu";
  }
  const bool waits = it.event.says_any({"jbd2", "kworker/u", "mmcqd", "ext4", "btrfs", "xfs", "nfs",
                                        "io_schedule", "mmc"}) ||
                     it.event.text("io_wait") == "true" || it.has_kind("storage_error");
  return waits ? "task-stuck-storage" : "task-stuck";
}

std::string_view choose_hardware(const Case& it) {
  const std::string& kind = it.event.kind();
  if (kind == "memory_error") return memory_error(it);
  if (kind == "gpu_ecc_error") {
    const bool bad =
        it.event.says_any({"uncorrect", "double"}) || it.event.text("severity") == "UE";
    return bad ? "gpu-ecc-uncorrected" : "gpu-ecc-corrected";
  }
  if (kind == "bus_error") {
    take(it, {"addr", "error", "cpu", "master"});
    if (!it.values.contains("addr")) {
      if (const auto addr = it.event.text("address"); !addr.empty()) {
        it.values["addr"] = printable(addr, 40);
      }
    }
    return it.event.says_any({"serror", "asynchronous"}) ? "serror" : "bus-access-refused";
  }
  if (kind == "smmu_context_fault" || kind == "smmu_global_fault" || kind == "smmu_v3_event") {
    return smmu(it);
  }
  if (kind == "mc_error") {
    take(it, {"client", "addr"});
    return it.values.contains("client") ? "mc-decode" : "";
  }
  if (kind == "hung_task" || kind == "soft_lockup" || kind == "hard_lockup" ||
      kind == "rcu_stall") {
    return stall(it);
  }
  if (kind == "kernel_oops" || kind == "kernel_panic") {
    take(it, {"comm"});
    if (const std::string modules = modules_of(it.facts); !modules.empty()) {
      it.values["modules"] = modules;
    }
    if (it.event.says_any({"out of memory", "oom"})) return "panic-memory";
    if (it.has_kind("bus_error") || it.event.says("external abort")) return "cpu-stuck-bus";
    return kind == "kernel_oops" ? "kernel-bug" : "";
  }
  if (kind == "storage_error") {
    return it.event.says_any({"adma", "dma error"}) ? "storage-dma" : "storage-failing";
  }
  return {};
}

}  // namespace

const CauseGroup kHardwareCauses{kHardwareTexts, choose_hardware};

}  // namespace jetmem::diagnosis
