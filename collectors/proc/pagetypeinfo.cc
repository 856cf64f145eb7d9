// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pagetypeinfo.h"

#include <sys/utsname.h>

#include <cstdio>
#include <utility>

#include "base/text/text.h"

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

bool is_blank_line(std::string_view line) {
  skip_blanks(line);
  return line.empty();
}

class PagetypeinfoParser {
 public:
  PagetypeinfoParser(std::string_view text, Pagetypeinfo& out) : lines_(text), out_(out) {
    out_.rows.clear();
    complete_ = ends_complete(text);
  }

  Result<void> run() {
    if (!next()) return fail(Errc::kMalformed, "empty");
    while (!at_end_) {
      for (const auto step :
           {&PagetypeinfoParser::heading, &PagetypeinfoParser::free_table,
            &PagetypeinfoParser::block_table, &PagetypeinfoParser::skip_mixed_table}) {
        if (auto ok = (this->*step)(); !ok) return ok;
      }
    }
    if (!complete_) return lines_.malformed("cut off: no newline at its end");
    return {};
  }

 private:
  // The next line that is not blank.
  bool next() {
    do {
      if (!lines_.next(line_)) {
        at_end_ = true;
        line_ = {};
        return false;
      }
    } while (is_blank_line(line_));
    return true;
  }

  tl::unexpected<Error> expected(std::string_view what) const {
    std::string message = "expected ";
    message.append(what);
    message += at_end_ ? ", but the text ends" : ", found '" + printable(line_, 60) + "'";
    return lines_.malformed(message);
  }

  // "Page block order: 9" and "Pages per block:  512".
  Result<void> heading() {
    const bool first = out_.rows.empty();
    for (const auto& [name, value] :
         {std::pair{std::string_view("Page block order:"), &out_.pageblock_order},
          std::pair{std::string_view("Pages per block:"), &out_.pages_per_block}}) {
      std::string_view rest = line_;
      const bool named = take_prefix(rest, name);
      const auto number = named ? take_u64(rest) : std::nullopt;
      if (!number || !is_blank_line(rest)) {
        return expected("'" + std::string(name) + "' and a number");
      }
      if (!first && *value != *number) {
        return lines_.malformed("'" + std::string(name) + "' is " + std::to_string(*number) +
                                ", but " + std::to_string(*value) + " for the node before");
      }
      *value = *number;
      next();
    }
    return {};
  }

  Result<void> free_table() {
    std::string_view rest = line_;
    if (!take_prefix(rest, "Free pages count per migrate type at order")) {
      return expected("the table 'Free pages count per migrate type at order'");
    }
    orders_ = 0;
    while (const auto order = take_u64(rest)) {
      if (*order != orders_) return expected("the orders from 0 on");
      if (++orders_ > kMaxOrders) return lines_.malformed("more than 32 orders");
    }
    if (orders_ == 0 || !is_blank_line(rest)) return expected("the orders from 0 on");
    while (next() && line_.substr(0, 5) == "Node ") {
      if (auto ok = free_row(); !ok) return ok;
    }
    return {};
  }

  // "Node    0, zone   Normal, type    Unmovable     97     61 ..."
  Result<void> free_row() {
    std::string_view rest = line_;
    const auto zone = take_zone(rest);
    const bool typed = zone && take_prefix(rest, ", type ");
    const std::string_view type = typed ? take_type(rest) : std::string_view();
    if (type.empty()) return expected("'Node N, zone NAME, type NAME'");
    if (row_of(*zone, type) != nullptr) {
      return lines_.malformed("zone " + std::string(zone->name) + ", type " + std::string(type) +
                              " twice");
    }
    if (out_.rows.size() == kMaxRows) return lines_.malformed("more than 2048 rows");
    Pagetypeinfo::Row& row = out_.rows.emplace_back();
    row.zone = *zone;
    row.type = type;
    row.pageblocks = kNotCounted;
    while (true) {
      skip_blanks(rest);
      const bool capped = take_prefix(rest, ">");
      const auto count = take_u64(rest);
      if (!count) {
        if (capped) return expected("a number behind '>'");
        break;
      }
      if (row.orders == orders_) return wrong_columns("more orders than the heading's", orders_);
      if (*count > (kMaxPages >> row.orders)) {
        return lines_.malformed(std::to_string(*count) + " free blocks of order " +
                                std::to_string(row.orders) + " are more than any machine has");
      }
      if (capped) row.capped |= 1U << row.orders;
      row.blocks[row.orders++] = *count;
    }
    if (!is_blank_line(rest)) return expected("numbers that fit 64 bits");
    if (row.orders != orders_) {
      return wrong_columns(std::to_string(row.orders) + " orders", orders_);
    }
    return {};
  }

