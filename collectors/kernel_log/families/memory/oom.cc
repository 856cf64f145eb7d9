// SPDX-License-Identifier: Apache-2.0
// What the forms of messages/oom.yaml cannot say.
#include <array>

#include "collectors/kernel_log/catalogue/hooks.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log::hooks {
namespace {

// A zone's names as the kernel prints them, and the fields for what is free in it.
struct Zone {
  std::string_view name;
  std::string_view free_kb;
  std::string_view min_kb;
};
constexpr std::array kZones{Zone{"DMA", "free_dma_kb", "min_dma_kb"},
                            Zone{"DMA32", "free_dma32_kb", "min_dma32_kb"},
                            Zone{"Normal", "free_normal_kb", "min_normal_kb"},
                            Zone{"HighMem", "free_highmem_kb", "min_highmem_kb"},
                            Zone{"Movable", "free_movable_kb", "min_movable_kb"}};

}  // namespace

// kswapd asks for a kill only to stop thrashing (lru_gen/min_ttl_ms): memory need not be used up.
bool oom_invoked(Event& event) {
  if (event.text("comm").starts_with("kswapd")) event.set_bool("thrashing", true);
  return true;
}

// A counter's largest value is no limit.
bool group_limit(Event& event) {
  constexpr std::int64_t kMostKib = std::int64_t{1} << 40;
  if (event.number("memcg_limit_kb").value_or(0) > kMostKib) event.remove("memcg_limit_kb");
  return true;
}

bool zone_of_report(Event& event) {
  for (const Zone& zone : kZones) {
    if (zone.name != event.text("zone")) continue;
    const auto free = event.number("free_kb");
    const auto min = event.number("min_kb");
    if (free) event.set_number(zone.free_kb, *free);
    if (min) event.set_number(zone.min_kb, *min);
  }
  for (const std::string_view name : {"zone", "free_kb", "min_kb"}) event.remove(name);
  // One zone has the CMA pages; the others print 0.
  if (event.number("free_cma_kb") == 0) event.remove("free_cma_kb");
  return true;
}

// Only pages that can move may be taken from CMA: where nearly all free pages are CMA's, a request
// of the kernel finds nothing although much is free.
void memory_report(Event& event, Soc /*soc*/) {
  std::int64_t free_kb = 0;
  for (const Zone& zone : kZones) free_kb += event.number(zone.free_kb).value_or(0);
  const auto nearly_all = [&](std::string_view cma, std::int64_t free) {
    return event.has(cma) && free > 0 && *event.number(cma) / 9 >= free / 10;
  };
  if (nearly_all("free_cma_kb", free_kb) ||
      nearly_all("free_cma_pages", event.number("free_pages").value_or(0))) {
    event.set_bool("free_is_cma", true);
  }
}

// What systemd says of a unit that systemd-oomd killed just before.
bool of_killed_unit(const Event& open, const Event& part) {
  std::string_view group = open.text("cgroup");
  const std::string_view service = part.text("service");
  if (open.kind() != EventKind::kOomKill) return true;
  if (service.empty() || !group.ends_with(service)) return false;
  group.remove_suffix(service.size());
  return group.ends_with('/');
}

bool of_earlyoom(const Event& open, const Event& /*part*/) { return open.text("killer") == "earlyoom"; }

// A child may have been killed in its place: the score is not the child's.
void oom_killed(Event& open, const Event& part) {
  const auto chosen = open.number("pid");
  if (chosen && chosen != part.number("pid")) {
    open.set_number("chosen_pid", *chosen);
    open.remove("score");
  }
  open.merge(part);
}

void oom_kill(const Event& event, std::string& out) {
  out += process_in_words(event);
  out += event.has("score") && !event.has("total_vm_kb") ? " was chosen to be killed: "
                                                         : " was killed: ";
  const auto memcg = event.boolean("memcg");
  out += !memcg   ? "memory had run out, the machine's or that of its control group"
         : *memcg ? "its control group reached its memory limit"
                  : "the machine was out of memory";
  const auto anon = event.number("anon_rss_kb");
  if (!anon) return;
  out += "; it held " + size_in_words(*anon) + " of its own";
  // Buffers of GPU and cameras are shared.
  const auto shared = event.number("shmem_rss_kb");
  if (shared && *shared > *anon / 4 && *shared >= 1024) {
    out += " and " + size_in_words(*shared) + " shared";
  }
}

void oom_kill_info(const Event& event, std::string& out) {
  const std::string_view constraint = event.text("constraint");
  out += "the OOM killer acted";
  if (event.has("oom_memcg")) {
    out += " on the memory limit of control group " + name_in_words(event.text("oom_memcg"));
  } else if (constraint == "CPUSET") {
    out += " on the memory nodes of a cpuset";
  } else if (constraint == "MEMORY_POLICY") {
    out += " on the memory policy of a process";
  } else if (constraint == "MEMCG" || event.boolean("global") == false) {
    out += " on the memory limit of a control group";
  } else if (!constraint.empty()) {
    out += " for the whole machine";
  }
  if (event.has("comm")) out += " and chose " + process_in_words(event);
}

}  // namespace jetmem::kernel_log::hooks
