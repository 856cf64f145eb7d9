// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/values.h"

#include <array>
#include <bit>
#include <cmath>

#include "base/text/text.h"
#include "collectors/device/kernel_arguments.h"
#include "collectors/kernel_log/event/kinds.h"
#include "report/diagnosis/cause_table.h"
#include "report/diagnosis/conditions.h"
#include "report/diagnosis/format.h"

namespace jetmem::diagnosis {
namespace {

using Text = std::optional<std::string>;

constexpr double kMiB = 1 << 20;
// IO_TLB_SIZE.
constexpr double kSlot = 2048;

Text bytes(std::optional<double> value) {
  return value ? Text(doctor::bytes(*value)) : std::nullopt;
}

Text whole(std::optional<double> value) {
  return value ? Text(doctor::number(*value, 0)) : std::nullopt;
}

Text not_empty(std::string text) { return text.empty() ? std::nullopt : Text(std::move(text)); }

Text field(const Case& it, std::string_view name) {
  return not_empty(printable(it.event.text(name), 80));
}

std::optional<double> pages(const Case& it, std::string_view name) {
  const auto number = it.event.number(name);
  return number ? std::optional(*number * page_size(it)) : std::nullopt;
}

// Room for a few such requests, and more than the area of today, which was too small.
Text cma(const Case& it) {
  const double request = std::max(it.log.cma_request, requested_bytes(it).value_or(0));
  const double held = std::max(it.log.cma_held, it.event.number("bos_kb").value_or(0) * 1024);
  auto area = cma_area(it);
  if (it.log.cma_area) area = std::max(area.value_or(0), *it.log.cma_area);
  if (request <= 0 && held <= 0 && !area) return "cma= above its present size";
  // More than half of memory is never free in one piece.
  const double most = it.facts.total ? std::clamp(*it.facts.total / 2 / kMiB, 64.0, 2048.0) : 2048;
  double wanted = std::clamp(std::max(request * 4, held * 1.5) / kMiB, 64.0, most);
  if (area && *area > 0) wanted = std::clamp(*area * 1.5 / kMiB, wanted, std::max(most, wanted));
  const auto size = std::bit_ceil(static_cast<std::uint32_t>(std::ceil(wanted)));
  if (area && size * kMiB <= *area) return "cma= above its present size";
  return "cma=" + std::to_string(size) + "M" + (area ? "" : " (or more, if it has that already)");
}

Text more_slots(const Case& it) {
  constexpr std::uint64_t kFewestSlots = 65536;
  constexpr std::uint64_t kMostSlots = 1 << 23;  // 16 GiB
  const auto total = it.event.number({"total", "slots_total"});
  const std::string set(device::kernel_argument(it.facts.command_line, "swiotlb"));
  std::string_view digits = set;
  std::uint64_t now = take_u64(digits).value_or(0);
  if (total && *total > 0) now = static_cast<std::uint64_t>(std::min(*total, 1e9));
  const std::uint64_t twice = std::min(now, kMostSlots) * 2;
  return std::to_string(std::clamp(std::bit_ceil(twice), kFewestSlots, kMostSlots));
}

Text modules(const Case& it) {
  std::string out;
  for (const std::string& each : it.facts.backtrace_modules)
    out += (out.empty() ? "" : ", ") + each;
  return not_empty(out);
}

// Of several CPUs, none is the one.
Text cpu(const Case& it) {
  if (auto one = field(it, "cpu")) return one;
  const std::string_view cpus = it.event.text("cpus");
  return contains(cpus, " ") ? std::nullopt : not_empty(printable(cpus, 8));
}

Text who(const Case& it) {
  if (it.event.kind() == "hung_task") return field(it, "comm").value_or("A task");
  const Text one = cpu(it);
  return one ? "CPU " + *one : "A CPU";
}

// Of the kinds that the entry asks for, the one that the log has.
Text in_log(const Case& it) {
  if (it.entry == nullptr) return std::nullopt;
  for (const std::string_view kind : it.entry->log) {
    if (it.log.kinds.contains(kind)) return std::string(kind);
  }
  return std::nullopt;
}

Text slab(const Case& it) {
  const EventFields* const report = it.log.oom.report;
  if (report == nullptr) return std::nullopt;
  const auto slab = report->number("slab_unreclaimable_pages");
  const auto ram = report->number("ram_pages");
  if (!slab || !ram || *ram <= 0) return std::nullopt;
  return doctor::share(*slab / *ram);
}

// The kernel need not kill the one that requested memory.
Text victim(const Case& it) {
  const std::string& name = it.log.oom.victim;
  const bool killed = it.event.kind().starts_with("oom_kill");
  return killed && name != it.log.oom.asker ? not_empty(name) : std::nullopt;
}

// Of the fault that this one follows from; an Xid's own number else.
Text xid(const Case& it) {
  const bool follows = !it.log.gpu_fault.empty() && follows_gpu_fault(it.event);
  return whole(follows ? it.log.gpu_fault_xid : it.event.number("xid"));
}

Text previous_xid(const Case& it) {
  const auto named = it.event.number("previous_xid");
  const auto previous = named ? named : it.log.gpu_fault_xid;
  return previous == 45 ? std::nullopt : whole(previous);
}

Text suppressed(const Case& it) {
  const auto kind = kernel_log::suppressed_kind(it.event.text("function"));
  if (kind == kernel_log::EventKind::kNone) return std::nullopt;
  return std::string(kernel_log::info_of(kind).name);
}

Text order(const Case& it) {
  const auto order = it.event.number("order");
  return order && *order >= 0 && *order < 20 ? whole(order) : std::nullopt;
}

Text block_size(const Case& it) {
  return order(it) ? bytes(page_size(it) * std::exp2(*it.event.number("order"))) : std::nullopt;
}

Text largest_run(const Case& it) {
  const auto largest = it.event.number("largest");
  // Large enough, but not aligned as it must be.
  const auto wanted = it.event.number("pages");
  if (largest && wanted && *largest >= *wanted) return std::nullopt;
  return bytes(pages(it, "largest"));
}

Text refusal_why(const Case& it) {
  constexpr int kNoMemory = 12;
  const bool short_of = it.event.errno_of() == kNoMemory || it.event.text("reason") == "shortage";
  return short_of ? Text("out of memory") : std::nullopt;
}

Text when(bool holds) { return holds ? Text("") : std::nullopt; }

struct Value {
  std::string_view name;
  Text (*of)(const Case& it);
};

constexpr std::array kValues{
    Value{"dev", [](const Case& it) { return not_empty(it.event.device()); }},
    Value{"size", [](const Case& it) { return bytes(requested_bytes(it)); }},
    Value{"errno",
          [](const Case& it) {
            return it.event.errno_of() > 0 ? whole(it.event.errno_of()) : std::nullopt;
          }},
    Value{"pool",
          [](const Case& it) {
            const auto total = it.event.number({"total", "slots_total"});
            return total ? bytes(*total * kSlot) : std::nullopt;
          }},
    Value{"more_slots", more_slots},
    Value{"swiotlb_arg",
          [](const Case& it) {
            const std::string set(device::kernel_argument(it.facts.command_line, "swiotlb"));
            return set.empty() ? std::nullopt : Text("swiotlb=" + printable(set, 32));
          }},
    Value{"cma", cma},
    Value{"area_size", [](const Case& it) { return bytes(cma_area(it)); }},
    Value{"cma_free", [](const Case& it) { return bytes(pages(it, "free")); }},
    Value{"cma_largest", largest_run},
    Value{"order", order},
    Value{"costly",
          [](const Case& it) {
            const Text text = order(it);
            return text == "0" ? std::nullopt : text;
          }},
    Value{"block_size", block_size},
    Value{"zones_free",
          [](const Case& it) { return bytes(zone_totals(report_of(it)).free_kb * 1024); }},
    Value{"zones_cma",
          [](const Case& it) { return bytes(zone_totals(report_of(it)).cma_kb * 1024); }},
    Value{"free_highmem",
          [](const Case& it) {
            const auto kib = report_of(it).number("free_highmem_kb");
            return kib ? bytes(*kib * 1024) : std::nullopt;
          }},
    Value{"asker", [](const Case& it) { return not_empty(it.log.oom.asker); }},
    Value{"victim", victim},
    Value{"group", [](const Case& it) { return not_empty(it.log.oom.group); }},
    Value{"slab", slab},
    Value{"swap_free",
          [](const Case& it) {
            const auto kib = report_of(it).number({"swap_free_kb", "free_swap_kb"});
            return kib ? bytes(*kib * 1024) : std::nullopt;
          }},
    Value{"early_kernel",
          [](const Case& it) {
            const std::string& kernel = it.facts.kernel;
            const bool early = kernel.starts_with("4.7.") || kernel.starts_with("4.8.");
            return early ? Text(kernel) : std::nullopt;
          }},
    Value{"free_then", [](const Case& it) { return bytes(free_when_refused(it)); }},
    Value{"mem_free", [](const Case& it) { return bytes(it.facts.free); }},
    Value{"mem_available", [](const Case& it) { return bytes(it.facts.available); }},
    Value{"mem_total", [](const Case& it) { return bytes(it.facts.total); }},
    Value{"large_blocks", [](const Case& it) { return bytes(it.facts.bytes_in_2m_blocks); }},
    Value{"refusal_why", refusal_why},
    Value{"open_why",
          [](const Case& it) {
            return it.event.is("reason", "missing") ? Text("it does not exist") : std::nullopt;
          }},
    Value{"xid", xid},
    Value{"previous", previous_xid},
    Value{"of", suppressed},
    Value{"cpu", cpu},
    Value{"who", who},
    Value{"modules", modules},
    Value{"stuck_in", [](const Case& it) { return not_empty(it.facts.stuck_in_contiguous); }},
    Value{"reclaim",
          [](const Case& it) {
            const std::string& function = it.facts.stuck_in_reclaim;
            return function.empty() ? std::nullopt : Text(function + " in the backtrace");
          }},
    Value{"in_log", in_log},
    Value{"iommu",
          [](const Case& it) { return Text(conditions::of_x86_iommu(it) ? "IOMMU" : "SMMU"); }},
    Value{
        "module",
        [](const Case& it) { return Text(conditions::of_x86_iommu(it) ? "mainboard" : "module"); }},
    // Switches.
    Value{"jetson", [](const Case& it) { return when(conditions::jetson(it)); }},
    Value{"not_jetson", [](const Case& it) { return when(!conditions::jetson(it)); }},
    Value{"shares_memory", [](const Case& it) { return when(conditions::shares_memory(it)); }},
    Value{"nvidia", [](const Case& it) { return when(conditions::of_nvidia_driver(it)); }},
    Value{"open_gpu", [](const Case& it) { return when(!conditions::of_nvidia_driver(it)); }},
    Value{"arm", [](const Case& it) { return when(!conditions::of_x86_iommu(it)); }},
    Value{"either",
          [](const Case& it) { return when(it.event.is("fault", "translation or permission")); }},
    Value{"nobody", [](const Case& it) { return when(!it.event.has("comm")); }},
};

}  // namespace

const EventFields& report_of(const Case& it) {
  return it.log.oom.report == nullptr ? it.event : *it.log.oom.report;
}

double page_size(const Case& it) { return it.facts.page_size.value_or(4096); }

std::optional<double> requested_bytes(const Case& it) {
  if (const auto of_pages = pages(it, "pages")) return of_pages;
  const auto size = it.event.bytes({"size", "size_text"});
  return size && *size > 0 ? size : std::nullopt;
}

std::optional<double> free_when_refused(const Case& it) {
  const auto free = it.event.bytes({"free", "free_text", "available", "available_text"});
  return free ? free : it.facts.gpu_free;
}

std::optional<double> cma_area(const Case& it) {
  if (const auto total = pages(it, "total")) return total;
  if (it.facts.cma_total) return it.facts.cma_total;
  const auto bytes = device::memory_argument(device::kernel_argument(it.facts.command_line, "cma"));
  return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}

ZoneTotals zone_totals(const EventFields& report) {
  ZoneTotals out;
  for (const std::string_view zone : {"dma", "dma32", "normal"}) {
    out.free_kb += report.number("free_" + std::string(zone) + "_kb").value_or(0);
    out.min_kb += report.number("min_" + std::string(zone) + "_kb").value_or(0);
  }
  out.cma_kb = report.number("free_cma_kb").value_or(0);
  return out;
}

std::optional<std::string> formatted(std::string_view field, std::string_view format,
                                     const Case& it) {
  const auto number = it.event.number(field);
  if (!number) return std::nullopt;
  if (format == "count") return doctor::count(*number);
  return doctor::bytes(*number * (format == "kib" ? 1024 : 1));
}

std::optional<std::string> value_of(std::string_view name, const Case& it) {
  for (const Value& each : kValues) {
    if (each.name == name) return each.of(it);
  }
  return field(it, name);
}

bool follows_gpu_fault(const EventFields& event) {
  const auto xid = event.number("xid");
  return xid == 45.0 || xid == 154.0 ||
         (event.kind() == "gpu_error" &&
          (event.number("notifier") == 31.0 || contains(event.text("status"), "BUS_FAULT")));
}

}  // namespace jetmem::diagnosis
