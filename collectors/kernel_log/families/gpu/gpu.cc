// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"
#include "collectors/kernel_log/line/scan.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 8> kGpuAnchors{"nvgpu: ",
                                                      "NVRM: ",
                                                      "nvidia-uvm: ",
                                                      "nvidia-modeset: ",
                                                      "nvidia-drm: ",
                                                      "mmu fault on engine ",
                                                      "generated a mmu fault",
                                                      "error notifier set to "};
// From here on, of the older format.
constexpr std::size_t kFirstOldAnchor = 5;

struct Message {
  std::string_view dev;
  std::string_view function;
  std::string_view level;  // empty in the older format, which does not print one
  std::string_view text;
};

// "nvgpu: 17000000.gpu   function:123  [ERR]  text"
bool take_nvgpu(std::string_view line, Message& out) {
  Scan scan(line);
  if (!scan.literal("nvgpu: ")) return false;
  scan.blanks();
  out.dev = scan.up_to(" \t");
  scan.blanks();
  out.function = scan.up_to(": \t");
  if (!is_c_name(out.function) || !scan.literal(":")) return false;
  if (!scan.number()) {
    // Without the line and the level, as some write it down.
    if (!scan.literal(" ")) return false;
    scan.blanks();
    out.text = trim(scan.rest());
    const Words words(out.text);
    if (reports_failure(words) || words.has("invalid")) out.level = "ERR";
    return !out.dev.empty() && !out.text.empty();
  }
  scan.blanks();
  if (!scan.literal("[")) return false;
  out.level = scan.up_to("] ");
  if (!scan.literal("]")) return false;
  scan.blanks();
  out.text = trim(scan.rest());
  return !out.dev.empty() && !out.text.empty();
}

// "gk20a 57000000.gpu: function: text", to L4T 28
bool take_gk20a(std::string_view line, Message& out) {
  const auto head = dev_line(line);
  if (!head || head->driver.empty()) return false;
  Scan scan(head->text);
  const auto function = scan.until(": ");
  if (!function || !is_c_name(*function)) return false;
  scan.blanks();
  out = {.dev = head->dev, .function = *function, .level = {}, .text = trim(scan.rest())};
  return true;
}

// What stands behind `label`, to the next comma.
std::string_view value_of(std::string_view text, std::string_view label) {
  Scan scan(text);
  if (!scan.past(label)) return {};
  scan.blanks();
  return trim(scan.up_to(","));
}

std::optional<std::int64_t> number_of(std::string_view text, std::string_view label) {
  return parse_i64(value_of(text, label));
}

void start(Event& event, EventKind kind, const Message& message) {
  event.reset(kind);
  event.set_text("dev", message.dev);
  // An MMU fault is put together from lines of several functions.
  if (kind != EventKind::kGpuMmuFault) event.set_text("function", message.function);
}

// A fault prints further lines from other functions; each is an event of its own, and the tally
// takes those of one GPU within a second for one incident.
constexpr Piece kWhole{.role = Role::kWhole};

// "7 (va limit viol)": the name, where there is one
std::string_view in_brackets(std::string_view value) {
  Scan scan(value);
  if (!scan.number()) return {};
  scan.blanks();
  if (!scan.literal("(")) return {};
  return scan.until_last(")").value_or("");
}

// gk20a to gp10b: "mmu fault on engine 0, engine subid 0 (gpc), client 1 (t1 0), addr 0x..., ..."
Piece old_fault(const Message& message, std::string_view text, Event& event) {
  Scan scan(text);
  start(event, EventKind::kGpuMmuFault, message);
  if (!take_number(scan, event, "engine")) return {};
  set_if(event, "client", in_brackets(value_of(text, ", client ")));
  set_if(event, "client_type", in_brackets(value_of(text, "subid ")));
  // The oldest print both halves: "0x0000007f:0x80001000".
  const std::string_view addr = value_of(text, ", addr ");
  Scan digits(addr);
  if (digits.hex() && (digits.at_end() || (digits.literal(":") && digits.hex()))) {
    event.set_text("addr", addr);
  }
  set_if(event, "fault_type", in_brackets(value_of(text, ", type ")));
  const std::string_view access = value_of(text, ", access_type ");
  if (Scan(access).hex()) event.set_text("access_type", access);
  return kWhole;
}

