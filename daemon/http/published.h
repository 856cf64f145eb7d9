// SPDX-License-Identifier: Apache-2.0
// Hands the newest of something from the loop to the web thread. The mutex is held for the copy of
// a pointer, so that neither waits for the other's work.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace jetmem {

template <class T>
class Published {
 public:
  void publish(std::shared_ptr<const T> value) {
    const std::lock_guard lock(mutex_);
    newest_.swap(value);
  }
  // Never null: before the first one it is a T without contents.
  std::shared_ptr<const T> newest() const {
    const std::lock_guard lock(mutex_);
    return newest_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> newest_ = std::make_shared<const T>();
};

}  // namespace jetmem
