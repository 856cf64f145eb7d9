// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/bufinfo.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxBufinfoName = 64;
constexpr std::string_view kAttached = "\tAttached Devices:";
constexpr std::string_view kUnlocked = "\tERROR locking buffer object: skipping";

// "Total 8 <what>", to its end or to what `rest` gets.
std::optional<std::uint64_t> total_of(std::string_view line, std::string_view what,
                                      std::string_view& rest) {
  if (!take_prefix(line, "Total ") || line.empty() || !is_digit(line.front())) return std::nullopt;
  const auto number = take_u64(line);
  if (!number || !take_prefix(line, what)) return std::nullopt;
  rest = line;
  return number;
}

// A column of digits, at least 8 of them, and the tab behind it.
template <class IsDigit>
std::optional<std::string_view> take_column(std::string_view& rest, IsDigit is_digit) {
  std::size_t size = 0;
  while (size < rest.size() && is_digit(rest[size])) ++size;
  if (size < 8 || size == rest.size() || rest[size] != '\t') return std::nullopt;
  const std::string_view column = rest.substr(0, size);
  rest.remove_prefix(size + 1);
  return column;
}

bool is_count(char c) { return is_digit(c) || c == '-'; }

struct Row {
  std::uint64_t size = 0;
  std::uint64_t references = 0;
  std::optional<std::uint64_t> inode;
  std::string_view exporter;
};

std::optional<Row> row_of(std::string_view line, bool has_inode) {
  auto size = take_column(line, is_digit);
  if (!size || !take_column(line, is_lower_hex) || !take_column(line, is_lower_hex))
    return std::nullopt;
  const auto count = take_column(line, is_count);
  const auto bytes = take_u64(*size);
  if (!count || !bytes) return std::nullopt;
  Row row{*bytes, parse_u64(*count).value_or(0), std::nullopt, line};
  if (has_inode) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return std::nullopt;
    row.exporter = line.substr(0, tab);
    line.remove_prefix(tab + 1);
    std::size_t digits = 0;
    while (digits < line.size() && is_digit(line[digits])) ++digits;
    if (digits < 8 || (digits < line.size() && line[digits] != '\t')) return std::nullopt;
    row.inode = parse_u64(line.substr(0, digits));
  }
  return row;
}

// False where this would be one more than `most` names.
bool add_share(std::vector<DmabufShare>& shares, std::string_view name, std::uint64_t bytes,
               std::size_t most) {
  name = name.substr(0, kMaxBufinfoName);
  auto share = std::find_if(shares.begin(), shares.end(),
                            [&](const DmabufShare& known) { return known.name == name; });
  if (share == shares.end()) {
    if (shares.size() >= most) return false;
    share = shares.insert(share, {std::string(name)});
  }
  ++share->buffers;
  share->bytes += bytes;
  return true;
}

class BufinfoParser {
 public:
  BufinfoParser(std::string_view text, Bufinfo& out) : lines_(text), out_(out) {}

  Result<void> run(std::string_view more) {
    std::string_view line;
    do {
      if (!lines_.next(line)) return lines_.malformed("expected 'Dma-buf Objects:'");
    } while (line.empty());
    if (line != "Dma-buf Objects:") return unexpected("'Dma-buf Objects:'", line);
    if (!lines_.next(line)) return lines_.malformed("expected the names of the columns");
    if (!take_prefix(line, "size") || line.find("\texp_name") == std::string_view::npos) {
      return unexpected("the names of the columns", line);
    }
    has_inode_ = line.find("\tino") != std::string_view::npos;
    while (lines_.next(line)) take(line);
    finish_row();
    Lines rows(more);
    while (rows.next(line)) {
      if (const auto row = row_of(line, has_inode_)) take_nvmap(*row);
    }
    return {};
  }

 private:
  tl::unexpected<Error> unexpected(std::string_view what, std::string_view line) const {
    return lines_.malformed("expected " + std::string(what) + ", found '" + printable(line, 60) +
                            "'");
  }

