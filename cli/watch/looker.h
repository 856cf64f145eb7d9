// Takes looks at a device on a thread of its own, so that keys are answered while one takes long.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "report/device_now.h"

namespace jetmem::watch {

class Looker {
 public:
  using Look = std::function<Result<DeviceNow>()>;
  // `wake` is called on the thread when a look has ended.
  Looker(Look look, std::function<void()> wake);
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;
  // Does not wait for a look under way: stop() does.
  ~Looker();

  // Begins a look; nothing where one is under way.
  void ask();
  bool busy() const;
  struct Looked {
    Result<DeviceNow> now;
    double seconds = 0;
  };
  std::optional<Looked> take();

  // True once the thread has ended, false where a look is still under way after so long: the
  // thread then keeps what it uses alive itself, and the program had better end.
  bool stop(double patience_seconds);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace jetmem::watch
