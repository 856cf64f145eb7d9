// SPDX-License-Identifier: Apache-2.0
// Where log entries go: a seam, so that the loop never writes one itself.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jetmem {

// Critical: an alert of that severity; nothing else is.
enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarning, kError, kCritical };

struct LogEntry {
  LogLevel level = LogLevel::kInfo;
  // One line, made printable by whoever puts foreign text into it.
  std::string message;
  // Structured fields for the journal: {"JETMEM_SOURCE", "thermal"}.
  std::vector<std::pair<std::string, std::string>> fields;
  // Written whatever the level that is logged.
  bool always = false;
};

class Log {
 public:
  virtual ~Log() = default;
  // Takes the entry without blocking; what cannot be taken is counted, not waited for.
  virtual void write(LogEntry entry) = 0;

  using Fields = std::initializer_list<std::pair<std::string, std::string>>;
  void debug(std::string message, Fields fields = {}) { put(LogLevel::kDebug, message, fields); }
  void info(std::string message, Fields fields = {}) { put(LogLevel::kInfo, message, fields); }
  void warning(std::string message, Fields fields = {}) {
    put(LogLevel::kWarning, message, fields);
  }
  void error(std::string message, Fields fields = {}) { put(LogLevel::kError, message, fields); }

 private:
  void put(LogLevel level, std::string& message, Fields fields) {
    write({level, std::move(message), {fields.begin(), fields.end()}, false});
  }
};

}  // namespace jetmem
