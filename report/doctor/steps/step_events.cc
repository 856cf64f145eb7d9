// SPDX-License-Identifier: Apache-2.0
// Steps by what the kernel and programs logged: which kinds belong to which step is in
// messages/kinds.yaml, what explains them in diagnosis/cause.h.
#include <algorithm>

#include "base/text/text.h"
#include "collectors/kernel_log/event/kinds.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

using diagnosis::Cause;
using diagnosis::Harm;

constexpr std::size_t kMostCauses = 3;
constexpr std::string_view kSuppressed = "ratelimit_suppressed";

// Suppressed messages are of the step of those that were printed.
bool is_of_step(const Cause& cause, const Step& step) {
  const bool suppressed = cause.kind == kSuppressed && !cause.about.empty();
  const auto kind = kernel_log::kind_named(suppressed ? cause.about : cause.kind);
  return kind && kernel_log::info_of(*kind).step == step.name;
}

// The worst of the step; of equals the likeliest root. Null where nothing harms.
const Cause* worst_of(const DeviceView& view, const Step& step) {
  const Cause* out = nullptr;
  for (const Cause& each : view.causes) {
    if (!is_of_step(each, step) || each.harm == Harm::kNone) continue;
    if (out == nullptr || each.harm > out->harm) out = &each;
  }
  return out;
}

Verdict verdict_of(Harm harm) {
  return harm == Harm::kCritical  ? Verdict::kCritical
         : harm == Harm::kWarning ? Verdict::kWarning
                                  : Verdict::kOk;
}

// The newest event of a kind, as the log told it.
const EventRecord* newest_of(const DeviceView& view, std::string_view kind) {
  for (auto it = view.found.events.rbegin(); it != view.found.events.rend(); ++it) {
    if (it->event->what == EventWhat::kKernel && it->event->kind == kind) return it->event;
  }
  for (const EventRecord& each : view.now.events) {
    if (each.what == EventWhat::kKernel && each.kind == kind) return &each;
  }
  return nullptr;
}

// Counted is the kind: where its events differ, the number is not that of the newest.
std::string headline(const DeviceView& view, std::string_view kind, const Counted& counted) {
  const EventRecord* const event = newest_of(view, kind);
  const std::string what =
      event == nullptr || event->summary.empty() ? std::string(kind) : event->summary;
  const auto differs = [&](const EventRecord& other) {
    return other.what == EventWhat::kKernel && other.kind == kind && other.summary != what;
  };
  const bool mixed =
      std::any_of(view.now.events.begin(), view.now.events.end(), differs) ||
      std::any_of(view.found.events.begin(), view.found.events.end(),
                  [&](const Seen& each) { return differs(*each.event); });
  return printable(what, 300) + (mixed ? "; events of kind " + std::string(kind) + ": " : ": ") +
         counted_text(view, counted) + ".";
}

void take_alerts_of(const DeviceView& view, Step& step) {
  std::vector<std::string_view> rules;
  for (const kernel_log::KindInfo* each : kernel_log::kinds_of_step(step.name)) {
    for (const std::string_view rule : {each->severe_rule, each->rule}) {
      const bool known = std::find(rules.begin(), rules.end(), rule) != rules.end();
      if (!rule.empty() && !known) rules.push_back(rule);
    }
  }
  take_alerts(view, step, rules);
}

}  // namespace

std::vector<Cause> recent_causes(const DeviceNow& now, const Findings& found) {
  std::vector<const EventRecord*> events;
  for (const Seen& each : found.events) events.push_back(each.event);
  // Without a time they may be recent; the list is newest first.
  for (auto it = now.events.rbegin(); it != now.events.rend(); ++it) {
    if (!it->wall && it->what != EventWhat::kGuess) events.push_back(&*it);
  }
  // Counted, but no longer listed.
  std::vector<EventRecord> unlisted;
  for (const Sample& each : now.samples.family("jetmem_kernel_events_total")) {
    if (each.value <= 0 || each.label("origin") == "probe") continue;
    const auto is_it = [&](const EventRecord* event) { return event->kind == each.label("kind"); };
    if (std::any_of(events.begin(), events.end(), is_it)) continue;
    const Sample* const last = now.samples.find("jetmem_kernel_event_last_seen_timestamp_seconds",
                                                {{"kind", each.label("kind")}});
    if (last != nullptr && found.now > 0 && found.now - last->value > kRecent) continue;
    EventRecord record;
    record.kind = each.label("kind");
    record.origin = "system";
    unlisted.push_back(std::move(record));
  }
  for (const EventRecord& each : unlisted) events.push_back(&each);
  return diagnosis::explain(events, diagnosis::facts_of(now));
}