// A line that was cut off may end in half of one.
bool is_access(std::string_view text) {
  constexpr std::array<std::string_view, 12> kAccesses{
      "virt read",        "virt write",    "virt atomic", "virt atomic strong",
      "virt atomic weak", "phys read",     "phys write",  "phys atomic",
      "virt prefetch",    "phys prefetch", "read",        "write"};
  return std::find(kAccesses.begin(), kAccesses.end(), text) != kAccesses.end();
}

// gv11b and later: two lines "[MMU FAULT] ..."
Piece new_fault(const Message& message, Event& event) {
  const std::string_view text = message.text;
  if (contains(text, "mmu engine id:")) {
    const auto engine = number_of(text, "mmu engine id:");
    if (!engine) return {};
    start(event, EventKind::kGpuMmuFault, message);
    event.set_number("engine", *engine);
    // -1: no channel is bound to the faulting context.
    const auto channel = number_of(text, ", ch id:");
    if (channel && *channel >= 0 && *channel < UINT32_MAX) event.set_number("channel", *channel);
    const std::string_view addr = value_of(text, "fault addr:");
    if (Scan(addr).hex()) event.set_text("addr", addr);
    if (contains(text, ", access type:"))
      set_if(event, "fault_type", value_of(text, "fault type:"));
    const std::string_view access = value_of(text, "access type:");
    if (is_access(access)) event.set_text("access", access);
    return {.role = Role::kOpens, .join = "dev"};
  }
  if (contains(text, "client type:")) {
    start(event, EventKind::kGpuMmuFault, message);
    set_if(event, "client_type", value_of(text, "client type:"));
    set_if(event, "client", value_of(text, "client id:"));
    return {.role = Role::kFollowsOrOpens, .step = 1, .last = true, .join = "dev"};
  }
  return {};
}

Piece page_fault(const Message& message, std::string_view text, Event& event) {
  const std::string_view status = value_of(text, "fault_status =");
  if (!Scan(status).hex()) return {};
  start(event, EventKind::kGpuMmuFault, message);
  event.set_text("fault_status", status);
  const std::string_view type = value_of(text, "err_type =");
  if (Scan(type).hex()) event.set_text("err_type", type);
  return kWhole;
}

// "TSG 2 generated a mmu fault", "channel 44 generated a mmu fault"
Piece context_fault(const Message& message, Event& event) {
  Scan scan(message.text);
  const bool tsg = scan.literal("TSG ");
  if (!tsg && !scan.literal("channel ")) return {};
  start(event, EventKind::kGpuMmuFault, message);
  if (!take_number(scan, event, tsg ? "tsg" : "channel")) return {};
  return scan.literal(" generated a mmu fault") ? kWhole : Piece{};
}

// "error notifier set to 13 for ch 44 owned by name"
Piece notifier(const Message& message, std::string_view text, Event& event) {
  Scan scan(text);
  start(event, EventKind::kGpuError, message);
  if (!take_number(scan, event, "notifier")) return {};
  if (scan.past("ch ")) take_number(scan, event, "channel");
  if (scan.past("owned by ")) set_if(event, "comm", trim(scan.rest()));
  return kWhole;
}

Piece dma_failure(const Message& message, Event& event) {
  start(event, EventKind::kGpuAllocFailure, message);
  Scan scan(message.text);
  if (scan.past("[")) set_if(event, "aperture", scan.until("]").value_or(""));
  scan = Scan(message.text);
  if (scan.past(" size=")) take_number(scan, event, "size");
  scan = Scan(message.text);
  if (scan.past("flags:")) set_if(event, "flags", trim(scan.rest()));
  return kWhole;
}

