// The JSON form of a device's state.

#include "base/text.h"
#include "report/answers/status_answer.h"

namespace jetmem {
namespace {

using nlohmann::ordered_json;
using Answer = StatusAnswer;

ordered_json memory_json(const Answer& answer) {
  ordered_json out = ordered_json::object();
  put(out, "total_bytes", answer.mem_total_bytes);
  put(out, "available_bytes", answer.available_bytes);
  put(out, "available_ratio", answer.available_ratio);
  put(out, "pressure_level", answer.pressure_level);
  put(out, "pressure_some_ratio", answer.pressure_some_ratio);
  put(out, "swap_bytes", answer.swap_bytes);
  put(out, "swap_used_bytes", answer.swap_used_bytes);
  put(out, "exhaustion_seconds", answer.exhaustion_seconds);
  out["budget"] = budget_json(answer.budget);
  return out;
}

ordered_json cma_json_of(const CmaAnswer& cma) {
  ordered_json out = ordered_json::object();
  if (cma.has_cma) out["has_cma"] = *cma.has_cma;
  put_text(out, "none", cma.none);
  put(out, "total_bytes", cma.total_bytes);
  out["areas"] = ordered_json::array();
  for (const CmaAnswer::Area& area : cma.areas) out["areas"].push_back(cma_area_json(area));
  put_absences(out, cma.absent);
  return out;
}

ordered_json fragmentation_json_of(const FragmentationAnswer& answer) {
  ordered_json out = ordered_json::object();
  put(out, "best_order_outside_cma", answer.best_order);
  put(out, "best_bytes_outside_cma", answer.best_bytes);
  put(out, "evidence", answer.evidence);
  out["zones"] = ordered_json::array();
  for (const auto& zone : answer.zones) out["zones"].push_back(fragmentation_zone_json(zone));
  put_absences(out, answer.absent);
  return out;
}

ordered_json thermal_json_of(const ThermalAnswer& thermal) {
  ordered_json out = ordered_json::object();
  put(out, "throttling_level", thermal.level);
  if (thermal.throttling) out["throttling"] = *thermal.throttling != 0;
  out["throttle_causes"] = thermal.causes;
  put_text(out, "power_mode", thermal.power_mode);
  if (!thermal.zones.empty() && thermal.zones.front().celsius) {
    const ThermalAnswer::Zone& zone = thermal.zones.front();
    ordered_json& hottest = out["hottest"] = {{"zone", zone.zone}, {"index", zone.index}};
    put(hottest, "celsius", zone.celsius);
    for (const auto& [kind, celsius] : zone.margins) hottest["margin_celsius"][kind] = celsius;
  }
  put_absences(out, thermal.absent);
  return out;
}

ordered_json faults_json(const Answer& answer) {
  ordered_json out = ordered_json::array();
  for (const Answer::Fault& fault : answer.faults) {
    ordered_json each{{"kind", fault.kind}};
    put_text(each, "severity", fault.severity);
    put(each, "last_day", fault.last_day);
    if (fault.at_least) each["last_day_at_least"] = true;
    put(each, "since_boot", fault.since_boot);
    put(each, "last_time", fault.last_wall);
    put_text(each, "last", fault.last);
    put_absences(each, fault.absent);
    out.push_back(std::move(each));
  }
  return out;
}

ordered_json alerts_json_of(const Answer& answer) {
  ordered_json out = ordered_json::object();
  if (answer.firing) out["firing"] = *answer.firing;
  if (answer.pending) out["pending"] = *answer.pending;
  if (answer.unknown) out["unknown"] = *answer.unknown;
  out["rules"] = answer.rules;
  ordered_json& list = out["alerts"] = ordered_json::array();
  for (const Answer::Alert& alert : answer.alerts) {
    ordered_json each{{"alert", alert.name}, {"severity", alert.severity}, {"state", alert.state}};
    put_text(each, "summary", alert.summary);
    put_text(each, "runbook", alert.runbook);
    each["active_seconds"] = alert.active_seconds;
    each["more"] = alert.more;
    list.push_back(std::move(each));
  }
  out["left_out"] = answer.alerts_left_out;
  return out;
}

ordered_json probes_json(const Answer& answer) {
  ordered_json out = ordered_json::array();
  for (const Answer::Probe& probe : answer.probes) {
    ordered_json each{{"kind", probe.kind}, {"target", probe.target}, {"state", probe.state}};
    put_text(each, "failure", probe.failure);
    put(each, "since_success_seconds", probe.since_success_seconds);
    out.push_back(std::move(each));
  }
  return out;
}

ordered_json health_json(const Answer& answer) {
  ordered_json out{{"sources_ok", answer.sources_ok}};
  put_text(out, "reader", answer.reader);
  put(out, "loop_lag_seconds", answer.loop_lag_seconds);
  put(out, "log_dropped", answer.log_dropped);
  put(out, "history_up", answer.history_up);
  put(out, "resident_bytes", answer.daemon_resident_bytes);
  ordered_json& blind = out["blind"] = ordered_json::array();
  for (const Answer::Blind& source : answer.blind) {
    ordered_json each{{"source", source.source}, {"state", source.state}};
    put_text(each, "why", source.why);
    blind.push_back(std::move(each));
  }
  return out;
}

ordered_json status_document(const Answer& answer) {
  ordered_json out = answer_head(Answer::kSchema, answer.from);
  out["level"] = status_level_name(answer.level);
  out["reason"] = answer.reason;
  ordered_json& device = out["device"] = ordered_json::object();
  put_text(device, "model", answer.model);
  put_text(device, "soc", answer.soc);
  put_text(device, "l4t", answer.l4t);
  put_text(device, "kernel", answer.kernel);
  out["memory"] = memory_json(answer);
  out["cma"] = cma_json_of(answer.cma);
  out["fragmentation"] = fragmentation_json_of(answer.fragmentation);
  ordered_json& gpu = out["gpu"] = ordered_json::object();
  gpu["none"] = answer.no_gpu;
  put(gpu, "bytes", answer.gpu_bytes);
  gpu["processes"] = ordered_json::array();
  for (const Answer::Process& process : answer.gpu_processes) {
    gpu["processes"].push_back({{"process", process.process}, {"bytes", process.bytes}});
  }
  out["thermal"] = thermal_json_of(answer.thermal);
  out["faults"] = faults_json(answer);
  out["alerts"] = alerts_json_of(answer);
  out["probes"] = probes_json(answer);
  put(out, "probe_age_seconds", answer.probe_age_seconds);
  out["jetmem"] = health_json(answer);
  put_absences(out, answer.absent);
  return out;
}

std::string one_line(const ordered_json& document) {
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string status_json(const Answer& answer) { return answer_text(status_document(answer)); }

std::string status_json_line(const Answer& answer, std::string_view host) {
  ordered_json out = status_document(answer);
  put_text(out, "host", host);
  return one_line(out);
}

std::string unknown_status_json_line(std::string_view reason, std::string_view host) {
  ordered_json out{{"schema", Answer::kSchema}, {"level", "unknown"}};
  put_text(out, "reason", reason);
  put_text(out, "host", host);
  return one_line(out);
}

}  // namespace jetmem
