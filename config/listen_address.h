// SPDX-License-Identifier: Apache-2.0
// Where a server listens: "127.0.0.1:10743", "[::1]:10743", "[fe80::1%eth0]:10743" or
// "unix:/run/jetmem/api.socket".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace jetmem {

struct ListenAddress {
  enum class Family { kIpv4, kIpv6, kUnix };

  Family family = Family::kIpv4;
  std::string host;        // numeric, without brackets, with the zone; for kUnix the socket's path
  std::uint16_t port = 0;  // 0: any free port

  std::string text() const;
  bool operator==(const ListenAddress&) const = default;
};

// The longest path that fits into sockaddr_un with its closing NUL.
constexpr std::size_t kMaxSocketPath = 107;

// Numeric addresses only: a name that DNS cannot resolve at boot must not stop the daemon.
Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace jetmem