bool reports_no_memory(std::string_view text) {
  constexpr std::array<std::string_view, 16> kPhrases{
      "ailed to alloc", "nable to alloc",    "ould not alloc",  "annot alloc",
      "lloc failed",    "an't alloc",        "lloc failure",    "llocation failed",
      "ut of memory",   "not enough memory", "ENOMEM",          "OOM ",
      "oom: sz=",       "out of inst mem",   "out of hw chids", "NV_ERR_NO_MEMORY"};
  // "PD-Alloc [C] Failed!", "Error in hw mmu fault buf [0] alloc"
  const Words words(text);
  return contains_any(text, kPhrases) ||
         (words.has("alloc") && words.has_any({"fail", "error in", "not enough"})) ||
         (words.has("alloc") && words.has_word("oom")) || words.has("no mem ");
}

Piece known_text(const Message& message, Event& event) {
  Scan scan(message.text);
  if (scan.literal("[MMU FAULT] ")) return new_fault(message, event);
  if (scan.literal("mmu fault on engine ")) return old_fault(message, scan.rest(), event);
  if (scan.literal("page fault error:")) return page_fault(message, scan.rest(), event);
  if (scan.literal("error notifier set to ")) return notifier(message, scan.rest(), event);
  return context_fault(message, event);
}

// Not the line of an ECC counter that could not be set up.
bool reports_ecc(const Words& words) {
  // "Uncorrected error (DBE) detected in SM LRF!", "corrected parity error not expected"
  if (words.has_any({"error (dbe)", "error (sbe)", "corrected parity error"})) return true;
  return words.has("ecc") &&
         words.has_any({"uncorrected", "corrected", "ecc error", "ecc interrupt", "ecc err",
                        "parity", "counter overflow", "ecc_report", "ecc_addr"});
}

bool reports_hang(const Words& words) {
  return reports_timeout(words) || words.has_any({"locked up", "probably locked", "gpu hang"});
}

// The start of the GPU's own controllers: firmware that does not fit the driver, or a
// write-protected region (WPR) that the boot loader did not set up. They are waited for, which is
// no hang of work.
bool reports_boot(std::string_view function, const Words& words) {
  if (contains(function, "_acr_") || contains(function, "_wpr_")) return true;
  if (words.has_any_word({"acr", "wpr", "wpr2"})) return true;
  return (words.has_word("pmu") || contains(function, "pmu_")) &&
         words.has_any_word({"boot", "bootstrap", "booting", "boots"});
}

EventKind kind_by_words(std::string_view function, std::string_view text) {
  const Words words(text);
  if (reports_ecc(words)) return EventKind::kGpuEccError;
  if (reports_no_memory(text)) return EventKind::kGpuAllocFailure;
  // A fake one is how the driver stops an engine.
  if (words.has_any({"mmu fault", "mmu page fault", "mmu_page_fault", "mmu error"}) &&
      !words.has("fake mmu fault")) {
    return EventKind::kGpuMmuFault;
  }
  if (reports_boot(function, words)) return EventKind::kGpuError;
  if (reports_hang(words)) return EventKind::kGpuHang;
  return EventKind::kGpuError;
}

void set_severity(std::string_view text, Event& event) {
  const Words words(text);
  if (words.has("uncorrected")) {
    event.set_text("severity", "uncorrected");
  } else if (words.has("corrected")) {
    event.set_text("severity", "corrected");
  }
}

Piece decode_nvgpu(const Message& message, Event& event) {
  // Printed at [INFO], yet a failure.
  if (contains(message.text, "DMA alloc FAILED")) return dma_failure(message, event);
  const Piece piece = known_text(message, event);
  if (piece.role == Role::kNothing && contains(message.text, "memory leak")) {
    start(event, EventKind::kBufferLeak, message);
    event.set_text("text", message.text);
    return kWhole;
  }
  if (piece.role != Role::kNothing) return piece;
  // A warning is an event where its words name one.
  const bool warns = message.level == "WRN";
  if (message.level != "ERR" && !warns) return {};
  const EventKind kind = kind_by_words(message.function, message.text);
  if (warns && kind == EventKind::kGpuError) return {};
  start(event, kind, message);
  if (event.kind() == EventKind::kGpuEccError) set_severity(message.text, event);
  event.set_text("text", message.text);
  return kWhole;
}

