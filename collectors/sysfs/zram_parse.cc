// SPDX-License-Identifier: Apache-2.0
// From the text of /proc/swaps and of the zram devices to a reading.

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text/text.h"
#include "collectors/storage.h"
#include "collectors/sysfs/one_value.h"
#include "collectors/sysfs/zram.h"

namespace jetmem {
namespace {

constexpr std::string_view kSwaps = "/proc/swaps";
constexpr std::string_view kBlock = "/sys/block/";
constexpr std::size_t kMaxDevices = Zram::kMaxDevices;
constexpr std::size_t kMaxAreas = Zram::kMaxAreas;
constexpr std::size_t kMaxPath = 4096;
constexpr std::uint64_t kMostKib = UINT64_MAX >> 10;

constexpr std::string_view kMalformed = "malformed";
constexpr std::string_view kBeyondBound = "beyond_bound";

using Record = std::int32_t;
constexpr Record kNone = -1;

struct RawDevice {
  std::string_view name;
  std::uint32_t number = 0;
  Record disksize = kNone;
  Record initstate = kNone;
  Record algorithm = kNone;
  Record mm_stat = kNone;
  Record io_stat = kNone;
};

bool is_gone(const FileText& file) { return file.error == ENOENT || file.error == ENODEV; }

std::string_view reason_of(const FileText& file) {
  if (file.ok()) return kMalformed;
  return file.error == EACCES || file.error == EPERM ? "denied" : "unreadable";
}

// "zram12": its number.
std::optional<std::uint32_t> device_number(std::string_view name) {
  if (!take_prefix(name, "zram") || name.empty() || name.size() > 6) return std::nullopt;
  const auto number = take_u64(name);
  return number && name.empty() ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
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

// Up to N numbers of one line. How many; nothing when the text is not numbers to its end.
template <std::size_t N>
std::optional<std::size_t> numbers(std::string_view text, std::array<std::uint64_t, N>& out) {
  const auto line = one_value(text);
  if (!line) return std::nullopt;
  std::string_view rest = *line;
  std::size_t count = 0;
  while (!rest.empty()) {
    const auto value = take_u64(rest);
    if (!value || (!rest.empty() && !is_blank(rest.front()))) return std::nullopt;
    if (count < N) out[count++] = *value;  // newer kernels may add columns
  }
  return count;
}

class Collector {
 public:
  Collector(const Snapshot& snapshot, Zram& out) : snapshot_(snapshot), out_(out) {}

  Result<void> run() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) take(static_cast<Record>(i));
    std::sort(devices_.begin(), devices_.end(),
              [](const RawDevice& a, const RawDevice& b) { return a.number < b.number; });
    {
      Refill<Zram::Device> devices(out_.devices);
      for (const RawDevice& raw : devices_) finish_device(raw, devices.add());
    }
    Result<void> swaps = finish_areas();
    if (beyond_bound_ > 0) out_.absent.add(kBeyondBound, beyond_bound_);
    if (swaps || any_value_) {
      // Without /proc/swaps the kernel cannot swap; any other error means that it is unknown.
      if (!swaps && swaps.error().code != Errc::kAbsent) out_.absent.add(reason_of(file(swaps_)));
      return {};
    }
    if (swaps.error().code != Errc::kAbsent) return swaps;
    if (bad_ != kNone) {
      const FileText file = this->file(bad_);
      if (!file.ok()) return tl::unexpected(file.as_error());
      return fail(Errc::kMalformed, std::string(file.path) + ": expected numbers, found '" +
                                        printable(file.text, 60) + "'");
    }
    return fail(Errc::kAbsent, "this kernel has neither swap (/proc/swaps) nor a zram device");
  }

 private:
  FileText file(Record record) const { return snapshot_[static_cast<std::size_t>(record)]; }

  void take(Record record) {
    const FileText file = this->file(record);
    std::string_view rest = file.path;
    if (rest == kSwaps) {
      swaps_ = record;
      return;
    }
    if (!take_prefix(rest, kBlock) || is_gone(file)) return;
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return;
    const std::string_view name = rest.substr(0, slash);
    const std::string_view leaf = rest.substr(slash + 1);
    const auto number = device_number(name);
    if (!number) return;
    auto at = std::find_if(devices_.begin(), devices_.end(),
                           [&](const RawDevice& device) { return device.name == name; });
    if (at == devices_.end()) {
      if (devices_.full()) {
        ++beyond_bound_;
        return;
      }
      at = &devices_.add();
      at->name = name;
      at->number = *number;
    }
    if (leaf == "disksize") at->disksize = record;
    if (leaf == "initstate") at->initstate = record;
    if (leaf == "comp_algorithm") at->algorithm = record;
    if (leaf == "mm_stat") at->mm_stat = record;
    if (leaf == "io_stat") at->io_stat = record;
  }

