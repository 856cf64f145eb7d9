// SPDX-License-Identifier: Apache-2.0
#include "base/root/facts.h"

#include <unistd.h>

#include <chrono>

#include "base/clock.h"
#include "base/root/small_file.h"
#include "base/text/text.h"

namespace jetmem {

Facts Facts::of_this_machine() {
  Facts facts;
  facts.live = true;
  const auto ask = [](int name) -> std::optional<std::uint64_t> {
    const long value = ::sysconf(name);
    if (value <= 0) return std::nullopt;
    return static_cast<std::uint64_t>(value);
  };
  facts.page_size = ask(_SC_PAGESIZE);
  facts.clock_ticks_per_second = ask(_SC_CLK_TCK);
  facts.cpus = ask(_SC_NPROCESSORS_CONF);

  char buffer[64];
  if (const auto id = trim(read_once("/proc/sys/kernel/random/boot_id", buffer)); !id.empty()) {
    facts.boot_id = std::string(id);
  }

  const SystemClock clock;
  facts.boot_time =
      std::chrono::duration_cast<std::chrono::seconds>(clock.wall() - clock.boot()).count();
  return facts;
}

}  // namespace jetmem