bool is_pci(std::string_view text) {
  bool colon = false;
  for (const char c : text) {
    colon = colon || c == ':';
    if (!Scan::is_hex_digit(c) && c != ':' && c != '.') return false;
  }
  return colon;
}

// "ENGINE GRAPHICS GPC2 GPCCLIENT_T1_7 faulted @ 0x7f_00100000. Fault is of type FAULT_PDE
// ACCESS_TYPE_VIRT_WRITE"
void take_xid_fault(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.past("ENGINE ")) return;
  set_if(event, "engine", scan.up_to(" "));
  if (const auto units = scan.until(" faulted @ ")) {
    Scan last(*units);
    if (last.past_last(" ")) set_if(event, "client", last.rest());
    std::string_view addr = scan.up_to(" ");
    if (!addr.empty() && addr.back() == '.') addr.remove_suffix(1);
    if (addr.substr(0, 2) == "0x") event.set_text("addr", addr);
  }
  if (scan.past("Fault is of type ")) set_if(event, "fault_type", scan.up_to(" "));
  if (scan.past("ACCESS_TYPE_")) set_if(event, "access", trim(scan.up_to(" .")));
}

// A name may hold commas itself: it ends at the one that a channel follows, or at the only one
// within the length of a name. Empty when it could be either of two, or is not known.
std::string_view owner_name(std::string_view text) {
  constexpr std::size_t kMaxComm = 15;
  constexpr std::string_view kUnknown = "<unknown>";
  if (contains(text.substr(0, text.find(',')), kUnknown)) return {};
  const std::string_view reach = text.substr(0, kMaxComm + 1);
  for (std::size_t at = 0; (at = reach.find(',', at)) != std::string_view::npos; ++at) {
    if (text.substr(at, 5) == ", Ch ") return text.substr(0, at);
  }
  const std::size_t first = reach.find(',');
  if (first == std::string_view::npos || reach.rfind(',') != first) return {};
  return text.substr(0, first);
}

// "pid=123, name=app, " ; what the driver does not know it prints as '<unknown>'.
void take_owner(Scan& scan, Event& event) {
  if (scan.literal("pid=")) {
    take_number(scan, event, "pid");
    scan.up_to(",");
    scan.literal(",");
    scan.blanks();
  }
  if (scan.literal("name=")) {
    const std::string_view name = owner_name(scan.rest());
    const std::string_view first = scan.up_to(",");
    if (name.size() > first.size()) scan = Scan(scan.rest().substr(name.size() - first.size()));
    if (is_comm(name)) event.set_text("comm", name);
    scan.literal(",");
    scan.blanks();
  }
}

Piece decode_xid(Scan scan, Event& event) {
  scan.literal("PCI:");
  const auto pci = scan.until("): ");
  if (!pci || !is_pci(*pci)) return {};
  const auto xid = scan.number();
  if (!xid || *xid < 0) return {};
  // Something always follows: at the end of the line the number is cut off, and with it the kind.
  if (!scan.literal(",")) return {};
  scan.blanks();
  event.reset(*xid == 31 ? EventKind::kGpuMmuFault : EventKind::kGpuXid);
  event.set_number("xid", *xid);
  event.set_text("pci", *pci);
  take_owner(scan, event);
  if (*xid == 31) take_xid_fault(scan.rest(), event);
  set_if(event, "text", trim(scan.rest()));
  // "Ch 00000001 caused by previous Xid 149"
  if (scan.past("caused by previous Xid ")) take_natural(scan, event, "previous_xid");
  return kWhole;
}

