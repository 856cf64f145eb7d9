// SPDX-License-Identifier: Apache-2.0
// The JSON form of a status answer.
#include <string>

#include "base/json/fields.h"
#include "report/status/status_answer.h"

namespace jetmem {

static void describe(json::Fields& v, StatusAnswer::Process& process) {
  v("process", process.process);
  v("bytes", process.bytes);
}

static void describe(json::Fields& v, StatusAnswer::Fault& fault) {
  v("kind", fault.kind);
  v.unless_empty("severity", fault.severity);
  v("last_day", fault.last_day);
  v.unless_false("last_day_at_least", fault.at_least);
  v("since_boot", fault.since_boot);
  v("suppressed", fault.suppressed);
  v("last_time", fault.last_wall);
  v("last_age_seconds", fault.last_age_seconds);
  v.unless_false("before_this_boot", fault.before_this_boot);
  v.unless_empty("last", fault.last);
  v.absent(fault.absent);
}

static void describe(json::Fields& v, StatusAnswer::Alert& alert) {
  v("alert", alert.name);
  v("severity", alert.severity);
  v("state", alert.state);
  v.unless_empty("summary", alert.summary);
  v.unless_empty("cause", alert.cause);
  v.unless_empty("remedy", alert.remedy);
  v.unless_empty("runbook", alert.runbook);
  v("active_seconds", alert.active_seconds);
  v("more", alert.more);
}

static void describe(json::Fields& v, StatusEvent& event) {
  v("kind", event.kind);
  v.unless_empty("severity", event.severity);
  v.unless_empty("subject", event.subject);
  v("summary", event.summary);
  v("count", event.count);
  v("lasted_seconds", event.lasted_seconds);
  v("time", event.wall);
  v("age_seconds", event.age_seconds);
  v.unless_false("before_this_boot", event.before_this_boot);
}

static void describe(json::Fields& v, StatusAnswer::Probe& probe) {
  v("kind", probe.kind);
  v("target", probe.target);
  v("state", probe.state);
  v.unless_empty("failure", probe.failure);
  v("since_success_seconds", probe.since_success_seconds);
}

static void describe(json::Fields& v, StatusAnswer::Blind& source) {
  v("source", source.source);
  v("state", source.state);
  v.unless_empty("reason", source.why);
}

namespace {

void describe_memory(json::Fields& v, StatusAnswer& answer) {
  v("total_bytes", answer.mem_total_bytes);
  v("available_bytes", answer.available_bytes);
  v("available_ratio", answer.available_ratio);
  v("pressure_level", answer.pressure_level);
  v("pressure_some_ratio", answer.pressure_some_ratio);
  v("pressure_full_ratio", answer.pressure_full_ratio);
  v("swap_bytes", answer.swap_bytes);
  v("swap_used_bytes", answer.swap_used_bytes);
  v("exhaustion_seconds", answer.exhaustion_seconds);
  v("budget", answer.budget);
}

void describe_hottest(json::Fields& v, ThermalAnswer::Zone& zone) {
  v("zone", zone.zone);
  v("index", zone.index);
  v("celsius", zone.celsius);
  v.unless_empty("margin_celsius", zone.margins);
}

void describe_health(json::Fields& v, StatusAnswer& answer) {
  v("sources_ok", answer.sources_ok);
  v.unless_empty("reader", answer.reader);
  v("loop_lag_seconds", answer.loop_lag_seconds);
  v("log_dropped", answer.log_dropped);
  v("history_up", answer.history_up);
  v("resident_bytes", answer.daemon_resident_bytes);
  v("failing_sources", answer.blind);
}

}  // namespace

static void describe(json::Fields& v, StatusAnswer& answer) {
  describe_head(v, StatusAnswer::kSchema, answer.from);
  describe(v, static_cast<Judgement&>(answer));
  v.object("device", [&](json::Fields& w) {
    w.unless_empty("host_name", answer.host_name);
    w.unless_empty("model", answer.model);
    w.unless_empty("soc", answer.soc);
    w.unless_empty("l4t", answer.l4t);
    w.unless_empty("kernel", answer.kernel);
  });
  v.object("memory", [&](json::Fields& w) { describe_memory(w, answer); });
  v.object("cma", [&](json::Fields& w) {
    w("has_cma", answer.cma.has_cma);
    w.unless_empty("none", answer.cma.none);
    w("total_bytes", answer.cma.total_bytes);
    w("areas", answer.cma.areas);
    w.absent(answer.cma.absent);
  });
  v.object("fragmentation", [&](json::Fields& w) {
    w("best_bytes_outside_cma", answer.fragmentation.best_bytes);
    w("evidence", answer.fragmentation.evidence);
    w("zones", answer.fragmentation.zones);
    w.absent(answer.fragmentation.absent);
  });
  v.object("gpu", [&](json::Fields& w) {
    w("none", answer.no_gpu);
    w("bytes", answer.gpu_bytes);
    w("processes", answer.gpu_processes);
  });
  v.object("thermal", [&](json::Fields& w) {
    describe_throttling(w, answer.thermal);
    if (!answer.thermal.zones.empty() && answer.thermal.zones.front().celsius) {
      w.object("hottest",
               [&](json::Fields& h) { describe_hottest(h, answer.thermal.zones.front()); });
    }
    w.absent(answer.thermal.absent);
  });
  v("faults", answer.faults);
  v("last_event", answer.last_event);
  v.object("alerts", [&](json::Fields& w) {
    w("firing", answer.firing);
    w("pending", answer.pending);
    w("unknown", answer.unknown);
    w("rules", answer.rules);
    w("alerts", answer.alerts);
    w("omitted", answer.alerts_omitted);
  });
  v("probes", answer.probes);
  v("probe_age_seconds", answer.probe_age_seconds);
  v.object("jetmem", [&](json::Fields& w) { describe_health(w, answer); });
  v.absent(answer.absent);
}

static void describe_texts(json::Fields& v, std::string_view reason, std::string_view host) {
  std::string text(reason);
  v.unless_empty("reason", text);
  text = host;
  v.unless_empty("host", text);
}

std::string status_json(const StatusAnswer& answer) { return json::write(answer); }

std::string status_json_line(const StatusAnswer& answer, std::string_view host) {
  return json::write_document(-1, [&](json::Fields& v) {
    describe(v, const_cast<StatusAnswer&>(answer));
    describe_texts(v, {}, host);
  });
}

std::string unknown_status_json_line(std::string_view reason, std::string_view host) {
  return json::write_document(-1, [&](json::Fields& v) {
    v.schema(StatusAnswer::kSchema);
    v.output("level", std::string("unknown"));
    describe_texts(v, reason, host);
  });
}

}  // namespace jetmem
