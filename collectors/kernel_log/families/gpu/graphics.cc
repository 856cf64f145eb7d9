// SPDX-License-Identifier: Apache-2.0
// GPUs other than NVIDIA's, and NPUs, as their drivers report them: v3d and vc4 (Raspberry Pi),
// panfrost, panthor and lima (Mali), etnaviv (Vivante), msm (Adreno), amdgpu, RKNPU; and the page
// faults of Rockchip's IOMMU. What they are refused is in memory/driver_memory.cc.
#include <algorithm>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 53> kGraphicsAnchors{"MMU error from client ",
                                                            "age fault",
                                                            "AGE fault",
                                                            "GPU Fault",
                                                            "pu fault",
                                                            "MMU fault",
                                                            "MMU 0 fault",
                                                            "MMU 1 fault",
                                                            "*** fault: iova=",
                                                            "Page fault at ",
                                                            "iova = 0x",
                                                            "esetting GPU",
                                                            "GPU reset",
                                                            "sched timeout",
                                                            "js fault",
                                                            "job timeout",
                                                            "hung GPU",
                                                            "failed to reset",
                                                            "hangcheck",
                                                            "offending task",
                                                            " hang",
                                                            "timed out",
                                                            "timedout",
                                                            "lockup",
                                                            "buffer eviction",
                                                            "Buffer eviction",
                                                            "kb BOs (",
                                                            "fence",
                                                            "gpu reset",
                                                            "in page starting at address ",
                                                            "rocess ",
                                                            "Failed to boot MCU",
                                                            "fault irq",
                                                            "cmdbuf space",
                                                            "pending signals",
                                                            "imeout",
                                                            "PU fault",
                                                            "fault type",
                                                            "fault from EP",
                                                            "ommu fault",
                                                            "MMU_DTE_ADDR",
                                                            "bit stuck",
                                                            "wait idle failed",
                                                            "is dead",
                                                            "memory space for buffer",
                                                            "raw fault status: ",
                                                            "Reason: ",
                                                            "exception type 0x",
                                                            "access type 0x",
                                                            "pid: ",
                                                            "job fault",
                                                            "num bos allocated",
                                                            "size bos allocated"};

bool is_graphics(const DriverLine& line) { return line.drm || is_graphics_driver(line); }

void start(Event& event, EventKind kind, const DriverLine& line) {
  event.reset(kind);
  // A PCI device is "0000:0b:00.0".
  const bool pci = std::count(line.dev.begin(), line.dev.end(), ':') == 2;
  set_if(event, pci ? "pci" : "dev", line.dev);
  // Of a fault, whose remedy depends on the GPU's maker.
  const bool fault = kind == EventKind::kGpuMmuFault;
  if (line.dev.empty() || fault) set_if(event, "driver", line.driver);
  if (!fault) set_if(event, "function", line.function);
}

// "MMU error from client L2T (0) at 0x2a000000, write violation". The command list executor (CLE)
// reads ahead of its list; what it meets there is without consequence.
Piece v3d_fault(const DriverLine& line, Event& event) {
  Scan scan(line.text);
  if (!scan.literal("MMU error from client ")) return {};
  const std::string_view client = scan.up_to(" ");
  if (!is_kernel_name(client) || !scan.past(" at ")) return {};
  start(event, EventKind::kGpuMmuFault, line);
  event.set_text("client", client);
  if (!take_hex(scan, event, "addr")) return {};
  if (scan.literal(", ") && is_kernel_words(scan.rest())) event.set_text("fault_type", scan.rest());
  if (client == "CLE" && event.text("fault_type") == "pte invalid")
    event.set_bool("harmless", true);
  return {.role = Role::kWhole};
}

// Sets "addr" to the hexadecimal number behind the first of these words.
void set_address(std::string_view text, Event& event) {
  for (const std::string_view label : {"at VA ", "addr ", "iova=", " fault at ", " fault for ",
                                       " at ", "iova = ", "address ", ": da "}) {
    Scan scan(text);
    if (!scan.past(label)) continue;
    scan.blanks();
    const auto digits = scan.hex();
    if (!digits || digits->size() < 4) continue;
    event.set_text("addr", *digits);
    return;
  }
}

void set_access(const Words& words, Event& event) {
  if (words.has_any({"type of write", "type=write", "dir=write", "of type write", "write violation",
                     "write access"})) {
    event.set_text("access", "write");
  } else if (words.has_any({"dir=read", "of type read", "type of read", "type=read"})) {
    event.set_text("access", "read");
  }
}

