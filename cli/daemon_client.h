// Asks a jetmemd over HTTP, mostly the one of this machine.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/daemon_place.h"

namespace jetmem {

struct DaemonReply {
  DaemonPlace from;
  std::string body;
};

constexpr std::size_t kMaxReply = 4U << 20;

// GET of `path` at the first place where something answers, all within `deadline`. Errors:
// kUnavailable where nobody answers, with what to do about it; kDenied where it wants a password or
// certificate; what a daemon said that had no answer to give: kAbsent where it knows no such
// metric, kInvalid where it did not understand the question.
Result<DaemonReply> ask_daemon(std::span<const DaemonPlace> places, const std::string& path,
                               std::chrono::milliseconds deadline = std::chrono::seconds(3));

}  // namespace jetmem
