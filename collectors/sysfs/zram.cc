// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/zram.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text/text.h"
#include "collectors/storage.h"
#include "collectors/sysfs/sysfs_text.h"
#include "collectors/sysfs/values.h"

namespace jetmem {
namespace {

constexpr std::string_view kSwaps = "/proc/swaps";
constexpr std::size_t kMaxDevices = Zram::kMaxDevices;

constexpr std::array kZramMetrics{
    gauge("jetmem_swap_areas",
          "Swap areas in use. 0: nothing can be swapped out, and a shortage ends in OOM kills."),
    gauge("jetmem_swap_area_bytes",
          "Size of the swap area. Of a zram device it is what may be swapped out, uncompressed, "
          "not memory in use.",
          {"device", "type"}, Zram::kMaxAreas),
    gauge("jetmem_swap_area_used_bytes", "What of the swap area is in use, uncompressed.",
          {"device", "type"}, Zram::kMaxAreas, Worst::kMax),
    gauge("jetmem_swap_area_priority",
          "The area with the highest priority is filled first, equal ones in turn.",
          {"device", "type"}, Zram::kMaxAreas),
    gauge("jetmem_zram_disk_bytes",
          "How much the zram device can store, uncompressed. 0: it is not set up.", {"device"},
          kMaxDevices),
    gauge("jetmem_zram_initialized",
          "1 when the zram device is set up and can be used, otherwise 0.", {"device"},
          kMaxDevices),
    gauge("jetmem_zram_algorithm_info",
          "Always 1: the compression that the zram device uses is in its label.",
          {"device", "algorithm"}, kMaxDevices),
    gauge("jetmem_zram_original_bytes",
          "What is stored in the zram device, uncompressed. Divided by jetmem_zram_used_bytes it "
          "is the gain of compression; near 1 it gains nothing.",
          {"device"}, kMaxDevices),
    gauge("jetmem_zram_compressed_bytes",
          "What is stored in the zram device, compressed, without the allocator's losses.",
          {"device"}, kMaxDevices),
    gauge("jetmem_zram_used_bytes",
          "Memory that the zram device uses, of the same DRAM that it is meant to relieve.",
          {"device"}, kMaxDevices, Worst::kMax),
    gauge("jetmem_zram_limit_bytes",
          "The most memory that the zram device may use; 0 is no limit. At the limit writes to "
          "it fail, and with them swapping.",
          {"device"}, kMaxDevices),
    gauge("jetmem_zram_used_peak_bytes",
          "The most memory that the zram device used since it was set up or since somebody reset "
          "this value.",
          {"device"}, kMaxDevices),
    gauge("jetmem_zram_same_pages",
          "Pages in the zram device that repeat one word, usually zeroes: they use no memory.",
          {"device"}, kMaxDevices),
    gauge("jetmem_zram_huge_pages",
          "Pages in the zram device that could not be compressed: they use as much memory as "
          "before. Many of them (camera frames, model weights) make zram cost more than it "
          "gives.",
          {"device"}, kMaxDevices),
    counter("jetmem_zram_failed_reads_total",
            "Reads from the zram device that failed. Any growth means lost data.", {"device"},
            kMaxDevices),
    counter("jetmem_zram_failed_writes_total",
            "Writes to the zram device that failed: its limit is reached, or there was no memory "
            "left to compress into.",
            {"device"}, kMaxDevices),
    gauge("jetmem_zram_compression_ratio",
          "What is stored in the zram device, divided by the memory that it uses: 3 means that "
          "three bytes fit in one. Near 1 zram gains nothing and costs time. Absent while "
          "nothing is stored.",
          {"device"}, kMaxDevices),
};
constexpr MetricTable zram_metric{kZramMetrics};

constexpr std::size_t kMaxPath = 4096;
constexpr std::uint64_t kMostKib = kMostNumber >> 10;

struct RawZram {
  std::uint32_t number = 0;
  Record disksize = kNoRecord;
  Record initstate = kNoRecord;
  Record algorithm = kNoRecord;
  Record mm_stat = kNoRecord;
  Record io_stat = kNoRecord;
};

struct ZramFile {
  std::string_view pattern;
  Record RawZram::*record;
};
constexpr std::array<ZramFile, 6> kZramFiles{{
    {kSwaps, nullptr},
    {"/sys/block/zram*/disksize", &RawZram::disksize},
    {"/sys/block/zram*/initstate", &RawZram::initstate},
    {"/sys/block/zram*/comp_algorithm", &RawZram::algorithm},
    {"/sys/block/zram*/mm_stat", &RawZram::mm_stat},
    {"/sys/block/zram*/io_stat", &RawZram::io_stat},
}};
constexpr auto kZramPaths = patterns_of(kZramFiles);

std::string_view reason_of_zram(const FileText& file) {
  return file.ok() ? kMalformed : reason_of_denied(file.error);
}

// Undoes the kernel's escapes: a backslash and three octal digits.
void unescape(std::string_view text, std::string& out) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      out += static_cast<char>(code & 0xff);
      i += 3;
    } else {
      out += text[i];
    }
  }
}

