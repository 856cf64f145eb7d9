// SPDX-License-Identifier: Apache-2.0
// max_bytes, kept hard: so much for the file, so much for its WAL, the rest for what was set aside.
#include <algorithm>

#include "base/try.h"
#include "history/store/quarantine.h"
#include "history/store/store_connection.h"

namespace jetmem {
namespace {

constexpr std::uint64_t kFrame = HistoryStore::Connection::kPage + 24;
// The WAL's index: 32 KiB for each 4096 frames.
constexpr std::uint64_t kIndexBytes = 128 << 10;
constexpr std::uint64_t kMostWal = 8 << 20;
// Pages written again and again reach the file once for so much of the WAL: flash is spared.
constexpr std::uint64_t kCheckpointFrames = 384;

int count_frames(void* connection, sqlite3* /*db*/, const char* /*name*/, int frames) {
  static_cast<HistoryStore::Connection*>(connection)->wal_frames =
      static_cast<std::uint64_t>(frames);
  return SQLITE_OK;
}

}  // namespace

void HistoryStore::Connection::share_out() {
  const std::uint64_t gone = quarantined_bytes(options.file) + kIndexBytes;
  const std::uint64_t room = options.max_bytes > gone ? options.max_bytes - gone : 0;
  max_wal_bytes = std::min(room / 8 * 3, kMostWal);
  max_pages = (room - max_wal_bytes) / kPage;
}

Result<void> HistoryStore::Connection::bytes_free_in_wal(std::uint64_t pages) {
  if (pages * kFrame > max_wal_bytes) {
    return fail(Errc::kTooLarge, "history: so much at once does not fit into max_size");
  }
  if ((wal_frames + pages) * kFrame <= max_wal_bytes) return {};
  int logged = 0;
  int done = 0;
  const int code =
      sqlite3_wal_checkpoint_v2(db.get(), "main", SQLITE_CHECKPOINT_RESTART, &logged, &done);
  if (code == SQLITE_OK) {
    wal_frames = 0;
    return {};
  }
  if ((code & 0xff) != SQLITE_BUSY) return tl::unexpected(sqlite_error(db.get(), "history"));
  return fail(Errc::kUnavailable,
              "history: busy (another program has been reading the file for long, and what waits "
              "for it fills max_size)");
}

void HistoryStore::Connection::checkpoint() {
  sqlite3_wal_hook(db.get(), count_frames, this);
  const bool unknown = wal_frames == 0;
  if (!unknown && wal_frames < kCheckpointFrames) return;
  int logged = 0;
  int done = 0;
  // A failure is met again by who needs the room.
  if (sqlite3_wal_checkpoint_v2(db.get(), "main", SQLITE_CHECKPOINT_PASSIVE, &logged, &done) ==
      SQLITE_OK) {
    wal_frames = logged > 0 ? static_cast<std::uint64_t>(logged) : 0;
  }
  sqlite3_db_release_memory(db.get());
}

Result<void> HistoryStore::Connection::bytes_free_in_file(std::uint64_t pages, std::int64_t of_boot,
                                                          Nanoseconds now) {
  std::optional<BootTimes> times;
  for (;;) {
    JETMEM_ASSIGN(const auto used,
                  query_number(db.get(),
                               "SELECT (SELECT page_count FROM pragma_page_count) - "
                               "(SELECT freelist_count FROM pragma_freelist_count)"));
    if (static_cast<std::uint64_t>(used) + pages <= max_pages) return {};
    if (!times) {
      JETMEM_ASSIGN(times, BootTimes::load(db.get()));
    }
    JETMEM_ASSIGN(const auto dropped, drop_oldest(*times, of_boot, now));
    if (!dropped) {
      return fail(Errc::kTooLarge, "history: so much at once does not fit into max_size");
    }
  }
}

Result<bool> HistoryStore::Connection::shrink() {
  JETMEM_ASSIGN(const auto pages, query_number(db.get(), "PRAGMA page_count"));
  if (static_cast<std::uint64_t>(pages) <= max_pages) return false;
  // Moving a page writes it, and who points to it.
  const std::uint64_t batch = std::clamp<std::uint64_t>(max_wal_bytes / kFrame / 6, 16, 128);
  JETMEM_TRY(bytes_free_in_wal(3 * batch));
  {
    JETMEM_ASSIGN(auto transaction, Transaction::begin(db.get(), true));
    JETMEM_ASSIGN(const auto free, query_number(db.get(), "PRAGMA freelist_count"));
    if (free < static_cast<std::int64_t>(batch)) {
      JETMEM_ASSIGN(const auto times, BootTimes::load(db.get()));
      JETMEM_TRY(drop_oldest(times, boot ? boot->number : 0, Nanoseconds(0)));
    }
    JETMEM_TRY(run_sql(db.get(), "PRAGMA incremental_vacuum(" + std::to_string(batch) + ")"));
    JETMEM_TRY(transaction.commit());
  }
  // The file gets shorter only then.
  if (sqlite3_wal_checkpoint_v2(db.get(), "main", SQLITE_CHECKPOINT_RESTART, nullptr, nullptr) ==
      SQLITE_OK) {
    wal_frames = 0;
  }
  JETMEM_ASSIGN(const auto left, query_number(db.get(), "PRAGMA page_count"));
  return static_cast<std::uint64_t>(left) > max_pages && left < pages;
}

std::uint64_t HistoryStore::bytes() const {
  const std::string& file = connection_->options.file;
  return file_bytes(file) + file_bytes(file + "-wal") + file_bytes(file + "-shm") +
         quarantined_bytes(file);
}

std::uint64_t HistoryStore::windows_cut() const { return connection_->windows_cut; }

}  // namespace jetmem
