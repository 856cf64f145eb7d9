// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pagetypeinfo.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/text/text.h"
#include "collectors/fields.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kPagetypeinfoPaths{"/proc/pagetypeinfo"};
constexpr std::size_t kMaxTypes = 16;
constexpr std::size_t kMaxRows = 2048;

constexpr KernelVersion kFirstBounded{5, 4};
constexpr double kLeastNsPerBlock = 50;
constexpr double kBudgetNs = 2e6;

constexpr std::array kPagetypeinfoMetrics{
    gauge("jetmem_pagetype_free_blocks",
          "Free blocks of 2^order pages on the list of this mobility type. When Unmovable has no "
          "high orders left, the kernel breaks up Movable blocks for drivers and memory "
          "fragments. A count that the kernel stopped at 100000 is omitted; a type without any "
          "block has no series.",
          {"node", "zone", "migratetype", "order"}, kMaxOrderSeries),
    gauge("jetmem_pagetype_pageblocks",
          "Pageblocks (2 MiB on most boards) of this mobility type. Unmovable growing while "
          "Movable shrinks means that pages which cannot move are spreading over memory; usually "
          "only a reboot undoes it.",
          {"node", "zone", "migratetype"}, kMaxRows),
};
enum PagetypeinfoMetric { kTypeFreeBlocks, kPageblocks };

// Takes a migrate type's name; empty when there is none.
std::string_view take_type(std::string_view& text) {
  std::string_view rest = text;
  skip_blanks(rest);
  std::size_t length = 0;
  while (length < rest.size() && is_zone_name_char(rest[length])) ++length;
  if (length == 0 || length > kMaxZoneName) return {};
  text = rest.substr(length);
  return rest.substr(0, length);
}

class PagetypeinfoParser {
 public:
  explicit PagetypeinfoParser(Pagetypeinfo& out) : out_(out), fields_(out.absent) {}

  Result<void> run(std::string_view text) {
    Lines lines(text);
    for (std::string_view line; lines.next(line);) take(line);
    for (const Pagetypeinfo::Row& row : out_.rows) {
      const ZoneText zone{row.zone.node, row.zone.name};
      if (row.pageblocks == kNotCounted && !is_marked(zone)) odd_line(zone);
    }
    std::erase_if(out_.rows,
                  [](const Pagetypeinfo::Row& row) { return row.pageblocks == kNotCounted; });
    if (auto ok = fields_.finish(text, "Node N, zone NAME, type NAME, numbers"); !ok) return ok;
    if (out_.rows.empty()) return fail(Errc::kMalformed, "no type of a zone is in both tables");
    if (!is_open_) return {};
    return fail(Errc::kMalformed, "cut off: no number of blocks of zone " + last_zone_.name);
  }

 private:
  enum class Table { kNone, kFree, kBlocks, kMixed };