class ZramFiles {
 public:
  ZramFiles(const Snapshot& snapshot, Zram& out)
      : snapshot_(snapshot), out_(out), values_(snapshot, out.absent, reason_of_zram) {}

  Result<void> run() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) take(static_cast<Record>(i));
    devices_.sort_by(&RawZram::number);
    for (const RawZram& raw : devices_) finish_device(raw, out_.devices.emplace_back());
    Result<void> swaps = finish_areas();
    if (beyond_bound_ > 0) out_.absent.add(kBeyondBound, beyond_bound_);
    if (swaps || values_.any()) {
      // Without /proc/swaps the kernel cannot swap; any other error means that it is unknown.
      if (!swaps && swaps.error().code != Errc::kAbsent) values_.missing(swaps_);
      return {};
    }
    if (swaps.error().code != Errc::kAbsent) return swaps;
    if (auto error = values_.error("expected numbers, ")) return tl::unexpected(std::move(*error));
    return fail(Errc::kAbsent, "this kernel has neither swap (/proc/swaps) nor a zram device");
  }

 private:
  void take(Record record) {
    const FileText file = values_.file(record);
    if (file.path == kSwaps) swaps_ = record;
    if (file.path == kSwaps || file.error == ENOENT || file.error == ENODEV) return;
    std::array<std::uint32_t, 1> number{};
    for (const ZramFile& known : kZramFiles) {
      if (!capture(known.pattern, file.path, number)) continue;
      RawZram* const device = devices_.find_or_add(&RawZram::number, number[0]);
      if (device != nullptr) device->*known.record = record;
      if (device == nullptr) ++beyond_bound_;
    }
  }

  void finish_device(const RawZram& raw, Zram::Device& device) {
    device.name = "zram" + std::to_string(raw.number);
    device.disksize = values_.number(raw.disksize);
    if (const auto state = values_.number(raw.initstate, 0, 1)) device.initialized = *state == 1;
    if (raw.algorithm != kNoRecord) finish_algorithm(raw.algorithm, device);
    if (raw.mm_stat != kNoRecord) finish_mm_stat(raw.mm_stat, device);
    if (raw.io_stat != kNoRecord) finish_io_stat(raw.io_stat, device);
  }

  void finish_algorithm(Record record, Zram::Device& device) {
    const auto line = one_value(values_.file(record).text);
    const std::string_view text = line.value_or("");
    const std::size_t open = text.find('[');
    const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
    constexpr std::size_t kMaxName = 64;
    if (open == std::string_view::npos || close == std::string_view::npos || close == open + 1 ||
        close - open > kMaxName) {
      return values_.missing(record);
    }
    device.algorithm = text.substr(open + 1, close - open - 1);
  }

  using Column = std::optional<std::uint64_t> Zram::Device::*;

  // The columns of a file of one line, as far as the kernel prints them; the first `least` it does.
  template <std::size_t N>
  void finish_columns(Record record, Zram::Device& device, const std::array<Column, N>& columns,
                      std::size_t least) {
    std::string_view line = one_value(values_.file(record).text).value_or(std::string_view());
    std::array<std::string_view, N> words;
    for (std::string_view& word : words) word = take_word(line);
    if (words[least - 1].empty()) return values_.missing(record);
    Fields fields(out_.absent);
    for (std::size_t i = 0; i < N && !words[i].empty(); ++i) {
      if (columns[i] == nullptr) continue;
      device.*columns[i] = fields.number(words[i], kMostMemory);
      if (device.*columns[i]) values_.found();
    }
  }

  void finish_mm_stat(Record record, Zram::Device& device) {
    static constexpr std::array<Column, 8> kColumns{&Zram::Device::original_bytes,
                                                    &Zram::Device::compressed_bytes,
                                                    &Zram::Device::used_bytes,
                                                    &Zram::Device::limit_bytes,
                                                    &Zram::Device::max_used_bytes,
                                                    &Zram::Device::same_pages,
                                                    nullptr,
                                                    &Zram::Device::huge_pages};
    finish_columns(record, device, kColumns, 5);
  }

  void finish_io_stat(Record record, Zram::Device& device) {
    static constexpr std::array<Column, 2> kColumns{&Zram::Device::failed_reads,
                                                    &Zram::Device::failed_writes};
    finish_columns(record, device, kColumns, kColumns.size());
  }

  // A table without its header or its last newline is none.
  Result<void> finish_areas() {
    if (swaps_ == kNoRecord) return fail(Errc::kAbsent, "no /proc/swaps");
    const FileText file = values_.file(swaps_);
    if (!file.ok()) return tl::unexpected(file.as_error());
    Lines lines(file.text);
    std::string_view line;
    lines.next(line);
    if (line.substr(0, 8) != "Filename" || file.text.back() != '\n') {
      return fail(Errc::kMalformed,
                  "swaps: line 1: expected 'Filename', and a newline at the end, "
                  "found '" +
                      printable(file.text, 60) + "'");
    }
    out_.areas_known = true;
    while (lines.next(line)) {
      if (out_.areas.size() == Zram::kMaxAreas) {
        ++beyond_bound_;
        out_.areas_known = false;
        continue;
      }
      if (trim(line).empty()) continue;
      if (!take_area(line)) {
        out_.absent.add(kMalformed);
        out_.areas_known = false;
      }
    }
    return {};
  }

  // False for what is no line of an area.
  bool take_area(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::array<std::string_view, 5> words;
    for (std::string_view& word : words) word = take_word(line);
    const auto& [name, type, size, used, priority] = words;
    if (priority.empty() || !trim(line).empty()) return false;
    if (name.size() > kMaxPath || type.size() > 32) return false;
    Fields fields(out_.absent);
    Zram::Area& area = out_.areas.emplace_back();
    unescape(name, area.device);
    area.type = type;
    area.bytes = fields.number(size, kMostKib);
    area.used_bytes = fields.number(used, kMostKib);
    fields.bound(area.used_bytes, area.bytes);
    for (auto* const kib : {&area.bytes, &area.used_bytes}) {
      if (*kib) **kib <<= 10;
    }
    area.priority = parse_i64(priority);
    if (!area.priority) fields.lost();
    return true;
  }

  const Snapshot& snapshot_;
  Zram& out_;
  Values values_;
  BoundedList<RawZram, kMaxDevices> devices_;
  Record swaps_ = kNoRecord;
  std::uint64_t beyond_bound_ = 0;
};

}  // namespace

