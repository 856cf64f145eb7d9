// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/budget.h"

#include <array>

namespace jetmem::device {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;
// Beyond it a double would round, and parts would no longer add up.
constexpr std::uint64_t kMost = 1ULL << 52;
constexpr std::string_view kOthers = "(others)";  // no node can be called so

// The characters of a node's name (Devicetree Specification 2.2.1). Others would be replaced where
// the name is shown, and two might become one.
bool is_node_name(std::string_view name) {
  if (name.empty() || name.size() > 63) return false;
  for (const char c : name) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_plain && std::string_view(",._+-@").find(c) == std::string_view::npos) return false;
  }
  return true;
}

// What one of the sources says of physical memory.
struct Physical {
  Budget::From from = Budget::From::kNowhere;
  std::uint64_t bytes = 0;
  std::uint64_t lowest = 0;
  std::uint64_t end = 0;
  RangeSet ranges;                 // empty: only the bounds are known
  const RangeSet* kept = nullptr;  // by firmware, within `ranges`
};

class Maker {
 public:
  explicit Maker(const MemoryFacts& facts) : facts_(facts) {}

  Budget run() {
    if (!choose_physical()) return budget_;
    budget_.from = physical_.from;
    budget_.physical = physical_.bytes;
    put(Budget::Kind::kLinux, "mem_total", *facts_.mem_total);
    Budget::Part& reserved = put(Budget::Kind::kLinux, "kernel_reserved", 0);
    const bool has_tree = facts_.tree != nullptr && facts_.tree->has_tree;
    if (has_tree) carve_outs();
    if (!fits_) return none("too_many_ranges");
    std::uint64_t kept = 0;
    if (physical_.kept != nullptr) {
      for (const Range& range : *physical_.kept) kept += fresh(range);
      put(Budget::Kind::kFirmware, "reserved", kept);
    }
    std::uint64_t rest = physical_.bytes - *facts_.mem_total;
    if (inside_ > rest || kept > rest - inside_) return none("carveouts_exceed_memory");
    rest -= inside_ + kept;
    // Where its address is not known, a carve-out that does not fit is elsewhere.
    if (somewhere_ <= rest) {
      rest -= somewhere_;
    } else {
      outside_ += somewhere_;
    }
    reserved.bytes = rest;
    if (outside_ > kMost - physical_.bytes) return none("implausible_size");
    const std::uint64_t known = physical_.bytes + outside_;
    if (has_tree) {
      budget_.module = module_size_for(known, facts_.is_tegra);
    } else if (facts_.module_of_dmi.value_or(0) >= known) {
      budget_.module = facts_.module_of_dmi;
    }
    if (budget_.module) {
      put(Budget::Kind::kFirmware, "unattributed", *budget_.module - known);
    }
    return budget_;
  }

 private:
  Budget none(std::string_view why) {
    budget_.parts = {};
    budget_.module.reset();
    budget_.absence_reason = why;
    return budget_;
  }

  Budget::Part& put(Budget::Kind kind, std::string_view name, std::uint64_t bytes) {
    Budget::Part& part = budget_.parts.add();
    part = {kind, name, bytes};
    return part;
  }

  bool choose_physical() {
    if (!facts_.mem_total || *facts_.mem_total == 0) {
      budget_.absence_reason = "mem_total_unreadable";
      return false;
    }
    if (facts_.zones != nullptr && facts_.zones->managed && facts_.page_size &&
        contradict(
            static_cast<double>(*facts_.zones->managed) * static_cast<double>(*facts_.page_size),
            static_cast<double>(*facts_.mem_total))) {
      budget_.absence_reason = "zoneinfo_contradicts_meminfo";
      return false;
    }
    budget_.absence_reason = "physical_unknown";
    const bool has_tree = facts_.tree != nullptr && facts_.tree->has_tree;
    if (has_tree && take(Budget::From::kDeviceTree, facts_.tree->memory, nullptr)) return true;
    if (facts_.iomem != nullptr) {
      // On x86 an outermost "reserved" may be no memory.
      const RangeSet* kept = has_tree ? &facts_.iomem->firmware : nullptr;
      if (take(Budget::From::kIomem, facts_.iomem->memory, kept)) return true;
    }
    if (facts_.memblock != nullptr) {
      const RangeSet* kept = facts_.memblock->knows_firmware ? &facts_.memblock->firmware : nullptr;
      if (take(Budget::From::kMemblock, facts_.memblock->memory, kept)) return true;
    }
    return facts_.zones != nullptr && take_zones(*facts_.zones);
  }

