// SPDX-License-Identifier: Apache-2.0
// Memory that drivers do not get, cannot map for their device or do not give back, in the drivers'
// own words. A message is believed where a driver or device is named in front of it, and when its
// words name both a failure and memory. What has a form of its own is decoded by other families
// before this one.
#include <algorithm>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 53> kDriverMemoryAnchors{"ailed",
                                                                "ailure",
                                                                "fail ",
                                                                "FAILED",
                                                                "nable to",
                                                                "annot ",
                                                                "an't ",
                                                                "an not ",
                                                                "ould not ",
                                                                "ouldn't ",
                                                                "o memory",
                                                                "o mem ",
                                                                "ut of mem",
                                                                "OUT OF MEM",
                                                                "ot enough",
                                                                "o enough",
                                                                "ENOMEM",
                                                                "nsufficient",
                                                                "o space",
                                                                "rror alloc",
                                                                "rror mapping",
                                                                "xhausted",
                                                                "verflow",
                                                                "emory full",
                                                                "OOM all",
                                                                " leak",
                                                                " stale for ",
                                                                "still mapped",
                                                                "still in use",
                                                                "not clean during",
                                                                " busy",
                                                                "pending DMA",
                                                                "ut of I/O virtual memory",
                                                                "1:1 IOMMU mapping",
                                                                "unaligned: iova",
                                                                "is leaving buffer",
                                                                "leaving buffers",
                                                                "timeout when allocating",
                                                                "for a preserved mapping",
                                                                "nvalid iova",
                                                                "lloc fail",
                                                                "apping error",
                                                                "rr mapping",
                                                                "rr reserving",
                                                                "rror reserving",
                                                                " Leak",
                                                                "till allocated",
                                                                "naligned: iova",
                                                                "is beyond device",
                                                                "ap error",
                                                                "returned zero length",
                                                                "outstanding dma maps",
                                                                "o memory to alloc"};

// Things that are allocated and are no memory.
bool is_no_memory(const Words& words) {
  // A fact about memory, and not memory: "failed to get mem bw".
  if (words.has_any({"mem bw", "mem info", "memory bw", "memory info", "memory size", "memory type",
                     "memory range", "memory layout", "memory config", "memory timing",
                     "mirrored memory", "no memory region",
                     "base 0x0000000000000000, size 0 mib"})) {
    return true;
  }
  return words.has_any_word({"irq",           "irqs",      "msi",    "vector",    "vectors",
                             "minor",         "major",     "chrdev", "gpio",      "gpios",
                             "pwm",           "bandwidth", "ida",    "idr",       "bar",
                             "interrupt",     "clock",     "clk",    "regulator", "phy",
                             "firmware file", "usb_device"}) ||
         words.has_any(
             {"char dev",        "device number",    "dma chan",         "address space",
              "bus number",      "id for",           "interface number", "-517",
              "defer",           "ioremap",          "syncpoint",        "syncpt",
              "memory-region",   "memory resource",  "mem resource",     "region resource",
              "i/o memory",      "io memory",        "io mem",           "registers",
              "regmap",          "pinctrl",          "eeprom",           "nvmem",
              "memory clock",    "memory bandwidth", "module memory",    "checksum",
              "page allocation", "vmalloc",          "req-size: "});
}

bool names_graphics(const DriverLine& line) {
  return is_graphics_driver(line) || is_driver(line, {"ttm", "nvidia-drm"});
}

bool reports_leak(const Words& words) {
  // The last two: an overlay of the device tree may not be removed, which nobody does.
  if (words.has_any({"leak detector", "leakage", "leak check", "no leak", "memory leak, expected",
                     "memory leak will occur", "changeset", "kmemleak_object"})) {
    return false;
  }
  return words.has_any({"leak", "stale for device", "still mapped in", "pages are still in use",
                        "not clean during takedown", "pending dma allocations", "leaving buffer",
                        "put for a preserved mapping", "bos still allocated"}) ||
         (words.has("dma_pool_destroy") && words.has_word("busy"));
}

bool reports_no_iova(const Words& words) {
  if (words.has("out of i/o virtual memory")) return true;
  const bool space = words.has_any({"iova region", "iova range", "iova space", "allocate iova",
                                    "alloc iova", "allocating iova", "reserve iova", "no iova",
                                    "iova exhausted", "iova alloc"}) ||
                     (words.has("reserve block") && words.has("iova"));
  return space && reports_failure(words);
}

