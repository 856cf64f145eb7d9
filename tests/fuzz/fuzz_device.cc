// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "collectors/device/source.h"
#include "tests/fuzz/target.h"

// Device trees hold NUL bytes, so the lengths tell the files apart: which of the paths
// below, a letter for '*', two bytes of length, the text. They are laid over the files of an Orin,
// without which hardly any input would come as far as a budget.
namespace {

using namespace std::string_view_literals;

struct File {
  std::string_view path;
  std::string_view text;
};
constexpr std::array kFiles{
    File{"/proc/device-tree/#address-cells", "\0\0\0\2"sv},
    File{"/proc/device-tree/#size-cells", "\0\0\0\2"sv},
    File{"/proc/meminfo", "MemTotal:        7802736 kB\n"sv},
    File{"/proc/iomem", "80000000-26a40ffff : System RAM\n26a410000-26a60ffff : reserved\n"sv},
    File{"/sys/kernel/debug/memblock/memory",
         "   0: 0x0000000080000000..0x000000026a40ffff    0 NONE\n"sv},
    File{"/proc/zoneinfo",
         "Node 0, zone Normal\n spanned 2008080\n present 2008080\n start_pfn: 524288\n"sv},
    File{"/proc/device-tree/memory@*/reg", ""sv},
    File{"/proc/device-tree/reserved-memory/#address-cells", "\0\0\0\2"sv},
    File{"/proc/device-tree/reserved-memory/#size-cells", "\0\0\0\2"sv},
    File{"/proc/device-tree/reserved-memory/*/reg", "\0\0\0\0\x90\0\0\0\0\0\0\0\0\x10\0\0"sv},
    File{"/proc/device-tree/reserved-memory/*/size", ""sv},
    File{"/proc/device-tree/reserved-memory/*/status", "okay\0"sv},
    File{"/proc/device-tree/reserved-memory/*/reusable", ""sv},
    File{"/proc/device-tree/tegra-carveouts/*/reg", ""sv},
    File{"/proc/device-tree/model", "Jetson\0"sv},
    File{"/proc/device-tree/compatible", "nvidia,p3767-0005\0nvidia,tegra234\0"sv},
    File{"/proc/device-tree/firmware/optee/status", "okay\0"sv},
    File{"/etc/nv_tegra_release", "# R36 (release), REVISION: 4.4, GCID: 1\n"sv},
    File{"/proc/sys/kernel/osrelease", "5.15.148-l4t-r36.4.4-1012\n"sv},
    File{"/sys/class/dmi/id/sys_vendor", "NVIDIA\n"sv},
    File{"jetmem:iommu_groups", "0 a\n0 b\n1 c\n"sv},
    File{"jetmem:tee", "1\n"sv},
    File{"/proc/device-tree/reserved-memory/*/no-map", ""sv},
    File{"/proc/device-tree/reserved-memory/*/alloc-ranges", ""sv},
};

jetmem::Snapshot snapshot_of(std::string_view input) {
  jetmem::Snapshot snapshot;
  std::array<bool, kFiles.size()> replaced{};
  std::string path;
  while (input.size() >= 4) {
    const std::size_t index = jetmem::byte_of(input, 0) % kFiles.size();
    const char letter = static_cast<char>('a' + jetmem::byte_of(input, 1) % 26);
    const std::size_t size = jetmem::two_bytes_of(input, 2);
    input.remove_prefix(4);
    const std::string_view text = input.substr(0, size);
    input.remove_prefix(text.size());
    path = kFiles[index].path;
    if (const std::size_t star = path.find('*'); star != std::string::npos) path[star] = letter;
    replaced[index] = true;
    snapshot.add(path, text, 0);
  }
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    if (!replaced[i] && kFiles[i].text.empty()) continue;
    if (!replaced[i]) snapshot.add(kFiles[i].path, kFiles[i].text, 0);
  }
  return snapshot;
}

}  // namespace

FUZZ(input) {
  const Snapshot snapshot = snapshot_of(input);
  const auto device =
      parsed_twice(parse_device, snapshot, &Device::identity, &Device::tree, &Device::iommu,
                   &Device::optee, &Device::iomem_state, &Device::zones_state);
  if (!device) return;
  check(device->tree.nodes.size() <= 256 && device->identity.model.size() <= 96);
  for (const std::uint64_t page_size : {4096ULL, 65536ULL}) {
    const device::Budget budget = device->budget(page_size);
    std::uint64_t sum = 0;
    for (const auto& part : budget.parts) sum += part.bytes;
    if (!budget.absence_reason.empty()) {
      check(sum == 0 && !budget.module);
      continue;
    }
    // All parts add up, and no two of them would be one series.
    check(sum == budget.module.value_or(*budget.physical));
    check(sum <= 1ULL << 52 && *budget.physical >= *device->mem_total);
    for (const auto& a : budget.parts) {
      for (const auto& b : budget.parts) check(&a == &b || a.kind != b.kind || a.name != b.name);
    }
  }
}
