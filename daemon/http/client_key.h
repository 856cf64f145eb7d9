// SPDX-License-Identifier: Apache-2.0
// The client of a connection, for limits: an IPv4 address, or the /64 of an IPv6 address, because
// one host usually has a whole /64. Link-local addresses are distinct clients. All of a Unix socket
// are one.
#pragma once

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace jetmem {

struct ClientKey {
  enum class Family : std::uint8_t { kLocal, kIpv4, kIpv6 };

  Family family = Family::kLocal;  // a Unix socket
  std::array<std::uint8_t, 16> address{};
  bool is_local() const { return family == Family::kLocal; }
  // "192.0.2.7", "2001:db8::/64", "fe80::1", "local client".
  std::string text() const;
  // NOLINTNEXTLINE(modernize-use-nullptr): there is no 0
  auto operator<=>(const ClientKey&) const = default;
};

ClientKey client_key(const sockaddr_storage& peer);

}  // namespace jetmem
