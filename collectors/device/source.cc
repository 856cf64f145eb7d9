// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/source.h"

#include <array>

#include "collectors/device/gather.h"
#include "collectors/device/kernel_arguments.h"
#include "collectors/device/known_devices.h"
#include "collectors/proc/meminfo.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

using device::Budget;
using device::MapState;

constexpr std::string_view kMeminfoPath = "/proc/meminfo";
constexpr std::string_view kZoneinfoPath = "/proc/zoneinfo";
constexpr std::string_view kIomemPath = "/proc/iomem";
constexpr std::string_view kMemblockPath = "/sys/kernel/debug/memblock/memory";
constexpr std::string_view kCmdlinePath = "/proc/cmdline";
constexpr std::array<std::string_view, 7> kDevicePaths{
    kMeminfoPath,  kZoneinfoPath,
    kIomemPath,    "/proc/sys/kernel/osrelease",
    kMemblockPath, "/proc/sys/kernel/version",
    kCmdlinePath,
};
constexpr std::size_t kMaxSharedGroups = 64;
constexpr std::size_t kMaxSharedDevices = 128;

constexpr std::array kDeviceMetrics{
    gauge("jetmem_device_info",
          "Always 1. Which device this is: its model, SoC, L4T release and kernel. A label is "
          "empty where the device does not report it.",
          {"model", "soc", "l4t", "kernel"}),
    gauge("jetmem_memory_module_bytes",
          "Memory that the module was built with, inferred: the next size that modules are built "
          "in, at or above all memory that is known; or that of a known device by its DMI name "
          "(DGX Spark). The device does not report it. Absent for a PC."),
    gauge("jetmem_memory_physical_bytes",
          "Memory that firmware reported to Linux, some of which Linux may not use. The label "
          "source is where this is read: device_tree, iomem, memblock or zoneinfo.",
          {"source"}),
    gauge("jetmem_memory_budget_bytes",
          "Where the memory went before the first program ran. All parts add up to "
          "jetmem_memory_module_bytes, or where that is absent to jetmem_memory_physical_bytes. "
          "linux/mem_total is what programs share, CMA included; linux/kernel_reserved the "
          "kernel and its page structures; firmware/unattributed what was taken before the "
          "device tree and is listed nowhere. To get memory back, look at the largest carveout.",
          {"kind", "part"}, device::kMaxNamedParts + 8),
    gauge("jetmem_cma_requested_bytes",
          "What cma= on the kernel's command line requests. With less in "
          "jetmem_meminfo_CmaTotal_bytes the request was not met: the reservation failed at boot, "
          "or the kernel took the device tree's node instead, as 4.9 does. Absent without cma=."),
    gauge("jetmem_optee_present",
          "1 where the secure world runs OP-TEE, which keeps memory of its own. Found in the "
          "device tree and as the device tee0."),
    gauge("jetmem_iommu_groups",
          "Groups that the IOMMU (on a Jetson the SMMU) isolates from each other. 0: no IOMMU "
          "works, and any device may write anywhere."),
    gauge("jetmem_iommu_devices", "Devices behind an IOMMU, in all groups."),
    gauge("jetmem_iommu_group_devices",
          "Devices in a group that has more than one. They share one address space: a stray "
          "write of one may hit a buffer of another without a fault.",
          {"group"}, kMaxSharedGroups),
    gauge("jetmem_iommu_shared_group_info",
          "Always 1. A device that shares its IOMMU group, and the group's number.",
          {"device", "group"}, kMaxSharedDevices),
};
constexpr MetricTable device_metric{kDeviceMetrics};

template <class Map>
MapState parse_map(const Snapshot& snapshot, std::string_view path,
                   MapState (*parse)(std::string_view, Map&), Map& out) {
  const FileText file = snapshot.find(path);
  if (file.ok()) return parse(file.text, out);
  if (is_denied(file.error)) return MapState::kHidden;
  if (is_gone(file.error)) return MapState::kAbsent;
  return file.error == FileText::kTooLarge ? MapState::kTooMany : MapState::kMalformed;
}

