// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/catalogue/vocabulary.h"

#include <algorithm>

#include "base/text/text.h"
#include "collectors/kernel_log/text/driver_line.h"

namespace jetmem::kernel_log {
namespace {

// Things that are allocated, reserved or mapped and are no memory; and what drivers say of their
// set-up.
bool is_other_resource(const Words& words) {
  return words.has_any_word(
             {"irq",      "irqs",      "msi",       "vector",  "vectors", "minor",
              "major",    "gpio",      "gpios",     "pwm",     "bar",     "bars",
              "clock",    "clk",       "regulator", "phy",     "id",      "ids",
              "slot",     "slots",     "port",      "ports",   "io",      "i2c",
              "firmware", "interrupt", "bandwidth", "address", "window",  "space",
              "eeprom",   "nvmem",     "inode",     "tcp",     "table",   "entry"}) ||
         words.has_any({"resource", "[mem ",     "[io ",     "-517",        "defer",
                        "syncpt",   "syncpoint", "region",   "chrdev",      "device number",
                        "mem bw",   "ioremap",   "regmap",   "pinctrl",     "overlay",
                        "property", "changeset", "optional", "fallback",    "falling back",
                        "mtrr",     "spurious",  "i/o mem",  "memory size", "memory type"});
}

// "No memory for the ring", not "No memory group manager".
bool lacks_memory(const Words& words) {
  return words.text().ends_with("no memory") ||
         words.has_any({"no memory for", "no memory to", "no memory left", "no memory avail"});
}

bool is_memory(const Words& words) {
  return lacks_memory(words) ||
         words.has_any({"out of mem",    "not enough mem", "enomem",           "insufficient mem",
                        "alloc mem",     "allocate mem",   "allocating mem",   "memory alloc",
                        "kzalloc",       "kmalloc",        "vmalloc",          "dma_alloc",
                        "dma mem",       "dma buf",        "alloc dma",        "allocate dma",
                        "coherent mem",  "allocate buf",   "alloc buf",        "buffer alloc",
                        "allocate page", "alloc page",     "page alloc",       "allocate skb",
                        "alloc skb",     "allocate rx",    "allocate a buffer"}) ||
         (words.has("alloc") &&
          words.has_any({"bytes", " size", "buffer", "memory", "descriptor", "coherent"}));
}

bool is_gpu_driver(const DriverLine& line) {
  return line.driver == "msm" ||
         is_driver(line,
                   {"v3d",    "vc4",     "panfrost", "panthor",    "lima", "etnaviv", "msm_gpu",
                    "amdgpu", "nouveau", "radeon",   "i915",       "xe",   "mali",    "rknpu",
                    "RKNPU",  "nvgpu",   "NVRM",     "nvidia-drm", "ttm",  "pvr",     "kgsl"});
}

// DRM's drivers are of displays, too.
bool is_gpu(const DriverLine& line) { return line.drm || is_gpu_driver(line); }

bool is_camera(const DriverLine& line) {
  return is_driver(line, {"tegra-camrtc", "tegra-capture", "tegra-vi4", "tegra-vi5", "tegra-video",
                          "video4linux", "bcm2835-unicam", "rp1-cfe", "imx-media", "rkisp1",
                          "rkcif", "sun6i-csi"}) ||
         contains(line.dev, ".rtcpu");
}

bool is_processor(const DriverLine& line) {
  return is_driver(
      line, {"tegra-bpmp", "remoteproc", "tegra-dce", "nvadsp", "tegra-aon", "tegra-cam-rtcpu"});
}

EventKind kind_of(const DriverLine& line, const Words& words) {
  const bool failed = reports_failure(words);
  if (words.has_any({"memory leak", "leaking", " leaked", "still mapped", "still allocated"})) {
    return EventKind::kBufferLeak;
  }
  if (failed && words.has_any_word({"iova", "iovas"}) && !words.has("map")) {
    return EventKind::kIovaExhausted;
  }
  if (failed && words.has_any({"carveout", "carve-out", "reserved mem", "reserve mem"})) {
    return EventKind::kReservedMemoryFailure;
  }
  const bool maps =
      words.has_any({"dma map", "dma_map", "dma-map", "map dma", "map buf", "map sg", "map page",
                     "iommu map", "iommu_map", "map iova", "pin page", "pin user", "map the buffer",
                     "map frame", "mapping error", "map attachment", "sg_table", "sg table"});
  if (failed && maps) return EventKind::kDmaMapFailure;
  if (failed && is_memory(words)) {
    if (is_gpu(line)) return EventKind::kGpuAllocFailure;
    if (words.has_word("cma")) return EventKind::kCmaAllocFailure;
    const bool dma = words.has_any({"dma", "coherent", "descriptor"});
    return dma ? EventKind::kDmaAllocFailure : EventKind::kDriverAllocFailure;
  }
  // Nor is a time that was set or switched off over.
  const bool is_setting = words.has_any({"timeout disabled", "timeout enabled", "timeout set"});
  const bool late = words.has_any({"timed out", "not responding", "no response", " hung"}) ||
                    (words.has("timeout") && !is_setting);
  if (is_camera(line) && late) return EventKind::kCameraTimeout;
  if (is_camera(line) && (failed || words.has("error"))) return EventKind::kCameraError;
  // A display that waits in vain is no GPU that hangs; nor is what "changed".
  const bool hangs = words.has(" hang") || words.text().starts_with("hang");
  if ((is_gpu_driver(line) && late) || (is_gpu(line) && hangs)) {
    return EventKind::kGpuHang;
  }
  if (is_processor(line) && late) return EventKind::kFirmwareHang;
  return EventKind::kNone;
}

}  // namespace

std::optional<Guess> guess(const LogLine& line) {
  // Pasted text without the kernel's time may be anybody's.
  const bool kernel =
      line.voice == Voice::kKernel || (line.voice == Voice::kUnknown && line.stamp.has_value());
  if (!kernel || line.continues || line.is_quiet()) return std::nullopt;
  const DriverLine head = driver_line(line.text);
  // "DRIVER DEVICE: ": programs and subsystems have a name of one word in front.
  if (head.driver.empty() || head.dev.empty() || head.dev == head.driver ||
      std::none_of(head.dev.begin(), head.dev.end(), is_digit)) {
    return std::nullopt;
  }
  // What a device calls itself, and not what its driver says.
  if (head.driver == "usb" && contains(head.text.substr(0, 20), ": ")) return std::nullopt;
  const Words words(head.text);
  if (is_other_resource(words)) return std::nullopt;
  const EventKind kind = kind_of(head, words);
  if (kind == EventKind::kNone) return std::nullopt;
  return Guess{kind, head.driver, head.dev};
}

}  // namespace jetmem::kernel_log
