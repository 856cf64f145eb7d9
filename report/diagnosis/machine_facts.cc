// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/machine_facts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/text.h"

namespace jetmem::diagnosis {
namespace {

constexpr double kBlock2m = 2 << 20;

bool is_word_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

// What stands behind `mark`, up to a blank or one of `ends`; empty where there is no mark.
std::string_view word_behind(std::string_view text, std::string_view mark,
                             std::string_view ends = " \t") {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  std::string_view rest = text.substr(at + mark.size());
  skip_blanks(rest);
  return rest.substr(0, rest.find_first_of(ends));
}

// "36.4.7" out of "R36 (release), REVISION: 4.7, ..."
std::string release_of_file(std::string_view text) {
  const std::size_t at = text.find(" (release), REVISION: ");
  if (at == std::string_view::npos) return {};
  const std::size_t major = text.rfind('R', at);
  const std::string_view minor = word_behind(text, "REVISION:", ", \t");
  if (major == std::string_view::npos || minor.empty()) return {};
  const std::string_view number = text.substr(major + 1, at - major - 1);
  if (!std::all_of(number.begin(), number.end(), is_digit) || number.empty()) return {};
  return printable(std::string(number) + "." + std::string(minor), 20);
}

// "R36.4.7", "L4T 36.4.7", "nvidia-l4t-core 36.4.7-2025...".
std::string release_in_words(std::string_view text) {
  for (const std::string_view mark : {"nvidia-l4t-core", "L4T", "Jetson Linux"}) {
    std::size_t at = text.find(mark);
    if (at == std::string_view::npos) continue;
    at += mark.size();
    while (at < text.size() && !is_digit(text[at]) && at < text.find(mark) + mark.size() + 4) ++at;
    std::size_t end = at;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    std::string out(text.substr(at, end - at));
    while (!out.empty() && out.back() == '.') out.pop_back();
    if (std::count(out.begin(), out.end(), '.') >= 1) return out;
  }
  return {};
}

// "(128MB)", "64 MiB", "120.44 MiB": the number before the unit, which may be missing (npos).
std::optional<double> mebibytes_before(std::string_view text, std::size_t unit) {
  if (unit == std::string_view::npos) return std::nullopt;
  std::size_t end = unit;
  while (end > 0 && is_blank(text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && (is_digit(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  std::string_view digits = text.substr(begin, end - begin);
  const std::size_t point = digits.find('.');
  const auto number = parse_u64(digits.substr(0, point));
  if (!number || *number > (1U << 24)) return std::nullopt;
  double value = static_cast<double>(*number);
  if (point != std::string_view::npos) {
    double place = 0.1;
    for (const char c : digits.substr(point + 1)) {
      if (!is_digit(c)) return std::nullopt;
      value += place * (c - '0');
      place /= 10;
    }
  }
  return value * (1 << 20);
}

// What a program prints when it is refused memory: how much is free afterwards is not what it met.
bool is_refusal(std::string_view text) {
  for (const std::string_view words :
       {"out of memory", "ailed to allocate", "llocation failed", "cudaMalloc failed",
        "nable to allocate", "NvMapMemAllocInternalTagged"}) {
    if (contains(text, words)) return true;
  }
  return false;
}

// Of programs and drivers that a known issue is about.
constexpr std::array kPrograms{
    std::pair{std::string_view("jetson-inference"), std::string_view("jetson-inference")},
    std::pair{std::string_view("jetson-utils"), std::string_view("jetson-inference")},
    std::pair{std::string_view("[gstreamer] gstDecoder"), std::string_view("jetson-inference")},
    std::pair{std::string_view("nouveau 0"), std::string_view("nouveau")},
    std::pair{std::string_view("rtl8192ee 0"), std::string_view("rtl8192ee")}};

std::optional<double> size_in(std::string_view text, double unit) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  const auto number = parse_u64(text.substr(0, digits));
  if (!number) return std::nullopt;
  return static_cast<double>(*number) * unit;
}

// "v3d" out of " v3d_reset+0x80/0xa0 [v3d]".
std::string_view module_of_frame(std::string_view text) {
  const std::size_t open = text.rfind(" [");
  const std::size_t close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 3) {
    return {};
  }
  // An offset stands in every frame, but for those of 32-bit ARM: "a from b+0x1/0x2 [mod]".
  if (text.find("+0x") == std::string_view::npos || text.find("/0x") == std::string_view::npos) {
    return {};
  }
  const std::string_view name = text.substr(open + 2, close - open - 2);
  if (name.size() > 40 || !std::all_of(name.begin(), name.end(), is_word_char)) return {};
  // "[<ffffff80>]" and "[ 12.3]" are no names; "[ERR]" is a level.
  const bool is_name =
      std::any_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return is_name ? name : std::string_view();
}

// "cma_alloc" out of " cma_alloc+0x190/0x2d4"; behind "? " the kernel is not sure of it.
std::string_view function_of_frame(std::string_view text) {
  const std::size_t offset = text.find("+0x");
  if (offset == std::string_view::npos || text.find("/0x", offset) == std::string_view::npos) {
    return {};
  }
  std::size_t begin = offset;
  while (begin > 0 && (is_word_char(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  if (text.substr(0, begin).ends_with("? ")) return {};
  const std::string_view name = text.substr(begin, offset - begin);
  // What the compiler made of it: "cma_alloc.part.0".
  return name.substr(0, name.find('.'));
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// So many lines belong to the report of a task that waits.
constexpr int kReportLines = 60;

}  // namespace

MachineFacts facts_of(const DeviceNow& now) {
  MachineFacts out;
  if (const auto infos = now.samples.family("jetmem_device_info"); !infos.empty()) {
    out.l4t = printable(infos[0].label("l4t"), 40);
    out.kernel = printable(infos[0].label("kernel"), 80);
    out.board = printable(infos[0].label("model"), 80);
  }
  out.total = now.samples.meminfo("MemTotal");
  out.free = now.samples.meminfo("MemFree");
  out.available = now.samples.meminfo("MemAvailable");
  out.cma_total = now.samples.meminfo("CmaTotal");
  for (const Sample& each : now.samples.family("jetmem_cma_largest_free_run_bytes")) {
    out.cma_largest = std::max(out.cma_largest.value_or(0), each.value);
  }
  // Both families have the same labels in the same order: a block's size is the quotient.
  const auto blocks = now.samples.family("jetmem_buddy_free_blocks");
  const auto sizes = now.samples.family("jetmem_buddy_free_bytes");
  for (std::size_t i = 0; i < std::min(blocks.size(), sizes.size()); ++i) {
    if (blocks[i].value > 0 && blocks[i].label("order") == "0") {
      out.page_size = sizes[i].value / blocks[i].value;
    }
    const bool is_large = blocks[i].value > 0 && sizes[i].value / blocks[i].value >= kBlock2m;
    out.bytes_in_2m_blocks = out.bytes_in_2m_blocks.value_or(0) + (is_large ? sizes[i].value : 0);
  }
  return out;
}

void LogFacts::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (held_.empty() && end != std::string_view::npos && !overlong_) {
      line(part.substr(0, kMaxLine));
    } else {
      held_.append(part.substr(0, kMaxLine - std::min(held_.size(), kMaxLine)));
      overlong_ = overlong_ || held_.size() >= kMaxLine;
      if (end != std::string_view::npos) finish();
    }
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
  }
}

void LogFacts::stuck_frame(std::string_view function) {
  if (facts_.stuck_in_contiguous.empty() &&
      is_one_of(function, {"cma_alloc", "__cma_alloc", "alloc_contig_range", "alloc_contig_pages",
                           "alloc_contig_range_noprof", "alloc_contig_pages_noprof",
                           "__alloc_contig_migrate_range", "dma_alloc_contiguous",
                           "dma_alloc_from_contiguous"})) {
    facts_.stuck_in_contiguous = function;
  }
  if (facts_.stuck_in_reclaim.empty() &&
      is_one_of(function,
                {"try_to_free_pages", "__alloc_pages_direct_compact", "try_to_compact_pages",
                 "__alloc_pages_direct_reclaim", "throttle_direct_reclaim", "shrink_node",
                 "shrink_lruvec", "shrink_inactive_list", "drain_all_pages", "reclaim_throttle"})) {
    facts_.stuck_in_reclaim = function;
  }
}

void LogFacts::finish() {
  if (!held_.empty()) line(held_);
  held_.clear();
  overlong_ = false;
}

void LogFacts::line(std::string_view text) {
  if (contains(text, "blocked for more than") || contains(text, "blocked in I/O wait")) {
    stuck_lines_ = kReportLines;
    ++facts_.stuck_tasks;
  } else if (contains(text, "cut here ]") || contains(text, "WARNING: ") ||
             contains(text, "BUG: ") || contains(text, "invoked oom-killer") ||
             contains(text, "page allocation failure")) {
    stuck_lines_ = 0;
  } else if (stuck_lines_ > 0) {
    --stuck_lines_;
    stuck_frame(function_of_frame(text));
  }
  if (const std::string_view module = module_of_frame(text); !module.empty()) {
    if (facts_.backtrace_modules.size() < kMaxModules) {
      facts_.backtrace_modules.emplace(module);
    }
  }
  // Frames of 32-bit ARM alone read like this.
  if (contains(text, "unwind_backtrace") &&
      (contains(text, " from [<c0") || contains(text, " from show_stack"))) {
    facts_.is_32_bit_arm = true;
  }
  if (facts_.command_line.empty() && contains(text, "Kernel command line: ")) {
    facts_.command_line = printable(text.substr(text.find("Kernel command line: ") + 21), kMaxLine);
  }
  if (facts_.kernel.empty()) {
    std::string_view version = word_behind(text, "Linux version ");
    // "CPU: 3 PID: 118 Comm: kworker/3:1H Tainted: G         C        4.19.63-v8-g75f1d14ce #1"
    if (version.empty() && (contains(text, "ainted: ") || contains(text, "Not tainted ")) &&
        contains(text, " #")) {
      const std::string_view head = trim(text.substr(0, text.find(" #")));
      version = head.substr(head.find_last_of(" \t") + 1);
    }
    if (!version.empty() && is_digit(version[0])) facts_.kernel = printable(version, 80);
  }
  if (facts_.l4t.empty()) facts_.l4t = release_of_file(text);
  if (facts_.l4t.empty()) facts_.l4t = release_in_words(text);
  for (const auto& [words, program] : kPrograms) {
    if (contains(text, words)) facts_.programs.emplace(program);
  }
  if (facts_.board.empty()) {
    for (const std::string_view mark : {"Machine model: ", "Hardware name: "}) {
      const std::size_t at = text.find(mark);
      if (at == std::string_view::npos) continue;
      facts_.board = printable(trim(text.substr(at + mark.size())), 80);
      break;
    }
  }
  // "CUDA0: Orin (15655 MiB, 12229 MiB free)", the last before a program is refused.
  refused_ = refused_ || is_refusal(text);
  const bool is_gpu = contains(text, "CUDA") || contains(text, "GPU");
  if (const std::size_t at = text.find(" MiB free");
      is_gpu && !refused_ && at != std::string_view::npos) {
    if (const auto free = mebibytes_before(text, at)) facts_.gpu_free = free;
  }
  if (!facts_.swiotlb_bytes && contains(text, "software IO TLB: mapped")) {
    facts_.swiotlb_bytes = mebibytes_before(text, text.rfind("MB)"));
  }
  if (!facts_.cma_total) {
    if (contains(text, "cma: Reserved ") && contains(text, " MiB at")) {
      facts_.cma_total = mebibytes_before(text, text.find(" MiB at"));
    } else if (contains(text, "CmaTotal:")) {
      facts_.cma_total = size_in(word_behind(text, "CmaTotal:"), 1024);
    } else if (const std::size_t at = text.find("K cma-reserved"); at != std::string_view::npos) {
      const std::size_t begin = text.find_last_not_of("0123456789", at - (at > 0 ? 1 : 0)) + 1;
      facts_.cma_total = size_in(text.substr(begin), 1024);
    }
  }
}

}  // namespace jetmem::diagnosis