// The program's own address has no memory behind it: "failed to get pages from virtual adrees",
// "Can not alloc rga_virt_addr from 0x7f4b172040", "get_user_pages failed".
bool reports_no_user_pages(const Words& words) {
  return reports_failure(words) && !words.has_any({"no memory", "enomem", "-12"}) &&
         words.has_any({"pages from virt", "user pages", "user_pages", "virt_addr from",
                        "virtual address from"});
}

bool reports_no_map(const Words& words) {
  if (words.has_any({"overflow (mask", "of dma mask", "unaligned: iova", "1:1 iommu mapping",
                     "accommodate dma translation"})) {
    return true;
  }
  if (reports_no_user_pages(words)) return true;
  if (!reports_failure(words) && !words.has("invalid iova")) return false;
  if (words.has_any({"ioremap", "register", "irq", "interrupt", "regmap", "keymap", "pinctrl",
                     "gpio", "map file", "bitmap", "mmap file"})) {
    return false;
  }
  const bool verb = words.has_any_word({"map",
                                        "maps",
                                        "mapping",
                                        "mapped",
                                        "remap",
                                        "remapping",
                                        "pin",
                                        "pinned",
                                        "pinning",
                                        "vmap",
                                        "iova",
                                        "scatterlist",
                                        "sg_table",
                                        "sgt",
                                        "iommu",
                                        "dmabufs",
                                        "dmabuf",
                                        "dma-buf",
                                        "dma_map_single",
                                        "dma_map_sg",
                                        "dma_map_page"}) ||
                    words.has_any({"_map_", "dma map", "dma_attach"});
  const bool noun =
      words.has_any({"dma",        "iova",       "buffer", "mem",   "sg",    "scatterlist",
                     "plane",      "attachment", "page",   "skb",   "tx",    "rx",
                     "list",       "vmap",       "iommu",  "surf",  "frame", "bo ",
                     "descriptor", "nvkms",      "region", "addr",  "dram",  "handle",
                     "map data",   "table",      "pa ",    "cmdbuf"}) ||
      words.has_any({"get mapping"});
  return verb && noun;
}

// "could not map", "map failed": what fails is the mapping, whatever else the message names.
bool maps_first(const Words& words) {
  return reports_no_user_pages(words) ||
         words.has_any({"to map", "not map", "map fail", "mapping fail", "failed mapping", "to pin",
                        "not pin", "pin fail", "to vmap", "not vmap", "error mapping",
                        "iova failed", "mapping error", "map error", "dma_map_sg returned"});
}

bool reports_no_memory(const Words& words) {
  if (!reports_failure(words) && !words.has("timeout when allocating")) return false;
  if (words.has("alloc") ||
      words.has_any({"no memory", "out of mem", "not enough mem", "enomem", "no enough mem",
                     "memory full", "no mem ", "-enomem", "insufficient mem"})) {
    return true;
  }
  if (words.has_any({"read", "write", "parse", "find", "load", "init", "test", "hotplug", "online",
                     "offline", "suspend", "resume", "dump", "copy"})) {
    return false;
  }
  // "failed to get task[2] mem", "could not get pages", "could not create command buffer",
  // "memory setup failed"
  const bool gets = words.has_any({" get ", " create ", "setup", "reserve", "obtain"});
  return gets &&
         words.has_any_word({"mem", "memory", "pages", "buffer", "cmdbuf", "pool", "carveout"});
}

// The number right here behind a label, in decimal or with 0x; in brackets too.
std::optional<std::int64_t> take_labelled(Scan& scan) {
  scan.literal(":");
  scan.literal("=");
  scan.blanks();
  const bool bracket = scan.literal("(");
  std::optional<std::int64_t> value;
  if (scan.rest().substr(0, 2) == "0x") {
    const auto digits = scan.hex();
    const auto bits = digits ? parse_hex(*digits) : std::nullopt;
    if (!bits || *bits > INT64_MAX) return std::nullopt;
    value = static_cast<std::int64_t>(*bits);
  } else {
    // "64M" goes on with its unit.
    value = scan.number();
    if (!value || *value < 0) return std::nullopt;
  }
  // Nothing closes the bracket: the line was cut off, and perhaps the number with it.
  if (bracket && scan.at_end()) return std::nullopt;
  return value;
}

