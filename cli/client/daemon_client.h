// SPDX-License-Identifier: Apache-2.0
// Queries a jetmemd over HTTP, usually that of this machine.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/daemon_address.h"

namespace jetmem {

struct DaemonReply {
  DaemonAddress from;
  std::string body;
};

// GET of `path` at the first address that answers, all within `deadline`. Errors: kUnavailable if
// none answers or what answers is no usable jetmemd, with a remedy; kDenied if it requires a
// password or certificate; kNotRegular for a certificate's file that cannot be used; otherwise the
// daemon's error: kAbsent for an unknown metric, kInvalid for an invalid query. `is_silent` is set
// where something listens that gave no usable answer, which is no sign that no jetmemd runs.
Result<DaemonReply> query_daemon(std::span<const DaemonAddress> locations, const std::string& path,
                                 std::chrono::milliseconds deadline = std::chrono::seconds(3),
                                 bool* is_silent = nullptr);

}  // namespace jetmem