  tl::unexpected<Error> wrong_columns(std::string_view found, std::size_t needed) const {
    return lines_.malformed(std::string(found) + ", expected " + std::to_string(needed));
  }

  Result<void> block_table() {
    std::string_view rest = line_;
    if (!take_prefix(rest, "Number of blocks type")) {
      return expected("the table 'Number of blocks type'");
    }
    types_ = 0;
    while (true) {
      const std::string_view type = take_type(rest);
      if (type.empty()) break;
      if (types_ == kMaxTypes) return lines_.malformed("more than 16 types");
      type_names_[types_++] = type;
    }
    if (types_ == 0 || !is_blank_line(rest)) return expected("names of types");
    while (next() && line_.substr(0, 5) == "Node ") {
      if (auto ok = block_row(); !ok) return ok;
    }
    for (const Pagetypeinfo::Row& row : out_.rows) {
      if (row.pageblocks != kNotCounted) continue;
      return lines_.malformed("no number of blocks for zone " + row.zone.name + ", type " +
                              row.type);
    }
    return {};
  }

  // "Node 0, zone   Normal          160          590 ..."
  Result<void> block_row() {
    std::string_view rest = line_;
    const auto zone = take_zone(rest);
    if (!zone) return expected("'Node N, zone NAME'");
    std::size_t column = 0;
    while (const auto count = take_u64(rest)) {
      if (column == types_) return wrong_columns("more types than the heading's", types_);
      const std::string_view type = type_names_[column++];
      Pagetypeinfo::Row* const row = row_of(*zone, type);
      if (row == nullptr || row->pageblocks != kNotCounted) {
        return lines_.malformed("zone " + std::string(zone->name) + ", type " + std::string(type) +
                                (row == nullptr ? " has no free counts" : " twice"));
      }
      if (*count > kMaxPages) return lines_.malformed("more blocks than any machine has");
      row->pageblocks = *count;
    }
    if (!is_blank_line(rest)) return expected("numbers that fit 64 bits");
    if (column != types_) return wrong_columns(std::to_string(column) + " types", types_);
    return {};
  }

  Pagetypeinfo::Row* row_of(const ZoneText& zone, std::string_view type) {
    for (Pagetypeinfo::Row& row : out_.rows) {
      if (row.zone == zone && row.type == type) return &row;
    }
    return nullptr;
  }

  Result<void> skip_mixed_table() {
    if (line_.substr(0, 22) != "Number of mixed blocks") return {};
    while (next() && line_.substr(0, 5) == "Node ") {
    }
    return {};
  }

  static constexpr std::uint64_t kNotCounted = UINT64_MAX;

  Lines lines_;
  std::string_view line_;
  bool at_end_ = false;
  bool complete_ = false;
  std::size_t orders_ = 0;
  std::array<std::string_view, kMaxTypes> type_names_;
  std::size_t types_ = 0;
  Pagetypeinfo& out_;
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
  return PagetypeinfoParser(text, out).run();
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
  const std::vector<Pagetypeinfo::Row>& rows = reading_.rows;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    std::uint64_t pageblocks = 0;
    for (end = begin; end < rows.size() && rows[end].zone == rows[begin].zone; ++end) {
      pageblocks += rows[end].pageblocks;
    }
    if (pageblocks == 0) continue;
    for (std::size_t i = begin; i < end; ++i) {
      const Pagetypeinfo::Row& row = rows[i];
      // HighAtomic and Isolate are empty on most machines most of the time, a seventh of the
      // series for nothing. They come and go with what they count; at one read in five minutes
      // the change of shape costs nobody anything.
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
}

}  // namespace jetmem
