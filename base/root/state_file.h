// SPDX-License-Identifier: Apache-2.0
// A small file in the daemon's runtime directory that a restart within one boot reads back. The
// directory is memory: nothing here waits for a disk. The first line has the format and the boot,
// the rest is the user's:
//
//   {"format":1,"boot_id":"5b0f..."}
//   {"last_seq":4711,...}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"

namespace jetmem {

struct StateFileOptions {
  std::string directory;  // or boot_id empty: nothing is kept
  std::string_view name;  // a literal
  std::string boot_id;
  std::string_view what;  // for the log: "alerts"
  int format = 1;
  std::size_t max_bytes = 64U << 10;
};

class StateFile {
 public:
  StateFile(const StateFileOptions& options, Log& log);

  bool is_enabled() const { return !path_.empty(); }
  std::string_view name() const { return name_; }

  // What a daemon of this boot stored last, as `parse` (std::string_view to Result<T>) reads it.
  // Nothing if there is none; logs why a file that exists cannot be used.
  template <class Parse>
  auto load(const Parse& parse)
      -> std::optional<typename decltype(parse(std::string_view()))::value_type> {
    const auto text = read();
    if (!text) return std::nullopt;
    auto fields = parse(std::string_view(*text));
    if (fields) return std::move(*fields);
    log_unusable(fields.error().message);
    return std::nullopt;
  }

  // Replaces the file atomically. Logs the first failure, and that it works again.
  void store(std::string_view fields);
  // What cannot even be attempted: counted and logged in the same way.
  void cannot_store(const std::string& why);
  // Read or understood, but not valid.
  void log_unusable(const std::string& why);

  bool last_store_failed() const { return store_failed_; }
  // Times that it could not be written, read or understood.
  std::uint64_t failures() const { return failures_; }

 private:
  std::optional<std::string> read();

  const std::string_view name_;
  const std::string path_;
  const std::string head_;
  const std::string what_;
  const std::size_t max_bytes_;
  Log& log_;
  bool store_failed_ = false;
  std::uint64_t failures_ = 0;
};

}  // namespace jetmem