// The size behind `label`, which is a word of its own: "page_size" is another one's. Pages are
// counted apart, since their size is the kernel's own.
bool set_size_behind(std::string_view text, std::string_view label, Event& event) {
  for (std::size_t at = text.find(label); at != std::string_view::npos;
       at = text.find(label, at + 1)) {
    Scan scan(text.substr(at + label.size()));
    if ((at > 0 && is_name_char(text[at - 1])) || !at_word_end(scan)) continue;
    const auto number = take_labelled(scan);
    if (!number) continue;
    if (const auto bytes = in_bytes(*number, scan.rest())) {
      event.set_number("size", *bytes);
    } else if (trim(scan.rest()).starts_with("page")) {
      event.set_number("pages", *number);
    }
    return true;
  }
  return false;
}

// The number right before `unit`.
std::optional<std::int64_t> number_before(std::string_view text, std::string_view unit) {
  const std::size_t end = text.find(unit);
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && is_name_char(text[begin - 1])) --begin;
  const std::string_view digits = text.substr(begin, end - begin);
  if (digits.substr(0, 2) == "0x") {
    const auto value = parse_hex(digits);
    if (!value || *value > INT64_MAX) return std::nullopt;
    return static_cast<std::int64_t>(*value);
  }
  const auto value = parse_i64(digits);
  return value && *value >= 0 ? value : std::nullopt;
}

void set_size(std::string_view text, Event& event) {
  for (const std::string_view unit : {" bytes", " byte "}) {
    const auto size = number_before(text, unit);
    if (!size) continue;
    event.set_number("size", *size);
    return;
  }
  for (const std::string_view label : {"of size", "with size", "size", "sz", "len"}) {
    if (set_size_behind(text, label, event)) return;
  }
}

// "-12" as a word of its own, or "err=-12".
void set_errno(std::string_view text, Event& event) {
  for (std::size_t at = text.find('-'); at != std::string_view::npos; at = text.find('-', at + 1)) {
    const bool begins = at == 0 || !is_name_char(text[at - 1]);
    Scan scan(text.substr(at));
    const auto value = begins ? scan.number() : std::nullopt;
    constexpr std::int64_t kMostErrno = 4095;
    if (!value || *value >= 0 || *value < -kMostErrno || !at_word_end(scan)) continue;
    event.set_number("errno", *value);
    return;
  }
}

// The driver does without, or in another way: "falling back to standard DMA", "using PIO". Memory
// that an NVMe drive asks for is a loan that it can do without.
bool goes_on_without(const Words& words) {
  if (words.has("host memory buffer")) return true;
  if (words.has_any({"no fallback", "without fallback", "fallback fail", "fallback alloc"})) {
    return false;
  }
  return words.has_any({"falling back", "falls back", "fall back", "fallback", "using pio"});
}

Piece event_of(EventKind kind, const DriverLine& line, const Words& words, Event& event) {
  event.reset(kind);
  set_if(event, "dev", line.dev);
  if (line.dev.empty()) set_if(event, "driver", line.driver);
  set_if(event, "function", line.function);
  set_size(line.text, event);
  set_errno(line.text, event);
  if (goes_on_without(words)) event.set_bool("fallback", true);
  event.set_text("text", line.text);
  return {.role = Role::kWhole, .by_words = true};
}

EventKind kind_of_refusal(const DriverLine& line, const Words& words) {
  if (words.has_any({"carveout", "carve-out"})) return EventKind::kReservedMemoryFailure;
  if (line.drm || names_graphics(line)) return EventKind::kGpuAllocFailure;
  if (words.has("contiguous pages") || words.has_word("cma")) return EventKind::kCmaAllocFailure;
  // What a device reads by itself: rings of descriptors, command buffers, memory shared with a
  // processor on the chip; and a buffer of which the driver prints the size.
  const bool shared = words.has_any({"dma", "coherent", "descriptor", "pushbuffer", "push buffer",
                                     "host memory", "ipc memory", "ipc region"});
  const bool sized = words.has_any({"of size", "for size"}) && words.has_any({"buffer", "memory"});
  const bool dma = (shared || sized) && !words.has_any({"msg", "skb"});
  return dma ? EventKind::kDmaAllocFailure : EventKind::kDriverAllocFailure;
}

struct Known {
  std::string_view begin;
  EventKind kind;
};

// Messages that nobody is named in front of, most of them of a WARN().
constexpr std::array kWithoutHead{
    Known{"Failed to set up IOMMU for device ", EventKind::kDmaMapFailure},
    Known{"Remapping memory failed, error: ", EventKind::kDmaMapFailure},
    Known{"Memory manager not clean during takedown", EventKind::kBufferLeak},
    Known{"Can't allocate a compression stream", EventKind::kDriverAllocFailure},
    Known{"unaligned: iova ", EventKind::kDmaMapFailure},
    Known{"outstanding dma maps from ", EventKind::kBufferLeak},
};

