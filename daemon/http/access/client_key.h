// SPDX-License-Identifier: Apache-2.0
// The client of a connection, for limits: an IPv4 address, or the /64 of an IPv6 address, because
// one host usually has a whole /64. Link-local addresses are distinct clients. On a Unix socket it
// is the user, as the kernel reports it (SO_PEERCRED).
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
  uid_t user = static_cast<uid_t>(-1);  // of a Unix socket; no user has this number
  pid_t process = 0;                    // of one whose user is not known; 0: it is

  bool is_local() const { return family == Family::kLocal; }
  bool is_root() const { return is_local() && user == 0 && process == 0; }
  // "192.0.2.7", "2001:db8::/64", "fe80::1", "local root", "local user 1000", "local process 4711".
  std::string text() const;
  // NOLINTNEXTLINE(modernize-use-nullptr): there is no 0
  auto operator<=>(const ClientKey&) const = default;
};

// The daemon itself, for what it does once for all clients.
inline ClientKey own_client() { return {}; }

ClientKey client_key(const sockaddr_storage& peer);
// The client at the other end of a connected Unix socket. In a user namespace (a rootless
// container) all users without a number there are the same one: each process of theirs is a client.
ClientKey local_client_key(int fd);

}  // namespace jetmem
