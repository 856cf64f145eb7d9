// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/listen.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/text/text.h"

namespace jetmem {
namespace {

// A client that finds the queue full waits seconds until its kernel tries again: hundreds of slow
// clients must not cost another one more than its turn.
constexpr int kBacklog = 512;
// Of each connection in the kernel, which allocates twice as much: otherwise a client that sends
// without end pins megabytes.
constexpr int kReceiveBuffer = 16 << 10;
// Bytes that a client does not acknowledge for so long are dropped, even on a closed connection.
constexpr unsigned kUserTimeout = 30'000;  // ms

union AnyAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_un local;
};

// By name or number; 0: no such interface now.
unsigned interface_index(const std::string& zone) {
  if (const unsigned index = ::if_nametoindex(zone.c_str()); index != 0) return index;
  const auto number = parse_u64(zone);
  std::array<char, IF_NAMESIZE> name{};
  const auto index = static_cast<unsigned>(number.value_or(0));
  return ::if_indextoname(index, name.data()) == nullptr ? 0 : index;
}

socklen_t fill(const ListenAddress& from, AnyAddress& to) {
  std::memset(&to, 0, sizeof to);
  switch (from.family) {
    case ListenAddress::Family::kUnix:
      to.local.sun_family = AF_UNIX;
      from.host.copy(to.local.sun_path, sizeof to.local.sun_path - 1);
      return sizeof to.local;
    case ListenAddress::Family::kIpv6:
      to.v6.sin6_family = AF_INET6;
      to.v6.sin6_port = htons(from.port);
      inet_pton(AF_INET6, from.host.substr(0, from.host.find('%')).c_str(), &to.v6.sin6_addr);
      if (const std::size_t percent = from.host.find('%'); percent != std::string::npos) {
        to.v6.sin6_scope_id = interface_index(from.host.substr(percent + 1));
      }
      return sizeof to.v6;
    case ListenAddress::Family::kIpv4:
      break;
  }
  to.v4.sin_family = AF_INET;
  to.v4.sin_port = htons(from.port);
  inet_pton(AF_INET, from.host.c_str(), &to.v4.sin_addr);
  return sizeof to.v4;
}

std::string_view hint_of(int error, const ListenAddress& address) {
  switch (error) {
    case EADDRINUSE:
      return " (is another jetmemd running?)";
    case EADDRNOTAVAIL:
      return " (no network interface has this address now)";
    case ENODEV:
      return " (there is no such network interface now)";
    case EACCES:
      return address.family == ListenAddress::Family::kUnix
                 ? " (the directory must be writable for this user)"
                 : " (ports below 1024 need privilege)";
    case EAFNOSUPPORT:
      return " (this kernel has no such protocol)";
    case ENOENT:
      return " (the directory does not exist)";
    default:
      return "";
  }
}

tl::unexpected<Error> refuse(const ListenAddress& address, int error) {
  Error out = errno_error("listen on", address.text(), error);
  out.message.append(hint_of(error, address));
  return tl::unexpected<Error>(std::move(out));
}

// Whether a process accepts connections on this socket file. Anything but a refusal counts as yes,
// and the file is left alone.
bool somebody_answers(const AnyAddress& address, socklen_t length) {
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), &address.any, length) == 0 || errno != ECONNREFUSED;
}

}  // namespace

Listener& Listener::operator=(Listener&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::move(other.fd_);
    address_ = std::move(other.address_);
    device_ = other.device_;
    inode_ = other.inode_;
  }
  return *this;
}

void Listener::close() {
  if (fd_.valid() && inode_ != 0) {
    struct stat now {};
    if (::lstat(address_.host.c_str(), &now) == 0 && now.st_dev == device_ &&
        now.st_ino == inode_) {
      ::unlink(address_.host.c_str());
    }
  }
  fd_.reset();
}

Result<Listener> listen_on(const ListenAddress& address, SocketUsers users) {
  const mode_t mode = users == SocketUsers::kEverybody ? 0666 : 0660;
  AnyAddress raw;
  socklen_t length = fill(address, raw);
  if (address.host.find('%') != std::string::npos && raw.any.sa_family == AF_INET6 &&
      raw.v6.sin6_scope_id == 0) {
    return refuse(address, ENODEV);
  }
  const bool is_unix = address.family == ListenAddress::Family::kUnix;

  Listener out;
  out.address_ = address;
  out.fd_.reset(::socket(raw.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out.fd_.valid()) return refuse(address, errno);
  const int on = 1;
  if (is_unix) {
    // Linux takes the file's mode from here: it is never open to more users.
    if (::fchmod(out.fd_.get(), mode) != 0) return refuse(address, errno);
  } else {
    ::setsockopt(out.fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Connections inherit them.
    ::setsockopt(out.fd_.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
    ::setsockopt(out.fd_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeout, sizeof kUserTimeout);
  }
  if (address.family == ListenAddress::Family::kIpv6) {
    // Otherwise [::] includes 0.0.0.0, and listening on both fails.
    ::setsockopt(out.fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  int rc = ::bind(out.fd_.get(), &raw.any, length);
  if (rc != 0 && errno == EADDRINUSE && is_unix) {
    struct stat there {};
    if (::lstat(address.host.c_str(), &there) == 0 && !S_ISSOCK(there.st_mode)) {
      return fail(Errc::kNotRegular, "listen on " + address.text() +
                                         ": this file is not a socket; remove it or choose another "
                                         "path");
    }
    if (somebody_answers(raw, length)) return refuse(address, EADDRINUSE);
    ::unlink(address.host.c_str());
    rc = ::bind(out.fd_.get(), &raw.any, length);
  }
  if (rc != 0) return refuse(address, errno);
  if (is_unix) {
    struct stat made {};
    if (::lstat(address.host.c_str(), &made) != 0) return refuse(address, errno);
    out.device_ = made.st_dev;
    out.inode_ = made.st_ino;
    // The umask may have removed bits.
    if (::chmod(address.host.c_str(), mode) != 0) return refuse(address, errno);
  }
  if (::listen(out.fd_.get(), kBacklog) != 0) return refuse(address, errno);
  if (!is_unix) {
    if (::getsockname(out.fd_.get(), &raw.any, &length) != 0) return refuse(address, errno);
    out.address_.port = ntohs(raw.any.sa_family == AF_INET ? raw.v4.sin_port : raw.v6.sin6_port);
  }
  return out;
}

}  // namespace jetmem
