// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/drm.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/text/text.h"
#include "collectors/dmabuf/holders.h"
#include "collectors/fields.h"
#include "collectors/largest.h"
#include "collectors/processes/group/pids.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

// A region of a client.
struct DrmPiece {
  std::string_view driver;
  std::string_view device;
  std::string_view region;  // empty: the client reports none
  std::optional<std::uint64_t> client;
  std::uint32_t holder = 0;  // its index
  DrmFigures figures;
};

constexpr std::string_view kUnreported = "gpu_memory_unreported";

// "16 MiB"; without a unit they are bytes.
std::optional<std::uint64_t> take_size(std::string_view text, Fields& fields) {
  const std::string_view digits = take_word(text);
  const std::string_view unit = trim(text);
  std::uint64_t factor = 1;
  if (unit == "KiB") factor = 1U << 10;
  if (unit == "MiB") factor = 1U << 20;
  if (unit == "GiB") factor = 1U << 30;
  if (factor == 1 && !unit.empty()) {
    fields.lost();
    return std::nullopt;
  }
  const auto number = fields.number(digits, kMostMemory / factor);
  return number ? std::optional(*number * factor) : std::nullopt;
}

void set_once(std::optional<std::uint64_t>& into, std::string_view text, Fields& fields) {
  if (into) return fields.lost();
  into = take_size(text, fields);
}

// "total-memory" and the like, behind "drm-".
void take_memory(std::string_view key, std::string_view value, DrmFdinfo& out, Fields& fields) {
  struct Kind {
    std::string_view before;
    std::optional<std::uint64_t> DrmFigures::*figure;
  };
  static constexpr std::array<Kind, 4> kKinds{{{"total-", &DrmFigures::total},
                                               {"shared-", &DrmFigures::shared},
                                               {"resident-", &DrmFigures::resident},
                                               {"memory-", &DrmFigures::resident}}};
  for (const Kind& kind : kKinds) {
    std::string_view name = key;
    if (!take_prefix(name, kind.before)) continue;
    if (name.starts_with("cycles-")) return;
    if (!is_name(name)) return fields.lost();
    DrmFdinfo::Region* const region = out.regions.find_or_add(&DrmFdinfo::Region::name, name);
    if (region == nullptr) return fields.lost(kBeyondBound);
    auto& figure = region->*kind.figure;
    // amdgpu prints both names of what is resident.
    const bool is_alias = kind.figure == &DrmFigures::resident && figure;
    if (!is_alias) set_once(figure, value, fields);
    return;
  }
}

class DrmCollector {
 public:
  DrmCollector(const Snapshot& snapshot, Drm& out, AbsentValues& absent)
      : snapshot_(snapshot), out_(out), absent_(absent) {}

