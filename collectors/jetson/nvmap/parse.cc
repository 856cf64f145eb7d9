// SPDX-License-Identifier: Apache-2.0
// From the text of nvmap's files to a reading.

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>

#include "base/text/text.h"
#include "collectors/jetson/nvmap/source.h"
#include "collectors/jetson/nvmap/tables.h"
#include "collectors/largest.h"
#include "collectors/storage.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

using nvmap::kMaxClients;
using nvmap::kMaxHeaps;
using nvmap::kMaxNames;

constexpr std::string_view kNoOrphanTable = "no_orphan_table";
// Larger is no amount of memory: usually a count that went below zero.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;
constexpr std::size_t kMostNameBytes = 64;

struct RawHeap {
  std::string_view name;
  Record clients = kNoRecord;
  Record orphans = kNoRecord;
  Record size = kNoRecord;
  Record free_size = kNoRecord;
};

// "0x0000000004000000\n", as debugfs prints the sizes of carve-outs, or decimal.
std::optional<std::uint64_t> hex_value(std::string_view text) {
  auto value = one_value(text);
  if (!value) return std::nullopt;
  if (!take_prefix(*value, "0x")) return parse_u64(*value);
  std::uint64_t number = 0;
  const char* const end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, number, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// "Max allocatable IOVMM memory: 3221225472 bytes\n"
std::optional<std::uint64_t> allocatable_value(std::string_view text) {
  auto value = one_value(text);
  if (!value || !take_prefix(*value, "Max allocatable IOVMM memory:")) return std::nullopt;
  const auto bytes = take_u64(*value);
  return bytes && *value == " bytes" ? bytes : std::nullopt;
}

// Sums out.clients by name into out.processes. A heap of which some clients are not known is
// omitted: parts of sums are no sums.
void sum_processes(Nvmap& out) {
  for (const Nvmap::Heap& heap : out.heaps) {
    if (heap.is_partial) continue;
    std::map<std::string_view, std::uint64_t> sums;
    for (const Nvmap::Client& client : out.clients) {
      if (client.heap == heap.name) sums[client.name] += client.bytes;
    }
    auto rest = keep_largest(sums, kMaxNames);
    for (const auto& [name, bytes] : sums) {
      // "other" is the name of the rest: a process of that name belongs there.
      if (name == "other") {
        rest = rest.value_or(0) + bytes;
      } else {
        out.processes.push_back({heap.name, std::string(name), false, bytes});
      }
    }
    if (rest) out.processes.push_back({heap.name, "", true, *rest});
  }
}

class NvmapCollector {
 public:
  NvmapCollector(const Snapshot& snapshot, Nvmap& out) : snapshot_(snapshot), out_(out) {}

  Result<void> run() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) take(static_cast<Record>(i));
    // A folder without a table is no heap (stats, pagepool).
    std::size_t heaps = 0;
    for (const RawHeap& raw : heaps_) heaps += raw.clients != kNoRecord || raw.orphans != kNoRecord;
    if (heaps == 0) return tl::unexpected(no_tables());
    heaps_.sort_by(&RawHeap::name);
    for (const RawHeap& raw : heaps_) {
      if (raw.clients == kNoRecord && raw.orphans == kNoRecord) continue;
      Nvmap::Heap& heap = out_.heaps.emplace_back();
      heap.name = raw.name;
      finish_clients(raw, heap);
      // Without its total it may have been cut behind any row.
      out_.clients_whole &= heap.bytes && heap.clients && !heap.is_partial;
      finish_orphans(raw, heap);
      finish_carveout(raw, heap);
    }
    out_.clients_whole &= !heaps_omitted_;
    auto& pids = out_.client_pids;
    std::sort(pids.begin(), pids.end());
    pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
    sum_processes(out_);
    sum_heaps();
    take_number(available_, out_.pool_pages, kMostBytes >> 12);
    std::optional<std::uint64_t> to_zero;
    take_number(to_zero_, to_zero, kMostBytes >> 12);
    if (out_.pool_pages && to_zero) *out_.pool_pages += *to_zero;
    if (beyond_bound_ > 0) out_.absent.add(kBeyondBound, beyond_bound_);
    if (any_table_) return {};
    if (any_denied_) return fail(Errc::kDenied, "the tables of nvmap may not be read");
    return tl::unexpected(std::move(*first_error_));
  }

 private:
  FileText file(Record record) const { return snapshot_[static_cast<std::size_t>(record)]; }

  void take(Record record) {
    const FileText file = this->file(record);
    std::string_view rest = file.path;
    if (take_prefix(rest, "jetmem:")) {
      if (rest == nvmap::kDeviceRemark) has_device_ = one_u64(file.text) == 1U;
      if (rest == nvmap::kLeftOutNote) omit_heaps(one_u64(file.text).value_or(1));
      return;
    }
    if (rest == nvmap::kRoot) {
      root_error_ = record;
      return;
    }
    if (!take_prefix(rest, nvmap::kRoot) || !take_prefix(rest, "/")) return;
    if (is_gone(file.error)) return;
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return;
    const std::string_view folder = rest.substr(0, slash);
    const std::string_view leaf = rest.substr(slash + 1);
    if (folder == "pagepool") {
      if (leaf == "page_pool_available_pages") available_ = record;
      if (leaf == "page_pool_pages_to_zero") to_zero_ = record;
    } else if (leaf == "clients") {
      set(folder, &RawHeap::clients, record);
    } else if (leaf == "orphan_handles") {
      set(folder, &RawHeap::orphans, record);
    } else if (leaf == "size") {
      set(folder, &RawHeap::size, record);
    } else if (leaf == "free_size") {
      set(folder, &RawHeap::free_size, record);
    }
  }

  void set(std::string_view folder, Record RawHeap::*leaf, Record record) {
    RawHeap* const heap = folder.empty() || folder.size() > kMostNameBytes
                              ? nullptr
                              : heaps_.find_or_add(&RawHeap::name, folder);
    if (heap == nullptr) return omit_heaps(1);
    heap->*leaf = record;
  }

  void omit_heaps(std::uint64_t count) {
    beyond_bound_ += count;
    heaps_omitted_ = heaps_omitted_ || count > 0;
  }

  void sum_heaps() {
    if (heaps_omitted_) return;
    std::uint64_t sum = 0;
    for (const Nvmap::Heap& heap : out_.heaps) {
      if (!heap.bytes) {
        out_.absent.add("heap_total_unknown");
        return;
      }
      sum += *heap.bytes;
    }
    out_.total_bytes = sum;
  }

  Error no_tables() const {
    if (root_error_ == kNoRecord) {
      return {Errc::kAbsent, "nvmap shows no tables in debugfs"};
    }
    const FileText root = file(root_error_);
    if (!is_gone(root.error) && !(is_denied(root.error) && has_device_ == false)) {
      Error error = root.as_error();
      if (is_denied(root.error))
        error.message += "; the sum of all may be in meminfo (NvMapMemUsed)";
      return error;
    }
    if (has_device_ == true) {
      return {Errc::kAbsent,
              "nvmap is here, but nothing of it in debugfs: debugfs is not mounted, or this kernel "
              "was built without nvmap's tables"};
    }
    return {Errc::kAbsent, "no nvmap on this machine"};
  }

  void failed(const FileText& file, std::string_view fault) {
    if (!file.ok()) {
      any_denied_ |= is_denied(file.error);
      out_.absent.add(reason_of_denied(file.error));
      if (!first_error_) first_error_ = file.as_error();
      return;
    }
    out_.absent.add(kMalformed);
    if (first_error_) return;
    first_error_ = Error{Errc::kMalformed, std::string(file.path) + ": " + std::string(fault) +
                                               ": '" + printable(file.text, 60) + "'"};
  }

  // The table in this record, and in the next one its end, where its middle was cut out.
  std::optional<nvmap::Table> table_of(Record record, std::string_view header_begins) {
    const FileText file = this->file(record);
    nvmap::Table table{file.text, {}, false};
    const std::size_t next = static_cast<std::size_t>(record) + 1;
    std::string_view path = next < snapshot_.size() ? snapshot_[next].path : std::string_view();
    if (take_prefix(path, "jetmem:end of ") && path == file.path) {
      table.end = snapshot_[next].text;
      table.cut = true;
    }
    const std::string_view fault =
        file.ok() ? nvmap::TableLines::fault(table, header_begins) : std::string_view();
    if (!file.ok() || !fault.empty()) {
      failed(file, fault);
      return std::nullopt;
    }
    any_table_ = true;
    return table;
  }

  void finish_clients(const RawHeap& raw, Nvmap::Heap& heap) {
    if (raw.clients == kNoRecord) return;
    const auto table = table_of(raw.clients, "CLIENT");
    if (!table) return;
    bool all_known = !table->cut;
    if (table->cut) {
      ++beyond_bound_;
      heap.is_partial = true;
    }
    std::uint64_t count = 0;
    std::uint64_t charged = 0;
    nvmap::TableLines lines(*table);
    std::string_view line;
    while (lines.next_row(line)) {
      if (line.empty()) continue;
      const bool is_wide = lines.is_wide_enough(line) && !heap.bytes;
      if (const auto total = is_wide ? nvmap::total_row(line) : std::nullopt) {
        heap.bytes = total;
        continue;
      }
      const auto row = is_wide ? nvmap::client_row(line) : std::nullopt;
      if (!row || row->process.size() > kMostNameBytes) {
        out_.absent.add(kMalformed);
        all_known = false;
        continue;
      }
      if (out_.client_pids.size() < kMaxHeaps * kMaxClients) out_.client_pids.push_back(row->pid);
      if (row->bytes == 0) continue;
      ++count;
      charged += row->bytes;
      if (count > kMaxClients) {
        ++beyond_bound_;
        heap.is_partial = true;
        continue;
      }
      out_.clients.push_back(
          {std::string(raw.name), std::string(row->process), row->pid, row->bytes});
    }
    if (!heap.bytes) out_.absent.add(kMalformed);
    if (!all_known) return;
    heap.clients = count;
    heap.charged_bytes = charged;
  }

  void finish_orphans(const RawHeap& raw, Nvmap::Heap& heap) {
    if (raw.orphans == kNoRecord) {
      out_.absent.add(kNoOrphanTable);
      return;
    }
    // Kernels that have this table charge shared buffers in equal parts: what no client is charged
    // with is the sum of its rows, but for the rounding of each client to KiB.
    if (heap.bytes && heap.charged_bytes) {
      heap.orphan_bytes = *heap.bytes - std::min(*heap.bytes, *heap.charged_bytes);
    }
    if (file(raw.orphans).error == FileText::kTooLarge) {
      ++beyond_bound_;
      return;
    }
    const auto table = table_of(raw.orphans, "BASE");
    if (!table) return;
    bool all_known = !table->cut;
    if (table->cut) ++beyond_bound_;
    std::uint64_t handles = 0;
    std::uint64_t bytes = 0;
    std::string_view last_uid;
    std::uint64_t last_bytes = 0;
    nvmap::TableLines lines(*table);
    std::string_view line;
    while (lines.next(line)) {
      if (line.empty()) continue;
      const auto row = nvmap::orphan_row(line);
      if (!row) {
        out_.absent.add(kMalformed);
        all_known = false;
        continue;
      }
      const bool is_next_page =
          !row->uid.empty() && row->uid == last_uid && row->bytes == last_bytes;
      last_uid = row->uid;
      last_bytes = row->bytes;
      if (is_next_page) continue;
      ++handles;
      bytes += row->bytes;
    }
    if (!all_known) return;
    heap.orphan_handles = handles;
    heap.orphan_bytes = bytes;
  }

  void finish_carveout(const RawHeap& raw, Nvmap::Heap& heap) {
    take_number(raw.size, heap.size, kMostBytes, hex_value);
    if (raw.free_size == kNoRecord) return;
    const FileText file = this->file(raw.free_size);
    const auto allocatable = file.ok() ? allocatable_value(file.text) : std::nullopt;
    if (allocatable && *allocatable <= kMostBytes) {
      out_.allocatable_bytes = allocatable;
    } else if (file.text.starts_with("Error while fetching free size")) {
      out_.absent.add("unreadable");
    } else {
      take_number(raw.free_size, heap.free, kMostBytes, hex_value);
    }
  }

  void take_number(Record record, std::optional<std::uint64_t>& into, std::uint64_t most,
                   std::optional<std::uint64_t> (*parse)(std::string_view) = one_u64) {
    if (record == kNoRecord) return;
    const FileText file = this->file(record);
    const auto value = file.ok() ? parse(file.text) : std::nullopt;
    if (value && *value <= most) {
      into = value;
      return;
    }
    out_.absent.add(file.ok() ? kMalformed : reason_of_denied(file.error));
  }

  const Snapshot& snapshot_;
  Nvmap& out_;
  BoundedList<RawHeap, kMaxHeaps> heaps_;
  Record root_error_ = kNoRecord;
  Record available_ = kNoRecord;
  Record to_zero_ = kNoRecord;
  std::optional<bool> has_device_;
  std::uint64_t beyond_bound_ = 0;
  bool heaps_omitted_ = false;
  bool any_table_ = false;
  bool any_denied_ = false;
  std::optional<Error> first_error_;
};

}  // namespace

Result<void> parse_nvmap(const Snapshot& snapshot, Nvmap& out) {
  out = {};
  out.clients_whole = true;
  return NvmapCollector(snapshot, out).run();
}

}  // namespace jetmem