// "[gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32780)", then
// " in process python pid 91762 thread python pid 91762)", or in the first line
// "for process python pid 91762 thread ..."; then "in page starting at address 0x... from client
// 10".
Piece amdgpu_fault(const DriverLine& line, Event& event) {
  Scan scan(line.text);
  scan.literal("amdgpu: ");
  scan.blanks();
  start(event, EventKind::kGpuMmuFault, line);
  const bool opens = contains(line.text, "page fault (src_id");
  Scan process(line.text);
  if (process.past("rocess ")) {
    if (const auto comm = process.until(" pid "); comm && is_comm(trim(*comm))) {
      event.set_text("comm", trim(*comm));
      take_natural(process, event, "pid");
    }
  }
  if (opens) return {.role = Role::kOpens, .join = "pci"};
  scan.literal("in ");
  if (scan.literal("page starting at address ")) {
    if (!take_hex(scan, event, "addr")) return {};
    return {.role = Role::kFollows, .step = 2, .last = true, .join = "pci"};
  }
  if ((scan.literal("process ") || scan.literal("Process ")) && event.has("pid")) {
    return {.role = Role::kFollows, .step = 1, .join = "pci"};
  }
  return {};
}

// "etnaviv-gpu 38000000.gpu: MMU fault status 0x00000002", then "MMU 0 fault (page not present)
// addr 0x00008000".
Piece etnaviv_fault(const DriverLine& line, Event& event) {
  Scan scan(line.text);
  if (!scan.literal("MMU ")) return {};
  start(event, EventKind::kGpuMmuFault, line);
  if (scan.literal("fault status ")) {
    if (!take_hex(scan, event, "fault_status")) return {};
    return {.role = Role::kOpens, .join = "dev"};
  }
  if (!scan.number() || !scan.literal(" fault")) return {};
  set_address(scan.rest(), event);
  if (scan.past("(")) set_if(event, "fault_type", scan.until(")").value_or(""));
  return {.role = Role::kFollowsOrOpens, .step = 1, .last = true, .join = "dev"};
}

// "*** gpu fault: ttbr0=... iova=... dir=READ type=TRANSLATION source=UCHE", "*** fault: iova=..."
Piece adreno_fault(std::string_view text, Event& event) {
  const DriverLine line = driver_line(text);
  const std::size_t mark = text.find("*** ");
  if (mark > 80) return {};  // or it is not there
  Scan scan(text.substr(mark));
  if (!scan.literal("*** gpu fault: ") && !scan.literal("*** fault: ")) return {};
  event.reset(EventKind::kGpuMmuFault);
  if (is_graphics(line)) set_if(event, "dev", line.dev);
  // No other driver prints this.
  event.set_text("driver", "msm");
  set_address(scan.rest(), event);
  if (!event.has("addr")) return {};
  set_access(Words(scan.rest()), event);
  if (scan.past(" type=")) set_if(event, "fault_type", scan.up_to(" "));
  return {.role = Role::kWhole};
}

// "rk_iommu ff650800.iommu: Page fault at 0x0000000004382010 of type write"
Piece rockchip_fault(const DriverLine& line, Event& event) {
  const Words words(line.text);
  const bool remote = words.begins("iommu fault: da ");
  if (!remote &&
      !is_driver(line, {"rk_iommu", "rk-iommu", "sun50i-iommu", "mtk-iommu", "exynos-sysmmu",
                        "ipmmu", "virtio_iommu", "omap-iommu", "qcom-iommu"})) {
    return {};
  }
  if (!remote && !words.has_any({"page fault", "fault type", "unhandled fault", "fault from ep"})) {
    // The unit itself does not answer.
    if (!reports_timeout(words) && !words.has("not functioning")) return {};
    event.reset(EventKind::kSmmuError);
    event.set_text("dev", line.dev);
    event.set_text("error", line.text);
    return {.role = Role::kWhole};
  }
  event.reset(EventKind::kSmmuContextFault);
  event.set_text("dev", line.dev);
  set_address(line.text, event);
  if (event.has("addr")) event.set_text("iova", event.text("addr"));
  event.set_text("fault", "translation");
  // "of type write", "dir wr", "[R--]"
  if (words.has_any({"write", "dir wr", "[-w"})) event.set_text("rw", "write");
  if (words.has_any({"read", "dir rd", "[r-"})) event.set_text("rw", "read");
  return {.role = Role::kWhole};
}

Piece fault(const DriverLine& line, const Words& words, Event& event) {
  if (!words.has_any({"page fault", "gpu fault", "mmu fault", "mmu page fault"})) return {};
  if (words.has_any({"handler", "irq fail", "fault buffer", "recoverable", "no retry"})) return {};
  start(event, EventKind::kGpuMmuFault, line);
  set_address(line.text, event);
  set_access(words, event);
  Scan scan(line.text);
  if (scan.past("(")) {
    const std::string_view name = scan.up_to(")");
    if (contains(name, "FAULT") && is_kernel_name(name)) event.set_text("fault_type", name);
  }
  event.set_text("text", line.text);
  // Mali's goes on: see mali_detail().
  return {.role = words.has("unhandled") ? Role::kOpens : Role::kWhole};
}