  bool take(Budget::From from, const RangeSet& memory, const RangeSet* kept) {
    if (memory.empty()) return false;
    physical_.ranges = memory;
    physical_.kept = kept;
    if (kept != nullptr) {
      for (const Range& range : *kept) {
        if (!physical_.ranges.add(range)) return false;
      }
    }
    return settle(from, physical_.ranges.bytes(), physical_.ranges.begin()->begin,
                  (physical_.ranges.end() - 1)->end);
  }

  bool take_zones(const ZonePages& zones) {
    if (!facts_.page_size) {
      budget_.absence_reason = "page_size_unknown";
      return false;
    }
    const std::uint64_t page = *facts_.page_size;
    if (page == 0 || zones.end > kMost / page || zones.present > kMost / page) return false;
    physical_.ranges.clear();
    physical_.kept = nullptr;
    return settle(Budget::From::kZoneinfo, zones.present * page, zones.lowest * page,
                  zones.end * page);
  }

  bool settle(Budget::From from, std::uint64_t bytes, std::uint64_t lowest, std::uint64_t end) {
    if (bytes < *facts_.mem_total) {
      budget_.absence_reason = "physical_below_mem_total";
      return false;
    }
    if (bytes > kMost) {
      budget_.absence_reason = "implausible_size";
      return false;
    }
    physical_.from = from;
    physical_.bytes = bytes;
    physical_.lowest = lowest / kGiB * kGiB;
    physical_.end = end;
    budget_.absence_reason = {};
    return true;
  }

  void carve_outs() {
    std::uint64_t others = 0;
    std::size_t named = 0;
    // Those whose place the kernel chose come last: they lie in what the others leave.
    for (const bool has_address : {true, false}) {
      for (const CarveOut& node : facts_.tree->nodes) {
        if (!node.enabled || node.reusable || node.ranges.empty() == has_address) continue;
        const std::uint64_t bytes = has_address ? bytes_at_address(node) : bytes_elsewhere(node);
        if (bytes == 0) continue;
        if (named < kMaxNamedParts && is_node_name(node.name)) {
          ++named;
          put(Budget::Kind::kCarveOut, node.name, bytes);
        } else {
          ++budget_.unnamed;
          others += bytes;
        }
      }
    }
    if (others > 0) put(Budget::Kind::kCarveOut, kOthers, others);
  }

  std::uint64_t bytes_at_address(const CarveOut& node) {
    std::uint64_t bytes = 0;
    for (Range range : node.ranges) {
      if (range.end <= physical_.lowest || range.end > kMost) continue;
      range.begin = std::max(range.begin, physical_.lowest);
      bytes += location(range);
    }
    return bytes;
  }

  std::uint64_t bytes_elsewhere(const CarveOut& node) {
    const std::uint64_t bytes = node.size.value_or(0);
    if (bytes > kMost) return 0;  // the kernel found no place for it either
    const bool is_mapped =
        physical_.from == Budget::From::kIomem || physical_.from == Budget::From::kMemblock;
    if (bytes > 0 && node.no_map && is_mapped) {
      // No kernel counts it as memory of its own, so it is none of kernel_reserved.
      if (const auto found = chosen_path(node, bytes)) return location(*found);
      if (physical_.kept != nullptr) {
        outside_ += bytes;
        return bytes;
      }
      // A memblock without flags shows as memory what a kernel after 5.10 does not map.
    }
    somewhere_ += bytes;
    return bytes;
  }

