// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/history_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "base/process/bounded_child.h"
#include "base/text/units.h"
#include "cli/bundle/redact.h"
#include "cli/bundle/reduce_log.h"
#include "cli/draw/number_text.h"
#include "history/store/schema.h"
#include "history/store/sqlite.h"
#include "history/store/store.h"

namespace jetmem {
namespace {

constexpr int kBusyMs = 5000;
constexpr std::uint64_t kPage = 4096;
// Nobody needs the copy after a crash: no journal, and nothing is forced to the disk. A page cache
// of 1 MiB.
constexpr const char* kSettings =
    "PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
    "PRAGMA cache_size=-1024; PRAGMA temp_store=MEMORY;";

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string uri_of(const HistoryCopyOptions& needed) {
  constexpr const char* kHex = "0123456789ABCDEF";
  std::string out = "file:";
  for (const char c : needed.file) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || c == '?' || c == '#' || byte < 0x21) {
      out.append("%").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 15U]);
    } else {
      out += c;
    }
  }
  std::error_code ignored;
  const bool has_wal = std::filesystem::file_size(needed.file + "-wal", ignored) > 0 && !ignored;
  // SQLite must not create files beside a file that has no writer.
  return out + (needed.live || has_wal ? "?mode=ro" : "?mode=ro&immutable=1");
}

// The file as it is called now, whatever led to it.
Result<std::string> name_of(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  std::error_code error;
  std::string name = std::filesystem::read_symlink(link, error).string();
  if (error) return tl::unexpected(errno_error("read link", link, error.value()));
  return name;
}

// SQLite opens by name: that it has the same file, before anything is written.
Result<void> check_open_twice(int fd) {
  struct stat ours {};
  if (::fstat(fd, &ours) != 0)
    return tl::unexpected(errno_error("make", "a copy of the history", errno));
  int count = 0;
  std::optional<Error> unknown;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error)) {
    struct stat other {};
    if (::stat(at->path().c_str(), &other) != 0) {
      if (errno != ENOENT) unknown = errno_error("look at", at->path().string(), errno);
    } else if (other.st_ino == ours.st_ino && other.st_dev == ours.st_dev) {
      ++count;
    }
  }
  if (error) return tl::unexpected(errno_error("list", "/proc/self/fd", error.value()));
  if (count >= 2) return {};
  if (unknown) {
    return tl::unexpected(
        std::move(*unknown).within("cannot tell whether another user moved the folder"));
  }
  return fail(Errc::kDenied, "make a copy of the history: another user moved its folder");
}

std::string text_of(sqlite3_value* value) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

void redact_event(sqlite3_context* context, sqlite3_value** values, bool fields) {
  auto& counts = *static_cast<Redacted*>(sqlite3_user_data(context));
  const EventTexts less = reduce_event(text_of(values[0]), text_of(values[1]));
  const std::string out =
      fields ? redact_json(less.fields, counts, -1) : redact_text(less.summary, counts);
  sqlite3_result_text(context, out.data(), static_cast<int>(out.size()), SQLITE_TRANSIENT);
}
void redact_fields_of(sqlite3_context* context, int, sqlite3_value** values) {
  redact_event(context, values, true);
}
void redact_summary_of(sqlite3_context* context, int, sqlite3_value** values) {
  redact_event(context, values, false);
}
void redact_subject_of(sqlite3_context* context, int, sqlite3_value** values) {
  auto& counts = *static_cast<Redacted*>(sqlite3_user_data(context));
  const std::string out = redact_text(text_of(values[0]), counts);
  sqlite3_result_text(context, out.data(), static_cast<int>(out.size()), SQLITE_TRANSIENT);
}

// Times are of a boot's own clock, so each boot is cut to its last hours: how long ago an earlier
// one ended is not for sure, and it is mostly the one that matters.
Result<void> take(sqlite3* db, std::chrono::seconds keep, HistoryCopy& out) {
  const std::string ns = std::to_string(std::chrono::nanoseconds(keep).count());
  const std::string since = "(SELECT b.last FROM boots b WHERE b.number = x.boot) - " + ns;
  std::string sql;
  for (const char* table : {"facts", "boots", "looks", "series"}) {
    sql.append("INSERT INTO main.").append(table).append(" SELECT * FROM old.").append(table) +=
        ";";
  }
  sql += "INSERT INTO main.chunks SELECT * FROM old.chunks x WHERE x.last >= " + since + ";";
  for (const char* table : {"raw", "minutes", "quarters"}) {
    sql.append("INSERT INTO main.").append(table) +=
        std::string(" SELECT r.* FROM main.chunks c CROSS JOIN old.") + table +
        " r WHERE r.id >= (c.number << 24) AND r.id < ((c.number + 1) << 24);";
  }
  sql +=
      "INSERT INTO main.events SELECT id, boot, what, kind, severity, origin, "
      "jetmem_subject(subject), jetmem_summary(fields, summary), jetmem_fields(fields, summary), "
      "at, wall, "
      "placed, count, until FROM old.events x WHERE max(x.placed, ifnull(x.until, x.placed)) >= " +
      since + ";";
  // One moment of the file, whatever is written to it meanwhile.
  auto transaction = Transaction::begin(db, true);
  if (!transaction) return tl::unexpected(std::move(transaction.error()));
  // What is attached need not be the file that was looked at before.
  if (auto ok = check_tables(db, "old"); !ok) return ok;
  if (auto ok = run_sql(db, sql); !ok) return ok;
  const auto before = query_number(db, "SELECT count(*) FROM old.events");
  const auto after = query_number(db, "SELECT count(*) FROM main.events");
  if (before && after) out.events_cut = static_cast<std::uint64_t>(*before - *after);
  return transaction->commit();
}

