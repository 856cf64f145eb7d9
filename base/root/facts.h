// SPDX-License-Identifier: Apache-2.0
// What the program must know about a machine besides its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace jetmem {

// Live, these come from system calls. Under --root they come from the tree's
// jetmem/manifest.json; without one they are absent, and so is every value that needs them.
struct Facts {
  bool live = false;
  std::optional<std::uint64_t> page_size;               // bytes
  std::optional<std::uint64_t> clock_ticks_per_second;  // of /proc/<pid>/stat
  std::optional<std::uint64_t> cpus;
  std::optional<std::string> boot_id;
  std::optional<std::int64_t> boot_time;    // seconds since 1970
  std::optional<std::int64_t> captured_at;  // seconds since 1970; absent when live

  static Facts of_this_machine();
};

}  // namespace jetmem