  void run() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) take(snapshot_[i]);
    count_clients_once();
    sum_by_holder();
    sum_by_region();
  }

 private:
  void take(const FileText& file) {
    const auto location = process_file(file.path);
    if (!location || !file.ok()) return;
    if (location->leaf == "comm") {
      comm_ = file.text;
      comm_pid_ = location->pid;
    } else if (location->leaf == "fdinfo") {
      if (const auto info = parse_drm_fdinfo(file.text, absent_)) add(location->pid, *info);
    }
  }

  void add(std::uint32_t pid, const DrmFdinfo& info) {
    if (out_.holders.empty() || out_.holders.back().pid != pid) {
      Drm::Holder& holder = out_.holders.emplace_back();
      holder.pid = pid;
      const auto comm = comm_pid_ == pid ? comm_of(comm_) : std::nullopt;
      if (comm) assign_kind(holder.name, *comm);
    }
    DrmPiece piece;
    piece.driver = info.driver;
    piece.device = info.device;
    piece.client = info.client;
    piece.holder = static_cast<std::uint32_t>(out_.holders.size() - 1);
    bool any = false;
    for (const DrmFdinfo::Region& region : info.regions) {
      if (!region.in_use()) continue;
      any = true;
      piece.region = region.name;
      piece.figures = region;
      pieces_.push_back(piece);
    }
    if (!any) pieces_.push_back(piece);
  }

  // Who has the client first in /proc is charged with it. Of descriptors without a number, each
  // region of a process counts once.
  void count_clients_once() {
    const auto identity = [](const DrmPiece& piece) {
      return std::tuple(piece.driver, piece.device, piece.client,
                        piece.client ? 0U : piece.holder + 1);
    };
    std::sort(pieces_.begin(), pieces_.end(), [&](const DrmPiece& a, const DrmPiece& b) {
      const auto key = [&](const DrmPiece& p) {
        return std::tuple(identity(p), p.region, p.client ? p.holder : 0U);
      };
      if (key(a) != key(b)) return key(a) < key(b);
      return a.figures.in_use().value_or(0) > b.figures.in_use().value_or(0);
    });
    const auto same = [&](const DrmPiece& a, const DrmPiece& b) {
      return identity(a) == identity(b) && a.region == b.region;
    };
    pieces_.erase(std::unique(pieces_.begin(), pieces_.end(), same), pieces_.end());
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (i > 0 && identity(pieces_[i]) == identity(pieces_[i - 1])) continue;
      ++out_.clients;
      if (pieces_[i].region.empty()) ++out_.unreported;
    }
  }

  void sum_by_holder() {
    for (const DrmPiece& piece : pieces_) {
      Drm::Holder& holder = out_.holders[piece.holder];
      holder.unreported = holder.unreported || piece.region.empty();
      if (is_system_region(piece.region)) holder.bytes += piece.figures.in_use().value_or(0);
    }
    if (out_.unreported > 0) absent_.add(kUnreported, out_.unreported);
    std::erase_if(pieces_, [](const DrmPiece& piece) { return piece.region.empty(); });
  }

  void sum_by_region() {
    struct Sums {
      DrmFigures figures;
      std::map<std::string_view, std::uint64_t> by_name;
    };
    std::map<std::pair<std::string_view, std::string_view>, Sums> regions;
    for (const DrmPiece& piece : pieces_) {
      Sums& sums = regions[{piece.driver, piece.region}];
      add_up(sums.figures, piece.figures);
      sums.by_name[out_.holders[piece.holder].name] += *piece.figures.in_use();
    }
    for (auto& [key, sums] : regions) {
      if (out_.regions.size() == Drm::kMaxRegions) {
        absent_.add(kBeyondBound);
        continue;
      }
      const auto index = static_cast<std::uint32_t>(out_.regions.size());
      out_.regions.push_back({std::string(key.first), std::string(key.second), sums.figures});
      const auto rest = keep_largest(sums.by_name, Drm::kMaxNames);
      for (const auto& [name, bytes] : sums.by_name) {
        out_.uses.push_back({index, std::string(name), false, bytes});
      }
      if (rest) out_.uses.push_back({index, "", true, *rest});
    }
  }

  static void add_up(DrmFigures& sum, const DrmFigures& one) {
    for (const auto figure : {&DrmFigures::total, &DrmFigures::resident, &DrmFigures::shared}) {
      if (one.*figure) sum.*figure = (sum.*figure).value_or(0) + *(one.*figure);
    }
  }

  const Snapshot& snapshot_;
  Drm& out_;
  AbsentValues& absent_;
  std::vector<DrmPiece> pieces_;
  std::string_view comm_;
  std::uint32_t comm_pid_ = 0;
};

}  // namespace

bool is_system_region(std::string_view region) {
  return region == "memory" || region == "gtt" || region == "cpu" || region.starts_with("system");
}

std::optional<DrmFdinfo> parse_drm_fdinfo(std::string_view text, AbsentValues& absent) {
  DrmFdinfo out;
  Fields fields(absent);
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) {
    // The last line of a text that was cut.
    const bool is_cut = line.data() + line.size() == text.data() + text.size();
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view key = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    if (!take_prefix(key, "drm-")) {
      // A buffer's, whose name may hold anything.
      if (out.driver.empty() && (key == "size" || key == "exp_name")) return std::nullopt;
      continue;
    }
    if (is_cut) {
      fields.lost();
    } else if (key == "driver") {
      if (out.driver.empty() && is_name(value)) out.driver = value;
    } else if (key == "pdev") {
      if (is_name(value)) out.device = value;
    } else if (key == "client-id") {
      if (!out.client) out.client = fields.number(value, UINT64_MAX);
    } else {
      take_memory(key, value, out, fields);
    }
  }
  if (out.driver.empty()) return std::nullopt;
  return out;
}

void parse_drm(const Snapshot& snapshot, Drm& out, AbsentValues& absent) {
  out = {};
  DrmCollector(snapshot, out, absent).run();
}

}  // namespace jetmem