// Why one of the better sources of physical memory was not used; empty where it does not exist.
std::string_view why_no_map(MapState state, bool is_iomem) {
  switch (state) {
    case MapState::kHidden:
      return is_iomem ? "iomem_addresses_hidden" : "memblock_denied";
    case MapState::kMalformed:
      return is_iomem ? "iomem_malformed" : "memblock_malformed";
    case MapState::kTooMany:
      return is_iomem ? "iomem_too_large" : "memblock_too_large";
    case MapState::kKnown:
    case MapState::kAbsent:
      break;
  }
  return {};
}

void take_meminfo(const Snapshot& snapshot, Device& out) {
  const auto text = snapshot.text_of(kMeminfoPath);
  Meminfo meminfo;
  if (text && parse_meminfo(*text, meminfo)) out.mem_total = meminfo.find("MemTotal");
}

void take_arguments(const Snapshot& snapshot, Device& out) {
  const FileText file = snapshot.find(kCmdlinePath);
  if (!file.ok()) return;
  const std::string_view cma = device::kernel_argument(file.text, "cma");
  out.cma_requested = device::memory_argument(cma);
  if (!cma.empty() && !out.cma_requested) out.absent.add(kMalformed);
}

void take_optee(const Snapshot& snapshot, Device& out) {
  const FileText file = snapshot.find(device::kTeeRecord);
  const auto tee0 = file.ok() ? one_u64(file.text) : std::nullopt;
  if (out.tree.optee_node == true) {
    out.optee = true;
  } else if (!tee0) {
    out.absent.add("optee_unknown");
  } else if (*tee0 == 0 || out.tree.has_tree) {
    out.optee = *tee0 != 0;
  } else {
    out.absent.add("tee_of_unknown_kind");
  }
}

}  // namespace

const SourceInfo DeviceSource::kInfo{
    .name = "device",
    .what = "which device this is, and where its memory went before Linux",
    .paths = kDevicePaths,
    .access = Access::kReader,
    .interval = std::chrono::minutes(10),
    .shortest_interval = std::chrono::seconds(10),
    .grant =
        "read access to /proc/device-tree and /sys/firmware/devicetree for jetmem-reader; "
        "addresses of memory take CAP_DAC_READ_SEARCH (debugfs), or jetmem-iomem.service",
    .metrics = kDeviceMetrics,
    .limits = {.file_bytes = 512U << 10, .total_bytes = 2U << 20, .files = 4096},
    .gather = device::gather_device,
};

device::Budget Device::budget(std::optional<std::uint64_t> page_size) const {
  device::MemoryFacts facts;
  facts.tree = &tree;
  if (iomem_state == MapState::kKnown) facts.iomem = &iomem;
  if (memblock_state == MapState::kKnown) facts.memblock = &memblock;
  if (zones_state == MapState::kKnown) facts.zones = &zones;
  facts.mem_total = mem_total;
  facts.page_size = page_size;
  facts.is_tegra = identity.soc.rfind("tegra", 0) == 0;
  facts.module_of_dmi = device::module_of_dmi(identity.model);
  return device::make_budget(facts);
}

