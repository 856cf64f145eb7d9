// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/service_manager.h"

#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace jetmem {

ServiceManager::ServiceManager() {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) > 0) {
    watchdog_period_ = std::chrono::microseconds(microseconds);
  }
  const char* name = std::getenv("NOTIFY_SOCKET");
  const std::string_view path = name == nullptr ? "" : name;
  // A path, or with '@' a name in the abstract namespace.
  if (path.size() < 2 || path.size() >= sizeof address_.sun_path) return;
  if (path.front() != '/' && path.front() != '@') return;
  address_.sun_family = AF_UNIX;
  path.copy(address_.sun_path, path.size());
  if (path.front() == '@') address_.sun_path[0] = '\0';
  address_size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void ServiceManager::ready() { send("READY=1"); }

void ServiceManager::reloading(Nanoseconds mono) {
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(mono.count() / 1000));
}

void ServiceManager::stopping() { send("STOPPING=1\nSTATUS=Stopping"); }

void ServiceManager::status(const std::string& text) {
  if (text == status_) return;
  status_ = text;
  send("STATUS=" + text);
}

void ServiceManager::progressed(Nanoseconds mono) {
  send_unsent();
  if (watchdog_period_ == Nanoseconds(0) || mono - last_sign_ < watchdog_period_ / 4) return;
  last_sign_ = mono;
  // Never kept for later: an old sign of life says nothing.
  if (socket_.valid()) try_send("WATCHDOG=1");
}

void ServiceManager::send(std::string message) {
  if (!socket_.valid()) return;
  if (unsent_.size() >= kMaxUnsent) unsent_.pop_front();
  unsent_.push_back(std::move(message));
  send_unsent();
}

void ServiceManager::send_unsent() {
  while (!unsent_.empty() && try_send(unsent_.front())) unsent_.pop_front();
}

bool ServiceManager::try_send(const std::string& message) {
  ssize_t n = 0;
  do {
    n = ::sendto(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&address_), address_size_);
  } while (n < 0 && errno == EINTR);
  // With any other error it would not be better later.
  return n >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

}  // namespace jetmem
