// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/meminfo.h"

#include <array>

#include "base/text/text.h"
#include "collectors/fields.h"
#include "collectors/storage.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kMeminfoPaths{"/proc/meminfo"};
constexpr std::size_t kMaxMeminfoFields = 256;

// Fields whose meaning a person needs at night. All others go by the two patterns at the end.
constexpr std::array kMeminfoMetrics{
    gauge("jetmem_meminfo_MemTotal_bytes",
          "Memory that Linux owns. Less than the module's size: firmware carve-outs and the "
          "kernel itself were taken before."),
    gauge("jetmem_meminfo_MemFree_bytes",
          "Memory nobody uses. CUDA on integrated GPUs reports this, not MemAvailable, as free "
          "memory; the page cache makes it small on a healthy machine.",
          {}, 1, Worst::kMin),
    gauge("jetmem_meminfo_MemAvailable_bytes",
          "The kernel's estimate of what new programs can allocate without swapping. Near zero, "
          "an OOM kill is imminent.",
          {}, 1, Worst::kMin),
    gauge("jetmem_meminfo_SwapFree_bytes",
          "Swap not in use. On a Jetson swap is often zram, which takes its space from the same "
          "memory.",
          {}, 1, Worst::kMin),
    gauge("jetmem_meminfo_CmaTotal_bytes",
          "Size of all contiguous memory areas. 0: there are none, and drivers that need "
          "contiguous memory, as those without an IOMMU do, cannot allocate it."),
    gauge("jetmem_meminfo_CmaFree_bytes",
          "Free pages inside the contiguous memory areas. It also falls when movable pages "
          "merely borrow the area, so a low value alone is not a failure.",
          {}, 1, Worst::kMin),
    gauge("jetmem_meminfo_NvMapMemUsed_bytes",
          "Memory that the NVIDIA nvmap driver has allocated for GPU, camera and video. Steady "
          "growth is a leak; no cgroup limit contains it.",
          {}, 1, Worst::kMax),
    gauge("jetmem_meminfo_NvMapMemFree_bytes",
          "What nvmap keeps in stock for its next allocations. It is small and not the GPU's "
          "free memory."),
    gauge("jetmem_meminfo_*_bytes", "Field * of /proc/meminfo.", {}, kMaxMeminfoFields),
    gauge("jetmem_meminfo_*", "Field * of /proc/meminfo, a number of huge pages.", {},
          kMaxMeminfoFields),
};
constexpr const Descriptor& kAnyBytes = kMeminfoMetrics[kMeminfoMetrics.size() - 2];
constexpr const Descriptor& kAnyCount = kMeminfoMetrics[kMeminfoMetrics.size() - 1];

const Descriptor* descriptor_of(const Meminfo::Field& field) {
  constexpr std::string_view kPrefix = "jetmem_meminfo_";
  constexpr std::string_view kSuffix = "_bytes";
  if (!field.is_bytes) return &kAnyCount;
  for (const Descriptor& d : kMeminfoMetrics) {
    if (d.is_pattern()) continue;
    const std::string_view name =
        d.name.substr(kPrefix.size(), d.name.size() - kPrefix.size() - kSuffix.size());
    if (name == field.name) return &d;
  }
  return &kAnyBytes;
}

// No part exceeds its whole.
struct Part {
  std::string_view name;
  std::string_view whole;
};
constexpr std::string_view kTotal = "MemTotal";
constexpr std::array kMeminfoParts{
    Part{"MemFree", kTotal},
    Part{"MemAvailable", kTotal},
    Part{"Buffers", kTotal},
    Part{"Cached", kTotal},
    Part{"Active", kTotal},
    Part{"Inactive", kTotal},
    Part{"AnonPages", kTotal},
    Part{"Mapped", kTotal},
    Part{"Shmem", kTotal},
    Part{"Slab", kTotal},
    Part{"SReclaimable", kTotal},
    Part{"SUnreclaim", kTotal},
    Part{"CmaTotal", kTotal},
    Part{"CmaFree", "CmaTotal"},
    Part{"SwapFree", "SwapTotal"},
    Part{"SwapCached", "SwapTotal"},
    Part{"HugePages_Free", "HugePages_Total"},
};

void find_wholes(std::vector<Meminfo::Field>& fields) {
  for (Meminfo::Field& field : fields) {
    field.whole.reset();
    for (const Part& part : kMeminfoParts) {
      if (field.name != part.name) continue;
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].name == part.whole) field.whole = i;
      }
    }
  }
}

Result<void> parse_meminfo_lines(std::string_view text, Meminfo& out) {
  std::vector<Meminfo::Field>& all = out.fields;
  Fields fields(out.absent);
  Lines lines(text);
  std::size_t count = 0;
  bool same_names = true;  // as in the reading before: then none is there twice
  for (std::string_view line; lines.next(line);) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trim(line).empty()) continue;
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || name.empty() || is_blank(name.front())) {
      fields.lost();
      continue;
    }
    if (count == kMaxMeminfoFields) {
      fields.lost(kBeyondBound);
      continue;
    }
    std::string_view number = line.substr(colon + 1);
    const bool is_bytes = number.ends_with(" kB");
    if (is_bytes) number.remove_suffix(3);
    if (count == all.size()) all.emplace_back();
    Meminfo::Field& field = all[count++];
    field.value = fields.number(number, is_bytes ? kMostNumber / 1024 : kMostNumber);
    if (field.value && is_bytes) *field.value *= 1024;
    if (field.name == name && field.is_bytes == is_bytes) continue;
    same_names = false;
    field.name = name;
    field.is_bytes = is_bytes;
    field.descriptor = descriptor_of(field);
  }
  if (auto ok = fields.finish(text, "Name: number"); !ok) return ok;
  if (!same_names || count != all.size()) {
    all.resize(count);
    while (const auto twin = find_twin(all, &Meminfo::Field::name)) {
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(*twin));
      fields.lost();
    }
    find_wholes(all);
  }
  for (Meminfo::Field& field : all) {
    if (!field.whole) continue;
    const auto& whole = all[*field.whole].value;
    fields.bound(field.value, whole, whole.value_or(0) / 64);
  }
  return {};
}

}  // namespace

const SourceInfo MeminfoSource::kInfo{
    .name = "meminfo",
    .what = "total, free, available, cached, CMA and nvmap memory",
    .paths = kMeminfoPaths,
    .metrics = kMeminfoMetrics,
};

std::optional<std::uint64_t> Meminfo::find(std::string_view name) const {
  for (const Field& field : fields) {
    if (field.name == name) return field.value;
  }
  return std::nullopt;
}

Result<void> parse_meminfo(std::string_view text, Meminfo& out) {
  out.absent.reset();
  auto ok = parse_meminfo_lines(text, out);
  // What a refused text left behind must not be taken for checked names next time.
  if (!ok) out.fields.clear();
  return ok;
}

void MeminfoSource::write(SampleWriter& out, WriteContext& /*context*/) const {
  for (const Meminfo::Field& field : reading_.fields) {
    if (field.descriptor->is_pattern()) {
      out.put(*field.descriptor, field.value, field.name);
    } else {
      out.put(*field.descriptor, field.value);
    }
  }
}

}  // namespace jetmem
