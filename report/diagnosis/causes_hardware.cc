// SPDX-License-Identifier: Apache-2.0
// ECC and the bus, faults of IOMMUs, processors and tasks that stand still, storage.
#include <array>

#include "base/text/text.h"
#include "collectors/kernel_log/event/attention.h"
#include "collectors/kernel_log/event/kinds.h"
#include "report/diagnosis/cause.h"
#include "report/diagnosis/format.h"

namespace jetmem::diagnosis {
namespace {

// So many errors of one disk or card are no retry.
constexpr std::uint64_t kRepeated = 3;

constexpr std::array kHardwareTexts{
    CauseText{"ecc-corrected", Harm::kWarning,
              "Memory errors were corrected{? ({count})}{? at {label}}{? (memory controller "
              "{mc})}{? ({location})}{? (address {addr})}: if they recur, the module there is "
              "failing.",
              "Watch the rate: grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_ce_count. More "
              "than a few per day at one place: replace that DIMM{? ({label})} or the module; "
              "nothing is lost yet."},
    CauseText{"ecc-uncorrected", Harm::kCritical,
              "A memory error could not be corrected{? at {label}}{? ({location})}{? (address "
              "{addr})}: data there is lost.",
              "Take the device out of service now, save its data, and replace the DIMM{? "
              "({label})} or the module: one uncorrected error is enough."},
    CauseText{"hardware-corrected", Harm::kWarning,
              "The firmware reports errors of hardware that were corrected{?, in section "
              "{section}}; nothing says that memory is affected. Nothing is lost.",
              "sudo dmesg | grep 'Hardware Error' shows the part and how often. If they recur: for "
              "PCIe check the slot, cable and card that the report names (lspci -nn); else update "
              "the firmware (BIOS), and report them to the machine's vendor."},
    CauseText{"hardware-uncorrected", Harm::kCritical,
              "The firmware reports an error of hardware that could not be corrected{?, in section "
              "{section}}; nothing says that memory is affected.",
              "Save the data. sudo dmesg | grep 'Hardware Error' shows the part: for PCIe check "
              "the slot, cable and card that the report names (lspci -nn); else update the "
              "firmware (BIOS), and report it to the machine's vendor."},
    CauseText{"page-not-isolated", Harm::kCritical,
              "A page of memory is broken{? (pfn {pfn})}, and the kernel did not take it out of "
              "use{? (outcome: {outcome})}{?: {error}}.",
              "Restart the device now, so that nothing uses the page, and replace the DIMM or the "
              "module."},
    CauseText{"page-poisoned-program", Harm::kCritical,
              "{comm} was killed or signalled because a page of memory that it used is broken.",
              "Restart the program, and replace the DIMM or the module. grep HardwareCorrupted "
              "/proc/meminfo shows how much is lost."},
    CauseText{"page-poisoned", Harm::kCritical,
              "The kernel took a page of memory out of use after a hardware error{? (outcome: "
              "{outcome})}.",
              "Restart the program that used it, and replace the DIMM or the module. grep "
              "HardwareCorrupted /proc/meminfo shows how much is lost."},
    CauseText{
        "page-retired", Harm::kWarning,
        "The kernel takes a page that had corrected errors out of use; nothing is lost.",
        "Replace the DIMM or the module if it repeats: grep HardwareCorrupted /proc/meminfo."},
    CauseText{"page-not-retired", Harm::kWarning,
              "A page that had corrected errors could not be taken out of use{?: {error}}. Nothing "
              "is lost yet, but it stays in use.",
              "Restart the device soon, and replace the DIMM or the module if errors go on: sudo "
              "jetmem events --kind memory_error --since 7d."},
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
              "Bring kernel, device tree and firmware to the same release; sudo cat /proc/iomem "
              "shows what lies at the address.",
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
        "The processor's bus refused an access{? to {addr}}{? ({error})}{? of {master}}: usually a "
        "driver touched a register that is protected, powered off or without clock, and memory is "
        "sound.",
        "sudo cat /proc/iomem shows which device lies there. Do not read that range (nvmem, fuses, "
        "devmem); update the kernel and device tree of the board."},
    CauseText{"serror", Harm::kCritical,
              "An asynchronous bus error (SError) arrived{? at CPU {cpu}}. Usually a unit was "
              "accessed while powered down or without clock; seldom memory or a cache is broken. "
              "Stalls that follow usually come from it.",
              "Install bootloader, device tree and kernel of the same release, for exactly this "
              "board revision; remove the driver or overlay added last. If it persists, test the "
              "memory: sudo memtester 100M 1.",
              "bus-error"},
    CauseText{"serror-memory", Harm::kCritical,
              "An asynchronous bus error (SError) arrived{? at CPU {cpu}}, and the log shows a "
              "memory error that could not be corrected, which usually is its cause.",
              "Save the data, take the device out of service, and replace the DIMM or the module: "
              "sudo jetmem events --kind memory_error --since 1d.",
              "memory-error"},
    CauseText{
        "dma-engine-timeout", Harm::kWarning,
        "The DMA engine{? {dev}} did not finish a transfer in time. Usually the device that it "
        "serves (serial port, SPI, I2C, audio) stopped or lost its clock in the middle.",
        "Close and reopen what uses that port, or reload its driver; reboot if it stays. If it "
        "returns, update kernel and device tree together."},
    CauseText{
        "smmu-unmapped", Harm::kWarning,
        "{client}{? (IOMMU {dev})} accessed {?address {iova} }without a mapping{?{either}, or "
        "without one for this access}: a buffer was freed while the device still used it, or "
        "the driver gave the device an address that nobody mapped.",
        "Restart the program that uses the device; sudo jetmem faults names the device. If "
        "it returns, update the driver (codec library, firmware), or send its vendor the "
        "output of: sudo jetmem capture"},
    CauseText{
        "smmu-page-request", Harm::kWarning,
        "{client}{? (IOMMU {dev})} requested a page from the {unit} (PRI){? at {iova}}, but "
        "nothing "
        "answers its page requests: its driver did not enable them.",
        "Update the device's driver and firmware; disable ATS and PRI: pci=noats on the kernel "
        "command line."},
    CauseText{"smmu-address-size", Harm::kWarning,
              "{client}{? (IOMMU {dev})} used an address{? {iova}} that is larger than the {unit} "
              "can translate: usually a wrong DMA mask of its driver, or a damaged address.",
              "Update the driver of the device{?{tree} and its device tree (dma-ranges)}."},
    CauseText{"smmu-conflict", Harm::kWarning,
              "The SMMU{? {dev}} found two entries for one access ({name}): usually a defect of "
              "the SMMU's driver or firmware. It is neither a freed buffer nor a memory shortage.",
              "Bring kernel and firmware to the same release; a reboot clears it."},
    CauseText{"smmu-permission", Harm::kWarning,
              "{client}{? (IOMMU {dev})} read or wrote memory{? at {iova}} that is mapped for it "
              "without permission for that access.",
              "Update the driver that maps the buffer (wrong direction of a DMA mapping); sudo "
              "jetmem faults names the device."},
    CauseText{
        "smmu-access-flag", Harm::kWarning,
        "{client}{? (IOMMU {dev})} accessed {?address {iova} }through a page table entry without "
        "the access flag: usually a defect of the driver that made the entry.",
        "Update kernel and the device's driver together; sudo jetmem faults names the device."},
    CauseText{
        "smmu-configuration", Harm::kWarning,
        "The SMMU refuses the DMA of a device{? (stream ID {sid})}{? ({name})}: its configuration "
        "has no valid entry for it. It is neither a freed buffer nor a memory shortage.",
        "Add the property iommus to the device's node in the device tree, or disable the device; "
        "keep firmware, device tree and kernel on the same release."},
    CauseText{"smmu-stream-conflict", Harm::kWarning,
              "Several entries of the SMMU{? {dev}} match the stream ID of one device{? ({sid})}: "
              "it refuses that DMA. It is neither a freed buffer nor a memory shortage.",
              "Compare the property iommus of the device tree's nodes: two of them name the same "
              "stream ID, or firmware left an entry behind. Keep firmware, device tree and kernel "
              "on the same release."},
    CauseText{"iommu-configuration", Harm::kWarning,
              "The IOMMU{? {dev}} has no valid table entry for {client}{? ({reason})} and refused "
              "its DMA{? to {iova}}: usually a defect of the firmware's (BIOS) description of the "
              "device or of its driver. It is neither a freed buffer nor a memory shortage.",
              "Update BIOS and kernel; after suspend or kexec, reboot; or disable the device."},
    CauseText{"iommu-invalid-request", Harm::kWarning,
              "{client}{? (IOMMU {dev})} sent a request that the IOMMU never grants{? ({name})}"
              "{?, at {iova}}: an address reserved for interrupts or for others, or a translation "
              "request that is not enabled. Usually a defect of firmware or driver.",
              "Update BIOS, kernel and the driver of the device."},
    CauseText{
        "smmu-ats", Harm::kWarning,
        "A device{? with stream ID {sid}} translates addresses itself: it requests translations "
        "or sends DMA that is already translated, which is not allowed for it (ATS is off). "
        "Usually a defect of firmware or kernel, not a memory shortage.",
        "Disable ATS: pci=noats on the kernel command line; update firmware and kernel from "
        "the board's vendor."},
    CauseText{"smmu-abort", Harm::kWarning,
              "The access of the {unit}{? {dev}} to memory was aborted (external abort): usually "
              "hardware or bus configuration, not a freed buffer.",
              "Update firmware{?{tree} and device tree}; if it returns, replace the {board}."},
    CauseText{"under-voltage", Harm::kWarning,
              "The supply voltage is too low: the device slows down, and may reset or lose data.",
              "Use the power supply that the board's maker asks for and a short cable, and power "
              "USB devices from their own supply."},
    CauseText{"over-current", Harm::kWarning,
              "The chip drew more current than the board's supply allows, and slows down.",
              "Use a stronger power supply{?{modes}, or a lower power mode (sudo nvpmodel -q lists "
              "them)}."},
    CauseText{"messages-suppressed", Harm::kWarning,
              "The kernel suppressed messages about {of}{? (at least {count})}: there were more "
              "than the log shows.",
              "Follow the remedy of the {of} events that were printed, if there are any."},
    CauseText{"mc-decode", Harm::kWarning,
              "{client}{? ({dev})} addressed memory that does not exist or is protected{?: "
              "{addr}}: a driver or firmware uses a wrong address.",
              "Restart the program that uses that client; if it returns, update L4T and the "
              "driver. sudo jetmem faults shows whether an SMMU fault reports the same access."},
    CauseText{"task-stuck", Harm::kWarning,
              "{who} has been waiting in the kernel{? for {seconds} s}: what it waits for does not "
              "answer{?; the backtrace is in {modules}}.{?{calm} The log shows no lack of memory.}",
              "sudo jetmem capture saves the state. Update or unload the driver{? ({modules})} "
              "that the backtrace names, or run without it; check storage: sudo dmesg | grep -iE "
              "'mmc|nvme|I/O error'. A reboot clears it."},
    CauseText{"task-stuck-gpu", Harm::kWarning,
              "{who} waits in the kernel{? for {seconds} s}, and a backtrace is in the GPU driver "
              "({modules}): usually for GPU work that never finishes, a defect of the GPU driver.",
              "sudo jetmem capture; reboot. Update kernel and GPU driver or go back to the "
              "previous version; until then run without GPU acceleration (Xorg: Option "
              "\"AccelMethod\" \"none\")."},
    CauseText{"task-stuck-cma", Harm::kWarning,
              "{who} waits in the kernel{? for {seconds} s}, and its backtrace is in a contiguous "
              "allocation ({function}): the kernel cannot move or release the pages that are in "
              "the way, or waits for a CPU to give up its free pages.",
              "sudo jetmem capture; jetmem cma shows the area and its holders. Look for a CPU that "
              "stalls (sudo dmesg | grep -iE 'stall|lockup'). If it happens at boot, let the "
              "driver request less, or reserve its memory in the device tree; update the kernel.",
              "cma-allocation-failing"},
    CauseText{"task-stuck-memory", Harm::kWarning,
              "{who} has been waiting in the kernel{? for {seconds} s}, and the log shows a lack "
              "of memory ({lack}): usually it waits for memory.",
              "sudo jetmem top shows the largest programs: stop or limit one. sudo jetmem capture "
              "saves the state.",
              "memory-stall"},
    CauseText{"task-stuck-storage", Harm::kWarning,
              "{who} waits{? for {seconds} s} for storage: usually a disk, card or network file "
              "system is slow or does not answer.",
              "sudo dmesg | grep -iE 'mmc|nvme|ata|I/O error'; replace the card or disk; lower "
              "vm.dirty_bytes (sudo sysctl vm.dirty_bytes=67108864) if it is only slow.",
              "storage-error"},
    CauseText{"cpu-stuck", Harm::kCritical,
              "{who}{? (task {comm})} did not leave the kernel{? for {seconds} s}: usually a "
              "driver loops, or there is an interrupt storm{?; the backtrace is in {modules}}. "
              "Meanwhile RCU releases no freed memory.",
              "sudo jetmem capture; cat /proc/interrupts twice shows a storm. Update or unload the "
              "driver in the backtrace{? ({modules})}."},
    CauseText{
        "cpu-stuck-bus", Harm::kCritical,
        "The kernel stopped or a CPU stands still, and the log shows a bus error (a refused access "
        "or an SError), which usually is the cause.",
        "Install bootloader, device tree and kernel of the same release, for exactly this board.",
        "bus-error"},
    CauseText{"kernel-bug", Harm::kCritical,
              "The kernel hit a bug{? in {comm}}{?; the backtrace is in {modules}}: usually it "
              "used memory that was freed or never valid.",
              "sudo jetmem capture, then reboot: locks stay held. Update or unload the driver in "
              "the backtrace{? ({modules})}. If traces differ each time, test the memory: sudo "
              "memtester 100M 1."},
    CauseText{"panic-memory", Harm::kCritical, "The kernel stopped because memory ran out.",
              "sudo jetmem top after the reboot shows the largest programs; limit them. With sudo "
              "sysctl vm.panic_on_oom=0 the kernel kills a process instead of stopping.",
              "oom-kill"},
    CauseText{"storage-dma", Harm::kWarning,
              "The storage controller{? {dev}} reported a DMA or bus error: a bad descriptor, an "
              "SMMU fault or broken hardware.",
              "sudo jetmem faults shows SMMU faults of it. Update the kernel, try another card, "
              "and save the data."},
    CauseText{"storage-failing", Harm::kCritical,
              "Storage{? {dev}} fails{? ({error})}{?, {count} errors}: programs and swap that need "
              "it hang or lose data.",
              "Save the data now. sudo dmesg | grep -iE 'mmc|nvme|I/O error'; sudo smartctl -a "
              "/dev/nvme0; replace the card or disk."},
    CauseText{
        "storage-error-single", Harm::kWarning,
        "Storage{? {dev}} reported an error{? ({error})}. One that does not repeat was usually "
        "retried.",
        "Watch: sudo jetmem events --kind storage_error --since 7d; sudo dmesg | grep -iE "
        "'mmc|nvme|I/O error'. If it repeats, save the data and replace the card or disk."},
    CauseText{"storage-interrupt-lost", Harm::kWarning,
              "A command of storage{? {dev}} was found finished only when it timed out: its "
              "interrupt was lost. No data is lost, but each costs seconds.",
              "Update kernel and the drive's firmware; for NVMe: pcie_aspm=off or "
              "nvme_core.default_ps_max_latency_us=0 on the kernel command line."},
    CauseText{"storage-interrupt-late", Harm::kWarning,
              "A command of storage{? {dev}} timed out although it had finished, shortly after a "
              "CPU stalled: a stalled CPU handles no interrupts. Storage is usually sound.",
              "Find out why the CPU stalls: sudo dmesg | grep -iE -A20 'stall|lockup'.",
              "cpu-stall", true},
    CauseText{"firmware-late", Harm::kWarning,
              "A processor on the chip{? ({dev})} did not answer in time, shortly after a CPU "
              "stalled: a stalled CPU handles no interrupts, so it sees no answer.",
              "Find out why the CPU stalls: sudo dmesg | grep -iE -A20 'stall|lockup'.",
              "cpu-stall", true},
    CauseText{"storage-medium", Harm::kWarning,
              "{dev} could not be read: it is an optical or floppy drive, or an image file (loop); "
              "the machine's own disks need not be at fault.",
              "Remove or replace the medium. For a loop device: losetup -a names the file; copy or "
              "install it again."},
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

std::string_view serror(const Case& it) {
  take(it, {"cpu"});
  return it.log.uncorrected_memory ? "serror-memory" : "serror";
}

std::string_view memory_error(const Case& it) {
  take(it, {"label", "count", "mc", "addr", "outcome", "comm", "location"});
  if (!it.values.contains("label")) {
    for (const std::string_view name : {"name", "block", "instance", "fru_text"}) {
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
  if (is_serror(it.event)) return serror(it);
  if (it.event.text("soft_offline") == "true") {
    take(it, {"error"});
    return it.event.has("error") ? "page-not-retired" : "page-retired";
  }
  const std::string_view outcome = it.event.text("outcome");
  if (outcome == "panic") return "ecc-uncorrected";
  if (!outcome.empty() || it.event.has("pfn")) {
    take(it, {"error", "pfn"});
    const bool known = it.event.text("error") == "already hardware poisoned";
    if (known) return "page-poisoned";
    if (it.event.has("comm") && outcome.empty()) return "page-poisoned-program";
    const bool isolated =
        (outcome == "Recovered" || outcome == "Delayed") && !it.event.has("error");
    return isolated ? "page-poisoned" : "page-not-isolated";
  }
  const kernel_log::ErrorSeverity severity = kernel_log::error_severity(it.event.text("severity"));
  const bool bad = severity == kernel_log::ErrorSeverity::kUncorrected;
  const bool corrected = severity == kernel_log::ErrorSeverity::kCorrected;
  const bool is_cache = it.event.says_any({"l1", "l2", "l3", "scf", "cache", "cluster"}) &&
                        !it.event.says_any({"dimm", "channel", "dram"});
  // Without a severity it is neither: the kind as such.
  if (is_cache) return bad ? "cache-error-uncorrected" : corrected ? "cache-error" : "";
  if (is_of_other_hardware(it.event)) {
    const auto section = it.event.text("section_type");
    if (!section.empty()) it.values["section"] = printable(section, 80);
    return bad ? "hardware-uncorrected" : corrected ? "hardware-corrected" : "";
  }
  return bad ? "ecc-uncorrected" : corrected ? "ecc-corrected" : "";
}

// An IOMMU of a PC: it has no name but its kind's.
bool is_x86_iommu(const EventFields& event) {
  return event.text("dev") == "AMD-Vi" || event.text("dev") == "DMAR";
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
  const std::string_view fault = it.event.text("fault");
  const bool x86 = is_x86_iommu(it.event);
  it.values["unit"] = x86 ? "IOMMU" : "SMMU";
  it.values["board"] = x86 ? "mainboard" : "module";
  if (!x86) it.values["tree"] = "";
  if (x86 && fault == "configuration") {
    take(it, {"reason"});
    return "iommu-configuration";
  }
  if (x86 && (contains(fault, "invalid") || fault == "reverse map")) {
    return "iommu-invalid-request";
  }
  if (fault == "translation or permission") {
    it.values["either"] = "";
    return "smmu-unmapped";
  }
  if (it.event.says_any({"transl_forbidden", "transl forbidden"}) || event == 0x05 ||
      event == 0x07) {
    return "smmu-ats";
  }
  if (it.event.text("name") == "E_PAGE_REQUEST" || event == 0x24) {
    return "smmu-page-request";
  }
  // 0x25: the SMMU's own table could not be read.
  if (contains(fault, "external") || it.event.says_any({"eabt", "f_vms_fetch"}) || event == 0x0b ||
      event == 0x25) {
    return "smmu-abort";
  }
  if (contains(fault, "stream match conflict")) return "smmu-stream-conflict";
  if (it.event.says_any({"c_bad", "ste_fetch", "stream_disabled", "cd_fetch", "unidentified stream",
                         "unknown stream", "bad_ste", "bad_substream"}) ||
      (it.event.kind() == "smmu_global_fault" && !contains(fault, "permission") &&
       fault != "unsupported upstream transaction") ||
      event == 0x02 || event == 0x03 || event == 0x04 || event == 0x06 || event == 0x08 ||
      event == 0x09 || event == 0x0a) {
    return "smmu-configuration";
  }
  if (it.event.says_any(
          {"tlb match conflict", "tlb conflict", "f_tlb_conflict", "f_cfg_conflict"}) ||
      event == 0x20 || event == 0x21) {
    it.values.try_emplace("name", "a conflict");
    return "smmu-conflict";
  }
  if (contains(fault, "permission") || event == 0x13) return "smmu-permission";
  if (contains(fault, "address size") || event == 0x11) return "smmu-address-size";
  if (contains(fault, "access flag") || event == 0x12) return "smmu-access-flag";
  const bool unmapped = contains(fault, "translation") || event == 0x10;
  return unmapped ? "smmu-unmapped" : "";
}

std::string_view heat_or_power(const Case& it) {
  if (it.facts.is_jetson()) it.values["modes"] = "";
  const std::string_view trip = it.event.text("trip");
  if (trip == "undervoltage") return "under-voltage";
  if (trip == "oc_alarm") return "over-current";
  return "";
}

std::string_view stall(const Case& it) {
  take(it, {"comm", "seconds", "cpu"});
  // Of several, none is the one.
  const std::string_view cpus = it.event.text("cpus");
  if (!cpus.empty() && !contains(cpus, " ")) it.values.try_emplace("cpu", printable(cpus, 8));
  const bool is_task = it.event.kind() == "hung_task";
  const auto who = it.values.find(is_task ? "comm" : "cpu");
  it.values["who"] = who == it.values.end() ? (is_task ? "A task" : "A CPU")
                     : is_task              ? who->second
                                            : "CPU " + who->second;
  if (const std::string modules = modules_of(it.facts); !modules.empty()) {
    it.values["modules"] = modules;
  }
  if (!is_task) return it.log.bus_error ? "cpu-stuck-bus" : "cpu-stuck";
  // Of several reports it is not known whose backtrace that was.
  const bool is_only = it.facts.stuck_tasks == 1;
  if (is_only && !it.facts.stuck_in_contiguous.empty()) {
    it.values["function"] = it.facts.stuck_in_contiguous;
    return "task-stuck-cma";
  }
  for (const std::string_view gpu : {"v3d", "gpu_sched", "nvidia", "nvgpu", "amdgpu", "panfrost",
                                     "panthor", "lima", "etnaviv", "msm", "i915", "nouveau"}) {
    if (it.facts.backtrace_modules.contains(gpu)) return "task-stuck-gpu";
  }
  const std::string_view comm = it.event.text("comm");
  bool waits = comm.starts_with("jbd2/") || comm.starts_with("mmcqd/") ||
               it.event.text("io_wait") == "true" || it.has_kind("storage_error");
  for (const std::string_view storage :
       {"mmc_block", "mmc_core", "sdhci", "cqhci", "nvme", "nvme_core", "sd_mod", "usb_storage",
        "uas", "ext4", "jbd2", "btrfs", "xfs", "f2fs", "nfs", "dm_mod"}) {
    waits = waits || it.facts.backtrace_modules.contains(storage);
  }
  if (waits) return "task-stuck-storage";
  for (const std::string_view lack :
       {"oom_kill", "oom_invoked", "oom_no_victim", "page_alloc_stall", "zram_error"}) {
    if (!it.has_kind(lack)) continue;
    it.values["lack"] = lack;
    return "task-stuck-memory";
  }
  if (is_only && !it.facts.stuck_in_reclaim.empty()) {
    it.values["lack"] = it.facts.stuck_in_reclaim + " in the backtrace";
    return "task-stuck-memory";
  }
  it.values["calm"] = "";
  return "task-stuck";
}

std::string_view storage(const Case& it) {
  take(it, {"error"});
  if (it.event.says("polled")) {
    return it.log.cpu_stall ? "storage-interrupt-late" : "storage-interrupt-lost";
  }
  if (!is_storage_failure(it.event)) return "storage-medium";
  if (it.event.says_any({"adma", "dma error"})) return "storage-dma";
  const auto errors = it.log.storage_errors.find(it.event.device());
  const std::uint64_t count = errors == it.log.storage_errors.end() ? 0 : errors->second;
  if (count >= kRepeated) it.values["count"] = std::to_string(count);
  const std::string_view error = it.event.text("error");
  const bool fails = count >= kRepeated || contains(error, "file system error") ||
                     contains(error, "controller is down");
  return fails ? "storage-failing" : error.empty() ? "" : "storage-error-single";
}

std::string_view choose_hardware(const Case& it) {
  const std::string& kind = it.event.kind();
  if (kind == "memory_error") return memory_error(it);
  if (kind == "gpu_ecc_error") {
    const auto severity = kernel_log::error_severity(it.event.text("severity"));
    if (severity == kernel_log::ErrorSeverity::kUncorrected ||
        it.event.says_any({"uncorrected", "double bit"})) {
      return "gpu-ecc-uncorrected";
    }
    return severity == kernel_log::ErrorSeverity::kCorrected ? "gpu-ecc-corrected" : "";
  }
  if (kind == "bus_error") {
    take(it, {"addr", "error", "cpu", "master"});
    if (!it.values.contains("addr")) {
      if (const auto addr = it.event.text("address"); !addr.empty()) {
        it.values["addr"] = printable(addr, 40);
      }
    }
    if (is_dma_engine_timeout(it.event)) return "dma-engine-timeout";
    return is_serror(it.event) ? serror(it) : "bus-access-refused";
  }
  if (kind == "smmu_context_fault" || kind == "smmu_global_fault" || kind == "smmu_v3_event") {
    return smmu(it);
  }
  if (kind == "ratelimit_suppressed") {
    const kernel_log::EventKind of = kernel_log::suppressed_kind(it.event.text("function"));
    const kernel_log::KindInfo& info = kernel_log::info_of(of);
    if (of == kernel_log::EventKind::kNone || info.level == LogLevel::kInfo) return "";
    take(it, {"count"});
    it.values["of"] = info.name;
    return "messages-suppressed";
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
    if (it.event.says("out of memory") || it.event.says_word("oom")) return "panic-memory";
    if (it.log.bus_error) return "cpu-stuck-bus";
    return kind == "kernel_oops" ? "kernel-bug" : "";
  }
  if (kind == "storage_error") {
    return storage(it);
  }
  if (kind == "thermal") return heat_or_power(it);
  if (kind == "firmware_hang" && it.log.cpu_stall) {
    if (const auto driver = it.event.text("driver"); !driver.empty()) {
      it.values.try_emplace("dev", printable(driver, 40));
    }
    return "firmware-late";
  }
  return {};
}

}  // namespace

const CauseGroup kHardwareCauses{kHardwareTexts, choose_hardware};

}  // namespace jetmem::diagnosis
