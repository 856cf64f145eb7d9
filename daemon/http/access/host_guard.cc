// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/host_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "base/text/text.h"

namespace jetmem {
namespace {

// DNS names compare without case and final dot: "ORIN-7." is "orin-7".
std::string plain_name(std::string_view name) {
  if (!name.empty() && name.back() == '.') name.remove_suffix(1);
  std::string out(name);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_address(const std::string& text) {
  in_addr v4{};
  in6_addr v6{};
  const std::string unzoned = text.substr(0, text.find('%'));
  return ::inet_pton(AF_INET, text.c_str(), &v4) == 1 ||
         ::inet_pton(AF_INET6, unzoned.c_str(), &v6) == 1;
}

// "orin-7:10743" -> "orin-7", "[::1]:10743" -> "::1".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  // An IPv6 address without brackets has more than one.
  const std::size_t colon = host.find(':');
  return colon != host.rfind(':') ? host : host.substr(0, colon);
}

}  // namespace

bool is_loopback(const ListenAddress& address) {
  using Family = ListenAddress::Family;
  if (address.family == Family::kIpv4) return address.host.starts_with("127.");
  in6_addr raw{};
  return address.family == Family::kIpv6 &&
         ::inet_pton(AF_INET6, address.host.c_str(), &raw) == 1 && IN6_IS_ADDR_LOOPBACK(&raw);
}

bool allows_host(std::string_view host, bool on_loopback, const std::vector<std::string>& names) {
  if (!on_loopback && names.empty()) return true;
  if (host.empty()) return true;
  const std::string name = plain_name(without_port(host));
  // Browsers resolve all of .localhost themselves; the other two are in Debian's /etc/hosts.
  return is_address(name) || name == "localhost" || name.ends_with(".localhost") ||
         name == "ip6-localhost" || name == "ip6-loopback" ||
         std::any_of(names.begin(), names.end(),
                     [&](const std::string& known) { return plain_name(known) == name; });
}

}  // namespace jetmem
