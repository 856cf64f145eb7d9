// SPDX-License-Identifier: Apache-2.0
#include "daemon/state/alert_event_record.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "rules/model/texts.h"

namespace jetmem {
namespace {

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return printable(text, EventRecord::kMaxText);
}

}  // namespace

EventRecord alert_event_record(const Transition& transition) {
  EventRecord record;
  record.what = EventWhat::kAlert;
  record.kind = std::string(change_name(transition.change));
  record.at = transition.at;
  if (transition.rule == nullptr) return record;
  const Rule& rule = *transition.rule;
  record.severity = std::string(severity_name(rule.severity));
  record.subject = printable(rule.name, 100);
  record.summary = one_line(fill_text(rule.texts.summary, transition.value,
                                      value_unit(rule.when.front()), transition.labels));
  nlohmann::ordered_json fields;
  fields["from"] = alert_state_name(transition.from);
  if (std::isfinite(transition.value)) fields["value"] = transition.value;
  for (const auto& [name, value] : transition.labels) {
    fields["labels"][printable(name, 64)] = printable(value, 200);
  }
  fields["active_since_boot_seconds"] = to_seconds(transition.active_since);
  if (!transition.reason.empty()) fields["reason"] = one_line(transition.reason);
  std::string text = fields.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (text.size() <= EventRecord::kMaxFields) record.fields = std::move(text);
  return record;
}

}  // namespace jetmem