// Of NVIDIA's nvstatuscodes.h.
constexpr std::uint64_t kGpuIsLost = 0x0f;
constexpr std::uint64_t kInsufficientResources = 0x1a;
constexpr std::uint64_t kNoMemory = 0x51;
constexpr std::uint64_t kResetRequired = 0x62;

// The NV_STATUS of a message: "[NV_ERR_RESET_REQUIRED] (0x00000062)", "(status = 0x51)", the last
// of "paramsStatus=0x00000062; status=0x00000062". Empty where there is none, or it is cut off.
std::string_view nv_status(std::string_view text) {
  const auto whole = [](Scan scan) -> std::string_view {
    if (scan.rest().substr(0, 2) != "0x") return {};
    const auto digits = scan.hex();
    if (!digits) return {};
    const bool padded = digits->substr(0, 3) == "0x0";
    return scan.at_end() && padded && !is_whole_register(*digits) ? std::string_view() : *digits;
  };
  Scan named(text);
  if (named.past("[NV_ERR_") && named.past("] (")) return whole(named);
  constexpr std::string_view kLabel = "tatus";
  for (std::size_t at = text.rfind(kLabel); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : text.rfind(kLabel, at - 1)) {
    std::string_view rest = text.substr(at + kLabel.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" =:"), rest.size()));
    if (const std::string_view digits = whole(Scan(rest)); !digits.empty()) return digits;
  }
  return {};
}

// Sets the kind by the words of a message of NVIDIA's drivers; false when they report no trouble.
bool nvrm_error(std::string_view text, Event& event) {
  const Words words(text);
  EventKind kind = kind_by_words({}, text);
  const std::string_view printed = nv_status(text);
  const std::uint64_t status = parse_hex(printed).value_or(0);
  const bool no_memory = status == kNoMemory || status == kInsufficientResources ||
                         words.has_any({"no_memory", "insufficient_resources"});
  // "GspRmAlloc failed": what is allocated may be any object of the driver, and the status says why
  // it was not.
  const bool other = (status != 0 || words.has_any({"nv_err_", "rmalloc", "rmapialloc"})) &&
                     !no_memory && kind == EventKind::kGpuAllocFailure;
  if (other) kind = EventKind::kGpuError;
  const bool gone = status == kGpuIsLost || status == kResetRequired ||
                    words.has_any({"err_gpu_is_lost", "err_reset_required"});
  if (words.has("heartbeat timed out")) kind = EventKind::kFirmwareHang;
  if (words.has("fatal error")) kind = EventKind::kGpuError;
  const bool map =
      words.has_any({"failed to map", "unable to map", "can't map", " mapping failed",
                     "mapping creation failed", "remap_pfn_range"}) ||
      (words.has_any({"failed to create", "failed to insert"}) && words.has_word("mapping"));
  const bool refused = kind == EventKind::kGpuError || kind == EventKind::kGpuAllocFailure;
  if (refused && map && !gone && !words.has("no_memory")) kind = EventKind::kDmaMapFailure;
  const bool error = words.has_any({"rminitadapter", "fatal error", "fallen off the bus",
                                    "rmshutdownadapter failed", "gpu lost", "gsp rm", "gsp-rm"}) &&
                     (reports_failure(words) || words.has_any({"fatal", "lost", "off the bus"}));
  if (kind == EventKind::kGpuError && !error && !other && !(gone && reports_failure(words))) {
    return false;
  }
  event.reset(kind);
  if (kind == EventKind::kGpuError) set_if(event, "status", printed);
  if (kind == EventKind::kGpuEccError) set_severity(text, event);
  return true;
}

