// SPDX-License-Identifier: Apache-2.0
// Unix sockets at a path, for tests of either end. One that could not be made is not valid; errno
// says why.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "base/unique_fd.h"

namespace jetmem {

inline sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

inline UniqueFd unix_listener(const std::string& path, int type = SOCK_STREAM, int backlog = 8) {
  const sockaddr_un address = unix_address(path);
  UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const auto* to = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(fd.get(), to, sizeof address) != 0 || ::listen(fd.get(), backlog) != 0) fd.reset();
  return fd;
}

inline UniqueFd unix_client(const std::string& path, int type = SOCK_STREAM) {
  const sockaddr_un address = unix_address(path);
  UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const auto* to = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(fd.get(), to, sizeof address) != 0) fd.reset();
  return fd;
}

}  // namespace jetmem