  void bad(Record record) {
    out_.absent.add(reason_of(file(record)));
    if (bad_ == kNone) bad_ = record;
  }

  void finish_device(const RawDevice& raw, Zram::Device& device) {
    device.name = raw.name;
    if (raw.disksize != kNone) {
      device.disksize = one_u64(file(raw.disksize).text);
      device.disksize ? figure() : bad(raw.disksize);
    }
    if (raw.initstate != kNone) {
      const auto state = one_u64(file(raw.initstate).text);
      if (state && *state <= 1) {
        device.initialized = *state == 1;
        figure();
      } else {
        bad(raw.initstate);
      }
    }
    if (raw.algorithm != kNone) finish_algorithm(raw.algorithm, device);
    if (raw.mm_stat != kNone) finish_mm_stat(raw.mm_stat, device);
    if (raw.io_stat != kNone) finish_io_stat(raw.io_stat, device);
  }

  void finish_algorithm(Record record, Zram::Device& device) {
    const auto line = one_value(file(record).text);
    const std::string_view text = line.value_or("");
    const std::size_t open = text.find('[');
    const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
    constexpr std::size_t kMaxName = 64;
    if (open == std::string_view::npos || close == std::string_view::npos || close == open + 1 ||
        close - open > kMaxName) {
      bad(record);
      return;
    }
    device.algorithm = text.substr(open + 1, close - open - 1);
  }

  void finish_mm_stat(Record record, Zram::Device& device) {
    std::array<std::uint64_t, 8> value{};
    const auto count = numbers(file(record).text, value);
    if (!count || *count < 5) {
      bad(record);
      return;
    }
    figure();
    device.original_bytes = value[0];
    device.compressed_bytes = value[1];
    device.used_bytes = value[2];
    device.limit_bytes = value[3];
    device.max_used_bytes = value[4];
    if (*count > 5) device.same_pages = value[5];
    if (*count > 7) device.huge_pages = value[7];
  }

  void finish_io_stat(Record record, Zram::Device& device) {
    std::array<std::uint64_t, 4> value{};
    const auto count = numbers(file(record).text, value);
    if (!count || *count < 2) {
      bad(record);
      return;
    }
    figure();
    device.failed_reads = value[0];
    device.failed_writes = value[1];
  }

  // A line that cannot be understood leaves out its area; a table without its header or its last
  // newline is none.
  Result<void> finish_areas() {
    Refill<Zram::Area> areas(out_.areas);
    if (swaps_ == kNone) return fail(Errc::kAbsent, "no /proc/swaps");
    const FileText file = this->file(swaps_);
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
    std::size_t count = 0;
    while (lines.next(line)) {
      if (count == kMaxAreas) {
        ++beyond_bound_;
        out_.areas_known = false;
        continue;
      }
      if (take_area(line, areas)) {
        ++count;
      } else {
        out_.absent.add(kMalformed);
        out_.areas_known = false;
      }
    }
    return {};
  }

  static bool take_area(std::string_view line, Refill<Zram::Area>& areas) {
    const std::string_view name = take_word(line);
    const std::string_view type = take_word(line);
    const auto size = take_u64(line);
    const auto used = take_u64(line);
    const auto priority = take_i64(line);
    if (!size || !used || !priority || !trim(line).empty()) return false;
    if (name.size() > kMaxPath || type.size() > 32) return false;
    if (*size > kMostKib || *used > *size) return false;
    Zram::Area& area = areas.add();
    unescape(name, area.device);
    area.type = type;
    area.bytes = *size << 10;
    area.used_bytes = *used << 10;
    area.priority = *priority;
    return true;
  }

  void figure() { any_value_ = true; }

  const Snapshot& snapshot_;
  Zram& out_;
  BoundedList<RawDevice, kMaxDevices> devices_;
  Record swaps_ = kNone;
  Record bad_ = kNone;
  std::uint64_t beyond_bound_ = 0;
  bool any_value_ = false;
};

}  // namespace

Result<void> parse_zram(const Snapshot& snapshot, Zram& out) {
  out.areas_known = false;
  out.absent.reset();
  return Collector(snapshot, out).run();
}

}  // namespace jetmem
