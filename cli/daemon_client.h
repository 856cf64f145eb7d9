// Asks the jetmemd of this machine, over the addresses that it listens on.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/listen_address.h"

namespace jetmem {

// Where systemd's jetmemd always listens.
inline constexpr const char* kApiSocket = "/run/jetmem/api.socket";

// The socket above, then those that the settings name.
std::vector<ListenAddress> daemon_addresses(std::span<const ListenAddress> listen);

struct DaemonReply {
  ListenAddress from;
  std::string body;
};

constexpr std::size_t kMaxReply = 4U << 20;

// GET of `path` at the first address where something answers, all within `deadline`. Errors:
// kUnavailable where nobody answers, with what to do about it; what a daemon said that had no
// answer to give: kAbsent where it knows no such metric, kInvalid where it did not understand the
// question.
Result<DaemonReply> ask_daemon(std::span<const ListenAddress> addresses, const std::string& path,
                               std::chrono::milliseconds deadline = std::chrono::seconds(3));

}  // namespace jetmem
