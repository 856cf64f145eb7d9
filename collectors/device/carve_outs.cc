// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/carve_outs.h"

#include <cerrno>

#include "base/text/text.h"

namespace jetmem::device {
namespace {

constexpr std::string_view kReserved = "reserved-memory";
constexpr std::size_t kMaxName = 96;
constexpr std::size_t kMaxMemoryRanges = 64;

bool is_okay(std::string_view status) { return status == "okay" || status == "ok"; }

// "reserved-memory/vpr-carveout/reg": the folder, the node and the property.
struct Property {
  std::string_view folder;
  std::string_view node;
  std::string_view name;
};
std::optional<Property> property_of(std::string_view in_tree) {
  const std::size_t first = in_tree.find('/');
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view rest = in_tree.substr(first + 1);
  const std::size_t second = rest.find('/');
  if (second == std::string_view::npos) return Property{in_tree.substr(0, first), {}, rest};
  return Property{in_tree.substr(0, first), rest.substr(0, second), rest.substr(second + 1)};
}

bool is_carve_out_folder(std::string_view folder) {
  return folder == kReserved || folder == "tegra-carveouts";
}
bool is_memory_node(std::string_view name) {
  return name == "memory" || name.starts_with("memory@");
}

class Collector {
 public:
  Collector(const Snapshot& snapshot, CarveOuts& out, AbsentValues& absent)
      : snapshot_(snapshot), out_(out), absent_(absent) {}

  void run() {
    find_cells();
    take_memory();
    std::string_view folder;
    std::string_view node;
    CarveOut* into = nullptr;
    for (std::size_t i = 0; i < snapshot_.size(); ++i) {
      const FileText file = snapshot_[i];
      const auto path = in_tree(file.path);
      const auto property = path ? property_of(*path) : std::nullopt;
      if (!property || property->node.empty() || !is_carve_out_folder(property->folder)) continue;
      // A node's properties come one after the other, as they were gathered.
      if (property->folder != folder || property->node != node) {
        folder = property->folder;
        node = property->node;
        into = start(node);
      }
      if (into != nullptr) take(file, property->name, cells_of(folder), *into);
    }
  }

 private:
  CarveOut* start(std::string_view name) {
    name = name.substr(0, kMaxName);
    auto& nodes = out_.nodes;
    const bool is_twice = std::ranges::find(nodes, name, &CarveOut::name) != nodes.end();
    if (is_twice || nodes.size() == 2 * kMaxNodes) {
      absent_.add(is_twice ? "carveout_twice" : "too_many_nodes");
      return nullptr;
    }
    CarveOut& node = nodes.emplace_back();
    node.name.assign(name);
    return &node;
  }

  void find_cells() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) {
      const FileText file = snapshot_[i];
      const auto path = in_tree(file.path);
      if (!path) continue;
      if (path->empty()) {
        out_.error = file.error;
        continue;
      }
      out_.has_tree = true;
      if (*path == "firmware/optee/status") {
        const auto status = file.ok() ? first_string(file.text) : std::nullopt;
        out_.optee_node = status && is_okay(*status);
        if (!status) malformed();
      }
      if (path->find("#address-cells") == std::string_view::npos &&
          path->find("#size-cells") == std::string_view::npos) {
        continue;
      }
      const auto cells = file.ok() ? one_cell_count(file.text) : std::nullopt;
      if (!cells) {
        malformed();
        continue;
      }
      const std::size_t slash = path->rfind('/');
      const bool is_root = slash == std::string_view::npos;
      Given& given = is_root ? root_ : path->substr(0, slash) == kReserved ? reserved_ : tegra_;
      const bool is_address = path->substr(is_root ? 0 : slash + 1) == "#address-cells";
      (is_address ? given.address : given.size) = *cells;
    }
  }

  // The binding wants the root's for the carve-outs; a tree that says nothing there means that.
  Cells root_cells() const {
    const Cells standard;
    return {root_.address.value_or(standard.address), root_.size.value_or(standard.size)};
  }
  Cells cells_of(std::string_view folder) const {
    const Given& given = folder == kReserved ? reserved_ : tegra_;
    const Cells root = root_cells();
    return {given.address.value_or(root.address), given.size.value_or(root.size)};
  }

  void take_memory() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) {
      const FileText file = snapshot_[i];
      const auto path = in_tree(file.path);
      const auto property = path ? property_of(*path) : std::nullopt;
      if (!property || !property->node.empty() || property->name != "reg" ||
          !is_memory_node(property->folder)) {
        continue;
      }
      if (!file.ok()) {
        absent_.add("property_unreadable");
        memory_is_whole_ = false;
        continue;
      }
      std::vector<Range> ranges;
      std::uint64_t left_out = 0;
      bool whole = take_ranges(file.text, root_cells(), kMaxMemoryRanges, ranges, left_out);
      if (!whole) malformed();
      for (const Range& range : ranges) whole = out_.memory.add(range) && whole;
      if (left_out > 0) absent_.add("too_many_ranges", left_out);
      memory_is_whole_ = memory_is_whole_ && whole && left_out == 0;
    }
    // A part of the memory is not its size.
    if (!memory_is_whole_) out_.memory.clear();
  }

  void take(const FileText& file, std::string_view name, Cells cells, CarveOut& into) {
    if (!file.ok()) {
      if (file.error != ENOENT) absent_.add("property_unreadable");
      return;
    }
    std::uint64_t left_out = 0;
    bool ok = true;
    if (name == "reg") {
      ok = take_ranges(file.text, cells, kMaxNodeRanges, into.ranges, left_out);
    } else if (name == "alloc-ranges") {
      ok = take_ranges(file.text, cells, kMaxNodeRanges, into.alloc_ranges, left_out);
    } else if (name == "size") {
      into.size = one_number(file.text);
      ok = into.size.has_value();
    } else if (name == "status") {
      const auto status = first_string(file.text);
      ok = status.has_value();
      into.enabled = status && is_okay(*status);
    } else if (name == "reusable") {
      into.reusable = true;
    } else if (name == "no-map") {
      into.no_map = true;
    }
    if (!ok) malformed();
    if (left_out > 0) absent_.add("too_many_ranges", left_out);
  }

  void malformed() { absent_.add("property_malformed"); }

  const Snapshot& snapshot_;
  CarveOuts& out_;
  AbsentValues& absent_;
  struct Given {
    std::optional<std::uint32_t> address;
    std::optional<std::uint32_t> size;
  };
  Given root_;
  Given reserved_;
  Given tegra_;
  bool memory_is_whole_ = true;
};

}  // namespace

void parse_carve_outs(const Snapshot& snapshot, CarveOuts& out, AbsentValues& absent) {
  Collector(snapshot, out, absent).run();
}

}  // namespace jetmem::device
