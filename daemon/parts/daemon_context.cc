// SPDX-License-Identifier: Apache-2.0
#include "daemon/parts/daemon_context.h"

#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace jetmem {
namespace {

// The first of the directories that systemd created for us.
std::string directory_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return {};
  const std::string_view all(value);
  return std::string(all.substr(0, all.find(':')));
}

}  // namespace

DaemonContext::DaemonContext(DaemonOptions daemon_options, Root daemon_root,
                             AsyncLogger& async_logger)
    : options(std::move(daemon_options)),
      root(std::move(daemon_root)),
      own_facts(root.is_live() ? root.facts() : Facts::of_this_machine()),
      state_directory(directory_from("STATE_DIRECTORY")),
      runtime_directory(directory_from("RUNTIME_DIRECTORY")),
      log(async_logger),
      clock(system_clock, options.speed) {}

Nanoseconds DaemonContext::at_speed(Nanoseconds real) const {
  return Nanoseconds(std::llround(static_cast<double>(real.count()) * clock.speed()));
}

}  // namespace jetmem