  void take(std::string_view line) {
    if (line.empty()) return;
    if (const auto row = row_of(line, has_inode_)) {
      finish_row();
      in_row_ = true;
      row_ = *row;
      ++out_.rows;
      out_.row_bytes += row->size;
      out_.largest = std::max(out_.largest, row->size);
      add_exporter(row->exporter, row->size, out_);
      take_nvmap(*row);
      return;
    }
    if (line == kUnlocked && !in_devices_) {
      ++out_.unlocked;
      return;
    }
    if (!in_row_) return;
    if (line == kAttached) {
      // The last one counts: those before are a name's.
      in_devices_ = true;
      closed_ = false;
      listed_ = 0;
      return;
    }
    if (!in_devices_) return;
    if (line.front() == '\t') {
      if (listed_ < row_devices_.size()) row_devices_[listed_] = line.substr(1);
      ++listed_;
      return;
    }
    std::string_view rest;
    const auto total = total_of(line, " devices attached", rest);
    if (!total || !rest.empty()) return;
    closed_ = *total == listed_;
    in_devices_ = false;
  }

  void take_nvmap(const Row& row) {
    if (!row.inode || !is_nvmap(row.exporter)) return;
    out_.of_nvmap.push_back({*row.inode, row.size, row.references});
  }

  void finish_row() {
    if (in_row_ && closed_) {
      const std::size_t kept = std::min(listed_, row_devices_.size());
      for (std::size_t i = 0; i < kept; ++i) {
        // A device that has a buffer attached twice has it once.
        const auto* const end = row_devices_.begin() + i;
        if (std::find(row_devices_.cbegin(), end, row_devices_[i]) != end) continue;
        const bool added =
            add_share(out_.devices, row_devices_[i], row_.size, Bufinfo::kMaxDevices);
        if (!added) ++out_.beyond_bound;
      }
      out_.beyond_bound += listed_ - kept;
    } else if (in_row_) {
      ++out_.devices_unknown;
    }
    in_row_ = in_devices_ = closed_ = false;
    listed_ = 0;
  }

  Lines lines_;
  Bufinfo& out_;
  bool has_inode_ = false;
  bool in_row_ = false;
  bool in_devices_ = false;
  bool closed_ = false;
  Row row_;
  std::array<std::string_view, Bufinfo::kMaxDevices> row_devices_;
  std::size_t listed_ = 0;
};

// "Total 8 objects, 99532800 bytes", the last line.
Result<void> parse_totals(std::string_view text, Bufinfo& out) {
  std::string_view last;
  if (!text.empty() && text.back() == '\n') {
    text.remove_suffix(1);
    last = text.substr(text.rfind('\n') + 1);
  }
  std::string_view rest;
  const auto buffers = total_of(last, " objects, ", rest);
  const auto bytes =
      buffers && !rest.empty() && is_digit(rest.front()) ? take_u64(rest) : std::nullopt;
  if (!bytes || rest != " bytes") {
    return fail(Errc::kMalformed, "last line: expected 'Total N objects, N bytes', found '" +
                                      printable(last, 60) + "'");
  }
  out.buffers = *buffers;
  out.bytes = *bytes;
  return {};
}

}  // namespace

void add_exporter(std::string_view name, std::uint64_t bytes, Bufinfo& out) {
  if (add_share(out.exporters, name, bytes, Bufinfo::kMaxExporters)) return;
  add_share(out.exporters, Bufinfo::kOther, bytes, Bufinfo::kMaxExporters + 1);
}

Result<void> parse_bufinfo(std::string_view text, std::optional<std::string_view> end, Bufinfo& out,
                           std::string_view more) {
  out = {};
  if (auto ok = BufinfoParser(text, out).run(more); !ok) return ok;
  std::sort(out.of_nvmap.begin(), out.of_nvmap.end(),
            [](const NvmapBuffer& a, const NvmapBuffer& b) { return a.inode < b.inode; });
  return parse_totals(end.value_or(text), out);
}

}  // namespace jetmem
