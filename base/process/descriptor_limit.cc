// SPDX-License-Identifier: Apache-2.0
#include "base/process/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace jetmem {

DescriptorLimit descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return {limit.rlim_cur, limit.rlim_max};
}

std::uint64_t raise_descriptor_limit(std::uint64_t needed) {
  const DescriptorLimit limit = descriptor_limit();
  const std::uint64_t wanted = std::min(needed, limit.hard);
  if (wanted <= limit.soft) return limit.soft;
  const rlimit raised{wanted, limit.hard};
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? wanted : limit.soft;
}

std::string descriptor_shortage(std::uint64_t limit, std::uint64_t needed) {
  if (limit >= needed) return {};
  const std::string least = std::to_string(needed);
  return "the limit of " + std::to_string(limit) + " file descriptors is too low: at least " +
         least + " are needed; set LimitNOFILE=" + least + " in the unit, or ulimit -n " + least;
}

}  // namespace jetmem
