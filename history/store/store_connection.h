// SPDX-License-Identifier: Apache-2.0
// What a HistoryStore holds open; only the files store_*.cc know it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history/store/boot_times.h"
#include "history/store/cut_mapping.h"
#include "history/store/sqlite.h"
#include "history/store/store.h"

namespace jetmem {

struct HistoryStore::Connection {
  static constexpr std::uint64_t kPage = 4096;

  explicit Connection(Options of) : options(std::move(of)) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(); }

  Options options;
  SqliteHandle db;
  bool to_read = false;
  std::vector<std::string> messages;
  std::uint64_t aside = 0;

  // store_open.cc
  Result<void> open_to_write();
  Result<void> open_to_read();
  // Before each use: the file is still the one at its path, else it is opened again.
  Result<void> ready();
  void close();
  // Calls `f` with the file ready, and notes whether it found the file damaged.
  template <class F>
  auto use(const F& f) -> decltype(f()) {
    auto opened = ready();
    auto result = opened ? f() : tl::unexpected(std::move(opened).error());
    if (result && to_read && cut_mappings() != cut_mappings_) {
      result = fail(Errc::kIo, options.file + "-shm was cut short while it was read");
    }
    if (!result && result.error().code == Errc::kMalformed) damaged_ = true;
    return result;
  }

  // store_space.cc: the budget. Pages of a transaction that writes `bytes` of rows.
  void share_out();
  static std::uint64_t pages_for(std::size_t bytes) { return bytes / 3400 + 96; }
  // Before a transaction: there is room for it in the WAL, else a checkpoint makes it.
  Result<void> bytes_free_in_wal(std::uint64_t pages);
  // Within a transaction: pages are free within max_bytes, else the oldest goes.
  Result<void> bytes_free_in_file(std::uint64_t pages, std::int64_t boot, Nanoseconds now);
  // After one: what is in the WAL goes to the file now and then.
  void checkpoint();
  Result<bool> shrink();
  std::uint64_t max_pages = 0;
  std::uint64_t max_wal_bytes = 0;
  std::uint64_t wal_frames = 0;

  // store_write.cc
  struct Encoded {
    struct Column {
      std::int64_t series = 0;
      std::size_t at = 0;
      std::size_t size = 0;
    };
    std::string bytes;
    std::vector<Column> columns;
  };
  Result<void> insert_chunk(Resolution resolution, std::int64_t boot,
                            const std::vector<Nanoseconds>& times, Encoded& encoded);

  // store_retention.cc: chunks and events that are too old; true: there may be more.
  Result<bool> drop_old(std::int64_t boot, Nanoseconds now);
  Result<bool> drop_oldest(const BootTimes& times, std::int64_t boot, Nanoseconds now);
  Result<void> forget_unused(std::int64_t boot);
  std::uint64_t event_bytes = 0;
  bool may_forget = true;

  // store_maintenance.cc
  Result<bool> roll_up(std::int64_t boot, Nanoseconds now);
  Result<void> roll_up_window(const BootTime& boot, Resolution to, Nanoseconds begin,
                              Nanoseconds end, std::int64_t current, Nanoseconds now);
  bool logged_damaged_column = false;
  std::uint64_t windows_cut = 0;

  // The boot that is being written, to be begun again in a new file. `given` is its number for the
  // caller, `number` in this file.
  struct Boot {
    std::string id;
    std::int64_t given = 0;
    std::int64_t number = 0;
    WallSeen seen;
  };
  std::optional<Boot> boot;
  std::int64_t number_of(std::int64_t given) const {
    return boot && boot->given == given ? boot->number : given;
  }
  Result<std::int64_t> put_boot(std::string_view id, std::int64_t needed);
  Result<void> put_clock_reading(std::int64_t number, const WallSeen& seen);

  // A question takes at most this long, whatever the file makes of it.
  static constexpr std::chrono::seconds kTimeout{2};
  std::chrono::steady_clock::time_point deadline;

 private:
  struct Identity {
    dev_t device = 0;
    ino_t file = 0;
    ino_t wal = 0;
    // Of a file that is read as one that nobody writes.
    std::int64_t changed = 0;
    std::uint64_t bytes = 0;
    std::uint64_t wal_bytes = 0;
    bool operator==(const Identity&) const = default;
  };
  Result<Identity> snapshot() const;
  Result<void> connect(const std::string& name, int flags);
  Result<void> open_once();
  Result<void> prepare();
  Result<void> begin_boot_again();
  Identity identity_;
  std::string lost_;  // how the last database was lost; reported once one is open again
  bool immutable_ = false;
  bool damaged_ = false;
  std::uint64_t cut_mappings_ = 0;  // when it was opened
};

}  // namespace jetmem
