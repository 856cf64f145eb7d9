// SPDX-License-Identifier: Apache-2.0
// The zone of local times, for as long as this lives.
#pragma once

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

namespace jetmem {

inline constexpr const char* kBerlin = "CET-1CEST,M3.5.0,M10.5.0/3";

class TimeZone {
 public:
  explicit TimeZone(const char* name) {
    if (const char* zone = std::getenv("TZ")) before_ = zone;
    set(name);
  }
  ~TimeZone() { set(before_ ? before_->c_str() : nullptr); }
  TimeZone(const TimeZone&) = delete;
  TimeZone& operator=(const TimeZone&) = delete;

 private:
  static void set(const char* name) {
    name == nullptr ? ::unsetenv("TZ") : ::setenv("TZ", name, 1);
    ::tzset();
  }
  std::optional<std::string> before_;
};

}  // namespace jetmem
