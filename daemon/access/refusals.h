// Counts what the web server refuses, and says it: at once the first time, and then at most once a
// minute for each kind, with how often it was. The web thread's own.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "daemon/access/client_key.h"
#include "daemon/access/figures.h"
#include "daemon/web_options.h"

namespace jetmem {

class Refusals {
 public:
  static constexpr Nanoseconds kPause = std::chrono::minutes(1);

  // Both must outlive this object.
  Refusals(const Clock& clock, const WebLog& log) : clock_(clock), log_(log) {}

  void refused(Refusal why, const ClientKey& client);
  // `details`: what was wrong with it, where that is known; printable.
  void handshake_failed(HandshakeFailure why, const ClientKey& client, std::string_view details);
  void auth_failed(AuthFailure why, const ClientKey& client);

  AccessFigures& figures() { return figures_; }

 private:
  static constexpr std::size_t kKinds = kRefusalNames.size() + 2;
  struct Told {
    bool ever = false;
    Nanoseconds at{0};
    std::uint64_t since = 0;  // then
  };
  void tell(std::size_t kind, const ClientKey& client, std::string_view what);

  const Clock& clock_;
  const WebLog& log_;
  AccessFigures figures_;
  std::array<Told, kKinds> told_{};
};

}  // namespace jetmem
