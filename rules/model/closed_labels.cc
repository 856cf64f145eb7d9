// SPDX-License-Identifier: Apache-2.0
#include "rules/model/closed_labels.h"

#include <array>

#include "collectors/device/boot/history.h"
#include "collectors/kernel_log/event/attention.h"
#include "collectors/kernel_log/event/kinds.h"
#include "collectors/kernel_log/tally.h"
#include "collectors/probe/source.h"
#include "collectors/sampler/registry.h"
#include "collectors/sampler/sampler.h"

namespace jetmem {
namespace {

using Names = std::vector<std::string_view>;

template <class Enum, std::size_t N, std::string_view (*kName)(Enum)>
Names enum_names() {
  Names out;
  for (std::size_t i = 0; i < N; ++i) out.push_back(kName(static_cast<Enum>(i)));
  return out;
}

Names event_kinds() {
  Names out;
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) out.push_back(info.name);
  return out;
}

Names origins() {
  return enum_names<kernel_log::Origin, kernel_log::kOrigins, kernel_log::origin_name>();
}

Names source_names() {
  Names out;
  for (const SourceInfo* info : all_source_infos()) out.push_back(info->name);
  return out;
}

Names source_states() { return {"pending", "ok", "absent", "denied", "failed", "disabled"}; }

Names changes() { return enum_names<boot::What, boot::kWhats, boot::what_name>(); }

Names changes_and_marks() {
  Names out = changes();
  out.emplace_back("mark");
  return out;
}

Names resources() { return {"memory", "io", "cpu"}; }
Names stall_kinds() { return {"some", "full"}; }
Names watermarks() { return {"min", "low", "high"}; }
Names cma_pages() { return {"included", "excluded"}; }
Names certainties() { return {"certain", "possible"}; }
Names windows() { return {"10s", "60s", "300s"}; }
Names page_kinds() { return {"movable", "unmovable"}; }
Names scopes() { return {"machine", "memcg"}; }
Names log_inputs() { return {"kmsg", "journal", "file"}; }
Names losses() { return {"before_start", "overrun"}; }
Names cleanness() { return {"yes", "no", "unknown"}; }
Names restarted() { return {"device", "jetmem"}; }
Names trends() { return {"MemAvailable", "NvMapMemUsed", "nvmap_orphans"}; }

constexpr std::array kClosedLabels{
    ClosedLabel{"jetmem_nvmap_ended_client_bytes", "certainty", certainties},
    ClosedLabel{"jetmem_pressure_stall_ratio", "resource", resources},
    ClosedLabel{"jetmem_pressure_stall_ratio", "kind", stall_kinds},
    ClosedLabel{"jetmem_pressure_stall_ratio", "window", windows},
    ClosedLabel{"jetmem_pressure_stall_seconds_total", "resource", resources},
    ClosedLabel{"jetmem_pressure_stall_seconds_total", "kind", stall_kinds},
    ClosedLabel{"jetmem_zone_watermark_bytes", "watermark", watermarks},
    ClosedLabel{"jetmem_zone_watermark_distance_bytes", "watermark", watermarks},
    ClosedLabel{"jetmem_zone_watermark_distance_bytes", "request", page_kinds},
    ClosedLabel{"jetmem_buddy_unusable_ratio", "cma", cma_pages},
    ClosedLabel{"jetmem_buddy_fragmentation_ratio", "cma", cma_pages},
    ClosedLabel{"jetmem_trend_bytes_per_second", "of", trends},
    ClosedLabel{"jetmem_trend_r_squared", "of", trends},
    ClosedLabel{"jetmem_kernel_events_total", "kind", event_kinds},
    ClosedLabel{"jetmem_kernel_events_total", "origin", origins},
    ClosedLabel{"jetmem_kernel_events_suppressed_total", "kind", event_kinds},
    ClosedLabel{"jetmem_kernel_events_before_start", "kind", event_kinds},
    ClosedLabel{"jetmem_kernel_event_last_seen_timestamp_seconds", "kind", event_kinds},
    ClosedLabel{"jetmem_kernel_recent_events", "kind", event_kinds},
    ClosedLabel{"jetmem_kernel_message_events_total", "kind", event_kinds},
    ClosedLabel{"jetmem_kernel_message_events_total", "origin", origins},
    ClosedLabel{"jetmem_kernel_recent_message_events", "kind", event_kinds},
    ClosedLabel{"jetmem_kernel_recent_memory_errors", "kind", event_kinds},
    ClosedLabel{"jetmem_kernel_recent_memory_errors", "error",
                enum_names<kernel_log::ErrorSeverity, kernel_log::kErrorSeverities,
                           kernel_log::error_severity_name>},
    ClosedLabel{"jetmem_smmu_faults_total", "origin", origins},
    ClosedLabel{"jetmem_oom_kills_total", "origin", origins},
    ClosedLabel{"jetmem_oom_kills_total", "scope", scopes},
    ClosedLabel{"jetmem_kernel_log_input", "input", log_inputs},
    ClosedLabel{"jetmem_kernel_log_lost_records_total", "reason", losses},
    ClosedLabel{"jetmem_source_state", "source", source_names},
    ClosedLabel{"jetmem_source_state", "state", source_states},
    ClosedLabel{"jetmem_source_stale", "source", source_names},
    ClosedLabel{"jetmem_source_failing", "source", source_names},
    ClosedLabel{"jetmem_source_reads_total", "source", source_names},
    ClosedLabel{"jetmem_source_errors_total", "source", source_names},
    ClosedLabel{"jetmem_source_skipped_total", "source", source_names},
    ClosedLabel{"jetmem_source_age_seconds", "source", source_names},
    ClosedLabel{"jetmem_source_duration_seconds", "source", source_names},
    ClosedLabel{"jetmem_probe_state", "state",
                enum_names<ProbeState, kProbeStates, probe_state_name>},
    ClosedLabel{"jetmem_boot_last_shutdown", "clean", cleanness},
    ClosedLabel{"jetmem_unclean_shutdowns_total", "of", restarted},
    ClosedLabel{"jetmem_changes_total", "what", changes},
    ClosedLabel{"jetmem_last_change_timestamp_seconds", "what", changes_and_marks},
};

}  // namespace

std::span<const ClosedLabel> closed_labels() { return kClosedLabels; }

std::vector<std::string_view> closed_label_values(std::string_view metric, std::string_view label) {
  for (const ClosedLabel& each : kClosedLabels) {
    if (each.metric == metric && each.label == label) return each.values();
  }
  return {};
}

}  // namespace jetmem
