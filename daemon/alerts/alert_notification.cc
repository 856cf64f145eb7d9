// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/alert_notification.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/json_integers.h"
#include "base/text/text.h"
#include "base/text/utc_time.h"
#include "rules/model/alert_fields.h"

namespace jetmem {
namespace {

std::string line_of(const std::string& text) { return one_line(text, AlertNotification::kMaxText); }

std::string name_of(const std::string& text) {
  return printable(text, AlertNotification::kMaxName);
}

template <class Take>
void for_each_label(const AlertNotification& notification, Take take) {
  const std::size_t count = std::min(notification.labels.size(), AlertNotification::kMaxLabels);
  for (std::size_t i = 0; i < count; ++i) {
    take(notification.labels[i].first,
         printable(notification.labels[i].second, AlertNotification::kMaxLabelValue));
  }
}

}  // namespace

std::string alert_key(std::string name, const AlertNotification::Labels& labels) {
  for (const auto& [label, value] : labels) {
    name.append("\n").append(label).append("=").append(value);
  }
  return name;
}

AlertNotification alert_notification(const Transition& transition) {
  AlertNotification notification;
  if (transition.rule != nullptr) {
    notification.alert = transition.rule->name;
    notification.severity = severity_name(transition.rule->severity);
  }
  notification.change = transition.change;
  notification.value = transition.value;
  notification.labels = transition.labels;
  notification.reason = transition.reason;
  notification.at = transition.at;
  notification.since = std::max(transition.at - transition.active_since, Nanoseconds(0));
  return notification;
}

std::string alert_json(const AlertNotification& notification) {
  nlohmann::ordered_json labels = nlohmann::ordered_json::object();
  for_each_label(notification, [&](const std::string& name, std::string value) {
    labels[name_of(name)] = std::move(value);
  });
  nlohmann::ordered_json json;
  json["alert"] = name_of(notification.alert);
  json["severity"] = name_of(notification.severity);
  json["state"] = change_name(notification.change);
  json["value"] = nullptr;
  if (std::isfinite(notification.value)) json["value"] = notification.value;
  json["labels"] = std::move(labels);
  json["at"] = nullptr;
  if (notification.wall > Nanoseconds(0)) json["at"] = utc_time(notification.wall);
  json["at_boot_seconds"] = to_seconds(notification.at);
  json["summary"] = line_of(notification.summary);
  json["cause"] = line_of(notification.cause);
  json["remedy"] = line_of(notification.remedy);
  json["runbook"] = line_of(notification.runbook);
  json["since_seconds"] = to_seconds(notification.since);
  if (!notification.reason.empty()) json["reason"] = line_of(notification.reason);
  use_integers(json);
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::vector<std::string> alert_environment(const AlertNotification& notification) {
  std::vector<std::string> variables{
      "JETMEM_ALERT=" + name_of(notification.alert),
      "JETMEM_SEVERITY=" + name_of(notification.severity),
      "JETMEM_STATE=" + std::string(change_name(notification.change)),
      "JETMEM_VALUE=" +
          (std::isfinite(notification.value) ? shortest_number(notification.value) : std::string()),
      "JETMEM_AT=" +
          (notification.wall > Nanoseconds(0) ? utc_time(notification.wall) : std::string()),
      "JETMEM_SUMMARY=" + line_of(notification.summary),
      "JETMEM_RUNBOOK=" + line_of(notification.runbook),
  };
  for_each_label(notification, [&](const std::string& name, const std::string& value) {
    variables.push_back(label_field(name) + "=" + value);
  });
  return variables;
}

}  // namespace jetmem
