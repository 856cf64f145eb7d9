// SPDX-License-Identifier: Apache-2.0
#include "config/listen_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text/text.h"

namespace jetmem {
namespace {

tl::unexpected<Error> refuse(std::string_view text, std::string_view why) {
  std::string message = "'" + printable(text, 120) + "' ";
  message.append(why);
  return fail(Errc::kInvalid, std::move(message));
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || !is_digit(text.front())) return std::nullopt;
  const auto number = parse_u64(text);
  if (!number || *number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

// The address as the kernel spells it, so that two spellings of one address compare equal.
std::optional<std::string> canonical_host(int family, std::string_view host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (inet_pton(family, std::string(host).c_str(), address.data()) != 1) return std::nullopt;
  if (inet_ntop(family, address.data(), text.data(), text.size()) == nullptr) return std::nullopt;
  return std::string(text.data());
}

// Addresses that every link has anew.
bool is_link_local(std::string_view canonical) {
  return canonical.size() > 4 && canonical.substr(0, 2) == "fe" && canonical[4] == ':' &&
         std::string_view("89ab").find(canonical[2]) != std::string_view::npos;
}

// The name or number of a network interface, as the kernel takes it.
bool is_zone(std::string_view text) {
  constexpr std::size_t kMost = 15;
  if (text.empty() || text.size() > kMost) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c <= '~' && c != '/' && c != '%'; });
}

Result<ListenAddress> parse_unix(std::string_view text, std::string_view path) {
  if (path.empty() || path.front() != '/') {
    return refuse(text, "needs an absolute path; write one like unix:/run/jetmem/api.socket");
  }
  if (path.size() > kMaxSocketPath) {
    return refuse(text, "has a path of more than 107 bytes, the kernel's limit; use a shorter one");
  }
  if (printable(path, path.size() + 3) != path) {
    return refuse(text, "has a control character or invalid UTF-8 in its path; remove it");
  }
  return ListenAddress{ListenAddress::Family::kUnix, std::string(path), 0};
}

}  // namespace

std::string ListenAddress::text() const {
  switch (family) {
    case Family::kUnix:
      return "unix:" + host;
    case Family::kIpv6:
      return "[" + host + "]:" + std::to_string(port);
    case Family::kIpv4:
      break;
  }
  return host + ":" + std::to_string(port);
}

Result<ListenAddress> parse_listen_address(std::string_view text) {
  std::string_view rest = text;
  if (take_prefix(rest, "unix:")) return parse_unix(text, rest);
  if (!rest.empty() && rest.front() == '/') {
    return refuse(text, "is a path; write unix: in front of it");
  }
  // Before the brackets are looked for: inet_pton would stop at a NUL and accept what is before.
  if (text.find('\0') != std::string_view::npos) return refuse(text, "contains a NUL character");

  ListenAddress address;
  std::string_view host;
  if (take_prefix(rest, "[")) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) {
      return refuse(text, "lacks the closing ']'; write one like [::1]:10743");
    }
    address.family = ListenAddress::Family::kIpv6;
    host = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  } else {
    const std::size_t colon = rest.find(':');
    host = rest.substr(0, colon);
    rest.remove_prefix(host.size());
    if (rest.find(':', 1) != std::string_view::npos) {
      return refuse(text, "looks like IPv6; put the address in brackets, as in [::1]:10743");
    }
  }
  if (!take_prefix(rest, ":")) return refuse(text, "has no port; write one like 127.0.0.1:10743");
  const auto port = parse_port(rest);
  if (!port) return refuse(text, "has no valid port; ports go from 0 (any free one) to 65535");
  address.port = *port;
  const bool is_ipv6 = address.family == ListenAddress::Family::kIpv6;
  if (!is_ipv6 && (host.empty() || host == "*")) {
    return refuse(text, "names no address; write 0.0.0.0 for every IPv4 address, [::] for IPv6");
  }
  const std::size_t percent = host.find('%');
  const std::string_view zone =
      percent == std::string_view::npos ? std::string_view() : host.substr(percent + 1);
  if (percent != std::string_view::npos) {
    host = host.substr(0, percent);
    if (!is_ipv6 || !is_zone(zone)) {
      return refuse(text, "has no valid interface behind '%'; write one like [fe80::1%eth0]:10743");
    }
  }
  auto canonical = canonical_host(is_ipv6 ? AF_INET6 : AF_INET, host);
  if (!canonical) {
    return refuse(text, is_ipv6 ? "is not an IPv6 address; write one like [::1]:10743"
                                : "is not a numeric address and names are not looked up; write "
                                  "127.0.0.1 for this machine only, 0.0.0.0 for everybody");
  }
  address.host = std::move(*canonical);
  if (is_ipv6 && is_link_local(address.host) == zone.empty()) {
    return refuse(text, zone.empty()
                            ? "is an address of a link; name its interface, as in "
                              "[fe80::1%eth0]:10743"
                            : "names an interface, and is no address of a link (fe80::...); leave "
                              "out what stands behind '%'");
  }
  if (!zone.empty()) address.host.append("%").append(zone);
  return address;
}

}  // namespace jetmem