  void take(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("Page block order:") || line.starts_with("Pages per block:")) {
      is_open_ = true;
    } else if (take_prefix(line, "Free pages count per migrate type at order")) {
      table_ = Table::kFree;
      for (orders_ = 0; take_u64(line) == orders_;) ++orders_;
    } else if (take_prefix(line, "Number of blocks type")) {
      table_ = Table::kBlocks;
      take_types(line);
    } else if (line.starts_with("Number of mixed blocks")) {
      table_ = Table::kMixed;
    } else if (const auto zone = take_zone(line); zone && table_ != Table::kNone) {
      if (table_ == Table::kFree) take_free(*zone, line);
      if (table_ == Table::kBlocks) take_blocks(*zone, line);
    } else if (!trim(line).empty()) {
      fields_.lost();
    }
  }

  // An odd line costs its row or its zone, and counts as one.
  void odd_line(const ZoneText& zone, std::string_view reason = kMalformed) {
    fields_.lost(reason);
    mark(zone);
  }
  void mark(const ZoneText& zone) {
    if (odd_.size() < kMaxRows && !is_marked(zone)) odd_.emplace_back() = zone;
  }
  bool is_marked(const ZoneText& zone) const {
    return std::find(odd_.begin(), odd_.end(), zone) != odd_.end();
  }

  void take_types(std::string_view line) {
    types_ = 0;
    for (auto type = take_type(line); !type.empty(); type = take_type(line)) {
      if (types_ == kMaxTypes) return fields_.lost(kBeyondBound);
      type_names_[types_++] = type;
    }
  }

  // "Node    0, zone   Normal, type    Unmovable     97     61 ..."
  void take_free(const ZoneText& zone, std::string_view line) {
    is_open_ = true;
    last_zone_ = zone;
    if (out_.rows.size() == kMaxRows) return odd_line(zone, kBeyondBound);
    Pagetypeinfo::Row row;
    row.zone = zone;
    if (take_prefix(line, ", type ")) row.type = take_type(line);
    const auto is_twin = [&](const auto& other) {
      return other.zone == zone && other.type == row.type;
    };
    if (row.type.empty() || std::any_of(out_.rows.begin(), out_.rows.end(), is_twin)) {
      return odd_line(zone);
    }
    if (!take_counts(line, fields_, row.blocks, row.orders, &row.capped)) return mark(zone);
    if (row.orders == 0 || row.orders != orders_) return odd_line(zone);
    row.pageblocks = kNotCounted;
    out_.rows.push_back(std::move(row));
  }

  // "Node 0, zone   Normal          160          590 ..."
  void take_blocks(const ZoneText& zone, std::string_view line) {
    if (last_zone_ == zone) is_open_ = false;
    std::array<std::uint64_t, kMaxTypes> counts{};
    std::size_t columns = 0;
    for (auto word = take_word(line); !word.empty(); word = take_word(line)) {
      const auto count = fields_.number(word, kMaxPages);
      if (!count) return mark(zone);
      if (columns == types_) return odd_line(zone);
      counts[columns++] = *count;
    }
    if (columns != types_) return odd_line(zone);
    std::size_t taken = 0;
    for (Pagetypeinfo::Row& row : out_.rows) {
      if (!(row.zone == zone) || row.pageblocks != kNotCounted) continue;
      const auto types = type_names_.begin() + static_cast<long>(types_);
      const auto type = std::find(type_names_.begin(), types, row.type);
      if (type == types) continue;
      row.pageblocks = counts[static_cast<std::size_t>(type - type_names_.begin())];
      ++taken;
    }
    if (taken != types_ && !is_marked(zone)) odd_line(zone);
  }

  static constexpr std::uint64_t kNotCounted = UINT64_MAX;

  Pagetypeinfo& out_;
  Fields fields_;
  Table table_ = Table::kNone;
  std::size_t orders_ = 0;
  std::array<std::string_view, kMaxTypes> type_names_;
  std::size_t types_ = 0;
  // A node's last zone comes last in both tables; without it the text was cut.
  ZoneId last_zone_;
  std::vector<ZoneId> odd_;  // zones with a line that was counted
  bool is_open_ = false;
};

std::string running_osrelease() {
  utsname name{};
  return uname(&name) == 0 ? std::string(name.release) : std::string();
}

std::string milliseconds(double ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", ns / 1e6);
  return text.data();
}

}  // namespace

const SourceInfo PagetypeinfoSource::kInfo{
    .name = "pagetypeinfo",
    .what = "free blocks and pageblocks by mobility type: unmovable pages spreading",
    .paths = kPagetypeinfoPaths,
    .access = Access::kReader,
    .interval = std::chrono::minutes(5),
    .shortest_interval = std::chrono::minutes(1),
    .grant = "CAP_DAC_READ_SEARCH for jetmem-reader, or run as root",
    .metrics = kPagetypeinfoMetrics,
};

std::uint64_t Pagetypeinfo::Row::total_blocks() const {
  std::uint64_t total = 0;
  for (std::size_t order = 0; order < orders; ++order) total += blocks[order];
  return total;
}

std::uint64_t Pagetypeinfo::total_blocks() const {
  std::uint64_t total = 0;
  for (const Row& row : rows) total += row.total_blocks();
  return total;
}

