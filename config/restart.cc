// SPDX-License-Identifier: Apache-2.0
#include "config/restart.h"

#include "config/schema.h"

namespace jetmem {

std::vector<std::string> keys_that_need_restart(const Settings& running, const Settings& needed) {
  std::vector<std::string> keys;
  const Schema schema = Schema::of(running);
  for (const Setting& setting : schema.settings()) {
    if (setting.applies == Applies::kAtOnce || setting.same(running, needed)) continue;
    keys.push_back(setting.key);
  }
  return keys;
}

Settings applicable_without_restart(const Settings& running, const Settings& needed) {
  Settings result = needed;
  const Schema schema = Schema::of(running);
  for (const Setting& setting : schema.settings()) {
    if (setting.applies == Applies::kAtRestart) setting.copy(running, result);
  }
  return result;
}

}  // namespace jetmem