const SourceInfo ZramSource::kInfo{
    .name = "zram",
    .what = "swap, and what compressed swap in memory (zram) costs and saves",
    .paths = kZramPaths,
    .access = Access::kReader,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
    .metrics = kZramMetrics,
};

Result<void> parse_zram(const Snapshot& snapshot, Zram& out) {
  out = {};
  return ZramFiles(snapshot, out).run();
}

void ZramSource::write(SampleWriter& out, WriteContext& /*context*/) const {
  if (reading_.areas_known) out.put(zram_metric("jetmem_swap_areas"), reading_.areas.size());
  for (const Zram::Area& area : reading_.areas) {
    out.put(zram_metric("jetmem_swap_area_bytes"), area.bytes, area.device, area.type);
    out.put(zram_metric("jetmem_swap_area_used_bytes"), area.used_bytes, area.device, area.type);
    out.put(zram_metric("jetmem_swap_area_priority"), area.priority, area.device, area.type);
  }
  for (const Zram::Device& device : reading_.devices) {
    const auto put = [&](const Descriptor& descriptor, const auto& value) {
      out.put(descriptor, value, device.name);
    };
    put(zram_metric("jetmem_zram_disk_bytes"), device.disksize);
    put(zram_metric("jetmem_zram_initialized"), device.initialized);
    if (!device.algorithm.empty()) {
      out.put(zram_metric("jetmem_zram_algorithm_info"), 1, device.name, device.algorithm);
    }
    put(zram_metric("jetmem_zram_original_bytes"), device.original_bytes);
    put(zram_metric("jetmem_zram_compressed_bytes"), device.compressed_bytes);
    put(zram_metric("jetmem_zram_used_bytes"), device.used_bytes);
    if (device.original_bytes.value_or(0) > 0 && device.used_bytes.value_or(0) > 0) {
      out.put(zram_metric("jetmem_zram_compression_ratio"),
              static_cast<double>(*device.original_bytes) / static_cast<double>(*device.used_bytes),
              device.name);
    }
    put(zram_metric("jetmem_zram_limit_bytes"), device.limit_bytes);
    put(zram_metric("jetmem_zram_used_peak_bytes"), device.max_used_bytes);
    put(zram_metric("jetmem_zram_same_pages"), device.same_pages);
    put(zram_metric("jetmem_zram_huge_pages"), device.huge_pages);
    put(zram_metric("jetmem_zram_failed_reads_total"), device.failed_reads);
    put(zram_metric("jetmem_zram_failed_writes_total"), device.failed_writes);
  }
}

}  // namespace jetmem
