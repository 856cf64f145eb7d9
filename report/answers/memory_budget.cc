#include "report/answers/memory_budget.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "report/answers/answer_head.h"

namespace jetmem {
namespace {

using Part = MemoryBudget::Part;

std::optional<double> sum_of(const SampleSet& samples, std::string_view family) {
  std::optional<double> sum;
  for (const Sample& sample : samples.family(family)) sum = sum.value_or(0) + sample.value;
  return sum;
}

std::string reason(const DeviceNow& now, std::string_view source) {
  const std::string why = now.why_absent(source);
  return why.empty() ? "source " + std::string(source) + " does not tell it" : why;
}

Part named(const char* name, const char* what) {
  Part part;
  part.name = name;
  part.what = what;
  return part;
}

void add(Part& part, const char* name, double bytes, const char* what) {
  part.bytes = part.bytes.value_or(0) + bytes;
  part.made_of.push_back({name, bytes, what});
}

bool is_absent(const DeviceNow& now, std::string_view source) {
  const SourceNow* found = now.source(source);
  return found != nullptr && found->state == "absent";
}

// Taken before Linux ran.
Part firmware(const DeviceNow& now) {
  Part part = named("firmware", "firmware");
  for (const Sample& sample : now.samples.family("jetmem_memory_budget_bytes")) {
    if (sample.label("kind") != "linux") part.bytes = part.bytes.value_or(0) + sample.value;
  }
  if (part.bytes) return part;
  // Of a PC nothing is listed but what Linux has.
  part.none = now.samples.value("jetmem_memory_physical_bytes").has_value();
  part.why = part.none ? "none is listed" : reason(now, "device");
  return part;
}

// Its image and page structures, and what it keeps that cannot be given up.
Part kernel(const DeviceNow& now, bool whole) {
  Part part = named("kernel", "kernel");
  const SampleSet& samples = now.samples;
  const auto slab = samples.meminfo("SUnreclaim");
  if (!slab) {
    part.why = reason(now, "meminfo");
    return part;
  }
  // What it took before MemTotal was counted is no part of that.
  const auto reserved =
      samples.value("jetmem_memory_budget_bytes", {{"kind", "linux"}, {"part", "kernel_reserved"}});
  if (whole && reserved) add(part, "kernel_reserved", *reserved, "its image and page structures");
  add(part, "slab", *slab, "its objects that cannot be given up");
  struct Field {
    const char* field;
    const char* name;
    const char* what;
  };
  // Older kernels have not all of these; what they leave out is in the rest.
  for (const auto& [field, name, what] :
       {Field{"PageTables", "page_tables", "page tables"},
        Field{"SecPageTables", "iommu_page_tables", "page tables of IOMMU and KVM"},
        Field{"Percpu", "percpu", "per-CPU memory"},
        Field{"KernelStack", "kernel_stacks", "stacks of threads in the kernel"}}) {
    if (const auto bytes = samples.meminfo(field)) add(part, name, *bytes, what);
  }
  if (const auto vmalloc = samples.meminfo("VmallocUsed")) {
    // Stacks come out of vmalloc on all that jetmem runs on, and are in its figure where it has
    // one.
    const double stacks = samples.meminfo("KernelStack").value_or(0);
    add(part, "vmalloc", *vmalloc >= stacks ? *vmalloc - stacks : *vmalloc,
        "vmalloc without the stacks: modules, drivers");
  }
  return part;
}

Part applications(const DeviceNow& now) {
  Part part = named("applications", "applications");
  const auto anonymous = now.samples.meminfo("AnonPages");
  const auto shared = now.samples.meminfo("Shmem");
  if (!anonymous || !shared) {
    part.why = reason(now, "meminfo");
    return part;
  }
  add(part, "anonymous", *anonymous, "programs' own memory");
  add(part, "shared_memory", *shared, "shared memory and tmpfs");
  if (const auto huge = now.samples.meminfo("Hugetlb")) {
    add(part, "huge_pages", *huge, "huge pages set aside, used or not");
  }
  return part;
}

// Taken from the same DRAM, outside of any process's pages. Heaps with memory of their own are
// among the carve-outs.
Part gpu(const DeviceNow& now) {
  Part part = named("gpu", "GPU");
  auto heap = now.samples.value("jetmem_nvmap_heap_bytes", {{"heap", "iovmm"}});
  if (!heap) heap = now.samples.meminfo("NvMapMemUsed");
  if (heap) {
    add(part, "nvmap", *heap, "nvmap: GPU, cameras, codecs");
    auto pool = now.samples.value("jetmem_nvmap_page_pool_bytes");
    if (!pool) pool = now.samples.meminfo("NvMapMemFree");
    if (pool) add(part, "nvmap_stock", *pool, "kept in stock by nvmap");
    return part;
  }
  // NVML counts what CUDA has of a process, managed memory included, which is the process's own:
  // how much of it is in other parts nobody tells, whether it would fit or not.
  for (const Sample& gpu : now.samples.family("jetmem_nvml_gpu_integrated")) {
    if (gpu.value == 0) continue;
    const auto used =
        now.samples.value("jetmem_nvml_process_memory_bytes", {{"gpu", gpu.label("gpu")}});
    if (used) part.told_bytes = part.told_bytes.value_or(0) + *used;
  }
  if (part.told_bytes) {
    part.why = "what NVML tells overlaps with other parts";
    return part;
  }
  part.none = is_absent(now, "nvmap") && (is_absent(now, "nvml") || now.source("nvml") == nullptr);
  const bool card = !now.samples.family("jetmem_nvml_gpu_integrated").empty();
  part.none = part.none || (is_absent(now, "nvmap") && card);
  part.why = part.none && card                       ? "the GPU has memory of its own"
             : is_absent(now, "nvmap") && !part.none ? reason(now, "nvml")
                                                     : reason(now, "nvmap");
  return part;
}

// Taken by drivers out of contiguous memory areas; what programs borrow there is in their parts.
Part cma(const DeviceNow& now) {
  Part part = named("cma", "CMA");
  const auto areas = now.samples.value("jetmem_cma_areas");
  const auto used = now.samples.family("jetmem_cma_used_bytes");
  const auto total = now.samples.meminfo("CmaTotal");
  if (!used.empty() && (!areas || *areas <= static_cast<double>(used.size()))) {
    part.bytes = sum_of(now.samples, "jetmem_cma_used_bytes");
    return part;
  }
  // A kernel may have areas and no file that tells of them.
  const bool some = total.value_or(0) > 0 || areas.value_or(0) > 0 || !used.empty();
  const bool read = now.samples.meminfo("MemTotal").has_value();
  part.none = !some && (total || areas || (is_absent(now, "cma") && read));
  part.why = part.none ? "no CMA" : used.empty() ? reason(now, "cma") : "not of every area";
  return part;
}

// Of the DMA-BUF heap "system" alone: what nvmap exports is nvmap's, what graphics drivers export
// is mostly shared memory, CMA's is CMA's.
Part dmabuf(const DeviceNow& now) {
  Part part = named("dmabuf", "DMA-BUF heap");
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
  if (sum > 0) part.told_bytes = sum;
  part.none = exporters.empty() && is_absent(now, "dmabuf");
  part.why = other ? "there are more exporters than are told apart" : reason(now, "dmabuf");
  return part;
}

// What is swapped out and kept compressed.
Part swap(const DeviceNow& now) {
  Part part = named("swap", "zram");
  const auto zram = sum_of(now.samples, "jetmem_zram_used_bytes");
  const auto zswap = now.samples.meminfo("Zswap");
  const SourceNow* source = now.source("zram");
  const bool no_zram =
      !zram && source != nullptr && (source->state == "absent" || now.why_absent("zram").empty());
  if (!zram && !no_zram) {
    part.told_bytes = zswap;
    part.why = reason(now, "zram");
    return part;
  }
  if (zram) add(part, "zram", *zram, "swapped out and kept compressed (zram)");
  if (zswap && *zswap > 0) {
    add(part, "zswap", *zswap, "swapped out and kept compressed (zswap)");
    part.what = zram ? "zram, zswap" : "zswap";
  }
  part.none = !part.bytes;
  if (part.none) part.why = "no zram";
  return part;
}

Part cache(const DeviceNow& now) {
  Part part = named("cache", "page cache");
  const auto cached = now.samples.meminfo("Cached");
  const auto shared = now.samples.meminfo("Shmem");
  if (!cached || !shared) {
    part.why = reason(now, "meminfo");
    return part;
  }
  // Shared memory counts as cached in the kernel's figures, and cannot be given up.
  add(part, "files", std::max(*cached - *shared, 0.0), "files, given up when others need it");
  if (const auto buffers = now.samples.meminfo("Buffers")) {
    add(part, "buffers", *buffers, "file systems' own blocks");
  }
  if (const auto slab = now.samples.meminfo("SReclaimable")) {
    add(part, "reclaimable_slab", *slab, "the kernel's objects that it can give up");
  }
  return part;
}

Part free_part(const DeviceNow& now) {
  Part part = named("free", "free");
  part.bytes = now.samples.meminfo("MemFree");
  if (!part.bytes) part.why = reason(now, "meminfo");
  return part;
}

void reckon(MemoryBudget& out) {
  double known = 0;
  for (const Part& part : out.parts) {
    known += part.bytes.value_or(0);
    if (!part.bytes && !part.none && !part.outside) out.rest_holds_unknown = true;
  }
  if (out.bytes) out.rest_bytes = *out.bytes - known;
}

MemoryBudget against_linux(const DeviceNow& now) {
  MemoryBudget out;
  out.bytes = now.samples.meminfo("MemTotal");
  out.of = "linux";
  if (!out.bytes) out.no_bytes = reason(now, "meminfo");
  out.parts = {kernel(now, false), applications(now), gpu(now),   cma(now),
               dmabuf(now),        swap(now),         cache(now), free_part(now)};
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
    // Held against what Linux owns: what was taken before is not among it, and may well be there.
    before.outside = true;
    before.told_bytes = std::exchange(before.bytes, std::nullopt);
    if (before.why.empty()) before.why = "the module's size is not known";
  } else {
    out.parts[0] = kernel(now, true);
  }
  out.parts.insert(out.parts.begin(), std::move(before));
  reckon(out);
  return out;
}

nlohmann::ordered_json budget_json(const MemoryBudget& budget) {
  using nlohmann::ordered_json;
  ordered_json out = ordered_json::object();
  put(out, "bytes", budget.bytes);
  if (budget.bytes) out["of"] = budget.of;
  ordered_json& parts = out["parts"] = ordered_json::array();
  for (const Part& part : budget.parts) {
    ordered_json each{{"part", part.name}};
    put(each, "bytes", part.bytes);
    put(each, "told_bytes", part.told_bytes);
    if (part.none) each["none"] = true;
    if (part.outside) each["outside"] = true;
    if (!part.made_of.empty()) {
      ordered_json& pieces = each["made_of"] = ordered_json::array();
      for (const MemoryBudget::Piece& piece : part.made_of) {
        pieces.push_back({{"part", piece.name}, {"bytes", piece.bytes}});
      }
    }
    if (!part.bytes) each["absent"]["bytes"] = printable(part.why, 500);
    parts.push_back(std::move(each));
  }
  put(out, "rest_bytes", budget.rest_bytes);
  out["rest_holds_unknown"] = budget.rest_holds_unknown;
  if (!budget.bytes) {
    put_absences(out, {{"bytes", budget.no_bytes}, {"rest_bytes", budget.no_bytes}});
  }
  return out;
}

}  // namespace jetmem
