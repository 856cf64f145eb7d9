#include "config/restart.h"

#include "config/schema.h"

namespace jetmem {

std::vector<std::string> keys_that_need_restart(const Settings& running, const Settings& wanted) {
  std::vector<std::string> keys;
  const Schema schema = Schema::of(running);
  for (const Setting& setting : schema.settings()) {
    if (setting.applies == Applies::kAtOnce || setting.same(running, wanted)) continue;
    keys.push_back(setting.key);
  }
  return keys;
}

Settings applicable_without_restart(const Settings& running, const Settings& wanted) {
  Settings result = wanted;
  const Schema schema = Schema::of(running);
  for (const Setting& setting : schema.settings()) {
    if (setting.applies == Applies::kAtRestart) setting.copy(running, result);
  }
  return result;
}

}  // namespace jetmem
