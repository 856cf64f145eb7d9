// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/allocinfo.h"

#include <array>
#include <map>
#include <utility>

#include "base/text/text.h"
#include "collectors/fields.h"
#include "collectors/largest.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kAllocinfoPaths{"/proc/allocinfo"};

constexpr std::array kAllocinfoMetrics{
    gauge("jetmem_kernel_allocated_bytes",
          "Memory that a kernel module, or what is built in below a source folder, has allocated "
          "(allocation profiling): the 20 largest. mm/memory.c is programs' memory, mm/filemap.c "
          "and mm/readahead.c page cache. One that grows for hours is a leak of that driver.",
          {"part", "module"}, Allocinfo::kMaxShown),
    gauge("jetmem_kernel_allocated_total_bytes",
          "All memory in the kernel's allocation profile, programs' and page cache included."),
};

constexpr std::size_t kMaxPartName = 64;

// "drivers/net/tun.c:12" -> "drivers/net"; "mm/slub.c:7" -> "mm/slub.c".
std::string_view folder_of(std::string_view place) {
  place = place.substr(0, place.find(':'));
  while (take_prefix(place, "./") || take_prefix(place, "../")) {
  }
  const std::size_t first = place.find('/');
  return first == std::string_view::npos ? place : place.substr(0, place.find('/', first + 1));
}

class AllocinfoLines {
 public:
  explicit AllocinfoLines(Allocinfo& out) : out_(out), fields_(out.absent) {}

  Result<void> run(std::string_view text) {
    Lines lines(text);
    std::string_view line;
    if (!lines.next(line) || !line.starts_with("allocinfo - version: ")) {
      return fail(Errc::kMalformed,
                  "line 1: expected 'allocinfo - version: N', found '" + printable(line, 60) + "'");
    }
    while (lines.next(line)) {
      skip_blanks(line);
      if (!line.empty() && line.front() != '#') take(line);
    }
    if (auto ok = fields_.finish(text, "size calls file:line [module] func:name"); !ok) return ok;
    keep_largest(parts_, Allocinfo::kMaxShown);
    for (const auto& [part, bytes] : parts_) {
      out_.largest.push_back({std::string(part.first), part.second, bytes});
    }
    if (out_.bytes > 0) return {};
    return fail(Errc::kAbsent, "allocation profiling is off (sysctl vm.mem_profiling)");
  }

 private:
  void take(std::string_view line) {
    const auto bytes = fields_.number(take_word(line), kMostMemory);
    take_word(line);  // calls
    const std::string_view place = take_word(line);
    std::string_view module = take_word(line);
    const bool is_module = module.size() > 2 && module.front() == '[' && module.back() == ']';
    if (is_module) module = module.substr(1, module.size() - 2);
    const std::string_view name = is_module ? module : folder_of(place);
    if (!bytes) out_.is_whole = false;
    if (!bytes || *bytes == 0) return;
    out_.bytes += *bytes;
    if (name.empty() || name.size() > kMaxPartName) return fields_.lost();
    const std::pair key(name, is_module);
    if (parts_.size() == Allocinfo::kMaxParts && parts_.count(key) == 0) {
      return fields_.lost(kBeyondBound);
    }
    parts_[key] += *bytes;
  }

  Allocinfo& out_;
  Fields fields_;
  std::map<std::pair<std::string_view, bool>, std::uint64_t> parts_;  // by name, and if a module's
};

}  // namespace

const SourceInfo AllocinfoSource::kInfo{
    .name = "allocinfo",
    .what = "what the kernel and its modules have allocated (allocation profiling)",
    .paths = kAllocinfoPaths,
    .access = Access::kReader,
    .interval = std::chrono::minutes(15),
    .shortest_interval = std::chrono::minutes(1),
    .grant = "CAP_DAC_READ_SEARCH for jetmem-reader, or run as root (sudo)",
    .throttled = true,
    .metrics = kAllocinfoMetrics,
    .limits = {.file_bytes = 2U << 20, .total_bytes = 2U << 20, .files = 1, .names = 1},
};

Result<void> parse_allocinfo(std::string_view text, Allocinfo& out) {
  out = {};
  return AllocinfoLines(out).run(text);
}

void AllocinfoSource::write(SampleWriter& out, WriteContext& /*context*/) const {
  for (const Allocinfo::Part& part : reading_.largest) {
    out.put(kAllocinfoMetrics[0], part.bytes, part.name, part.is_module ? "yes" : "no");
  }
  if (reading_.is_whole) out.put(kAllocinfoMetrics[1], reading_.bytes);
}

}  // namespace jetmem