void advise_by_events(const DeviceView& view, Step& step) {
  if (const Cause* worst = worst_of(view, step)) {
    advise(step, worst->cause, worst->remedy, worst->runbook);
  }
}

void examine_events(const DeviceView& view, Step& step,
                    std::initializer_list<std::string_view> covered) {
  const Cause* const worst = worst_of(view, step);
  for (const kernel_log::KindInfo* info : kernel_log::kinds_of_step(step.name)) {
    const std::string_view kind = info->name;
    const bool is_covered = std::find(covered.begin(), covered.end(), kind) != covered.end();
    if (is_covered || kind == kSuppressed) continue;
    const Counted counted = count_events(view, {kind});
    if (counted.total <= 0 && counted.recent <= 0) continue;
    note(step, std::string(kind) + ": " + counted_text(view, counted) + ".", counted.last);
    note_events(view, step, Kinds(&kind, 1), 2);
    if (!counted.is_recent) continue;
    Harm harm = Harm::kNone;
    for (const Cause& each : view.causes) {
      if (each.kind == kind) harm = std::max(harm, each.harm);
    }
    // The headline is that of the worst; a less harmful one must not come before it.
    if (harm != Harm::kNone && (worst == nullptr || worst->kind == kind)) {
      conclude(step, headline(view, kind, counted));
    }
    raise_past(step, verdict_of(harm));
  }
  for (const Cause& each : view.causes) {
    if (each.kind != kSuppressed || !is_of_step(each, step)) continue;
    if (&each == worst) conclude(step, each.cause);
    raise_past(step, verdict_of(each.harm));
  }
  std::size_t n = 0;
  for (const Cause& each : view.causes) {
    if (!is_of_step(each, step) || &each == worst || n == kMostCauses) continue;
    if (std::find(covered.begin(), covered.end(), each.kind) != covered.end() &&
        each.link.empty()) {
      continue;
    }
    note(step, each.harm == Harm::kNone ? each.cause
                                        : "Also: " + each.cause + " Remedy: " + each.remedy +
                                              (each.link.empty() ? "" : " " + each.link));
    ++n;
  }
}

void examine_by_events(const DeviceView& view, Step& step) {
  std::string kinds;
  for (const kernel_log::KindInfo* info : kernel_log::kinds_of_step(step.name)) {
    kinds += (kinds.empty() ? "" : ",") + std::string(info->name);
  }
  step.confirm = "sudo jetmem events --kind " + kinds + " --since 1d";
  const Seeing log = see(view, step, "kernel_log");
  take_alerts_of(view, step);
  examine_events(view, step);
  if (!step.summary.empty()) return;
  if (log != Seeing::kSeen)
    return unknown(view, step, "Kernel events of this step are", "kernel_log");
  bool any = false;
  for (const kernel_log::KindInfo* info : kernel_log::kinds_of_step(step.name)) {
    const std::string_view kind = info->name;
    const Counted counted = count_events(view, {kind});
    any = any || counted.total > 0 || counted.recent > 0;
    if (counted.from_probe_only) {
      note(step, std::string(kind) + ": only while jetmem's own probe ran.");
    }
  }
  conclude(step, any ? "No harmful event in the last 24 h." : "The log shows no such event.");
}

// Where nobody described a message, nothing is unknown of them.
void examine_site(const DeviceView& view, Step& step) {
  const Counted counted = count_events(view, {"custom"});
  const bool any = counted.total > 0 || counted.recent > 0 || counted.of_probe > 0 ||
                   view.value("jetmem_messages").value_or(0) > 0 ||
                   !view.now.samples.family("jetmem_kernel_message_events_total").empty();
  if (any || view.now.sources.empty()) return examine_by_events(view, step);
  step.confirm = "jetmem messages list";
  conclude(step, "No message of this site's own is known.");
}

}  // namespace jetmem::doctor
