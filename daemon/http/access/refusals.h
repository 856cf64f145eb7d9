// SPDX-License-Identifier: Apache-2.0
// Counts what the web server refuses and logs it: the first one at once, then at most once a minute
// for each kind, with the count. The web thread's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/rate_limited_log.h"
#include "daemon/http/access/access_stats.h"
#include "daemon/http/client_key.h"
#include "daemon/http/web_options.h"

namespace jetmem {

class Refusals {
 public:
  static constexpr Nanoseconds kPause = std::chrono::minutes(1);

  // Both must outlive this object.
  Refusals(const Clock& clock, const WebLog& log)
      : clock_(clock),
        log_(
            [&log](LogEntry entry) {
              if (log) log(entry.level, std::move(entry.message));
            },
            {.window = kPause, .announces = false}) {}

  void refused(Refusal why, const ClientKey& client);
  // `details`: what is wrong with the certificate, if known; printable.
  void handshake_failed(HandshakeFailure why, const ClientKey& client, std::string_view details);
  void auth_failed(AuthFailure why, const ClientKey& client);

  AccessStats& stats() { return stats_; }

 private:
  void notify(std::string_view kind, const ClientKey& client, std::string_view what);

  const Clock& clock_;
  RateLimitedLog log_;
  AccessStats stats_;
};

}  // namespace jetmem
