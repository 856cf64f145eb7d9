// SPDX-License-Identifier: Apache-2.0
// The daemon's notifications to systemd, by the protocol of sd_notify(3). Without systemd every
// call does nothing.
//
// It does not use sd_notify() itself, which waits while the socket is full, so that a hanging PID 1
// would stop the sampling. Here, what cannot be sent waits for the next cycle.
#pragma once

#include <sys/un.h>

#include <deque>
#include <string>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace jetmem {

class ServiceManager {
 public:
  ServiceManager();

  // Whether there is one to tell anything.
  bool present() const { return socket_.valid(); }

  void ready();
  void reloading(Nanoseconds mono);
  void stopping();
  // Only sent when the text changed.
  void status(const std::string& text);
  const std::string& status_text() const { return status_; }
  // To be called after each sampling round that got through; sends the watchdog's sign of life at
  // most four times per watchdog period.
  void progressed(Nanoseconds mono);

 private:
  static constexpr std::size_t kMaxUnsent = 16;

  void send(std::string message);
  // False when the socket is full.
  bool try_send(const std::string& message);
  void send_unsent();

  UniqueFd socket_;  // invalid: nobody listens
  sockaddr_un address_{};
  socklen_t address_size_ = 0;
  std::deque<std::string> unsent_;
  Nanoseconds watchdog_period_{0};  // 0: systemd does not watch
  Nanoseconds last_sign_{0};
  std::string status_;
};

}  // namespace jetmem
