#include "daemon/settings_digest.h"

#include "collectors/boot/digest.h"
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
