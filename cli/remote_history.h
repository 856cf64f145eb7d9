// The past as a running jetmemd tells it: /api/v1/history and /api/v1/events.
#pragma once

#include <chrono>
#include <memory>

#include "base/result.h"
#include "cli/daemon_place.h"
#include "history/history.h"

namespace jetmem {

// Each question is a request of its own, answered within `deadline`. Errors name the daemon.
std::unique_ptr<History> remote_history(
    DaemonPlace daemon, std::chrono::milliseconds deadline = std::chrono::seconds(10));

}  // namespace jetmem