// Below a fault of panfrost, panthor or mali, which name no device: "exception type 0xC1:
// TRANSLATION_FAULT at level 1", "access type 0x2: READ", "pid: 1693".
Piece mali_detail(std::string_view text, Event& event) {
  Scan scan(trim(text));
  event.reset(EventKind::kGpuMmuFault);
  if (scan.literal("Reason: ")) {
    // A placeholder of the driver's author.
    if (scan.rest() == "TODO") return {};
    event.set_text("reason", scan.rest());
    return {.role = Role::kFollows, .step = 1};
  }
  if (scan.literal("raw fault status: ")) {
    if (!take_hex(scan, event, "fault_status") || !scan.at_end()) return {};
    return {.role = Role::kFollows, .step = 2};
  }
  const bool type = scan.literal("exception type 0x");
  if (type || scan.literal("access type 0x")) {
    if (!scan.hex() || !scan.literal(": ") || !is_kernel_words(scan.rest())) return {};
    if (type) {
      event.set_text("fault_type", scan.rest());
      return {.role = Role::kFollows, .step = 3};
    }
    for (const auto& [printed, access] :
         {std::pair{"READ", "read"}, std::pair{"WRITE", "write"}, std::pair{"EXECUTE", "execute"},
          std::pair{"ATOMIC", "atomic"}}) {
      if (scan.rest() == printed) event.set_text("access", access);
    }
    if (!event.has("access")) return {};
    return {.role = Role::kFollows, .step = 4};
  }
  if (!scan.literal("pid: ") || !take_natural(scan, event, "pid") || !scan.at_end()) return {};
  return {.role = Role::kFollows, .step = 5, .last = true};
}

// Only a fault of Mali has the lines of mali_detail(), which name no device.
bool joins_graphics(const Event& open, const Event& part) {
  const bool detail = part.kind() == EventKind::kGpuMmuFault && !part.has("dev") &&
                      !part.has("pci") && !part.has("addr") && !part.has("comm");
  return !detail || contains(open.text("text"), "nhandled");
}

// "js fault, js=0, status=JOB_BUS_FAULT, head=0x8badcc0, tail=0x8badcc0": the GPU refused a job.
Piece job_fault(const DriverLine& line, const Words& words, Event& event) {
  if (!words.has_any({"js fault", "job fault"})) return {};
  start(event, EventKind::kGpuError, line);
  Scan scan(line.text);
  if (scan.past("status=")) set_if(event, "status", scan.up_to(", "));
  event.set_text("text", line.text);
  return {.role = Role::kWhole};
}

// What a GPU does, and what it does it with.
bool names_work(const Words& words) {
  return words.has_any_word(
      {"job",    "jobs",  "sched",  "scheduler", "ring",       "fence",   "fences",     "cmdbuf",
       "gpu",    "queue", "engine", "reset",     "ringbuffer", "command", "cmd",        "csg",
       "fw",     "mcu",   "gmu",    "hfi",       "g2h",        "guc",     "gsc",        "mes",
       "rlc",    "tlb",   "mmu",    "l2t",       "tmu",        "tiler",   "shader",     "core",
       "caches", "power", "idle",   "bus",       "completion", "gdsc",    "preemption", "message"});
}

// A display's own waits, for a vertical blank or a cable's far end: the GPU is well.
bool is_of_display(const Words& words) {
  return words.has_any(
             {"[crtc", "[connector", "[plane", "[encoder", "flip_done", "link training"}) ||
         words.has_any_word({"edid", "aux", "vblank", "hdcp", "panel", "hdmi", "dsi", "ddi", "ksv",
                             "lvds", "transcoder", "phy", "backlight", "frame", "pll", "video",
                             "cdclk", "dpll"});
}

Piece hang(const DriverLine& line, const Words& words, Event& event) {
  const bool resets = words.has_any({"resetting gpu", "gpu reset", "recover hung gpu",
                                     "gpu failed to reset", "reset failed", "failed to reset"}) &&
                      !words.has_any({"succeeded", "gpu reset reason", "method"});
  const bool hangs =
      words.has_any({"for hang", "gpu hang", "hung gpu", "lockup", "hangcheck", "offending task",
                     "bit stuck", "wait idle failed", "ctb is dead"});
  // These have no display to wait for.
  const bool renders = is_driver(line, {"v3d", "panfrost", "panthor", "lima", "etnaviv"});
  const bool waits =
      reports_timeout(words) && (renders || names_work(words)) && !is_of_display(words);
  if (!resets && !hangs && !waits) return {};
  start(event, EventKind::kGpuHang, line);
  event.set_text("text", line.text);
  return {.role = Role::kWhole, .by_words = !resets && !hangs};
}

