#include "base/facts.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>

#include "base/clock.h"
#include "base/text.h"
#include "base/unique_fd.h"

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

  const UniqueFd fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char buffer[64];
  const ssize_t n = fd.valid() ? ::read(fd.get(), buffer, sizeof buffer) : -1;
  if (n > 0) facts.boot_id = std::string(trim({buffer, static_cast<std::size_t>(n)}));

  const SystemClock clock;
  facts.boot_time =
      std::chrono::duration_cast<std::chrono::seconds>(clock.wall() - clock.boot()).count();
  return facts;
}

}  // namespace jetmem
