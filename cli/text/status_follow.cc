// SPDX-License-Identifier: Apache-2.0
#include "cli/text/status_follow.h"

#include <utility>

namespace jetmem {

bool StatusChanges::is_due(const StatusAnswer& answer, double now) {
  // Sentences are not compared: their numbers change with each look.
  std::string key(verdict_name(answer.level));
  for (const StatusAnswer::Alert& alert : answer.alerts) {
    if (!alert.explains && alert.state != "firing") continue;
    key.append("\n").append(alert.name).append(" ").append(alert.state);
    key.append(" ").append(std::to_string(alert.more));
  }
  if (answer.who) key.append("\n").append(answer.who->name);
  for (const StatusAnswer::Blind& blind : answer.blind) {
    key.append("\n").append(blind.source).append(" ").append(blind.state);
  }
  return is_new(std::move(key), now);
}

bool StatusChanges::is_due(const std::string& error, double now) { return is_new(error, now); }

bool StatusChanges::is_new(std::string key, double now) {
  if (key_ == key && now - printed_ < interval_) return false;
  key_ = std::move(key);
  printed_ = now;
  return true;
}

}  // namespace jetmem