// "Letting 17 allocs leak!!", "12 pages are still in use!"
bool counts_leak(std::string_view text) {
  Scan scan(text);
  if (scan.literal("Letting ")) return scan.number() && scan.literal(" allocs leak");
  return is_digit(text.empty() ? '\0' : text.front()) && scan.number() &&
         scan.literal(" pages are still in use!");
}

// "mem_request : 123, dram_app_mem : memory full"
Piece memory_request(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("mem_request : ") || !scan.past(", ")) return {};
  const Words words(scan.rest());
  const bool full = words.has_any({"memory full", "no enough memory"});
  if (!full && !reports_no_memory(words)) return {};
  event.reset(full ? EventKind::kReservedMemoryFailure : EventKind::kDriverAllocFailure);
  event.set_text("function", "mem_request");
  event.set_text("text", scan.rest());
  return {.role = Role::kWhole};
}

Piece without_head(std::string_view text, Event& event) {
  for (const Known& known : kWithoutHead) {
    if (text.substr(0, known.begin.size()) != known.begin) continue;
    event.reset(known.kind);
    if (known.kind == EventKind::kDmaMapFailure && text.substr(0, 7) == "Failed ") {
      Scan scan(text.substr(known.begin.size()));
      const std::string_view dev = scan.up_to(" ;");
      if (is_kernel_name(dev)) event.set_text("dev", dev);
    }
    set_errno(text, event);
    event.set_text("text", text);
    return {.role = Role::kWhole};
  }
  if (counts_leak(text)) {
    event.reset(EventKind::kBufferLeak);
    event.set_text("text", text);
    return {.role = Role::kWhole};
  }
  return memory_request(text, event);
}

// "__vm_enough_memory: pid: 4242, comm: trtexec, bytes: 1073741824 not enough memory for the
// allocation"
Piece overcommit(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("__vm_enough_memory: pid: ")) return {};
  event.reset(EventKind::kDriverAllocFailure);
  event.set_text("function", "__vm_enough_memory");
  if (!take_natural(scan, event, "pid") || !scan.literal(", comm: ")) return {};
  const auto comm = scan.until_last(", ");
  if (!comm || !is_comm(*comm)) return {};
  event.set_text("comm", *comm);
  scan.literal("bytes: ");
  if (const auto size = scan.number(); size && *size >= 0) event.set_number("size", *size);
  if (!contains(scan.rest(), "not enough memory for ")) return {};
  return {.role = Role::kWhole};
}

// What a device calls itself, and not what its driver says. The USB core prints more such texts
// than these three.
bool quotes(const DriverLine& line) {
  constexpr std::array<std::string_view, 4> kStrings{
      "Product: ", "Manufacturer: ", "SerialNumber: ", "input: "};
  const bool known = std::any_of(kStrings.begin(), kStrings.end(), [&](std::string_view string) {
    return line.text.starts_with(string);
  });
  const std::string_view first = line.text.substr(0, line.text.find(' '));
  return known || (line.driver == "usb" && first.ends_with(':'));
}

// Blocks of a file system, entries of a table, tags of a queue. Of a device's driver such a table
// is memory: "failed to allocate l2 stream table".
bool counts_entries(const DriverLine& line, const Words& words) {
  const bool device = !line.dev.empty() && line.dev != line.driver;
  return !device &&
         words.has_any_word({"block", "blocks", "cluster", "clusters", "inode", "inodes", "table",
                             "tables", "tag", "tags"}) &&
         !words.has_any({"mem", "buffer", "dma", "page", "sg", "scatter", "coherent", "heap",
                         "pool", "translation", "-12", "bytes"});
}

// "TCP: out of memory -- consider tuning tcp_mem": what all sockets may hold together, a setting.
bool is_socket_limit(const DriverLine& line, const Words& words) {
  if (words.has_any({"tcp_mem", "udp_mem"})) return true;
  return line.dev.empty() && (line.driver == "TCP" || line.driver == "MPTCP" ||
                              line.driver == "UDP" || line.driver == "sctp");
}

// "open: Cannot allocate memory": the C library's words for an errno, behind the name of a call or
// a program. Of a device's driver they are its own.
bool is_program_error(const DriverLine& line) {
  std::string_view text = line.text;
  if (text.starts_with("[Errno 12] ")) text.remove_prefix(11);
  if (text.ends_with('.')) text.remove_suffix(1);
  // "mount: /mnt: Cannot allocate memory."
  return line.dev.empty() &&
         (text == "Cannot allocate memory" || text.ends_with(": Cannot allocate memory"));
}

