// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/client_key.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace jetmem {
namespace {

bool is_link_local(const std::array<std::uint8_t, 16>& address) {
  return address[0] == 0xfe && (address[1] & 0xc0U) == 0x80;
}

}  // namespace

ClientKey client_key(const sockaddr_storage& peer) {
  ClientKey out;
  if (peer.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &peer, sizeof v4);
    out.family = ClientKey::Family::kIpv4;
    std::memcpy(out.address.data(), &v4.sin_addr, sizeof v4.sin_addr);
  } else if (peer.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &peer, sizeof v6);
    out.family = ClientKey::Family::kIpv6;
    std::memcpy(out.address.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    if (!is_link_local(out.address)) std::fill(out.address.begin() + 8, out.address.end(), 0);
  }
  return out;
}

std::string ClientKey::text() const {
  if (is_local()) return "local client";
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family_number = family == Family::kIpv4 ? AF_INET : AF_INET6;
  if (inet_ntop(family_number, address.data(), text.data(), text.size()) == nullptr) return "?";
  std::string out = text.data();
  if (family == Family::kIpv6 && !is_link_local(address)) out += "/64";
  return out;
}

}  // namespace jetmem