  // Where a no-map carve-out without an address seems to lie: in what is kept (kernels after 5.10
  // mark it so), or in a hole of its size (older ones forget that it is memory).
  std::optional<Range> chosen_path(const CarveOut& node, std::uint64_t bytes) const {
    std::optional<Range> best;
    const auto take_smallest = [&](Range piece) {
      if (piece.size() >= bytes && (!best || piece.size() < best->size())) best = piece;
    };
    if (physical_.kept != nullptr) {
      for (const Range& range : *physical_.kept) for_each_free(node, range, take_smallest);
    }
    if (best && best->size() == bytes) return best;
    std::optional<Range> hole;
    const auto take_equal = [&](Range piece) {
      if (piece.size() == bytes) hole = piece;
    };
    const RangeSet& ranges = physical_.ranges;
    for (const Range* next = ranges.begin() + 1; next < ranges.end(); ++next) {
      for_each_free(node, {(next - 1)->end, next->begin}, take_equal);
    }
    if (hole || !best) return hole;
    return Range{best->end - bytes, best->end};
  }

  // What of `range` no carve-out has yet and the node may lie in.
  template <class Take>
  void for_each_free(const CarveOut& node, Range range, Take take) const {
    const auto allowed = [&](Range piece) {
      if (node.alloc_ranges.empty()) take(piece);
      for (const Range& from : node.alloc_ranges) take(common_part(piece, from));
    };
    for (const Range& taken : claimed_) {
      const Range common = common_part(range, taken);
      if (common.empty()) continue;
      if (range.begin < common.begin) allowed({range.begin, common.begin});
      range.begin = common.end;
    }
    if (!range.empty()) allowed(range);
  }

  // The bytes of it that no carve-out before had, added to where they lie.
  std::uint64_t location(Range range) {
    std::uint64_t inside = 0;
    if (physical_.ranges.empty()) {
      const bool behind = range.begin >= physical_.end;
      const std::uint64_t bytes = fresh(range);
      (behind ? outside_ : somewhere_) += bytes;
      claim(range);
      return bytes;
    }
    for (const Range& piece : physical_.ranges) inside += fresh(common_part(piece, range));
    const std::uint64_t bytes = fresh(range);
    inside_ += inside;
    outside_ += bytes - inside;
    claim(range);
    return bytes;
  }

  std::uint64_t fresh(Range range) const { return range.size() - claimed_.overlap(range); }
  void claim(Range range) { fits_ = claimed_.add(range) && fits_; }

  const MemoryFacts& facts_;
  Budget budget_;
  Physical physical_;
  RangeSet claimed_;
  bool fits_ = true;  // otherwise two that overlap might count twice
  std::uint64_t inside_ = 0;
  std::uint64_t outside_ = 0;
  std::uint64_t somewhere_ = 0;
};

}  // namespace

Budget make_budget(const MemoryFacts& facts) { return Maker(facts).run(); }

std::string_view kind_name(Budget::Kind kind) {
  static constexpr std::array<std::string_view, 3> kNames{"linux", "carveout", "firmware"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view from_name(Budget::From from) {
  static constexpr std::array<std::string_view, 5> kNames{"nowhere", "device_tree", "iomem",
                                                          "memblock", "zoneinfo"};
  return kNames[static_cast<std::size_t>(from)];
}

std::uint64_t module_size_for(std::uint64_t known, bool is_tegra) {
  if (!is_tegra && known % kGiB == 0) return known;
  std::uint64_t size = 256ULL << 20;
  while (size < known) {
    const std::uint64_t larger = size / 2 * 3;
    if (larger >= known) return larger;
    size *= 2;
  }
  return size;
}

}  // namespace jetmem::device