Result<void> parse_device(const Snapshot& snapshot, Device& out) {
  out = {};
  if (snapshot.truncated()) out.absent.add("too_many_files");
  device::parse_identity(snapshot, out.identity, out.absent);
  device::parse_carve_outs(snapshot, out.tree, out.absent);
  out.iomem_state = parse_map(snapshot, kIomemPath, device::parse_iomem, out.iomem);
  if (out.iomem_state == MapState::kHidden) {
    const auto at_boot = parse_map(snapshot, device::kIomemAtBoot, device::parse_iomem, out.iomem);
    if (at_boot == MapState::kKnown) out.iomem_state = at_boot;
  }
  out.memblock_state = parse_map(snapshot, kMemblockPath, device::parse_memblock, out.memblock);
  out.zones_state = parse_map(snapshot, kZoneinfoPath, device::parse_zone_pages, out.zones);
  take_meminfo(snapshot, out);
  take_arguments(snapshot, out);
  take_optee(snapshot, out);
  device::parse_iommu(snapshot, out.iommu, out.absent);
  if (out.tree.error != 0) {
    out.absent.add(is_denied(out.tree.error) ? "device_tree_denied" : "device_tree_unreadable");
  }
  const auto left_out = one_u64(snapshot.find(device::kNodesRecord).text);
  if (left_out.value_or(0) > 0) {
    out.absent.add("too_many_nodes", *left_out);
    out.tree.memory.clear();  // a memory node may be among them
  }

  const bool any = !out.identity.model.empty() || !out.identity.kernel.empty() ||
                   !out.identity.l4t.empty() || out.tree.has_tree || out.mem_total || out.optee ||
                   out.iommu.known;
  if (any) return {};
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    if (is_denied(snapshot[i].error)) {
      return fail(Errc::kDenied, "permission denied for every file that describes the device");
    }
  }
  return fail(Errc::kAbsent, "nothing describes the device: no device tree, no DMI, no meminfo");
}

void DeviceSource::write(SampleWriter& out, WriteContext& context) const {
  const Device& device = reading_;
  const device::Identity& identity = device.identity;
  if (identity.model.empty()) context.absent.add("model_unknown");
  if (!identity.model.empty() || !identity.soc.empty() || !identity.l4t.empty() ||
      !identity.kernel.empty()) {
    out.put(device_metric("jetmem_device_info"), 1, identity.model, identity.soc, identity.l4t,
            identity.kernel);
  }

  const Budget budget = device.budget(context.facts.page_size);
  if (!budget.absence_reason.empty()) context.absent.add(budget.absence_reason);
  if (budget.from == Budget::From::kZoneinfo || budget.from == Budget::From::kNowhere) {
    // The parts are known less well, or not at all.
    for (const bool is_iomem : {true, false}) {
      const auto why = why_no_map(is_iomem ? device.iomem_state : device.memblock_state, is_iomem);
      if (!why.empty()) context.absent.add(why);
    }
    if (device.zones_state != MapState::kKnown) context.absent.add("zoneinfo_unreadable");
  }
  if (budget.unnamed > 0) context.absent.add("carveout_not_named", budget.unnamed);
  if (budget.module) {
    out.put(device_metric("jetmem_memory_module_bytes"), *budget.module);
  } else if (budget.absence_reason.empty()) {
    context.absent.add("module_size_unknown");
  }
  out.put(device_metric("jetmem_memory_physical_bytes"), budget.physical, from_name(budget.from));
  for (const Budget::Part& part : budget.parts) {
    out.put(device_metric("jetmem_memory_budget_bytes"), part.bytes, kind_name(part.kind),
            part.name);
  }

  out.put(device_metric("jetmem_cma_requested_bytes"), device.cma_requested);
  out.put(device_metric("jetmem_optee_present"), device.optee);

  const device::Iommu& iommu = device.iommu;
  if (!iommu.known) {
    context.absent.add(iommu.why);
    return;
  }
  out.put(device_metric("jetmem_iommu_groups"), iommu.groups.size());
  out.put(device_metric("jetmem_iommu_devices"), iommu.devices.size());
  std::size_t groups = 0;
  std::size_t devices = 0;
  std::size_t beyond = 0;
  for (const device::Iommu::Group& group : iommu.groups) {
    if (group.devices < 2) continue;
    if (groups == kMaxSharedGroups) {
      ++beyond;
      continue;
    }
    ++groups;
    out.put(device_metric("jetmem_iommu_group_devices"), group.devices, group.number);
    for (const device::Iommu::Device& one : iommu.devices) {
      if (one.group != group.number) continue;
      if (devices == kMaxSharedDevices) {
        ++beyond;
        continue;
      }
      ++devices;
      out.put(device_metric("jetmem_iommu_shared_group_info"), 1, one.name, group.number);
    }
  }
  if (beyond > 0) context.absent.add("iommu_beyond_bound", beyond);
}

}  // namespace jetmem
