// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/settings_digest.h"

#include "base/text/text.h"
#include "config/schema.h"

namespace jetmem {

std::string digest_of(const Settings& settings) {
  std::string all;
  const Schema schema = Schema::of(settings);
  for (const Setting& setting : schema.settings()) {
    all.append(setting.key).append("=").append(setting.show(settings)).append("\n");
  }
  std::string digest;
  short_digest(all, digest);
  return digest;
}

}  // namespace jetmem
