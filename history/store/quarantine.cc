// SPDX-License-Identifier: Apache-2.0
#include "history/store/quarantine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/try.h"

namespace jetmem {
namespace {

constexpr std::array<int, 2> kSlots{1, 2};

std::string slot_name(const std::string& file, QuarantineReason why, int slot) {
  return file + (why == QuarantineReason::kDamaged ? ".damaged-" : ".newer-") +
         std::to_string(slot);
}

std::uint64_t bytes_with_wal(const std::string& file) {
  return file_bytes(file) + file_bytes(file + "-wal");
}

std::int64_t changed_at(const std::string& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) return 0;
  // ctime: the rename changes it, a damaged content's mtime may be anything.
  return status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
}

void take_away(const std::string& file, std::vector<std::string>& messages) {
  ::unlink((file + "-wal").c_str());
  if (::unlink(file.c_str()) == 0) messages.push_back("removed " + file + ", quarantined earlier");
}

std::optional<std::string> oldest_damaged(const std::string& file) {
  std::optional<std::string> oldest;
  for (const int slot : kSlots) {
    const std::string name = slot_name(file, QuarantineReason::kDamaged, slot);
    if (file_exists(name) && (!oldest || changed_at(name) < changed_at(*oldest))) oldest = name;
  }
  return oldest;
}

}  // namespace

bool file_exists(const std::string& file) {
  struct stat status {};
  return ::lstat(file.c_str(), &status) == 0;
}

Result<bool> remove_if_there(const std::string& file) {
  struct stat status {};
  // A disk that is read-only refuses to remove also what is not there.
  if (::lstat(file.c_str(), &status) != 0 && errno == ENOENT) return false;
  if (::unlink(file.c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  return tl::unexpected(errno_error("remove", file, errno));
}

std::uint64_t file_bytes(const std::string& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

Result<std::string> quarantine(const std::string& file, QuarantineReason why,
                               std::vector<std::string>& messages) {
  std::string name;
  for (const int slot : kSlots) {
    const std::string each = slot_name(file, why, slot);
    struct stat status {};
    if (::lstat(each.c_str(), &status) == 0) continue;
    if (errno != ENOENT) return tl::unexpected(errno_error("look at", each, errno));
    name = each;
    break;
  }
  if (name.empty() && why == QuarantineReason::kDamaged) {
    const auto oldest = oldest_damaged(file);
    if (!oldest) return fail(Errc::kIo, "cannot tell which quarantined " + file + " is the oldest");
    name = *oldest;
    take_away(name, messages);
  }
  if (name.empty()) {
    return fail(Errc::kInvalid, file +
                                    " is of a newer jetmem, and two such are quarantined already: "
                                    "move them away");
  }
  JETMEM_TRY(remove_if_there(file + "-shm"));
  // The WAL first: a database is never left with another's.
  JETMEM_TRY(remove_if_there(name + "-wal"));
  if (::rename((file + "-wal").c_str(), (name + "-wal").c_str()) != 0 && errno != ENOENT)
    return tl::unexpected(errno_error("quarantine", file + "-wal", errno));
  if (::rename(file.c_str(), name.c_str()) != 0) {
    const int error = errno;
    ::rename((name + "-wal").c_str(), (file + "-wal").c_str());
    return tl::unexpected(errno_error("quarantine", file, error));
  }
  return name;
}

std::uint64_t quarantined_bytes(const std::string& file) {
  std::uint64_t bytes = 0;
  for (const int slot : kSlots) {
    bytes += bytes_with_wal(slot_name(file, QuarantineReason::kDamaged, slot));
    bytes += bytes_with_wal(slot_name(file, QuarantineReason::kNewer, slot));
  }
  return bytes;
}

void limit_quarantine(const std::string& file, std::uint64_t most,
                      std::vector<std::string>& messages) {
  while (quarantined_bytes(file) > most) {
    const auto oldest = oldest_damaged(file);
    if (!oldest) return;
    take_away(*oldest, messages);
    if (file_exists(*oldest)) return;
  }
}

}  // namespace jetmem
