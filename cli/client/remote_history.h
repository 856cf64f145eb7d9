// SPDX-License-Identifier: Apache-2.0
// The history of a running jetmemd: /api/v1/history and /api/v1/events.
#pragma once

#include <chrono>
#include <memory>

#include "base/result.h"
#include "cli/daemon_address.h"
#include "history/history.h"

namespace jetmem {

// Each query is its own request, answered within `deadline`. Errors name the daemon.
std::unique_ptr<History> remote_history(
    DaemonAddress daemon, std::chrono::milliseconds deadline = std::chrono::seconds(10));

}  // namespace jetmem