Piece decode_nvrm(Scan scan, Event& event) {
  std::string_view gpu = scan.rest();
  if (scan.literal("GPU") && scan.number() && scan.literal(" ")) {
    gpu = gpu.substr(0, gpu.size() - scan.rest().size() - 1);
  } else {
    scan = Scan(gpu);
    gpu = {};
  }
  if (scan.literal("Xid (")) return decode_xid(scan, event);
  // "GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0xffff:2477)"
  std::string_view pci;
  if (scan.literal("GPU ")) {
    pci = scan.up_to(" ");
    if (!pci.empty() && pci.back() == ':') pci.remove_suffix(1);
    if (!is_pci(pci)) return {};
    scan.blanks();
  }
  const std::string_view all = trim(scan.rest());
  const auto function = scan.until(": ");
  const bool named = function && is_c_name(*function);
  if (!nvrm_error(named ? trim(scan.rest()) : all, event)) return {};
  set_if(event, "dev", gpu);
  set_if(event, "pci", pci);
  if (named) event.set_text("function", *function);
  set_if(event, "text", named ? trim(scan.rest()) : all);
  return kWhole;
}

// "nvidia-uvm: uvm_gpu.c:2210 uvm_gpu_check_ecc_error[pid:2317] ECC error encountered, GPU ..."
Piece decode_uvm(Scan scan, Event& event) {
  const std::string_view all = scan.rest();
  if (!nvrm_error(all, event)) return {};
  const std::string_view file = scan.up_to(": ");
  if (scan.literal(":") && scan.number() && scan.literal(" ")) {
    const std::string_view function = scan.up_to("[( ");
    if (is_c_name(function)) event.set_text("function", function);
    if (scan.literal("[pid:")) take_natural(scan, event, "pid");
    scan.up_to(" ");
  } else {
    scan = Scan(file.empty() ? scan.rest() : all);
  }
  set_if(event, "text", trim(scan.rest()));
  return kWhole;
}

Piece decode_gpu(std::string_view text, Event& event) {
  Scan scan(text);
  if (scan.literal("NVRM: ")) return decode_nvrm(scan, event);
  if (scan.literal("nvidia-uvm: ") || scan.literal("nvidia-modeset: ")) {
    return decode_uvm(scan, event);
  }
  Message message;
  if (take_nvgpu(text, message)) return decode_nvgpu(message, event);
  bool known = false;
  for (std::size_t i = kFirstOldAnchor; i < kGpuAnchors.size(); ++i)
    known = known || contains(text, kGpuAnchors[i]);
  if (known && take_gk20a(text, message)) return known_text(message, event);
  return {};
}

struct Meaning {
  std::int64_t number;
  std::string_view text;
};

constexpr std::array kXids{
    Meaning{8, "the GPU stopped working on it"},
    Meaning{13, "the graphics engine met an error, usually a fault of the program"},
    Meaning{31, "MMU fault"},
    Meaning{32, "damaged command buffer"},
    Meaning{38, "driver firmware error"},
    Meaning{43, "the GPU stopped working on it, usually a fault of the program"},
    Meaning{44, "fault while switching contexts"},
    Meaning{45, "the program's channels were removed, often after another error"},
    Meaning{48, "uncorrectable memory error (double-bit ECC)"},
    Meaning{61, "the GPU's own controller stopped"},
    Meaning{62, "the GPU's own controller halted"},
    Meaning{63, "a memory row or page was taken out of use"},
    Meaning{64, "a memory row or page could not be taken out of use"},
    Meaning{68, "the video decoder met an error"},
    Meaning{69, "the graphics engine refused a command"},
    Meaning{74, "NVLink error"},
    Meaning{79, "the GPU has fallen off the bus"},
    Meaning{92, "many corrected memory errors"},
    Meaning{94, "memory error, contained to one program"},
    Meaning{95, "memory error that spread: the GPU needs a reset"},
    Meaning{109, "context switch timed out"},
    Meaning{119, "the GPU's firmware (GSP) does not answer"},
    Meaning{120, "the GPU's firmware (GSP) met an error"},
    Meaning{143, "the GPU could not be started"},
    Meaning{144, "NVLink error"},
    Meaning{145, "NVLink error"},
    Meaning{146, "NVLink error"},
    Meaning{147, "NVLink error"},
    Meaning{148, "NVLink error"},
    Meaning{149, "NVLink error"},
    Meaning{150, "NVLink error"},
    Meaning{154, "the GPU needs another recovery action than before"},
};

