// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text/text.h"
#include "base/try.h"
#include "base/unique_fd.h"
#include "history/store/cut_mapping.h"
#include "history/store/quarantine.h"
#include "history/store/schema.h"
#include "history/store/store_connection.h"

namespace jetmem {
namespace {

// Pages of a connection's cache. SQLite allocates them as one block, and malloc maps a block of
// this size by itself (daemon/main.cc): pages allocated one by one fragment the heap.
constexpr int kCachePages = 32;

// SQLite writes into what lies beside a database that is only read, and gives it to the database's
// owner: where that is another user, it must not be a file of ours under a second name.
Result<void> check_beside(const std::string& file, uid_t owner) {
  if (owner == ::geteuid()) return {};
  for (const char* end : {"-wal", "-shm"}) {
    struct stat status {};
    if (::lstat((file + end).c_str(), &status) != 0) continue;
    if (!S_ISREG(status.st_mode) || status.st_nlink > 1) {
      return fail(Errc::kNotRegular,
                  file + end +
                      " is no regular file of one name, and not this user's: it is not written to; "
                      "read the history as the user whose it is");
    }
  }
  return {};
}

// The name of a new file is safe from a loss of power only once its directory is.
void sync_directory_of(const std::string& file) {
  const auto slash = file.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) ::fsync(fd.get());
}

// A name as "file:" takes it.
std::string uri_of(const std::string& file) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string uri = "file:";
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= 'a' && byte <= 'z') || c == '/' || c == '.' || c == '-' || c == '_';
    if (plain) {
      uri.push_back(c);
    } else {
      (uri += '%').push_back(kHex[byte >> 4]);
      uri.push_back(kHex[byte & 15U]);
    }
  }
  return uri + "?immutable=1";
}

int stop_when_late(void* connection) {
  const auto deadline = *static_cast<std::chrono::steady_clock::time_point*>(connection);
  return std::chrono::steady_clock::now() > deadline ? 1 : 0;
}

// A transaction that may have missed rows of the WAL is not committed.
int refuse_after_cut(void* at_open) {
  return cut_mappings() == *static_cast<std::uint64_t*>(at_open) ? 0 : 1;
}

// Zeros both copies of the index's header, so that whoever looks next makes all of it anew. Closing
// the file lets go of this process's locks on it: only on behalf of who used it while it was cut.
void spoil_wal_index(const std::string& file) {
  constexpr char kZeros[2 * 48] = {};  // of SQLite's WalIndexHdr, https://sqlite.org/walformat.html
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  const bool is_ours = fd.valid() && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                       status.st_nlink == 1 && status.st_uid == ::geteuid();
  if (is_ours) (void)!::pwrite(fd.get(), kZeros, sizeof kZeros, 0);
}

Result<void> quick_check(sqlite3* db) {
  Query query(db, "PRAGMA quick_check(1)");
  JETMEM_ASSIGN(const auto row, query.next());
  if (row && query.text(0) == "ok") return {};
  return fail(Errc::kMalformed, "check: " + printable(query.text(0)));
}

}  // namespace

