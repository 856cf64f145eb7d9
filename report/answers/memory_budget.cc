// SPDX-License-Identifier: Apache-2.0
#include "report/answers/memory_budget.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "collectors/device/budget.h"
#include "collectors/dmabuf/drm.h"
#include "report/answers/answer_head.h"
#include "report/diagnosis/format.h"

namespace jetmem {
namespace {

using Part = MemoryBudget::Part;

std::string reason(const DeviceNow& now, std::string_view source) {
  return now.absence_reason(source, "source " + std::string(source) + " does not report it");
}

Part part_named(const char* name, const char* what) {
  Part part;
  part.name = name;
  part.what = what;
  return part;
}

void add_component(Part& part, const char* name, double bytes, const char* what) {
  part.bytes = part.bytes.value_or(0) + bytes;
  part.components.push_back({name, bytes, what});
}

struct Field {
  const char* field;  // of /proc/meminfo
  const char* name;
  const char* what;
};
// Older kernels lack some; their memory is in the unaccounted rest.
void add_fields(Part& part, const SampleSet& samples, std::initializer_list<Field> fields) {
  for (const auto& [field, name, what] : fields) {
    if (const auto bytes = samples.meminfo(field)) add_component(part, name, *bytes, what);
  }
}

bool is_absent(const DeviceNow& now, std::string_view source) {
  const SourceNow* found = now.source(source);
  return found != nullptr && found->state == "absent";
}

// Taken before Linux ran.
Part firmware(const DeviceNow& now) {
  Part part = part_named("firmware", "firmware");
  for (const Sample& sample : now.samples.family("jetmem_memory_budget_bytes")) {
    if (sample.label("kind") != "linux") part.bytes = part.bytes.value_or(0) + sample.value;
  }
  if (part.bytes) return part;
  // On a PC only Linux's memory is listed.
  part.none = now.samples.value("jetmem_memory_physical_bytes").has_value();
  part.why = part.none ? "none is listed" : reason(now, "device");
  return part;
}

// Image, page structures and unreclaimable memory.
Part kernel(const DeviceNow& now, bool whole) {
  Part part = part_named("kernel", "kernel");
  const SampleSet& samples = now.samples;
  const auto slab = samples.meminfo("SUnreclaim");
  if (!slab) {
    part.why = reason(now, "meminfo");
    return part;
  }
  // Early reservations are not part of MemTotal.
  const auto reserved =
      samples.value("jetmem_memory_budget_bytes", {{"kind", "linux"}, {"part", "kernel_reserved"}});
  if (whole && reserved)
    add_component(part, "kernel_reserved", *reserved, "its image and page structures");
  add_component(part, "slab", *slab, "unreclaimable slab");
  add_fields(part, samples,
             {{"PageTables", "page_tables", "page tables"},
              {"SecPageTables", "iommu_page_tables", "page tables of IOMMU and KVM"},
              {"Percpu", "percpu", "per-CPU memory"},
              {"KernelStack", "kernel_stacks", "stacks of threads in the kernel"}});
  if (const auto vmalloc = samples.meminfo("VmallocUsed"); vmalloc && *vmalloc == 0) {
    part.why = "vmalloc (reported as 0: kernels 4.4 to 5.2 do not count it)";
  } else if (vmalloc) {
    // Stacks are part of vmalloc (CONFIG_VMAP_STACK).
    const double stacks = samples.meminfo("KernelStack").value_or(0);
    add_component(part, "vmalloc", *vmalloc >= stacks ? *vmalloc - stacks : *vmalloc,
                  "vmalloc without the stacks: modules, drivers");
  }
  return part;
}

Part applications(const DeviceNow& now) {
  Part part = part_named("applications", "applications");
  if (!now.samples.meminfo("AnonPages") || !now.samples.meminfo("Shmem")) {
    part.why = reason(now, "meminfo");
    return part;
  }
  add_fields(part, now.samples,
             {{"AnonPages", "anonymous", "programs' own memory"},
              {"Shmem", "shared_memory", "shared memory and tmpfs"},
              {"Hugetlb", "huge_pages", "reserved huge pages, used or not"}});
  // Kernels before 4.19 have no Hugetlb, and one size of huge pages is all that meminfo has of
  // them.
  const auto pages = now.samples.value("jetmem_meminfo_HugePages_Total");
  const auto size = now.samples.meminfo("Hugepagesize");
  if (!now.samples.meminfo("Hugetlb") && pages && size && *pages > 0)
    add_component(part, "huge_pages", *pages * *size, "reserved huge pages, used or not");
  return part;
}

// Memory outside of any process's pages. Heaps with their own memory are carve-outs.
Part gpu(const DeviceNow& now) {
  Part part = part_named("gpu", "GPU");
  auto heap = now.samples.value("jetmem_nvmap_heap_bytes", {{"heap", "iovmm"}});
  if (!heap) heap = now.samples.meminfo("NvMapMemUsed");
  if (heap) {
    add_component(part, "nvmap", *heap, "nvmap: GPU, cameras, codecs");
    auto pool = now.samples.value("jetmem_nvmap_page_pool_bytes");
    if (!pool) pool = now.samples.meminfo("NvMapMemFree");
    if (pool)
      add_component(part, "nvmap_stock", *pool,
                    "nvmap's page pool: reclaimable, not in MemAvailable");
    return part;
  }
  // NVML counts a process's CUDA memory including managed memory, which overlaps with the process's
  // own pages by an unknown amount.
  for (const Sample& gpu : now.samples.family("jetmem_nvml_gpu_integrated")) {
    if (gpu.value == 0) continue;
    const auto used =
        now.samples.value("jetmem_nvml_process_memory_bytes", {{"gpu", gpu.label("gpu")}});
    if (used) part.reported_bytes = part.reported_bytes.value_or(0) + *used;
  }
  if (part.reported_bytes) {
    part.why = "NVML's value overlaps with other parts";
    return part;
  }
  for (const Sample& use : now.samples.family("jetmem_drm_process_bytes")) {
    if (!is_system_region(use.label("region"))) continue;
    part.reported_bytes = part.reported_bytes.value_or(0) + use.value;
  }
  if (part.reported_bytes) {
    part.why = "with most drivers its buffers are in shared memory too";
    return part;
  }
  part.none = is_absent(now, "nvmap") && (is_absent(now, "nvml") || now.source("nvml") == nullptr);
  const bool card = !now.samples.family("jetmem_nvml_gpu_integrated").empty();
  part.none = part.none || (is_absent(now, "nvmap") && card);
  // Every Tegra's GPU shares the memory, also where nvmap's files cannot be found.
  const Sample* device = now.samples.find("jetmem_device_info");
  const bool is_tegra = device != nullptr && device->label("soc").starts_with("tegra");
  if (is_tegra && !card) part.none = false;
  if (part.none)
    part.why = card ? "the GPU has memory of its own" : "none whose driver reports it";
  else
    part.why = reason(now, is_absent(now, "nvmap") && !is_tegra ? "nvml" : "nvmap");
  return part;
}

// Used by drivers; CMA pages lent to programs are in the programs' parts.
Part cma(const DeviceNow& now) {
  Part part = part_named("cma", "CMA");
  const auto areas = now.samples.value("jetmem_cma_areas");
  const auto used = now.samples.family("jetmem_cma_used_bytes");
  const auto total = now.samples.meminfo("CmaTotal");
  if (!used.empty() && (!areas || *areas <= static_cast<double>(used.size()))) {
    part.bytes = now.samples.sum("jetmem_cma_used_bytes");
    return part;
  }
  // A kernel may have areas and no file that lists them.
  const bool some = total.value_or(0) > 0 || areas.value_or(0) > 0 || !used.empty();
  const bool read = now.samples.meminfo("MemTotal").has_value();
  part.none = !some && (total || areas || (is_absent(now, "cma") && read));
  part.why = part.none ? "no CMA" : used.empty() ? reason(now, "cma") : "not known for every area";
  return part;
}

// Of the DMA-BUF heap "system" alone: what nvmap exports is nvmap's, what graphics drivers export
// is usually shared memory, CMA's is CMA's.
Part dmabuf(const DeviceNow& now) {
  Part part = part_named("dmabuf", "DMA-BUF heap");
  const auto exporters = now.samples.family("jetmem_dmabuf_exporter_bytes");
  double sum = 0;
  bool other = false;
  for (const Sample& sample : exporters) {
    if (sample.label("exporter").substr(0, 6) == "system") sum += sample.value;
    other = other || (sample.label("exporter") == "other" && sample.value > 0);
  }
  if (!exporters.empty() && !other) {
    part.bytes = sum;
    return part;
  }
  if (sum > 0) part.reported_bytes = sum;
  part.none = exporters.empty() && is_absent(now, "dmabuf");
  part.why = other ? "there are more exporters than jetmem lists" : reason(now, "dmabuf");
  return part;
}

// Compressed swap.
Part swap(const DeviceNow& now) {
  Part part = part_named("swap", "zram");
  const auto zram = now.samples.sum("jetmem_zram_used_bytes");
  const auto zswap = now.samples.meminfo("Zswap");
  const SourceNow* source = now.source("zram");
  const bool no_zram = !zram && source != nullptr &&
                       (source->state == "absent" || now.absence_reason("zram").empty());
  if (!zram && !no_zram) {
    part.reported_bytes = zswap;
    part.why = reason(now, "zram");
    return part;
  }
  if (zram) add_component(part, "zram", *zram, "compressed swap (zram)");
  if (zswap && *zswap > 0) {
    add_component(part, "zswap", *zswap, "compressed swap (zswap)");
    part.what = zram ? "zram, zswap" : "zswap";
  }
  part.none = !part.bytes;
  if (part.none) part.why = "no zram";
  return part;
}

Part cache(const DeviceNow& now) {
  Part part = part_named("cache", "page cache");
  const auto cached = now.samples.meminfo("Cached");
  const auto shared = now.samples.meminfo("Shmem");
  if (!cached || !shared) {
    part.why = reason(now, "meminfo");
    return part;
  }
  // The kernel counts shared memory as cached, although it is not reclaimable.
  add_component(part, "files", std::max(*cached - *shared, 0.0), "files, reclaimable");
  add_fields(part, now.samples,
             {{"Buffers", "buffers", "file systems' own blocks"},
              {"SReclaimable", "reclaimable_slab", "reclaimable slab"}});
  return part;
}

Part free_part(const DeviceNow& now) {
  Part part = part_named("free", "free");
  part.bytes = now.samples.meminfo("MemFree");
  if (!part.bytes) part.why = reason(now, "meminfo");
  return part;
}

// The kernel's sums of zoneinfo and meminfo are alike, and the parts of meminfo disjoint.
std::string contradiction_of(const DeviceNow& now, const MemoryBudget& budget) {
  const auto total = now.samples.meminfo("MemTotal");
  if (!total) return {};
  constexpr const char* kWhy = ": two machines' figures, as in a container or under a hypervisor";
  if (const auto managed = now.samples.sum("jetmem_zone_managed_bytes");
      managed && device::contradict(*managed, *total)) {
    return "/proc/zoneinfo (" + doctor::bytes(*managed) + ") contradicts /proc/meminfo (MemTotal " +
           doctor::bytes(*total) + ")" + kWhy;
  }
  double known = 0;
  for (const char* name : {"kernel", "applications", "cache", "free"}) {
    known += budget.part(name)->bytes.value_or(0);
  }
  if (known <= *total * 17 / 16) return {};
  return "the parts in /proc/meminfo (" + doctor::bytes(known) + ") exceed MemTotal (" +
         doctor::bytes(*total) + ")" + kWhy;
}

void reckon(MemoryBudget& out) {
  double known = 0;
  for (const Part& part : out.parts) {
    known += part.bytes.value_or(0);
    const bool is_part = !part.none && !part.outside;
    if (is_part && (!part.bytes || !part.why.empty())) out.unaccounted_includes_unknown = true;
  }
  // Figures of two machines have no difference.
  if (!out.bytes || !out.contradiction.empty()) return;
  out.unaccounted_bytes = std::max(0.0, *out.bytes - known);
  out.overlap_bytes = std::max(0.0, known - *out.bytes);
}

MemoryBudget against_linux(const DeviceNow& now) {
  MemoryBudget out;
  out.bytes = now.samples.meminfo("MemTotal");
  out.of = "linux";
  if (!out.bytes) out.no_bytes = reason(now, "meminfo");
  out.parts = {kernel(now, false), applications(now), gpu(now),   cma(now),
               dmabuf(now),        swap(now),         cache(now), free_part(now)};
  out.contradiction = contradiction_of(now, out);
  return out;
}

}  // namespace

const MemoryBudget::Part* MemoryBudget::part(std::string_view name) const {
  for (const Part& each : parts) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

bool MemoryBudget::has_basics() const {
  if (!bytes) return false;
  return std::all_of(parts.begin(), parts.end(), [](const Part& part) {
    const bool basic = part.name == "kernel" || part.name == "applications" ||
                       part.name == "cache" || part.name == "free";
    return !basic || part.bytes;
  });
}

MemoryBudget linux_budget(const DeviceNow& now) {
  MemoryBudget out = against_linux(now);
  reckon(out);
  return out;
}

MemoryBudget memory_budget(const DeviceNow& now) {
  MemoryBudget out = against_linux(now);
  constexpr std::array<std::pair<const char*, const char*>, 2> kSizes{
      {{"jetmem_memory_module_bytes", "module"}, {"jetmem_memory_physical_bytes", "physical"}}};
  for (const auto& [metric, of] : kSizes) {
    const auto bytes = now.samples.value(metric);
    if (!bytes) continue;
    out.bytes = bytes;
    out.of = of;
    out.no_bytes.clear();
    break;
  }
  Part before = firmware(now);
  if (out.of == "linux") {
    // Relative to MemTotal: firmware memory is not part of it.
    before.outside = true;
    before.reported_bytes = std::exchange(before.bytes, std::nullopt);
    if (before.why.empty()) before.why = "the module's size is unknown";
  } else {
    out.parts[0] = kernel(now, true);
  }
  out.parts.insert(out.parts.begin(), std::move(before));
  reckon(out);
  return out;
}

static void describe(json::Fields& v, MemoryBudget::Piece& piece) {
  v("part", piece.name);
  v("bytes", piece.bytes);
}

static void describe(json::Fields& v, Part& part) {
  v("part", part.name);
  v("bytes", part.bytes);
  v("known_bytes", part.reported_bytes);
  v.unless_false("none", part.none);
  v.unless_false("outside", part.outside);
  v.unless_empty("components", part.components);
  Absences absent;
  if (!part.bytes || !part.why.empty()) {
    absent.emplace_back(part.bytes ? "more_components" : "bytes", part.why);
  }
  v.absent(absent);
}

void describe(json::Fields& v, MemoryBudget& budget) {
  v("bytes", budget.bytes);
  if (budget.bytes) v("of", budget.of);
  v.unless_empty("contradiction", budget.contradiction);
  v("parts", budget.parts);
  v("unaccounted_bytes", budget.unaccounted_bytes);
  if (v.reading() || budget.overlap_bytes > 0) v("overlap_bytes", budget.overlap_bytes);
  v("unaccounted_includes_unknown", budget.unaccounted_includes_unknown);
  Absences absent;
  if (!budget.bytes) {
    absent = {{"bytes", budget.no_bytes}, {"unaccounted_bytes", budget.no_bytes}};
  }
  v.absent(absent);
}

}  // namespace jetmem
