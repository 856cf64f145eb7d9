// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/gather.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "collectors/device/carve_outs.h"
#include "collectors/device/iommu.h"

namespace jetmem::device {
namespace {

using Names = std::vector<std::string>;

bool has(const Names& names, std::string_view name) {
  return std::binary_search(names.begin(), names.end(), name);
}

class DeviceGather {
 public:
  explicit DeviceGather(Gatherer& gatherer) : gatherer_(gatherer) {}

  void run() {
    // The update of L4T puts another file in its place, so it is opened anew each time.
    read("/etc/nv_tegra_release");
    read(std::string(kIomemAtBoot));
    tree();
    tee();
    iommu();
    if (left_out_ > 0) gatherer_.note("nodes_left_out", left_out_);
  }

 private:
  void read(const std::string& path) {
    if (!gatherer_.has_room()) {
      ++left_out_;
      return;
    }
    gatherer_.read_if_any(path);
  }

  void tree() {
    Names names;
    std::string base;
    int error = ENOENT;
    for (const std::string_view candidate : kTreeBases) {
      base = candidate;
      error = gatherer_.list(base, names);
      if (error == 0 || error != ENOENT) break;
    }
    if (error != 0) {
      if (error != ENOENT) gatherer_.add(kTreeBases[0], {}, error);
      read("/sys/class/dmi/id/sys_vendor");
      read("/sys/class/dmi/id/product_name");
      return;
    }
    for (const std::string_view name : {"#address-cells", "#size-cells", "compatible", "model"}) {
      if (has(names, name)) read(base + "/" + std::string(name));
    }
    std::size_t count = 0;
    for (const std::string& name : names) {
      if (name != "memory" && name.compare(0, 7, "memory@") != 0) continue;
      if (count++ < kMaxNodes) {
        read(base + "/" + name + "/reg");
      } else {
        ++left_out_;
      }
    }
    for (const std::string_view folder : {"reserved-memory", "tegra-carveouts"}) {
      if (has(names, folder)) carve_outs(base + "/" + std::string(folder));
    }
    optee(base);
  }

  void carve_outs(const std::string& folder) {
    Names nodes;
    if (const int error = gatherer_.list(folder, nodes); error != 0) {
      gatherer_.add(folder, {}, error);
      return;
    }
    for (const char* name : {"#address-cells", "#size-cells"}) {
      if (has(nodes, name)) read(folder + "/" + name);
    }
    std::size_t count = 0;
    Names properties;
    for (const std::string& node : nodes) {
      const std::string at = folder + "/" + node;
      const int error = gatherer_.list(at, properties);
      if (error == ENOTDIR) continue;  // a property of the folder's own
      if (count++ >= kMaxNodes) {
        ++left_out_;
        continue;
      }
      if (error != 0) {
        gatherer_.add(at + "/reg", {}, error);
        continue;
      }
      for (const char* name : {"alignment", "alloc-ranges", "compatible", "linux,cma-default",
                               "no-map", "reg", "reusable", "size", "status"}) {
        if (has(properties, name)) read(at + "/" + name);
      }
    }
  }

  void optee(const std::string& base) {
    Names properties;
    if (gatherer_.list(base + "/firmware/optee", properties) != 0) return;
    const std::string status = base + "/firmware/optee/status";
    using namespace std::string_view_literals;
    if (has(properties, "status")) {
      read(status);
    } else {
      gatherer_.add(status, "okay\0"sv);  // what its absence means
    }
  }

  // Only looked at, never opened: opening it would talk to the secure world. A private /dev hides
  // it from a service, so sysfs is asked too.
  void tee() {
    Names names;
    bool listed = false;
    for (const char* folder : {"/sys/class/tee", "/dev"}) {
      const int error = gatherer_.list(folder, names);
      if (error == 0 && has(names, "tee0")) return gatherer_.note("tee", 1);
      listed = listed || error == 0;
    }
    if (listed) gatherer_.note("tee", 0);
  }

  void iommu() {
    Names groups;
    if (const int error = gatherer_.list(kIommuFolder, groups); error != 0) {
      if (error != ENOENT) gatherer_.add(kIommuRecord, {}, error);
      return;
    }
    std::string text;
    std::uint64_t left_out = 0;
    std::size_t count = 0;
    Names devices;
    for (const std::string& group : groups) {
      if (&group - groups.data() >= static_cast<std::ptrdiff_t>(kMaxIommuGroups)) {
        ++left_out;
        continue;
      }
      // A group may go at any time; one that cannot be listed is there all the same.
      std::string folder(kIommuFolder);
      folder.append("/").append(group).append("/devices");
      const int error = gatherer_.list(folder, devices);
      if (error == ENOENT) continue;
      if (error != 0) ++left_out;
      text.append(group).append("\n");
      if (error != 0) continue;
      for (const std::string& device : devices) {
        if (count == kMaxIommuDevices || device.find('\n') != std::string::npos) {
          ++left_out;
          continue;
        }
        ++count;
        text.append(group).append(" ").append(device).append("\n");
      }
    }
    gatherer_.add(kIommuRecord, text);
    if (left_out > 0) gatherer_.note(kIommuLeftOut, left_out);
  }

  Gatherer& gatherer_;
  std::uint64_t left_out_ = 0;
};

}  // namespace

void gather_device(Gatherer& gatherer) { DeviceGather(gatherer).run(); }

}  // namespace jetmem::device