Result<void> check_space(const HistoryCopyOptions& needed, std::uint64_t size) {
  const std::string folder = std::filesystem::path(needed.beside).parent_path().string();
  struct statvfs disk {};
  if (::statvfs(folder.empty() ? "." : folder.c_str(), &disk) != 0) return {};
  const std::uint64_t most = std::min(size, needed.max_bytes);
  if (std::uint64_t{disk.f_bavail} * disk.f_frsize >= 2 * most + (8U << 20)) return {};
  return fail(Errc::kIo, "no room on the disk for a copy of " + bytes_text(most));
}

}  // namespace

Result<HistoryCopy> copy_history(const HistoryCopyOptions& needed) {
  struct stat info {};
  if (::stat(needed.file.c_str(), &info) != 0) {
    return tl::unexpected(errno_error("open", needed.file, errno));
  }
  if (!S_ISREG(info.st_mode)) return fail(Errc::kMalformed, needed.file + " is not a regular file");
  if (auto ok = check_space(needed, static_cast<std::uint64_t>(info.st_size)); !ok) {
    return tl::unexpected(std::move(ok.error()));
  }
  // That it is one of ours, of tables and nothing that would run by itself.
  const auto accepted = run_bounded({}, [&]() -> Result<std::string> {
    auto store = HistoryStore::open_to_read(needed.file);
    if (!store) return tl::unexpected(std::move(store.error()));
    return {};
  });
  if (!accepted) return tl::unexpected(accepted.error());
  if (!*accepted) return tl::unexpected(accepted->error());
  HistoryCopy out;
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  out.fd = UniqueFd(::open(needed.beside.c_str(), kFlags, 0600));
  if (!out.fd.valid()) return tl::unexpected(errno_error("make", "a copy of the history", errno));
  struct Remove {
    const std::string& name;
    ~Remove() { ::unlink(name.c_str()); }
  } remove{needed.beside};
  const auto name = name_of(out.fd.get());
  if (!name) return tl::unexpected(name.error());
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(
      name->c_str(), &raw,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
      nullptr);
  const SqliteHandle db(raw);
  if (opened != SQLITE_OK) return tl::unexpected(sqlite_error(raw, "make a copy of the history"));
  if (auto ok = check_open_twice(out.fd.get()); !ok) return tl::unexpected(std::move(ok.error()));
  sqlite3_busy_timeout(raw, kBusyMs);
  const std::uint64_t pages = std::max<std::uint64_t>(needed.max_bytes / kPage, 64);
  Result<void> ok = run_sql(raw, kSettings);
  if (ok) ok = run_sql(raw, "PRAGMA max_page_count=" + std::to_string(pages));
  if (ok) ok = create_tables(raw);
  // Only now: it forbids a database without a journal.
  harden(raw);
  constexpr int kPure = SQLITE_UTF8 | SQLITE_DIRECTONLY;
  sqlite3_create_function(raw, "jetmem_subject", 1, kPure, &out.redacted, redact_subject_of,
                          nullptr, nullptr);
  sqlite3_create_function(raw, "jetmem_summary", 2, kPure, &out.redacted, redact_summary_of,
                          nullptr, nullptr);
  sqlite3_create_function(raw, "jetmem_fields", 2, kPure, &out.redacted, redact_fields_of, nullptr,
                          nullptr);
  if (ok) ok = run_sql(raw, "ATTACH " + quoted(uri_of(needed)) + " AS old");
  if (ok) ok = take(raw, needed.keep, out);
  if (!ok) {
    const bool is_full = (sqlite3_extended_errcode(raw) & 0xff) == SQLITE_FULL;
    if (!is_full) return tl::unexpected(std::move(ok.error()).within("copy the history"));
    return fail(Errc::kTooLarge, "its last " + format_duration(needed.keep) + " exceed the " +
                                     bytes_text(needed.max_bytes) +
                                     " of free space, or the disk is full");
  }
  if (::fstat(out.fd.get(), &info) != 0) {
    return tl::unexpected(errno_error("read", "a copy of the history", errno));
  }
  out.size = static_cast<std::uint64_t>(info.st_size);
  if (out.size > needed.max_bytes) {
    return fail(Errc::kTooLarge, "the history is " + bytes_text(out.size) +
                                     ", more than the remaining " + bytes_text(needed.max_bytes));
  }
  return out;
}

}  // namespace jetmem