constexpr std::array kNotifiers{
    Meaning{8, "the channel made no progress in time"},
    Meaning{12, "illegal method"},
    Meaning{13, "the graphics engine met an error"},
    Meaning{24, "waited too long for a semaphore"},
    Meaning{25, "illegal notification"},
    Meaning{31, "MMU fault"},
    Meaning{32, "damaged command buffer"},
};

template <class Table>
void add_meaning(std::string& out, const Table& table, std::optional<std::int64_t> number) {
  for (const Meaning& meaning : table) {
    if (number && meaning.number == *number) out.append(" (").append(meaning.text).append(")");
  }
}

void describe_fault(const Event& event, std::string& out) {
  out += "the GPU";
  add_name(out, event, "dev", " ");
  add_name(out, event, "pci", " ");
  out += " reported an MMU fault";
  add_name(out, event, "addr", " at address ");
  add_quote(out, event, "fault_type", " (", ")");
  add_quote(out, event, "access", ", ", " access");
  add_number(out, event, "tsg", ", channel group ");
  add_number(out, event, "channel", ", channel ");
  if (event.has("comm") || event.has("pid")) out += ", in " + process_in_words(event);
}

void describe_error(const Event& event, std::string& out) {
  out += "the driver of the GPU";
  add_name(out, event, "dev", " ");
  if (const auto number = event.number("notifier")) {
    out += " gave up a channel with error ";
    out += std::to_string(*number);
    add_meaning(out, kNotifiers, number);
    add_number(out, event, "channel", ", channel ");
    if (event.has("comm")) out += ", in " + process_in_words(event);
    return;
  }
  out += " reports an error";
  add_name(out, event, "function", " in ", {}, 60);
  add_quote(out, event, "text", ", \"", "\"", 160);
}

void describe_alloc(const Event& event, std::string& out) {
  out += "the driver of the GPU";
  add_name(out, event, "dev", " ");
  out += " could not allocate memory";
  if (const auto size = event.number("size")) {
    out += ", " + size_in_words((*size >> 10) + (*size % 1024 != 0)) + " requested";
  }
  add_name(out, event, "flags", " with ");
  add_quote(out, event, "text", ", \"", "\"", 160);
}

void describe_xid(const Event& event, std::string& out) {
  out += "the GPU";
  add_name(out, event, "pci", " ");
  add_number(out, event, "xid", " reports Xid ");
  add_meaning(out, kXids, event.number("xid"));
  if (event.has("comm") || event.has("pid")) out += ", in " + process_in_words(event);
  add_quote(out, event, "text", ", \"", "\"", 160);
}

void describe_ecc(const Event& event, std::string& out) {
  out += "the GPU";
  add_name(out, event, "dev", " ");
  add_name(out, event, "pci", " ");
  out += " found an error in its own memory or caches (ECC)";
  add_name(out, event, "severity", ", ");
  add_name(out, event, "function", ", in ", {}, 60);
  add_quote(out, event, "text", ", \"", "\"", 120);
}

void describe_gpu(const Event& event, std::string& out) {
  if (event.kind() == EventKind::kGpuMmuFault) describe_fault(event, out);
  if (event.kind() == EventKind::kGpuError) describe_error(event, out);
  if (event.kind() == EventKind::kGpuAllocFailure) describe_alloc(event, out);
  if (event.kind() == EventKind::kGpuEccError) describe_ecc(event, out);
  if (event.kind() == EventKind::kGpuXid) describe_xid(event, out);
}

}  // namespace

const Family kGpu{
    .name = "gpu", .anchors = kGpuAnchors, .decode = decode_gpu, .describe = describe_gpu};

}  // namespace jetmem::kernel_log