void HistoryStore::Connection::close() {
  if (db && (to_read || damaged_)) {
    sqlite3_db_config(db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  } else if (db) {
    // SQLite leaves it to the last that closes, and that may be one who reads: whoever carries the
    // file away without its WAL is to have all of it.
    sqlite3_wal_checkpoint_v2(db.get(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  }
  db.reset();
}

Result<HistoryStore::Connection::Identity> HistoryStore::Connection::snapshot() const {
  struct stat status {};
  if (::lstat(options.file.c_str(), &status) != 0) {
    if (errno == ENOENT) return Identity{};
    return tl::unexpected(errno_error("open", options.file, errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(Errc::kNotRegular, options.file + " is no regular file");
  }
  Identity identity{status.st_dev, status.st_ino, 0, 0, 0, 0};
  if (immutable_) {
    identity.changed = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    identity.bytes = static_cast<std::uint64_t>(status.st_size);
  }
  const std::string wal = options.file + "-wal";
  if (::lstat(wal.c_str(), &status) == 0) {
    identity.wal = status.st_ino;
    if (immutable_) identity.wal_bytes = static_cast<std::uint64_t>(status.st_size);
  } else if (errno != ENOENT) {
    return tl::unexpected(errno_error("open", wal, errno));
  }
  return identity;
}

Result<void> HistoryStore::Connection::connect(const std::string& name, int flags) {
  survive_cut_mappings();
  cut_mappings_ = cut_mappings();
  // Takes effect only before SQLite is first used; after that, a block has 20 pages.
  static const int configured = sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, kCachePages);
  (void)configured;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  db.reset(opened);
  if (code != SQLITE_OK) {
    Error error = sqlite_error(opened, "open " + options.file);
    db.reset();
    return tl::unexpected(std::move(error));
  }
  sqlite3_commit_hook(opened, refuse_after_cut, &cut_mappings_);
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, 2000);
  harden(opened);
  sqlite3_limit(opened, SQLITE_LIMIT_ATTACHED, 0);
  return run_sql(opened,
                 "PRAGMA cell_size_check=ON; PRAGMA cache_size=" + std::to_string(kCachePages) +
                     "; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0");
}

Result<void> HistoryStore::Connection::open_to_write() {
  damaged_ = false;
  // Once to find it damaged, once for the new one.
  for (int attempt = 0;; ++attempt) {
    auto opened = open_once();
    if (opened) break;
    const bool newer = opened.error().code == Errc::kInvalid;
    if (attempt > 0 || (!newer && opened.error().code != Errc::kMalformed)) {
      db.reset();
      return opened;
    }
    damaged_ = true;
    close();
    const auto why = newer ? QuarantineReason::kNewer : QuarantineReason::kDamaged;
    JETMEM_ASSIGN(const auto name, jetmem::quarantine(options.file, why, messages));
    damaged_ = false;
    ++aside;
    messages.push_back(opened.error().message + ": quarantined as " + name +
                       "; started a new file");
  }
  JETMEM_ASSIGN(identity_, snapshot());
  return begin_boot_again();
}

Result<void> HistoryStore::Connection::open_once() {
  JETMEM_ASSIGN(const auto identity, snapshot());
  const bool is_new = identity.file == 0;
  if (is_new) {
    JETMEM_TRY(remove_if_there(options.file + "-shm"));
    JETMEM_ASSIGN(const bool had_wal, remove_if_there(options.file + "-wal"));
    if (had_wal) {
      messages.push_back(options.file +
                         "-wal was left without its database and is of no use: removed");
    }
  }
  limit_quarantine(options.file, options.max_bytes / 4 * 3, messages);
  share_out();
  if (max_pages < 128) {
    return fail(Errc::kTooLarge, options.file + ": quarantined files leave no room within " +
                                     std::to_string(options.max_bytes) + " bytes");
  }
  JETMEM_TRY(connect(options.file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  if (sqlite3_db_readonly(db.get(), "main") == 1) {
    return fail(Errc::kDenied, options.file + ": read-only");
  }
  auto prepared = prepare();
  if (!prepared) return tl::unexpected(std::move(prepared.error()).within(options.file));
  if (is_new) sync_directory_of(options.file);
  return {};
}

Result<void> HistoryStore::Connection::prepare() {
  JETMEM_ASSIGN(const auto tables, query_number(db.get(), "SELECT count(*) FROM sqlite_master"));
  const bool empty = tables == 0;
  if (!empty) {
    JETMEM_ASSIGN(const auto application, query_number(db.get(), "PRAGMA application_id"));
    if (application != kApplicationId)
      return fail(Errc::kMalformed, "a database of another program");
    JETMEM_ASSIGN(const auto version, query_number(db.get(), "PRAGMA user_version"));
    if (version > kSchema) {
      return fail(Errc::kInvalid, "written by a newer jetmem (schema " + std::to_string(version) +
                                      ", known up to " + std::to_string(kSchema) + ")");
    }
    // Before anything runs over its rows.
    if (version < kSchema) {
      return fail(Errc::kMalformed,
                  "schema " + std::to_string(version) + ", expected " + std::to_string(kSchema));
    }
    JETMEM_TRY(drop_additions(db.get(), messages));
    JETMEM_TRY(quick_check(db.get()));
  } else {
    JETMEM_TRY(run_sql(db.get(), "PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL"));
  }
  // FULL: a commit is on the disk when it returns. secure_delete, which distributions switch on,
  // would write each page once more when it is dropped.
  int keep = 1;
  sqlite3_file_control(db.get(), "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
  JETMEM_TRY(run_sql(db.get(),
                     "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
                     "PRAGMA secure_delete=OFF; PRAGMA wal_autocheckpoint=0; "
                     "PRAGMA journal_size_limit=" +
                         std::to_string(std::min<std::uint64_t>(max_wal_bytes, 1 << 20)) +
                         "; PRAGMA max_page_count=" + std::to_string(max_pages)));
  if (empty) {
    JETMEM_TRY(create_tables(db.get()));
  }
  JETMEM_TRY(drop_additions(db.get(), messages));
  Query step(db.get(),
             "INSERT INTO facts(name, value) VALUES('raw_step', ?) ON CONFLICT(name) DO "
             "UPDATE SET value=excluded.value WHERE value<>excluded.value");
  JETMEM_TRY(step.bind(options.raw_step.count()).run());
  JETMEM_ASSIGN(const auto bytes,
                query_number(db.get(),
                             "SELECT total(length(subject)+length(summary)+length(fields)+64) "
                             "FROM events"));
  event_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
  checkpoint();
  return {};
}

Result<void> HistoryStore::Connection::begin_boot_again() {
  if (!boot) return {};
  JETMEM_ASSIGN(boot->number, put_boot(boot->id, boot->given));
  return put_clock_reading(boot->number, boot->seen);
}

Result<void> HistoryStore::Connection::open_to_read() {
  to_read = true;
  immutable_ = false;
  struct stat status {};
  if (::lstat(options.file.c_str(), &status) != 0) {
    return tl::unexpected(errno_error("open", options.file, errno));
  }
  // Without a WAL there is nobody who writes, and nothing may be made beside it: it is read as it
  // lies there. Should a writer come, ready() sees the WAL.
  immutable_ = file_bytes(options.file + "-wal") == 0;
  JETMEM_TRY(check_beside(options.file, status.st_uid));
  JETMEM_ASSIGN(identity_, snapshot());
  JETMEM_TRY(immutable_ ? connect(uri_of(options.file), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
                        : connect(options.file, SQLITE_OPEN_READONLY));
  deadline = std::chrono::steady_clock::now() + kTimeout;
  sqlite3_progress_handler(db.get(), 10'000, stop_when_late, &deadline);
  const auto application = query_number(db.get(), "PRAGMA application_id");
  if (!application) {
    Error error = application.error();
    if (error.code != Errc::kMalformed && !immutable_) {
      error.message +=
          "; beside it lies a WAL, which is read only where its directory is writable "
          "or the recorder runs";
    }
    db.reset();
    return tl::unexpected(std::move(error).within(options.file));
  }
  Result<void> good;
  const auto version = query_number(db.get(), "PRAGMA user_version");
  if (!version) {
    good = tl::unexpected(version.error());
  } else if (*application != kApplicationId) {
    good = fail(Errc::kMalformed, "no history of jetmem");
  } else if (*version != kSchema) {
    good = fail(Errc::kInvalid, "schema " + std::to_string(*version) + ", expected " +
                                    std::to_string(kSchema) +
                                    (*version > kSchema ? ": a newer jetmem reads it" : ""));
  } else {
    good = check_tables(db.get());
  }
  if (good) return {};
  db.reset();
  return tl::unexpected(std::move(good.error()).within(options.file));
}

Result<void> HistoryStore::Connection::ready() {
  survive_cut_mappings();
  if (db && cut_mappings() != cut_mappings_) {
    messages.push_back(options.file +
                       "-shm was cut short by somebody: SQLite makes it anew from the WAL");
    damaged_ = false;
    sqlite3_db_config(db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    db.reset();
    spoil_wal_index(options.file + "-shm");
  }
  JETMEM_ASSIGN(const auto now, snapshot());
  if (to_read) {
    deadline = std::chrono::steady_clock::now() + kTimeout;
    if (db && now.device == identity_.device && now.file == identity_.file &&
        (!immutable_ || now == identity_)) {
      return {};
    }
    close();
    return open_to_read();
  }
  const bool same = now.device == identity_.device && now.file == identity_.file;
  if (db && same && !damaged_) return {};
  if (!same) {
    if (db) {
      lost_ = now.file == 0 ? " was deleted: a new one begun"
                            : " was replaced: the one there now is used";
    }
    // Its checkpoint would go to a file that nobody sees, and a WAL left behind would be taken for
    // the new one's.
    damaged_ = true;
    close();
    damaged_ = false;
    if (now.wal != 0 && now.wal == identity_.wal) {
      JETMEM_TRY(remove_if_there(options.file + "-shm"));
      JETMEM_TRY(remove_if_there(options.file + "-wal"));
    }
  } else if (damaged_) {
    close();
  }
  const bool was_damaged = same && damaged_;
  const std::uint64_t quarantined_before = aside;
  damaged_ = false;
  if (auto opened = open_to_write(); !opened) {
    damaged_ = was_damaged;
    return opened;
  }
  if (!lost_.empty()) messages.push_back(options.file + std::exchange(lost_, {}));
  // The quick check at opening does not see everything: what was found damaged in use, goes.
  if (was_damaged && aside == quarantined_before) {
    damaged_ = true;
    close();
    JETMEM_ASSIGN(const auto name,
                  jetmem::quarantine(options.file, QuarantineReason::kDamaged, messages));
    ++aside;
    messages.push_back(options.file + " is damaged: quarantined as " + name +
                       "; started a new file");
    return open_to_write();
  }
  return {};
}

Result<HistoryStore::Opened> HistoryStore::open(Options options) {
  auto connection = std::make_unique<Connection>(std::move(options));
  JETMEM_TRY(connection->open_to_write());
  Opened opened;
  opened.quarantine = connection->aside != 0;
  opened.messages = std::move(connection->messages);
  connection->messages.clear();
  opened.store.reset(new HistoryStore(std::move(connection)));
  return opened;
}

Result<std::unique_ptr<HistoryStore>> HistoryStore::open_to_read(const std::string& file) {
  Options options;
  options.file = file;
  auto connection = std::make_unique<Connection>(std::move(options));
  JETMEM_TRY(connection->open_to_read());
  return std::unique_ptr<HistoryStore>(new HistoryStore(std::move(connection)));
}

HistoryStore::HistoryStore(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
HistoryStore::~HistoryStore() = default;

std::vector<std::string> HistoryStore::take_messages() {
  return std::exchange(connection_->messages, {});
}
std::uint64_t HistoryStore::quarantine() const { return connection_->aside; }

std::string HistoryStore::check() {
  if (auto ready = connection_->ready(); !ready) return ready.error().message;
  Query query(connection_->db.get(), "PRAGMA integrity_check(1)");
  const auto row = query.next();
  if (!row) return row.error().message;
  return printable(query.text(0));
}

}  // namespace jetmem
