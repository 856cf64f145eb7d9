// SPDX-License-Identifier: Apache-2.0
// A log that several threads write to, a line for each entry.
#pragma once

#include <mutex>
#include <string>

#include "base/log.h"

namespace jetmem::test {

class LockedLog final : public Log {
 public:
  void write(LogEntry entry) override {
    const std::lock_guard lock(mutex_);
    text_ += (entry.level == LogLevel::kInfo ? "info " : "worse ") + entry.message + "\n";
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

}  // namespace jetmem::test
