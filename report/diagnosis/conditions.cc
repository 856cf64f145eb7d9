// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/conditions.h"

#include <array>
#include <cmath>

#include "base/text/text.h"
#include "collectors/kernel_log/event/attention.h"
#include "collectors/kernel_log/event/event.h"
#include "collectors/kernel_log/event/kinds.h"
#include "report/diagnosis/values.h"

namespace jetmem::diagnosis {
namespace {

constexpr double kKiB = 1 << 10;
constexpr double kGiB = 1 << 30;
constexpr double kTiB = 1LL << 40;
// IO_TLB_SIZE, and IO_TLB_SEGSIZE of them: a mapping takes adjacent slots of one segment.
constexpr double kMostOfOneMapping = 128 * 2 * kKiB;
// Above this share of its slots the pool is full; the rest is spread.
constexpr double kFull = 0.95;
// PAGE_ALLOC_COSTLY_ORDER.
constexpr double kCostlyOrder = 3;
// Of the free memory: then the rest is below the watermarks.
constexpr double kMostlyCma = 0.8;
// A zone with more than this many times its min watermark is not short.
constexpr double kWellAbove = 2;
// A request above this share of what is available is too large, not unlucky.
constexpr double kAlmostAll = 0.95;
constexpr int kPermission = 1;
constexpr int kAccess = 13;
constexpr int kBusy = 16;

// A part of what the machine printed there, whatever the case.
bool has_part(const Case& it, std::string_view field,
              std::initializer_list<std::string_view> parts) {
  const std::string text = in_lower_case(it.event.text(field));
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return contains(text, part); });
}

bool is_any(const Case& it, std::string_view field,
            std::initializer_list<std::string_view> values) {
  return std::any_of(values.begin(), values.end(),
                     [&](std::string_view value) { return it.event.is(field, value); });
}

bool message_begins(const Case& it, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return it.event.message().starts_with(part); });
}

std::optional<double> slots_used(const Case& it) { return it.event.number({"used", "slots_used"}); }
std::optional<double> slots(const Case& it) { return it.event.number({"total", "slots_total"}); }

kernel_log::ErrorSeverity severity_of(const Case& it) {
  return kernel_log::error_severity(it.event.text("severity"));
}

bool zone_is_below_min(const Case& it) {
  for (const std::string_view zone : {"dma", "dma32", "normal"}) {
    const auto free = it.event.number("free_" + std::string(zone) + "_kb");
    const auto min = it.event.number("min_" + std::string(zone) + "_kb");
    if (free && min && *free < *min) return true;
  }
  return false;
}

bool highmem_is_free(const Case& it) {
  const EventFields& report = report_of(it);
  const double high = report.number("free_highmem_kb").value_or(0);
  return high > 0 && high > kWellAbove * report.number("min_highmem_kb").value_or(0);
}

bool is_fault(const Case& it, std::initializer_list<std::string_view> names) {
  return has_part(it, "fault", names) || has_part(it, "error", names);
}

bool of_table_walk(const Case& it) { return is_fault(it, {"table walk", "on translation"}); }

bool is_large_order(const Case& it) { return it.event.number("order") > kCostlyOrder; }

}  // namespace