Result<void> parse_pagetypeinfo(std::string_view text, Pagetypeinfo& out) {
  out.rows.clear();
  out.absent.reset();
  return PagetypeinfoParser(out).run(text);
}

std::optional<KernelVersion> parse_osrelease(std::string_view release) {
  if (release.empty() || !is_digit(release.front())) return std::nullopt;
  const auto major = take_u64(release);
  if (!major || !take_prefix(release, ".") || release.empty() || !is_digit(release.front())) {
    return std::nullopt;
  }
  const auto minor = take_u64(release);
  if (!minor) return std::nullopt;
  return KernelVersion{*major, *minor};
}

std::optional<Error> pagetypeinfo_refusal(std::string_view osrelease, const Buddyinfo* buddyinfo,
                                          double measured) {
  const auto version = parse_osrelease(osrelease);
  if (!version) {
    return Error{Errc::kSkipped, "kernel release '" + printable(osrelease, 60) +
                                     "' not understood: before 5.4 reading could stop a CPU"};
  }
  if (*version < kFirstBounded) {
    return Error{Errc::kSkipped, "kernel " + std::to_string(version->major) + "." +
                                     std::to_string(version->minor) +
                                     " walks all free lists without a pause or an end, which "
                                     "can stop a CPU; read from 5.4 on only"};
  }
  if (buddyinfo == nullptr) {
    return Error{Errc::kSkipped, "no buddyinfo reading to tell what it would cost"};
  }
  const std::uint64_t blocks = buddyinfo->total_blocks();
  const double cost = static_cast<double>(blocks) * std::max(kLeastNsPerBlock, measured);
  if (cost <= kBudgetNs) return std::nullopt;
  return Error{Errc::kSkipped, std::to_string(blocks) + " free blocks would take about " +
                                   milliseconds(cost) + " ms under the zone lock, budget 2 ms"};
}

std::optional<Error> PagetypeinfoSource::gate(const Readings& readings) {
  const auto* buddyinfo = readings.get<Buddyinfo>();
  if (osrelease_.empty()) osrelease_ = running_osrelease();
  auto refusal = pagetypeinfo_refusal(osrelease_, buddyinfo, ns_per_block_);
  // One measurement that was disturbed must not block the source indefinitely.
  if (refusal && ns_per_block_ > kLeastNsPerBlock) {
    ns_per_block_ = kLeastNsPerBlock + (ns_per_block_ - kLeastNsPerBlock) / 2;
  }
  return refusal;
}

Result<void> PagetypeinfoSource::parse(const Snapshot& snapshot, Nanoseconds read_time) {
  const auto text = snapshot.text_of(kPagetypeinfoPaths[0]);
  if (!text) return tl::unexpected(text.error());
  if (auto ok = parse_pagetypeinfo(*text, reading_); !ok) return ok;
  const std::uint64_t blocks = reading_.total_blocks();
  // A copied file takes no time to read and says nothing about this machine.
  if (read_time > Nanoseconds(0) && blocks > 0) {
    ns_per_block_ = static_cast<double>(read_time.count()) / static_cast<double>(blocks);
  }
  return {};
}

void PagetypeinfoSource::write(SampleWriter& out, WriteContext& context) const {
  for (const Pagetypeinfo::Row& row : reading_.rows) {
    // HighAtomic and Isolate are empty on most machines most of the time, a seventh of the series
    // for nothing, as are zones without memory. They come and go with what they count; at one read
    // in five minutes the change of shape costs nobody anything.
    if (row.pageblocks == 0 && row.total_blocks() == 0) continue;
    const std::uint32_t node = row.zone.node;
    const std::string_view zone = row.zone.name;
    const std::string_view type = row.type;
    for (std::size_t order = 0; order < row.orders; ++order) {
      // "More than 100000" is no measurement.
      if (row.is_capped(order)) {
        context.absent.add("capped_by_kernel");
        continue;
      }
      out.put(kPagetypeinfoMetrics[kTypeFreeBlocks], row.blocks[order], node, zone, type, order);
    }
    out.put(kPagetypeinfoMetrics[kPageblocks], row.pageblocks, node, zone, type);
  }
}

}  // namespace jetmem