// "[TTM] Buffer eviction failed"; a table of buffers that a refusal is printed with:
// "[drm]                      kernel:  10240kb BOs (3)".
Piece buffers(const DriverLine& line, const Words& words, Event& event) {
  if (words.has_any({"buffer eviction failed", "memory space for buffer"})) {
    start(event, EventKind::kGpuAllocFailure, line);
    event.set_text("text", line.text);
    return {.role = Role::kWhole};
  }
  Scan scan(line.text);
  // Up to 4.14, all owners in one: "num bos allocated: 64", "size bos allocated: 62328kb".
  const bool number = scan.literal("num bos allocated: ");
  if (line.drm && (number || scan.literal("size bos allocated: "))) {
    event.reset(EventKind::kGpuAllocFailure);
    if (!take_natural(scan, event, number ? "bos" : "bos_kb")) return {};
    if (!number && !scan.literal("kb")) return {};
    return {.role = Role::kFollowsOrOpens, .step = 1, .repeats = true};
  }
  const auto owner = scan.until(":");
  if (!line.drm || !owner || !is_kernel_words(*owner)) return {};
  scan.blanks();
  event.reset(EventKind::kGpuAllocFailure);
  if (!take_natural(scan, event, "bos_kb") || !scan.literal("kb BOs (")) return {};
  if (!take_natural(scan, event, "bos") || !scan.literal(")")) return {};
  // What was given back already.
  if (contains(*owner, "purged")) return {};
  return {.role = Role::kFollowsOrOpens, .step = 1, .repeats = true};
}

// "panthor fb000000.gpu: [drm] *ERROR* Failed to boot MCU after reset, making device unusable."
Piece firmware(const DriverLine& line, const Words& words, Event& event) {
  if (!words.has_any({"failed to boot mcu", "mcu fail", "firmware hang"})) return {};
  start(event, EventKind::kGpuHang, line);
  event.set_text("text", line.text);
  return {.role = Role::kWhole};
}

Piece by_words(const DriverLine& line, Event& event) {
  const Words words(line.text);
  for (const auto rule : {fault, job_fault, hang, buffers, firmware}) {
    const Piece piece = rule(line, words, event);
    if (piece.role != Role::kNothing) return piece;
  }
  return {};
}

Piece decode_graphics(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  Piece piece = adreno_fault(text, event);
  // Of a WARN(): "Fence nvhost:timeline 45:2d:24b9 released with pending signals!"
  if (text.starts_with("Fence ") && contains(text, " released with pending signals")) {
    event.reset(EventKind::kGpuHang);
    event.set_text("text", text);
    return {.role = Role::kWhole};
  }
  if (piece.role == Role::kNothing) piece = mali_detail(text, event);
  if (piece.role == Role::kNothing) {
    const DriverLine line = driver_line(text);
    if (!line.has_head) return {};
    piece = rockchip_fault(line, event);
    if (piece.role == Role::kNothing && is_graphics(line)) {
      for (const auto rule : {v3d_fault, amdgpu_fault, etnaviv_fault, by_words}) {
        piece = rule(line, event);
        if (piece.role != Role::kNothing) break;
      }
    }
  }
  if (piece.role == Role::kNothing || !contains_any(text, kGraphicsAnchors)) return {};
  return piece;
}

// Each row of the table of buffers counts those of another owner.
void add_line(Event& open, const Event& part) {
  if (!part.has("bos_kb")) {
    open.merge(part);
    return;
  }
  const auto add = [&](std::string_view name) {
    const auto before = open.number(name);
    const auto more = part.number(name);
    if (!more) return;
    const std::int64_t room = INT64_MAX - *more;
    open.set_number(name, before && *before <= room ? *before + *more : *more);
  };
  add("bos_kb");
  add("bos");
}

void describe_graphics(const Event& event, std::string& out) {
  if (event.kind() != EventKind::kGpuHang) return;
  out += "the GPU";
  add_name(out, event, "dev", " ");
  add_name(out, event, "pci", " ");
  out += " did not finish its work";
  add_name(out, event, "function", " in ", {}, 60);
  add_quote(out, event, "text", ", \"", "\"", 120);
}

}  // namespace

const Family kGraphics{.name = "graphics",
                       .anchors = kGraphicsAnchors,
                       .decode = decode_graphics,
                       .describe = describe_graphics,
                       .joins = joins_graphics,
                       .add = add_line};

}  // namespace jetmem::kernel_log
