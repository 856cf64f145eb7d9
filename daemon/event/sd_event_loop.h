// SPDX-License-Identifier: Apache-2.0
// The daemon's event loop, on sd-event.
#pragma once

#include <systemd/sd-event.h>

#include <memory>

#include "base/process/event_loop.h"

namespace jetmem {

class SdEventLoop final : public EventLoop {
 public:
  SdEventLoop();
  // Its sources must be gone before it is.
  ~SdEventLoop() override;
  SdEventLoop(const SdEventLoop&) = delete;
  SdEventLoop& operator=(const SdEventLoop&) = delete;

  // Null where none can be created; then nothing can be added either.
  sd_event* event() const { return event_; }

  Result<std::unique_ptr<Source>> add_watch(int fd, Callback callback) override;
  Result<std::unique_ptr<Source>> add_timer(Callback callback, TimerClock clock) override;

 private:
  sd_event* event_ = nullptr;
};

}  // namespace jetmem
