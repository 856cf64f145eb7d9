// SPDX-License-Identifier: Apache-2.0
// Buffers of the GPU and of multimedia, the GPU's own errors, cameras.
#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "collectors/kernel_log/event/attention.h"
#include "report/diagnosis/cause.h"
#include "report/diagnosis/format.h"

namespace jetmem::diagnosis {
namespace {

// Available memory of which this part is not free is hidden from cudaMemGetInfo.
constexpr double kHidden = 0.5;
// A request above this share of what is available is too large, not unlucky.
constexpr double kAlmostAll = 0.95;
constexpr int kPermission = 1;
constexpr int kNoMemory = 12;
constexpr int kAccess = 13;

constexpr std::array kGpuTexts{
    CauseText{
        "gpu-free-hidden", Harm::kWarning,
        "The page cache hides memory from the GPU: only {free} of {available} available is free, "
        "and CUDA on a shared-memory GPU counts only free memory{?; {size} was requested}.",
        "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; sudo jetmem compact, right before the "
        "program starts. Later: sudo sysctl vm.min_free_kbytes=262144 (with 8 GiB; stay below 5% "
        "of memory), and set the program's memory size or number of layers explicitly.",
        "gpu-free-hidden"},
    CauseText{"gpu-no-2m-blocks", Harm::kWarning,
              "Memory is free but in small pieces: {free} is free, only {large} of it in blocks of "
              "2 MiB and more, which nvmap uses for large buffers{?; {size} was requested}. The "
              "largest block alone (lfb, buddyinfo) does not show it.",
              "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; sudo jetmem compact, then start "
              "the program again, first after boot if possible. Use smaller buffers: fewer layers "
              "on the GPU (llama.cpp: a smaller -ngl), a smaller batch or context.",
              "buddy-fragmented"},
    CauseText{"gpu-memory-short", Harm::kWarning,
              "GPU memory{? ({size})} was refused because memory is short: {available} of {total} "
              "is available.",
              "sudo jetmem top shows the largest holders: stop one, close the desktop (sudo "
              "systemctl isolate multi-user.target), or use a smaller model.",
              "memory-low"},
    CauseText{
        "gpu-refused-though-free", Harm::kWarning,
        "A single GPU buffer{? of {size}} was refused although {free_then} was reported free. On a "
        "Jetson nvmap needs it in blocks of 2 MiB: free memory is fragmented or is page cache, or "
        "this L4T release limits single requests.",
        "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; sudo jetmem compact, and start the "
        "program again. Use smaller single buffers: fewer layers on the GPU (llama.cpp: a smaller "
        "-ngl), a smaller batch; stop the desktop (sudo systemctl isolate multi-user.target). "
        "jetmem doctor --step versions shows whether this L4T release has a known limit."},
    CauseText{"gpu-buffer-refused", Harm::kWarning,
              "A GPU buffer{? of {size}} was refused{? ({why})}. If memory is still free, it is "
              "fragmented below the 2 MiB blocks that large buffers need, or page cache hides it, "
              "or this L4T release limits single requests.",
              "free -m, and sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; sudo jetmem compact "
              "right before the program starts. Use smaller single buffers (fewer GPU layers, "
              "smaller batch), stop the desktop (sudo systemctl isolate multi-user.target). jetmem "
              "doctor --step versions shows whether this L4T release has a known limit."},
    CauseText{"gpu-buffer-too-large", Harm::kWarning,
              "The program requests {size} of GPU memory, more than the {free_then} that is free.",
              "Use a smaller or more quantized model, a smaller batch or context, or fewer layers "
              "on the GPU; sudo jetmem top shows who holds the rest."},
    CauseText{"gpu-permission", Harm::kWarning,
              "The program may not use the GPU's memory (permission, not a shortage): its user is "
              "not in the group video, or its container lacks the devices.",
              "sudo usermod -aG video $USER and log in again; for a container: docker run "
              "--runtime nvidia. ls -l /dev/nvmap /dev/nvhost*"},
    CauseText{"nvmap-device-missing", Harm::kWarning,
              "The program could not open nvmap (/dev/nvmap){?: {why}}. Usually its container was "
              "started without the Jetson's devices, or it lacks permission. This is not a memory "
              "shortage.",
              "ls -l /dev/nvmap; docker run --runtime nvidia (or --device /dev/nvmap and the "
              "/dev/nvhost* devices). Outside a container: sudo usermod -aG video $USER and log in "
              "again."},
    CauseText{
        "nvmap-misuse", Harm::kWarning,
        "A program or driver{? ({comm})} used an nvmap buffer in a way that is not allowed{?: "
        "{error}}. Usually it was freed already, or is protected. This is not a memory shortage.",
        "Restart the program that does it (cameras: sudo systemctl restart nvargus-daemon). If it "
        "returns, update the program and L4T together, or report it to the program's vendor."},
    CauseText{"tensorrt-workspace", Harm::kWarning,
              "TensorRT was refused {?{size} of }scratch memory for a layer while building: it "
              "tries tactics and skips those that do not fit, and fails if none fits.",
              "Limit it: trtexec --memPoolSize=workspace:512; split the layer that needs it (an LM "
              "head or large MatMul) in the ONNX graph; build without desktop, after sync; echo 3 "
              "| sudo tee /proc/sys/vm/drop_caches; sudo jetmem compact."},
    CauseText{"program-refuses", Harm::kWarning,
              "The program refuses to start because it sees less free memory than it needs{?: "
              "{size} needed}{?, {free_then} seen}. On a GPU that shares memory it counts only "
              "free memory: page cache hides the rest.",
              "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches before it starts; or a smaller "
              "model or context (ollama: num_ctx, num_gpu). sudo jetmem top shows the holders.",
              "gpu-free-hidden"},
    CauseText{"allocation-optional", Harm::kNone,
              "Harmless by itself: the program tried an allocation that it can do without, and "
              "continues, perhaps more slowly.",
              "Nothing to do, unless it fails later: then sudo jetmem top shows the holders."},
    CauseText{"media-buffer", Harm::kWarning,
              "A camera or video program was refused buffers. Usually contiguous memory (CMA) or "
              "nvmap is short, an earlier run still holds them, or (GStreamer, on starting its "
              "buffer pool) the elements agreed on no format.",
              "jetmem cma; sudo jetmem top --sort dmabuf. Stop what holds them (sudo systemctl "
              "restart nvargus-daemon), use fewer or smaller buffers, or enlarge CMA: cma=256M on "
              "the kernel command line.",
              "cma-exhausted"},
    CauseText{
        "program-gpu-memory", Harm::kWarning,
        "A program was refused {?{size} of }memory that it requested through {library}, which "
        "uses the GPU. Usually memory is short or fragmented, or page cache hides it from the "
        "GPU.",
        "free -m; sudo jetmem top; sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; sudo "
        "jetmem compact right before the program starts. Use a smaller model, batch or "
        "context.",
        "nvmap-cap"},
    CauseText{
        "program-memory-refused", Harm::kWarning,
        "A program ({library}) was refused {?{size} of }ordinary memory, not the GPU's. "
        "Usually memory is short, its service or container has a limit, or it requests more "
        "than there is.",
        "sudo jetmem top shows the largest programs; free -m; systemctl show UNIT -p MemoryMax "
        "-p LimitAS -p TasksMax. Let it request less, stop another, or add swap.",
        "memory-low"},
    CauseText{
        "npu-buffer", Harm::kWarning,
        "The NPU driver did not map {?a buffer of {size}}{? (errno {errno})}: it needs one "
        "contiguous piece or one address range of the NPU's IOMMU, whatever memory is free.",
        "cat /sys/kernel/debug/rknpu/version and update the driver (0.9.7 or later for models "
        "above 3 GB); enable the NPU's IOMMU in the device tree, or give CMA: cma=512M.",
        "cma-exhausted"},
    CauseText{"npu-open-files", Harm::kWarning,
              "The program has as many files open as it may (errno 24): each buffer of the NPU is "
              "one, and a large model needs more of them than the usual 1,024.",
              "ulimit -n 65536 before the program starts, or LimitNOFILE=65536 in its unit. Update "
              "the NPU's driver and runtime, which need fewer."},
    CauseText{
        "nvbuf-stale-fd", Harm::kWarning,
        "A program released a multimedia buffer that the library does not know: its DMA-BUF "
        "descriptor{? {fd}} was closed or copied elsewhere, and buffers leak until the pipeline "
        "stops.",
        "Restart the pipeline and watch: ls /proc/PID/fd | wc -l; sudo jetmem top --sort dmabuf. "
        "Disable zero-copy between libraries (jetson-inference: cmake -DENABLE_NVMM=off)."},
    CauseText{"buffer-fd-limit", Harm::kWarning,
              "A program{? ({comm})} leaks buffers: it has as many descriptors or mappings of them "
              "open as its limit allows.",
              "sudo jetmem top --sort dmabuf names the holder: restart it, and let it close its "
              "buffers."},
    CauseText{"gpu-firmware-memory", Harm::kWarning,
              "The GPU could not start its firmware because the driver was refused system memory "
              "for it{? ({dev})}: waking from suspend needs a large contiguous piece, and memory "
              "was short or fragmented at that moment.",
              "Free memory: sudo jetmem top; sudo jetmem compact; then wake the GPU: nvidia-smi. "
              "Keep it awake: options nvidia NVreg_DynamicPowerManagement=0x00 in /etc/modprobe.d, "
              "or sudo nvidia-smi -pm 1. Update the driver."},
    CauseText{"gpu-system-memory", Harm::kWarning,
              "The GPU driver was refused system memory{? ({size})}: memory is short or "
              "fragmented, or this driver version has a defect.",
              "sudo jetmem top; sudo jetmem compact. If memory is free and it returns, install "
              "another driver version."},
    CauseText{"gpu-physical-block", Harm::kWarning,
              "The GPU driver needs {?{size} of }physically contiguous memory and got none: it "
              "takes it from CMA, which is too small or fragmented.",
              "jetmem cma; enlarge it with cma=512M on the kernel command line, and reboot.",
              "cma-allocation-failing"},
    CauseText{
        "gpu-firmware-mismatch", Harm::kCritical,
        "The GPU's secure firmware (ACR) does not start, and without it no program gets the GPU. "
        "Usually bootloader (QSPI), kernel and nvidia-l4t packages are of different releases, so "
        "that the protected memory that the bootloader reserves does not fit the driver.",
        "dpkg -l 'nvidia-l4t-*' and cat /etc/nv_tegra_release must agree: sudo apt install "
        "--reinstall nvidia-l4t-bootloader nvidia-l4t-kernel nvidia-l4t-initrd; if it stays, "
        "reflash QSPI and root file system together, from the same JetPack."},
    CauseText{"v3d-read-ahead", Harm::kNone,
              "Harmless: the V3D reads ahead past the end of its command list (client CLE), and "
              "nothing is lost.",
              "Nothing to do; look elsewhere for the cause of a black screen."},
    CauseText{
        "gpu-bad-address", Harm::kWarning,
        "A program's GPU work{? ({comm})} used an address that was freed or never mapped; "
        "its GPU context is lost.",
        "Restart the program{?{cuda}; for CUDA, find the access with compute-sanitizer PROGRAM}. "
        "If programs that worked before fail too, update GPU driver{?{mesa} (Mesa)}, firmware and "
        "kernel together."},
    CauseText{"gpu-access-denied", Harm::kWarning,
              "A program's GPU work{? ({comm})} accessed memory in a way that is not permitted{? "
              "({fault})}: it is protected, read-only or another's. Its GPU context is lost.",
              "Restart the program{?{cuda}; for CUDA, find the access with compute-sanitizer "
              "PROGRAM}. If programs that worked before fail too, update GPU driver{?{mesa} "
              "(Mesa)}, firmware and kernel together."},
    CauseText{"gpu-job-failed", Harm::kWarning,
              "The GPU{? {dev}} could not execute a program's job{? ({status})}: usually its "
              "commands or an address in them are wrong, a defect of the program or of the GPU "
              "driver.",
              "Restart the program that draws or computes. If it returns, update kernel and GPU "
              "driver (Mesa), or go back to the previous version."},
    CauseText{"gpu-reset-required", Harm::kCritical,
              "The GPU{? {dev}} accepts no work until it is reset (NV_ERR_RESET_REQUIRED): an "
              "error before it, usually an Xid, stopped it.",
              "sudo dmesg | grep -i xid shows that error. Stop all programs that use the GPU and "
              "reset it (sudo nvidia-smi -r), or power the machine off and on."},
    CauseText{
        "gpu-hung", Harm::kWarning,
        "The GPU{? {dev}} did not finish its work in time: usually a defect of the GPU driver or "
        "of the program, seldom a lack of memory.",
        "Restart the program that draws or computes; run it without GPU acceleration to confirm "
        "(WayVNC: without --gpu). Update kernel and GPU driver, or go back to the previous "
        "version."},
    CauseText{
        "gpu-memory-path", Harm::kCritical,
        "The GPU{? {dev}} did not finish flushing its writes to memory in time: its path to "
        "memory is stuck.",
        "sudo jetmem capture, then power the device off and on. If it returns, update L4T; memory "
        "or bus errors at the same time (jetmem doctor --step hardware) point at hardware."},
    CauseText{"xid-program", Harm::kWarning,
              "Xid {xid}{? of {comm}}: the program's own GPU work failed (bad address, illegal "
              "instruction, or it was killed).",
              "Restart the program; find the access with compute-sanitizer PROGRAM."},
    CauseText{
        "xid-memory", Harm::kCritical,
        "Xid {xid}: the GPU's memory has an ECC error that could not be corrected; the work that "
        "used it is lost.",
        "nvidia-smi -q -d ECC,ROW_REMAPPER; reset the GPU (sudo nvidia-smi -r) and replace it if "
        "the error returns.",
        "memory-error"},
    CauseText{"xid-memory-corrected", Harm::kWarning,
              "Xid {xid}: the GPU corrected memory errors, or retired a bad page or remapped a bad "
              "row; nothing is lost.",
              "Watch: nvidia-smi -q -d ECC,ROW_REMAPPER. A pending page or row needs a GPU reset "
              "(sudo nvidia-smi -r); replace the card if the count keeps growing.",
              "memory-error"},
    CauseText{"xid-remap-failed", Harm::kCritical,
              "Xid {xid}: a bad page or row of the GPU's memory could not be retired or remapped.",
              "nvidia-smi -q -d ROW_REMAPPER; reset the GPU (sudo nvidia-smi -r), and replace the "
              "card if the error returns.",
              "memory-error"},
    CauseText{"xid-removed", Harm::kWarning,
              "Xid 45: the driver removed the channels of {?{comm}'s}{?{nobody}a program's} GPU "
              "work{? after Xid {previous}}. By itself it is no error: the program was killed, or "
              "another error of the GPU came before it.",
              "sudo dmesg | grep -i -e xid -e killed shows what came before: look that up."},
    CauseText{"xid-nvlink", Harm::kCritical,
              "Xid {xid}: a link between GPUs (NVLink) failed; the work that used it is lost.",
              "nvidia-smi nvlink -s and nvidia-smi nvlink -e show the link; reset the GPUs (sudo "
              "nvidia-smi -r) or power the machine off and on. If it returns, check cables, "
              "bridges and seating, and replace the card."},
    CauseText{"xid-bus", Harm::kCritical,
              "The GPU{? {dev}} lost its PCIe link or its power{? (Xid {xid})}. Usual causes are "
              "power supply, heat, the slot or the card.",
              "Check power supply, temperature and seating (nvidia-smi -q -d TEMPERATURE,POWER), "
              "then power the machine off and on."},
    CauseText{"xid-power", Harm::kCritical,
              "Xid {xid}: the card's auxiliary power is not connected.",
              "Power the machine off, plug all power cables of the card in, and power it on."},
    CauseText{
        "xid-firmware", Harm::kWarning,
        "Xid {xid}: the GPU's firmware (GSP) failed or does not answer.",
        "Power the machine off and on; update the driver.{?{card} With NVIDIA's proprietary "
        "kernel modules (modinfo -F license nvidia prints NVIDIA) GSP can be disabled: options "
        "nvidia NVreg_EnableGpuFirmware=0 in /etc/modprobe.d. The open modules and Jetsons need "
        "it.}",
        "firmware-hang"},
    CauseText{"xid-microcontroller", Harm::kWarning,
              "Xid {xid}: a controller inside the GPU (PMU) stopped or does not answer.",
              "Power the machine off and on; update the GPU driver and, on a card, its firmware "
              "(VBIOS)."},
    CauseText{
        "engine-stuck", Harm::kWarning,
        "An engine{? {dev}}{? (syncpoint {syncpt})} did not finish its work: it hangs, or waits "
        "for a producer (camera, decoder, GPU) that stopped. It is seldom a lack of memory.",
        "Restart the pipeline: sudo systemctl restart nvargus-daemon. If it returns, sudo jetmem "
        "capture; jetmem doctor --step versions shows whether this L4T release has a known issue."},
    CauseText{
        "camera-no-frames", Harm::kWarning,
        "No frames arrive from the camera{? {dev}}{? within {timeout} ms}, and the log shows no "
        "memory failure at that time: usually the sensor, its cable, power or device tree (lanes, "
        "clock, driver) is at fault.",
        "Check cable and sensor; v4l2-ctl --list-devices; v4l2-ctl -d /dev/video0 --stream-mmap "
        "--stream-count=10. Use the sensor's driver and device tree overlay for this L4T release; "
        "then sudo systemctl restart nvargus-daemon."},
    CauseText{"camera-no-memory", Harm::kWarning,
              "The camera{? {dev}} failed, and the log shows a refused allocation ({refusal}), "
              "which usually is the cause.",
              "Free memory first (sudo jetmem top; jetmem cma), then sudo systemctl restart "
              "nvargus-daemon."},
    CauseText{"camera-access-fault", Harm::kWarning,
              "The camera{? {dev}} failed, and the log shows that a device's access to memory was "
              "refused ({refusal}), which usually is the cause.",
              "sudo jetmem faults names the device; sudo systemctl restart nvargus-daemon. If it "
              "returns, update L4T and the camera's driver together."},
    CauseText{
        "camera-request-failed", Harm::kWarning,
        "The camera driver{? {dev}} could not set up, submit or release a capture{?: {error}}; "
        "the stream does not run.",
        "sudo systemctl restart nvargus-daemon; else reboot. If it returns: the sensor's driver "
        "and device tree overlay must be for this L4T release."},
    CauseText{
        "camera-processor", Harm::kWarning,
        "The camera's co-processor (RTCPU) failed or does not answer: usually no camera works "
        "until it is "
        "restarted.",
        "sudo systemctl restart nvargus-daemon; else reboot. Its firmware must be of the same L4T "
        "release as the kernel: dpkg -l 'nvidia-l4t-*'.",
        "firmware-hang"},
    CauseText{"usb-camera-control", Harm::kNone,
              "A USB camera did not answer a control request (brightness, focus and the like); "
              "frames are usually not affected.",
              "If the stream fails too, try another port, cable or a powered hub."},
    CauseText{"usb-camera-stream", Harm::kWarning,
              "A USB camera refused or did not answer the settings of a stream (UVC probe or "
              "commit){?, error {code}}: no stream starts.",
              "Unplug it and plug it in again; try another port, cable or a powered hub, a smaller "
              "picture or fewer cameras on the bus: v4l2-ctl --list-formats-ext."},
    CauseText{"camera-frame-damaged", Harm::kNone,
              "A frame was lost or damaged between sensor and memory{? ({dev})}. A single one is "
              "harmless.",
              "If they keep coming: check cable, lanes and pixel clock of the sensor; v4l2-ctl "
              "--stream-mmap --stream-count=100."},
};

// What a request for a GPU buffer met, by what is known of memory.
std::string_view gpu_buffer(const Case& it) {
  const MachineFacts& facts = it.facts;
  const auto size = it.event.bytes({"size", "size_text"});
  auto free_then = it.event.bytes({"free", "free_text", "available", "available_text"});
  if (!free_then) free_then = facts.gpu_free;
  if (size) it.values["size"] = doctor::bytes(*size);
  if (free_then) it.values["free_then"] = doctor::bytes(*free_then);
  if (facts.free) it.values["free"] = doctor::bytes(*facts.free);
  if (facts.available) it.values["available"] = doctor::bytes(*facts.available);
  if (facts.total) it.values["total"] = doctor::bytes(*facts.total);
  if (facts.bytes_in_2m_blocks) it.values["large"] = doctor::bytes(*facts.bytes_in_2m_blocks);
  const int number = it.event.errno_of();
  const std::string_view reason = it.event.text("reason");
  if (reason == "misuse") {
    const auto error = it.event.text("error");
    if (!error.empty()) it.values["error"] = printable(error, 120);
    return "nvmap-misuse";
  }
  if (number == kPermission || number == kAccess || it.event.says("permission")) {
    return "gpu-permission";
  }
  if (reason == "missing") {
    it.values["why"] = "it does not exist";
    return "nvmap-device-missing";
  }
  // "Memory Manager Not supported" and its like name neither function nor error.
  const bool names_a_call = it.event.has("function") || it.event.has("errno") ||
                            it.event.has("dev") || it.event.has("error") || !reason.empty();
  if (it.event.kind() == "nvmap" && !names_a_call) return "nvmap-device-missing";
  if (number == kNoMemory || reason == "shortage") it.values["why"] = "out of memory";
  if (it.event.says_any({"tensorrt", "myelin", "trtexec"})) return "tensorrt-workspace";
  if (size && free_then) {
    return *size > kAlmostAll * *free_then ? "gpu-buffer-too-large" : "gpu-refused-though-free";
  }
  if (facts.available && facts.free && facts.total) {
    const double wanted = size.value_or(0);
    if (wanted > kAlmostAll * *facts.available || *facts.available < 0.1 * *facts.total) {
      return "gpu-memory-short";
    }
    if (*facts.free < (1 - kHidden) * *facts.available && wanted > *facts.free * 0.5) {
      return "gpu-free-hidden";
    }
    if (!size && *facts.free < 0.2 * *facts.available) return "gpu-free-hidden";
    if (facts.bytes_in_2m_blocks &&
        *facts.bytes_in_2m_blocks < std::max(wanted, 0.5 * *facts.free)) {
      return "gpu-no-2m-blocks";
    }
  }
  return "gpu-buffer-refused";
}

std::string_view program(const Case& it) {
  if (it.event.says_any({"rknn", "rkllm", "rknpu"})) {
    if (const auto size = it.event.bytes({"size", "size_text"})) {
      it.values["size"] = doctor::bytes(*size);
    }
    if (const int number = it.event.errno_of(); number > 0) {
      it.values["errno"] = std::to_string(number);
    }
    constexpr int kTooManyOpenFiles = 24;
    return it.event.errno_of() == kTooManyOpenFiles ? "npu-open-files" : "npu-buffer";
  }
  if (it.event.says_any({"requires more system memory", "ollama", "model requires"})) {
    gpu_buffer(it);
    return "program-refuses";
  }
  const std::string_view library = it.event.text("library");
  for (const std::string_view media : {"argus", "gstreamer", "libcamera", "mmal", "hailo"}) {
    if (library == media) return "media-buffer";
  }
  if (const auto size = it.event.bytes({"size", "size_text"})) {
    it.values["size"] = doctor::bytes(*size);
  }
  it.values["library"] = printable(library, 40);
  if (kernel_log::is_gpu_library(library)) return "program-gpu-memory";
  // Their allocators here are those of the CPU; those of others serve both.
  for (const std::string_view cpu : {"numpy", "c++", "rust", "glib", "go", "pytorch", "opencv"}) {
    if (library == cpu) return "program-memory-refused";
  }
  return {};
}

// The words of a fault by its type, and for the GPU of its maker.
std::string_view gpu_fault(const Case& it) {
  // Other makers' drivers are named in the event.
  it.values[it.event.has("driver") ? "mesa" : "cuda"] = "";
  const std::string_view type = it.event.text("fault_type");
  if (!type.empty()) it.values["fault"] = printable(type, 60);
  const std::string lower = in_lower_case(std::string(type));
  // The limit of the address space is no permission.
  const bool denied = (contains(lower, "viol") && !contains(lower, "limit")) ||
                      contains(lower, "permission") || contains(lower, "access_flag");
  return denied ? "gpu-access-denied" : "gpu-bad-address";
}

// What follows from a fault before it, with the words of that one.
std::string_view same_gpu_fault(const Case& it) {
  if (it.log.gpu_fault_xid) it.values["xid"] = doctor::number(*it.log.gpu_fault_xid, 0);
  // Only other makers' drivers print why a job failed.
  it.values[it.event.has("status") ? "mesa" : "cuda"] = "";
  return it.log.gpu_fault;
}

std::string_view xid(double number, const Case& it) {
  it.values["xid"] = doctor::number(number, 0);
  switch (static_cast<int>(number)) {
    case 48:
    case 94:
    case 95:
    case 140:
      return "xid-memory";
    case 63:
    case 92:
      return "xid-memory-corrected";
    case 64:
      return "xid-remap-failed";
    case 74:
    case 144:
    case 145:
    case 146:
    case 147:
    case 148:
    case 149:
    case 150:
      return "xid-nvlink";
    case 79:
      return "xid-bus";
    case 54:
      return "xid-power";
    case 119:
    case 120:
      if (!it.facts.is_jetson()) it.values["card"] = "";
      return "xid-firmware";
    case 61:
    case 62:
    case 122:
    case 123:
      return "xid-microcontroller";
    case 8:
    case 109:
      return "gpu-hung";
    case 13:
    case 31:
    case 32:
    case 43:
    case 68:
    case 69:
      return "xid-program";
    default:
      return {};
  }
}

// Xid 45: what came before is the cause.
std::string_view removed_channels(const Case& it) {
  const auto named = it.event.number("previous_xid");
  const auto previous = named ? named : it.log.gpu_fault_xid;
  if (previous == it.log.gpu_fault_xid && !it.log.gpu_fault.empty()) return same_gpu_fault(it);
  if (!previous || *previous == 45) return "xid-removed";
  it.values["previous"] = doctor::number(*previous, 0);
  const std::string_view id = xid(*previous, it);
  return id.empty() ? "xid-removed" : id;
}

// What an nvgpu whose secure firmware does not start prints, as an error or a timeout.
bool is_secure_boot(const Case& it) {
  return it.event.says_word("acr") || it.event.says_word("wpr") ||
         it.event.says_any({"secure boot", "hs_ucode", "hs ucode"}) ||
         (it.event.says_word("pmu") && it.event.says_any({"bootstrap", "pmu boot"}));
}

// "RmInitAdapter failed! (0x62:0x51:1876)": the second is NV_STATUS, 0x51 NV_ERR_NO_MEMORY.
bool is_no_memory_code(std::string_view text) {
  const std::size_t open = text.rfind("(0x");
  if (open == std::string_view::npos) return false;
  const std::size_t colon = text.find(':', open);
  if (colon == std::string_view::npos) return false;
  const std::string_view code = text.substr(colon + 1);
  return code.substr(0, code.find_first_of(":)")) == "0x51";
}

std::string_view gpu_error(const Case& it) {
  if (is_secure_boot(it)) return "gpu-firmware-mismatch";
  constexpr double kGpuIsLost = 0x0f;
  constexpr double kResetRequired = 0x62;
  const auto status = it.event.number("status");
  if (it.event.says_any({"err_gpu_is_lost", "gpu lost", "fallen off the bus"}) ||
      status == kGpuIsLost) {
    return "xid-bus";
  }
  if (it.event.says("err_reset_required") || status == kResetRequired) return "gpu-reset-required";
  if (follows_gpu_fault(it.event) && !it.log.gpu_fault.empty()) return same_gpu_fault(it);
  if (it.event.number("notifier") == 31) return gpu_fault(it);
  if (it.event.says_any({"js fault", "job fault"})) {
    if (const auto text = it.event.text("status"); !text.empty()) {
      it.values["status"] = printable(text, 40);
    }
    return "gpu-job-failed";
  }
  const bool no_memory = it.event.says_any({"no_memory", "out of memory"}) ||
                         is_no_memory_code(it.event.text("text")) ||
                         it.has_kind("gpu_alloc_failure");
  const bool at_start = it.event.says_any({"rminitadapter", "rm_init_adapter", "gsp"});
  if (at_start && no_memory) return "gpu-firmware-memory";
  return {};
}

std::string_view camera(const Case& it) {
  const std::string_view error = it.event.text("error");
  if (!error.empty()) it.values["error"] = printable(error, 80);
  if (const auto ms = it.event.number("timeout_ms")) it.values["timeout"] = doctor::number(*ms, 0);
  if (const auto code = it.event.number("code")) it.values["code"] = doctor::number(*code, 0);
  // The driver's own words for a request: "Failed to query UVC control", "Failed to set UVC
  // control" (probe and commit, without which no stream starts).
  if (it.event.says("uvc")) {
    return it.event.says("query uvc") ? "usb-camera-control"
           : it.event.says("set uvc") ? "usb-camera-stream"
                                      : "";
  }
  for (const std::string_view memory :
       {"cma_alloc_failure", "dma_alloc_failure", "nvmap", "gpu_alloc_failure", "dma_map_failure",
        "iova_exhausted", "swiotlb_full", "driver_alloc_failure", "page_alloc_failure",
        "slab_alloc_failure", "vmalloc_failure", "oom_kill"}) {
    if (!it.has_kind(memory)) continue;
    it.values["refusal"] = memory;
    return "camera-no-memory";
  }
  for (const std::string_view access :
       {"smmu_context_fault", "smmu_global_fault", "smmu_v3_event", "mc_error"}) {
    if (!it.has_kind(access)) continue;
    it.values["refusal"] = access;
    return "camera-access-fault";
  }
  if (it.event.says_any({"rtcpu", "mailbox", "camera processor", "control message timed"}) ||
      it.event.says_word("ivc")) {
    return "camera-processor";
  }
  if (it.event.kind() == "camera_timeout") return "camera-no-frames";
  if (it.event.says_any({"setup fail", "release fail", "submit fail", "recovery failed",
                         "capture status failed", "dispatch err", "control failed"})) {
    return "camera-request-failed";
  }
  const bool csi_status = it.event.has("status") && contains(error, "STATUS");
  const bool damaged = it.event.says_any({"corr_err: discarding", "discarding frame"}) ||
                       (it.event.says("non-zero status") && it.event.number("code") == -71) ||
                       csi_status;
  if (damaged) return "camera-frame-damaged";
  return it.has_kind("camera_timeout") ? "camera-no-frames" : "";
}

std::string_view choose_gpu(const Case& it) {
  const std::string& kind = it.event.kind();
  if (const auto comm = it.event.text("comm"); !comm.empty()) {
    it.values["comm"] = printable(comm, 64);
  }
  if (it.event.text("fallback") == "true") return "allocation-optional";
  if (kind == "nvmap" || kind == "cuda_alloc_failure") return gpu_buffer(it);
  if (kind == "program_alloc_failure") return program(it);
  if (kind == "nvbufsurface") {
    if (const auto fd = it.event.number("fd")) it.values["fd"] = doctor::number(*fd, 0);
    if (it.event.says_any({"not found", "releasefd", "dmabuf_fd", "invalid fd"})) {
      return "nvbuf-stale-fd";
    }
    return it.event.says_any({"alloc", "create", "memory"}) ? gpu_buffer(it) : "";
  }
  if (kind == "buffer_leak") return it.event.says("limit") ? "buffer-fd-limit" : "";
  if (kind == "gpu_alloc_failure") {
    if (const auto size = it.event.number("size")) it.values["size"] = doctor::bytes(*size);
    // A request to the firmware that runs is no start of it.
    const bool request = it.event.says_any({"rmalloc", "rmapialloc", "rpc"});
    if (it.event.says_any({"gsp", "radix3"}) && !request) return "gpu-firmware-memory";
    if (it.event.says_any({"physically", "comptag"})) return "gpu-physical-block";
    return it.event.says_any({"nvrm", "nv_err", "sysmem"}) ? "gpu-system-memory" : gpu_buffer(it);
  }
  if (kind == "gpu_error") return gpu_error(it);
  if (kind == "gpu_mmu_fault") {
    const bool is_v3d = it.event.says("v3d");
    const bool reads_ahead = is_v3d && it.event.says("cle") && !it.has_kind("gpu_hang");
    if (reads_ahead) return "v3d-read-ahead";
    return is_v3d ? "gpu-hung" : gpu_fault(it);
  }
  if (kind == "gpu_hang") {
    if (is_secure_boot(it)) return "gpu-firmware-mismatch";
    if (it.event.says("fb flush timeout")) return "gpu-memory-path";
    if (const auto number = it.event.number("xid")) {
      if (const auto id = xid(*number, it); !id.empty()) return id;
    }
    return "gpu-hung";
  }
  if (kind == "gpu_xid") {
    const auto number = it.event.number("xid");
    if (number == 45) {
      if (!it.values.contains("comm")) it.values["nobody"] = "";
      return removed_channels(it);
    }
    return number ? xid(*number, it) : "";
  }
  if (kind == "host1x_timeout") {
    for (const std::string_view name : {"syncpt_name", "syncpt"}) {
      if (const auto text = it.event.text(name); !text.empty()) {
        it.values["syncpt"] = printable(text, 60);
        break;
      }
    }
    return "engine-stuck";
  }
  if (kind == "camera_timeout" || kind == "camera_error") return camera(it);
  return {};
}

}  // namespace

const CauseGroup kGpuCauses{kGpuTexts, choose_gpu};

}  // namespace jetmem::diagnosis
