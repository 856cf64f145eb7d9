#include "collectors/device/budget.h"

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
      budget_.module = module_size_for(known);
      put(Budget::Kind::kFirmware, "unattributed", *budget_.module - known);
    }
    return budget_;
  }

 private:
  Budget none(std::string_view why) {
    budget_.parts = {};
    budget_.module.reset();
    budget_.why_absent = why;
    return budget_;
  }

  Budget::Part& put(Budget::Kind kind, std::string_view name, std::uint64_t bytes) {
    Budget::Part& part = budget_.parts.add();
    part = {kind, name, bytes};
    return part;
  }

  bool choose_physical() {
    if (!facts_.mem_total || *facts_.mem_total == 0) {
      budget_.why_absent = "mem_total_unreadable";
      return false;
    }
    budget_.why_absent = "physical_unknown";
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
      budget_.why_absent = "page_size_unknown";
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
      budget_.why_absent = "physical_below_mem_total";
      return false;
    }
    if (bytes > kMost) {
      budget_.why_absent = "implausible_size";
      return false;
    }
    physical_.from = from;
    physical_.bytes = bytes;
    physical_.lowest = lowest / kGiB * kGiB;
    physical_.end = end;
    budget_.why_absent = {};
    return true;
  }

  void carve_outs() {
    std::uint64_t others = 0;
    std::size_t named = 0;
    for (const CarveOut& node : facts_.tree->nodes) {
      if (!node.enabled || node.reusable) continue;
      std::uint64_t bytes = 0;
      bool is_dram = node.ranges.empty();
      for (Range range : node.ranges) {
        if (range.end <= physical_.lowest || range.end > kMost) continue;
        is_dram = true;
        range.begin = std::max(range.begin, physical_.lowest);
        bytes += place(range);
      }
      if (!is_dram) ++budget_.not_dram;
      if (node.ranges.empty()) {
        bytes = node.size.value_or(0);
        if (bytes > kMost) bytes = 0;  // the kernel found no place for it either
        somewhere_ += bytes;
      }
      if (bytes == 0) continue;
      if (named < kMaxNamedParts && is_node_name(node.name)) {
        ++named;
        put(Budget::Kind::kCarveOut, node.name, bytes);
      } else {
        ++budget_.unnamed;
        others += bytes;
      }
    }
    if (others > 0) put(Budget::Kind::kCarveOut, kOthers, others);
  }

  // The bytes of it that no carve-out before had, added to where they lie.
  std::uint64_t place(Range range) {
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

std::uint64_t Budget::sum() const {
  std::uint64_t sum = 0;
  for (const Part& part : parts) sum += part.bytes;
  return sum;
}

Budget make_budget(const MemoryFacts& facts) { return Maker(facts).run(); }

std::string_view kind_name(Budget::Kind kind) {
  switch (kind) {
    case Budget::Kind::kLinux:
      return "linux";
    case Budget::Kind::kCarveOut:
      return "carveout";
    case Budget::Kind::kFirmware:
      break;
  }
  return "firmware";
}

std::string_view from_name(Budget::From from) {
  switch (from) {
    case Budget::From::kDeviceTree:
      return "device_tree";
    case Budget::From::kIomem:
      return "iomem";
    case Budget::From::kMemblock:
      return "memblock";
    case Budget::From::kZoneinfo:
      return "zoneinfo";
    case Budget::From::kNowhere:
      break;
  }
  return "nowhere";
}

std::uint64_t module_size_for(std::uint64_t known) {
  if (known % kGiB == 0) return known;
  std::uint64_t size = 256ULL << 20;
  while (size < known) {
    const std::uint64_t larger = size / 2 * 3;
    if (larger >= known) return larger;
    size *= 2;
  }
  return size;
}

}  // namespace jetmem::device