// Nobody is named in front, as in many WARN() and in drivers without a pr_fmt: "Failed to allocate
// memory for base". Then the sentence must begin with the failure and
// go on with what was refused; less is an errno in words, which any program prints.
bool begins_with_refusal(std::string_view text, const Words& words) {
  // All longer than a task's name, with which a sentence of jetmem's may begin.
  constexpr std::array<std::string_view, 7> kBegins{
      "failed to allocate", "unable to allocate", "could not allocate", "couldn't allocate",
      "fail to allocate",   "failed allocating",  "no memory to alloc"};
  constexpr std::size_t kShortest = 22;
  if (text.size() < kShortest || contains(text, ": ") ||
      words.has_any({"cannot allocate memory", "algorithm", "resource"})) {
    return false;
  }
  return std::any_of(kBegins.begin(), kBegins.end(),
                     [&](std::string_view begin) { return words.begins(begin); });
}

Piece by_words(std::string_view text, Event& event) {
  DriverLine line = driver_line(text);
  if (!line.has_head) {
    line.text = trim(text);
    if (!begins_with_refusal(line.text, Words(line.text))) return {};
  }
  if (line.text.empty() || quotes(line)) return {};
  if (is_program_error(line)) return {};
  // The whole lines of CMA have a family of their own; the others are cut. "kernel" is syslog's
  // tag.
  if (line.dev.empty() && (line.driver == "cma" || line.driver == "kernel")) return {};
  const Words words(line.text);
  if (is_socket_limit(line, words) || counts_entries(line, words)) return {};
  if (reports_leak(words)) return event_of(EventKind::kBufferLeak, line, words, event);
  if (is_no_memory(words)) return {};
  const bool no_memory = reports_no_memory(words);
  const bool pool =
      words.has_any({"restricted-dma-pool", "restricted dma pool", "reserved memory is beyond"});
  if (pool && (reports_failure(words) || words.has_any({"is beyond", "must be accessible"}))) {
    return event_of(EventKind::kReservedMemoryFailure, line, words, event);
  }
  const bool iova_manager =
      no_memory && Words(text.substr(0, text.size() - line.text.size())).has("iova");
  if (reports_no_iova(words) || iova_manager) {
    return event_of(EventKind::kIovaExhausted, line, words, event);
  }
  if (reports_no_map(words) && (!no_memory || maps_first(words))) {
    return event_of(EventKind::kDmaMapFailure, line, words, event);
  }
  if (!no_memory) return {};
  Piece piece = event_of(kind_of_refusal(line, words), line, words, event);
  // A table of who holds the memory may follow (gpu/graphics.cc).
  if (event.kind() == EventKind::kGpuAllocFailure) piece.role = Role::kOpens;
  return piece;
}

Piece decode_driver_memory(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  if (text.size() < 12) return {};
  const Piece piece = first_piece({overcommit, without_head, by_words}, text, event);
  if (piece.role == Role::kNothing || !contains_any(text, kDriverMemoryAnchors)) return {};
  return piece;
}

void describe_driver_memory(const Event& event, std::string& out) {
  std::string who = "a driver";
  if (event.has("dev")) {
    who = "the driver of " + name_in_words(event.text("dev"));
  } else if (event.has("driver")) {
    who = "the driver " + name_in_words(event.text("driver"));
  } else if (event.has("comm")) {
    who = process_in_words(event);
  } else if (!event.has("function")) {
    who = "a driver or program";
  }
  const auto size = event.number("size");
  const std::string amount =
      size ? size_in_words((*size >> 10) + (*size % 1024 != 0)) + " of " : "";
  switch (event.kind()) {
    case EventKind::kDriverAllocFailure:
      out += who + " was refused " + amount + "memory";
      break;
    case EventKind::kDmaMapFailure:
      out += who + " could not map " + amount + "memory for its device";
      break;
    case EventKind::kIovaExhausted:
      out += who + " found no room for " + amount + "memory in its device's DMA address space";
      break;
    case EventKind::kBufferLeak:
      out += who + " did not release all of its buffers";
      break;
    default:
      return;
  }
  add_number(out, event, "errno", " (error ", ")");
  if (event.boolean("fallback").value_or(false)) out += "; it continues without it";
  add_quote(out, event, "text", ", \"", "\"", 120);
}

}  // namespace

const Family kDriverMemory{.name = "driver_memory",
                           .anchors = kDriverMemoryAnchors,
                           .decode = decode_driver_memory,
                           .describe = describe_driver_memory};

}  // namespace jetmem::kernel_log