namespace conditions {

// ---- Bounce buffers and contiguous memory

bool more_than_swiotlb_gives(const Case& it) { return it.event.number("size") > kMostOfOneMapping; }

bool swiotlb_counts_slots(const Case& it) { return slots_used(it) && slots(it) > 0.0; }

bool swiotlb_is_used_up(const Case& it) {
  return swiotlb_counts_slots(it) && *slots_used(it) >= kFull * *slots(it);
}

bool swiotlb_is_unused(const Case& it) { return swiotlb_counts_slots(it) && *slots_used(it) <= 0; }

bool node_is_cma(const Case& it) {
  return has_part(it, "node", {"cma"}) || has_part(it, "area", {"cma"}) ||
         has_part(it, "region", {"cma"}) ||
         message_begins(it,
                        {"cma-reserve-failed", "cma-not-activated", "cma-region-", "cma-node-"});
}

bool of_v3d(const Case& it) { return has_part(it, "dev", {"v3d"}) || it.event.is("driver", "v3d"); }

bool no_cma_area(const Case& it) { return cma_area(it) <= 0.0 && cma_area(it); }

// A PC's devices have IOMMUs: there it is not the cause of every refusal.
bool needs_cma(const Case& it) {
  return it.event.kind() == "cma_alloc_failure" || jetson(it) ||
         it.has_any_kind({"reserved_memory_failure"});
}

bool more_than_cma(const Case& it) {
  const auto area = cma_area(it);
  return area && requested_bytes(it) > *area;
}

bool cma_is_full(const Case& it) {
  const auto free = it.event.number("free");
  return free && free < it.event.number("pages");
}

// EBUSY: a free run was found, and pages in it could not be moved out of the way.
bool cma_pages_are_pinned(const Case& it) {
  const auto largest = it.event.number("largest");
  const bool fits = !largest || (it.event.has("pages") && largest >= it.event.number("pages"));
  return it.event.errno_of() == kBusy && fits;
}

bool cma_is_fragmented(const Case& it) {
  return it.event.number("free") && it.event.number("pages");
}

// ---- The page allocator and the OOM killer

bool cannot_wait(const Case& it) {
  if (it.event.is("atomic", "true")) return true;
  for (const std::string_view name : {"gfp", "mode", "flags"}) {
    if (has_part(it, name, {"atomic", "nowait"})) return true;
    const auto mode = kernel_log::parse_hex(it.event.text(name));
    if (!mode) continue;
    if (kernel_log::may_not_sleep(*mode)) return true;
  }
  return false;
}

// A 32-bit kernel is known by its backtrace; which memory was free, only by the report.
bool lowmem_is_short(const Case& it) {
  if (it.event.kind() == "memory_report" && !zone_is_below_min(it)) return false;
  const bool no_report = !it.event.has("free_normal_kb") && !it.event.has("free_highmem_kb");
  const bool large = !it.event.has("order") || is_large_order(it);
  if (it.event.kind().starts_with("oom_")) return highmem_is_free(it);
  return highmem_is_free(it) || (it.facts.is_32_bit_arm && no_report && large);
}

// "kmalloc-512(42:4d2f)": a copy of the cache for the group of that number and name.
bool slab_cache_of_group(const Case& it) {
  const std::string_view cache = it.event.text("cache");
  const std::size_t open = cache.find('(');
  return open < cache.size() - 1 && is_digit(cache[open + 1]) && contains(cache.substr(open), ":");
}

bool only_cma_is_free(const Case& it) {
  if (it.event.kind() == "memory_report" && !zone_is_below_min(it)) return false;
  const ZoneTotals zones = zone_totals(report_of(it));
  return zones.free_kb > 0 && zones.cma_kb >= kMostlyCma * zones.free_kb;
}

// By the highest zone of the report: others keep a reserve from requests that it could serve.
bool zones_are_not_short(const Case& it) {
  const EventFields& report = report_of(it);
  for (const std::string_view zone : {"movable", "highmem", "normal", "dma32", "dma"}) {
    const auto free = report.number("free_" + std::string(zone) + "_kb");
    const auto min = report.number("min_" + std::string(zone) + "_kb");
    if (!free || !min) continue;
    return *min > 0 && *free - report.number("free_cma_kb").value_or(0) > kWellAbove * *min;
  }
  return false;
}

bool zones_are_known(const Case& it) { return zone_totals(report_of(it)).free_kb > 0; }

// Those that print only what both print: a bare "Killed process", a first line by itself.
bool oom_limit_is_unknown(const Case& it) {
  return !it.log.oom.of_machine && !it.event.has("killer");
}

bool pages_are_fragmented(const Case& it) {
  const auto order = it.event.number("order");
  if (!order || *order <= 0) return false;
  if (*order > kCostlyOrder) return true;
  const ZoneTotals zones = zone_totals(it.event);
  return !it.has_any_kind({"oom_kill"}) && zones.free_kb > 0 && zones.min_kb > 0 &&
         zones.free_kb > kWellAbove * zones.min_kb;
}

bool memory_ran_out(const Case& it) {
  const std::string& kind = it.event.kind();
  if (kind.starts_with("oom_")) return true;
  if (kind == "memory_report") return zone_is_below_min(it);
  if (it.has_any_kind({"zram_error"})) return true;
  const auto order = it.event.number("order");
  if (!order) return false;
  if (*order == 0 || it.has_any_kind({"oom_kill"})) return !zones_are_not_short(it);
  const ZoneTotals zones = zone_totals(it.event);
  return zones.free_kb > 0 && zones.min_kb > 0;
}

bool oom_of_group(const Case& it) { return it.log.oom.of_group; }
bool oom_on_one_node(const Case& it) { return it.log.oom.on_one_node; }
bool oom_for_nvmap(const Case& it) { return it.log.oom.for_nvmap && !it.log.oom.asker.empty(); }

bool oom_by_kswapd(const Case& it) {
  if (it.log.oom.thrashing) return true;
  std::string_view asker = it.log.oom.asker;
  return take_prefix(asker, "kswapd") && !asker.empty() && is_digit(asker.front());
}

bool oom_with_much_slab(const Case& it) {
  const auto slab = report_of(it).number("slab_unreclaimable_pages");
  const auto ram = report_of(it).number("ram_pages");
  return slab && ram && *ram > 0 && *slab <= *ram && *slab >= kMuchSlab * *ram;
}

bool oom_with_free_swap(const Case& it) {
  const auto free = report_of(it).number({"swap_free_kb", "free_swap_kb"});
  const auto all = report_of(it).number({"swap_total_kb", "total_swap_kb"});
  return free && all && *all > 0 && *free > *all / 2;
}

// vmalloc() refuses at once what exceeds the machine's memory, without the line that
// alloc_vmap_area() prints of a range that is not free; a 32-bit kernel's range is smaller.
bool vmalloc_size_is_absurd(const Case& it) {
  const auto size = it.event.number("size");
  if (!size) return false;
  const bool at_once = it.event.message() == "vmalloc-failure" && !it.event.has("allocated");
  return *size <= 0 || has_part(it, "error", {"exceeds total pages"}) ||
         ((it.facts.is_32_bit_arm || at_once) && *size >= kGiB) ||
         (it.facts.total && *size > *it.facts.total);
}

// ---- GPUs

bool jetson(const Case& it) { return it.facts.is_jetson() || it.log.tegra; }

bool shares_memory(const Case& it) {
  const std::string board = in_lower_case(it.facts.board);
  return jetson(it) || contains(board, "dgx spark") || contains(board, "gb10");
}

bool size_is_garbage(const Case& it) {
  // More than any machine's memory, and than what programs reserve without using it.
  return requested_bytes(it) > 64 * kTiB;
}

bool size_and_free_are_known(const Case& it) {
  return requested_bytes(it) && free_when_refused(it);
}

bool more_than_is_free(const Case& it) {
  return size_and_free_are_known(it) && *requested_bytes(it) > kAlmostAll * *free_when_refused(it);
}

bool memory_is_short(const Case& it) {
  const MachineFacts& facts = it.facts;
  if (!facts.available || !facts.total) return false;
  return requested_bytes(it).value_or(0) > kAlmostAll * *facts.available ||
         *facts.available < 0.1 * *facts.total;
}

// From cudaMemGetInfo: available memory, of which much is not free.
bool page_cache_hides_memory(const Case& it) {
  const MachineFacts& facts = it.facts;
  if (!facts.available || !facts.free) return false;
  const auto wanted = requested_bytes(it);
  if (!wanted) return *facts.free < 0.2 * *facts.available;
  return *facts.free<0.5 * *facts.available&& * wanted> * facts.free * 0.5;
}

bool large_blocks_are_few(const Case& it) {
  const MachineFacts& facts = it.facts;
  return facts.free && facts.bytes_in_2m_blocks &&
         *facts.bytes_in_2m_blocks < std::max(requested_bytes(it).value_or(0), 0.5 * *facts.free);
}

bool permission_is_denied(const Case& it) {
  const int number = it.event.errno_of();
  return number == kPermission || number == kAccess || it.event.is("reason", "permission");
}

// "Memory Manager Not supported" and its like name neither function nor error.
bool names_a_call(const Case& it) {
  return it.event.has("function") || it.event.has("errno") || it.event.has("dev") ||
         it.event.has("error") || it.event.has("reason");
}

bool of_gpu_library(const Case& it) { return kernel_log::is_gpu_library(it.event.text("library")); }

bool of_nvidia_driver(const Case& it) {
  if (it.event.has("xid") || message_begins(it, {"nvgpu-", "nvrm-", "xid-", "gk20a-"})) return true;
  // Other makers' drivers print why a job failed and name themselves; nvgpu prints engines.
  return it.event.has("engine") || it.event.has("notifier") || it.event.has("tsg") ||
         is_any(it, "dev",
                {"57000000.gpu", "17000000.gpu", "17000000.gp10b", "17000000.gv11b",
                 "17000000.ga10b"}) ||
         is_any(it, "driver", {"nvidia", "nvgpu", "NVRM"}) || has_part(it, "text", {"nv_err_"}) ||
         has_part(it, "function", {"_impl", "nvgpu_", "_gsp"});
}

// Only the line that the driver prints at each start of a program.
bool nothing_else_of_the_gpu(const Case& it) {
  return it.log.gpu_refusals.size() <= 1 &&
         !it.has_any_kind({"gpu_hang", "gpu_xid", "gpu_error", "gpu_mmu_fault", "dma_map_failure",
                           "cuda_alloc_failure", "program_alloc_failure", "oom_kill",
                           "page_alloc_failure"});
}

// "RmInitAdapter failed! (0x62:0x51:1876)": the second is NV_STATUS, 0x51 NV_ERR_NO_MEMORY.
bool gpu_firmware_lacks_memory(const Case& it) {
  if (has_part(it, "function", {"radix3"})) return true;
  if (it.event.kind() != "gpu_error") return false;
  const std::string_view text = it.event.text("text");
  const bool no_memory = it.event.number("status") == 0x51 || contains(text, ":0x51:") ||
                         it.has_any_kind({"gpu_alloc_failure"});
  return no_memory &&
         has_part(it, "text",
                  {"rminitadapter", "rm_init_adapter", "gsp-rm image", "gsp firmware rm"});
}

bool gpu_access_is_denied(const Case& it) {
  // The limit of the address space is no permission.
  return !of_v3d(it) &&
         (has_part(it, "fault_type", {"permission", "access_flag"}) ||
          (has_part(it, "fault_type", {"viol"}) && !has_part(it, "fault_type", {"limit"})));
}

// ---- Memory errors, buses, IOMMUs

bool corrected(const Case& it) { return severity_of(it) == kernel_log::ErrorSeverity::kCorrected; }
bool uncorrected(const Case& it) {
  return severity_of(it) == kernel_log::ErrorSeverity::kUncorrected;
}

bool uncorrected_memory_in_log(const Case& it) { return it.log.uncorrected_memory; }

// Names of units in the reports of RAS drivers: "L2 cache", "SCF:L3", "CPU cluster 0".
bool of_processor_cache(const Case& it) {
  for (const std::string_view field :
       {"name", "block", "instance", "unit", "label", "source", "ierr"}) {
    if (has_part(it, field, {"dimm", "channel", "dram"})) return false;
  }
  for (const std::string_view field :
       {"name", "block", "instance", "unit", "label", "source", "ierr"}) {
    if (has_part(it, field, {"l1", "l2", "l3", "scf", "cache", "cluster"})) return true;
  }
  return false;
}

// What the firmware reports (APEI), and no line of it says that it is about memory.
bool of_other_hardware(const Case& it) {
  if (it.event.kind() != "memory_error") return false;
  // The severities of APEI; others print theirs in other words.
  const bool apei = is_any(it, "severity", {"recoverable", "fatal", "info"}) ||
                    it.event.text("severity") == "corrected";
  if (!apei && !it.event.has("ghes") && !it.event.has("section_type")) return false;
  return !has_part(it, "section_type", {"memory"}) && !it.event.has("physical_address") &&
         !it.event.has("location") && !it.event.has("label") &&
         !has_part(it, "error_type", {"ecc"});
}

// By the names that Arm's RAS architecture gives to SERR, the kind of an error. Not those that may
// pass on an error of memory, as "Data value from producer" and a deferred error.
bool serr_names_no_memory(const Case& it) {
  return has_part(it, "serr",
                  {"assertion failure", "internal data path", "internal data register",
                   "internal control register", "error response from", "external timeout",
                   "internal timeout", "software fault", "failed gsc checks"});
}

bool of_pcie(const Case& it) { return message_begins(it, {"pcie-", "edac-pci"}); }

// An IOMMU of a PC: it has no name but its kind's.
bool of_x86_iommu(const Case& it) { return is_any(it, "dev", {"AMD-Vi", "DMAR"}); }

bool suppressed_kind_matters(const Case& it) {
  const kernel_log::EventKind of = kernel_log::suppressed_kind(it.event.text("function"));
  return of != kernel_log::EventKind::kNone && kernel_log::info_of(of).level != LogLevel::kInfo;
}

// ---- Tasks, CPUs, storage

bool bus_error_before(const Case& it) { return it.log.bus_error; }
// What the processor reports of a failed access: as its code says it (fault), or, where the log
// lacks that, as the kernel names it, in several ways: "synchronous parity or ECC error", "level 1
// (translation table walk)".
bool of_bus_error(const Case& it) { return is_fault(it, {"external abort"}) && !of_table_walk(it); }

// The one that finds a stall of its own was in the kernel all the time.
bool names_busy_cpu(const Case& it) {
  return it.event.has("cpus") || it.event.message() == "rcu-stall-self";
}

bool cpu_stall_before(const Case& it) { return it.log.cpu_stall; }

// Of several reports it is not known whose backtrace that was.
bool stuck_in_contiguous_allocation(const Case& it) {
  return it.facts.stuck_tasks == 1 && !it.facts.stuck_in_contiguous.empty();
}

bool stuck_in_reclaim(const Case& it) {
  return it.facts.stuck_tasks == 1 && !it.facts.stuck_in_reclaim.empty();
}

bool of_removable_or_image(const Case& it) {
  return kernel_log::is_removable_or_image(it.event.device());
}

bool dma_descriptor_refused(const Case& it) { return it.log.dma_descriptor_refused; }

bool storage_fails_repeatedly(const Case& it) {
  const auto errors = it.log.storage_errors.find(it.event.device());
  return errors != it.log.storage_errors.end() && errors->second >= kRepeatedStorageErrors;
}

}  // namespace conditions

bool is_uncorrected_memory(const EventFields& event) {
  if (event.kind() != "memory_error" && event.kind() != "gpu_ecc_error") return false;
  if (event.has("happened")) return false;  // before this boot
  if (conditions::of_other_hardware({event, {}, {}}) ||
      conditions::serr_names_no_memory({event, {}, {}})) {
    return false;
  }
  return kernel_log::error_severity(event.text("severity"), event.text("outcome")) ==
         kernel_log::ErrorSeverity::kUncorrected;
}

}  // namespace jetmem::diagnosis
