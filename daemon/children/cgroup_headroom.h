// SPDX-License-Identifier: Apache-2.0
// How much memory the daemon's own cgroup leaves. A probe that the daemon starts itself is charged
// to it: beyond the limit the kernel would kill the probe, or the daemon.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace jetmem {

// The least that the cgroup and those above it leave: limit less what is charged, page cache that
// can be given up not counted. Nothing: there is no limit, or no such cgroup to be seen.
// `root` is put before /proc and /sys.
std::optional<std::uint64_t> cgroup_headroom(const std::string& root);

// Errc::kSkipped, with words, where that is too little for a probe.
Result<void> check_probe_headroom(const std::string& root, std::uint64_t frame_bytes, bool cuda);

}  // namespace jetmem
