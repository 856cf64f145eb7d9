// SPDX-License-Identifier: Apache-2.0
// Listening sockets, TCP and Unix.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"
#include "config/listen_address.h"

namespace jetmem {

// Who may connect to a Unix socket: its owner and group, or everybody on this machine.
enum class SocketUsers { kGroup, kEverybody };

class Listener {
 public:
  Listener() = default;
  Listener(Listener&& other) noexcept = default;
  Listener& operator=(Listener&& other) noexcept;
  // Removes the socket file, unless another process has replaced it.
  ~Listener() { close(); }

  int fd() const { return fd_.get(); }
  // With the port that the kernel chose instead of 0.
  const ListenAddress& address() const { return address_; }

 private:
  friend Result<Listener> listen_on(const ListenAddress& address, SocketUsers users);
  void close();

  UniqueFd fd_;
  ListenAddress address_;
  std::uint64_t device_ = 0;  // of the socket file; both 0: none
  std::uint64_t inode_ = 0;
};

// Non-blocking and close-on-exec. A Unix socket gets mode 0660, or 0666 for everybody; a socket
// file without a listening process is removed first. Errors read "listen on 127.0.0.1:10743:
// Address already in use (...)".
Result<Listener> listen_on(const ListenAddress& address, SocketUsers users = SocketUsers::kGroup);

}  // namespace jetmem
