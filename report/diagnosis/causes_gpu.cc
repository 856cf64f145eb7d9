// SPDX-License-Identifier: Apache-2.0
// Buffers of the GPU and of multimedia, the GPU's own errors, cameras.
#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "report/diagnosis/cause.h"
#include "report/diagnosis/format.h"

namespace jetmem::diagnosis {
namespace {

// Available memory of which this part is not free is hidden from cudaMemGetInfo.
constexpr double kHidden = 0.5;
// A request above this share of what is available is too large, not unlucky.
constexpr double kAlmostAll = 0.95;
constexpr int kPermission = 1;
constexpr int kAccess = 13;

constexpr std::array kGpuTexts{
    CauseText{
        "gpu-free-hidden", Harm::kWarning,
        "The page cache hides memory from the GPU: only {free} of {available} available is free, "
        "and CUDA on a shared-memory GPU counts only free memory{?; {size} was requested}.",
        "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; sudo jetmem compact, right before the "
        "program starts. Later: sudo sysctl vm.min_free_kbytes=524288, and give the program its "
        "size or layers explicitly.",
        "gpu-free-hidden"},
    CauseText{"gpu-no-2m-blocks", Harm::kWarning,
              "Memory is free but in small pieces: {free} is free, only {large} of it in blocks of "
              "2 MiB and more, which nvmap uses for large buffers{?; {size} was requested}. The "
              "largest block alone (lfb, buddyinfo) does not show it.",
              "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; sudo jetmem compact, then start "
              "the program again, first after boot if possible. Use smaller buffers: fewer layers "
              "on the GPU (llama.cpp: -ngl 34), a smaller batch or context.",
              "buddy-fragmented"},
    CauseText{"gpu-memory-short", Harm::kWarning,
              "GPU memory{? ({size})} was refused because memory is short: {available} of {total} "
              "is available.",
              "sudo jetmem top shows the largest holders: stop one, close the desktop (sudo "
              "systemctl isolate multi-user.target), or use a smaller model.",
              "memory-low"},
    CauseText{"gpu-refused-though-free", Harm::kWarning,
              "A single GPU buffer{? of {size}} was refused although {free_then} was reported "
              "free. On a Jetson nvmap needs it in blocks of 2 MiB: free memory is fragmented or "
              "is page cache, or this L4T release limits a single request.",
              "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; sudo jetmem compact, and start "
              "the program again. Use smaller single buffers: fewer layers on the GPU (llama.cpp: "
              "-ngl 34), a smaller batch; stop the desktop (sudo systemctl isolate "
              "multi-user.target). cat /etc/nv_tegra_release and compare with the known issues."},
    CauseText{"gpu-buffer-refused", Harm::kWarning,
              "A GPU buffer{? of {size}} was refused by nvmap (out of memory). If memory is still "
              "free, it is fragmented below the 2 MiB blocks that large buffers need, or page "
              "cache hides it, or this L4T release limits a single request.",
              "free -m, and sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; sudo jetmem compact "
              "right before the program starts. Use smaller single buffers (fewer GPU layers, "
              "smaller batch), stop the desktop (sudo systemctl isolate multi-user.target); cat "
              "/etc/nv_tegra_release and compare with the known issues."},
    CauseText{"gpu-buffer-too-large", Harm::kWarning,
              "The program requests {size} of GPU memory, more than the {free_then} that is free.",
              "Use a smaller or more quantized model, a smaller batch or context, or fewer layers "
              "on the GPU; sudo jetmem top shows who holds the rest."},
    CauseText{"gpu-permission", Harm::kWarning,
              "The program may not use the GPU's memory (permission, not a shortage): it lacks the "
              "group video or the container lacks the devices.",
              "sudo usermod -aG video $USER and log in again; for a container: docker run "
              "--runtime nvidia. ls -l /dev/nvmap /dev/nvhost*"},
    CauseText{"tensorrt-workspace", Harm::kWarning,
              "TensorRT was refused {?{size} of }scratch memory for a layer while building: it "
              "tries tactics and skips those that do not fit, and fails if none fits.",
              "Limit it: trtexec --memPoolSize=workspace:512; split the layer that needs it (an LM "
              "head or large MatMul) in the ONNX graph; build without desktop, after sync; echo 3 "
              "| sudo tee /proc/sys/vm/drop_caches; sudo jetmem compact."},
    CauseText{"program-refuses", Harm::kWarning,
              "The program refuses to start because it sees less free memory than it wants{?: "
              "{size} wanted}{?, {free_then} seen}. On a GPU that shares memory it counts only "
              "free memory: page cache hides the rest.",
              "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches before it starts; or a smaller "
              "model or context (ollama: num_ctx, num_gpu). sudo jetmem top shows the holders.",
              "gpu-free-hidden"},
    CauseText{"allocation-optional", Harm::kNone,
              "Harmless by itself: the program tried an allocation that it can do without, and "
              "goes on more slowly.",
              "Nothing to do, unless it fails later: then sudo jetmem top shows the holders."},
    CauseText{"media-buffer", Harm::kWarning,
              "A camera or video program got no buffers: contiguous memory (CMA) or nvmap is "
              "short, or an earlier run still holds them.",
              "jetmem cma; sudo jetmem top --sort dmabuf. Stop what holds them (sudo systemctl "
              "restart nvargus-daemon), use fewer or smaller buffers, or enlarge CMA: cma=256M on "
              "the kernel command line.",
              "cma-exhausted"},
    CauseText{
        "npu-buffer", Harm::kWarning,
        "The NPU driver did not map {?a buffer of {size}}{? (errno {errno})}: it needs one "
        "contiguous piece or one address range of the NPU's IOMMU, whatever memory is free.",
        "cat /sys/kernel/debug/rknpu/version and update the driver (0.9.8 or later for models "
        "above 3 GB); enable the NPU's IOMMU in the device tree, or give CMA: cma=512M."},
    CauseText{
        "nvbuf-stale-fd", Harm::kWarning,
        "A multimedia buffer is released that the library no longer knows: its DMA-BUF "
        "descriptor{? {fd}} was closed or copied elsewhere, and buffers leak until the pipeline "
        "stops.",
        "Restart the pipeline and watch: ls /proc/PID/fd | wc -l; sudo jetmem top --sort dmabuf. "
        "Disable zero-copy between libraries (jetson-inference: cmake -DENABLE_NVMM=off)."},
    CauseText{"buffer-fd-limit", Harm::kWarning,
              "A program leaks buffers: {?{comm} }has as many descriptors or mappings of them open "
              "as it may.",
              "sudo jetmem top --sort dmabuf names the holder: restart it, and let it close its "
              "buffers."},
    CauseText{"gpu-firmware-memory", Harm::kWarning,
              "The GPU could not start its firmware because the driver got no system memory for "
              "it{? ({dev})}: waking from suspend needs a large piece, and memory was short or "
              "fragmented just then.",
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
    CauseText{"gpu-firmware-mismatch", Harm::kCritical,
              "The GPU's secure firmware does not start: the protected memory that the bootloader "
              "hands over does not fit the driver. Bootloader (QSPI), kernel and nvidia-l4t "
              "packages are of different releases; there is no GPU at all.",
              "dpkg -l 'nvidia-l4t-*' and cat /etc/nv_tegra_release must agree: sudo apt install "
              "--reinstall nvidia-l4t-bootloader nvidia-l4t-kernel nvidia-l4t-initrd; if it stays, "
              "reflash QSPI and root file system of one JetPack together."},
    CauseText{"v3d-read-ahead", Harm::kNone,
              "Harmless: the V3D reads ahead past the end of its command list (client CLE), and "
              "nothing is lost.",
              "Nothing to do; look elsewhere for the cause of a black screen."},
    CauseText{"gpu-bad-address", Harm::kWarning,
              "A program's GPU work{? ({comm})} used an address that was freed or never mapped; "
              "its context is lost.",
              "Restart the program; find the access with compute-sanitizer PROGRAM. If programs "
              "that worked before fail too, update GPU driver, firmware and kernel together."},
    CauseText{
        "gpu-hung", Harm::kWarning,
        "The GPU{? {dev}} did not finish a job and is reset: a defect of the GPU driver or of the "
        "program, not a lack of memory.",
        "Restart the program that draws or computes; run it without GPU acceleration to confirm "
        "(WayVNC: without --gpu). Update kernel and GPU driver, or return to the version before."},
    CauseText{"gpu-memory-path", Harm::kCritical,
              "The GPU could not flush its writes to memory: the memory path is stuck.",
              "sudo jetmem capture, then power the device off and on. If it returns, exchange the "
              "module."},
    CauseText{"xid-program", Harm::kWarning,
              "Xid {xid}{? of {comm}}: the program's own GPU work failed (bad address, illegal "
              "instruction, or it was killed).",
              "Restart the program; find the access with compute-sanitizer PROGRAM."},
    CauseText{
        "xid-memory", Harm::kCritical,
        "Xid {xid}: the GPU's memory has an ECC error that could not be corrected or was remapped.",
        "nvidia-smi -q -d ECC,ROW_REMAPPER; reset the GPU (sudo nvidia-smi -r) and exchange it if "
        "it returns.",
        "memory-error"},
    CauseText{"xid-bus", Harm::kCritical,
              "Xid {xid}: the GPU no longer answers on PCIe: power, heat, the slot or the card.",
              "Check power supply, temperature and seating (nvidia-smi -q -d TEMPERATURE,POWER), "
              "then power the machine off and on."},
    CauseText{"xid-firmware", Harm::kWarning,
              "Xid {xid}: the GPU's firmware (GSP) does not answer.",
              "Power the machine off and on; update the driver, or disable GSP: options nvidia "
              "NVreg_EnableGpuFirmware=0 in /etc/modprobe.d.",
              "firmware-hang"},
    CauseText{
        "engine-stuck", Harm::kWarning,
        "An engine{? {dev}}{? (syncpoint {syncpt})} did not finish its work: it hangs, or waits "
        "for a producer (camera, decoder, GPU) that stopped; it is not a lack of memory.",
        "Restart the pipeline: sudo systemctl restart nvargus-daemon. If it returns, sudo jetmem "
        "capture, and compare the L4T release (cat /etc/nv_tegra_release) with the known issues."},
    CauseText{
        "camera-no-frames", Harm::kWarning,
        "No frames arrive from the camera{? {dev}}{? within {timeout} ms}: sensor, cable, power or "
        "its device tree (lanes, clock, driver) do not fit. Memory is not the cause.",
        "Check cable and sensor; v4l2-ctl --list-devices; v4l2-ctl -d /dev/video0 --stream-mmap "
        "--stream-count=10. Use the sensor's driver and device tree overlay for this L4T release; "
        "then sudo systemctl restart nvargus-daemon."},
    CauseText{"camera-no-memory", Harm::kWarning,
              "The camera{? {dev}} stopped because a buffer was refused: see the memory failures "
              "beside it.",
              "Free memory first (sudo jetmem top; jetmem cma), then sudo systemctl restart "
              "nvargus-daemon."},
    CauseText{
        "camera-processor", Harm::kWarning,
        "The camera's co-processor (RTCPU) does not answer: no camera works until it is restarted.",
        "sudo systemctl restart nvargus-daemon; else reboot. Its firmware must be of the same L4T "
        "release as the kernel: dpkg -l 'nvidia-l4t-*'.",
        "firmware-hang"},
    CauseText{"usb-camera-control", Harm::kNone,
              "A USB camera did not answer a control request; frames are not affected.",
              "If the stream fails too, try another port, cable or a powered hub; usbcore.quirks."},
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
  if (number == kPermission || number == kAccess || it.event.says("permission")) {
    return "gpu-permission";
  }
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
    return "npu-buffer";
  }
  if (it.event.says_any({"requires more system memory", "ollama", "model requires"})) {
    gpu_buffer(it);
    return "program-refuses";
  }
  const std::string_view library = it.event.text("library");
  for (const std::string_view media : {"argus", "gstreamer", "libcamera", "mmal", "hailo"}) {
    if (library == media) return "media-buffer";
  }
  return {};
}

std::string_view xid(double number, const Case& it) {
  it.values["xid"] = doctor::number(number, 0);
  switch (static_cast<int>(number)) {
    case 48:
    case 63:
    case 64:
    case 92:
    case 94:
    case 95:
    case 140:
      return "xid-memory";
    case 79:
    case 54:
      return "xid-bus";
    case 61:
    case 62:
    case 119:
    case 120:
    case 122:
    case 123:
      return "xid-firmware";
    case 8:
    case 109:
      return "gpu-hung";
    case 13:
    case 31:
    case 32:
    case 43:
    case 45:
    case 68:
    case 69:
      return "xid-program";
    default:
      return {};
  }
}

std::string_view gpu_error(const Case& it) {
  if (it.event.says_any({"acr", "wpr", "secure boot", "hs_ucode", "hs ucode"})) {
    return "gpu-firmware-mismatch";
  }
  const bool no_memory =
      it.event.says_any({"no_memory", "0x51", "out of memory"}) || it.has_kind("gpu_alloc_failure");
  const bool at_start = it.event.says_any({"rminitadapter", "rm_init_adapter", "gsp"});
  if (at_start && no_memory) return "gpu-firmware-memory";
  return {};
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
    if (it.event.says_any({"gsp", "radix3"})) return "gpu-firmware-memory";
    if (it.event.says_any({"physically", "comptag"})) return "gpu-physical-block";
    return it.event.says_any({"nvrm", "nv_err", "sysmem"}) ? "gpu-system-memory" : gpu_buffer(it);
  }
  if (kind == "gpu_error") return gpu_error(it);
  if (kind == "gpu_mmu_fault") {
    const bool is_v3d = it.event.says("v3d");
    const bool reads_ahead = is_v3d && it.event.says("cle") && !it.has_kind("gpu_hang");
    return reads_ahead ? "v3d-read-ahead" : is_v3d ? "gpu-hung" : "gpu-bad-address";
  }
  if (kind == "gpu_hang") {
    if (it.event.says_any({"flush", "memop"})) return "gpu-memory-path";
    if (const auto number = it.event.number("xid")) {
      if (const auto id = xid(*number, it); !id.empty()) return id;
    }
    return "gpu-hung";
  }
  if (kind == "gpu_xid") {
    const auto number = it.event.number("xid");
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
  if (kind == "camera_timeout" || kind == "camera_error") {
    if (const auto ms = it.event.number("timeout_ms"))
      it.values["timeout"] = doctor::number(*ms, 0);
    for (const std::string_view memory :
         {"cma_alloc_failure", "dma_alloc_failure", "nvmap", "dma_map_failure"}) {
      if (it.has_kind(memory)) return "camera-no-memory";
    }
    if (it.event.says("uvc")) return "usb-camera-control";
    if (it.event.says_any(
            {"rtcpu", "mailbox", "ivc", "camera processor", "control message timed"})) {
      return "camera-processor";
    }
    const bool waits = kind == "camera_timeout" || it.has_kind("camera_timeout");
    return waits ? "camera-no-frames" : "camera-frame-damaged";
  }
  return {};
}

}  // namespace

const CauseGroup kGpuCauses{kGpuTexts, choose_gpu};

}  // namespace jetmem::diagnosis
