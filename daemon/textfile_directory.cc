#include "daemon/textfile_directory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/result.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace jetmem {
namespace {

using Done = tl::expected<void, TextfileTrouble>;

TextfileFailure failure_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return TextfileFailure::kMissing;
    case EACCES:
    case EPERM:
      return TextfileFailure::kDenied;
    case EROFS:
      return TextfileFailure::kReadOnly;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return TextfileFailure::kFull;
    case EEXIST:
      return TextfileFailure::kForeign;
    case EWOULDBLOCK:
      return TextfileFailure::kBusy;
    default:
      return TextfileFailure::kOther;
  }
}

// 0, or errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return EIO;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace

std::string_view textfile_failure_name(TextfileFailure failure) {
  constexpr std::array<std::string_view, kTextfileFailures> kNames{
      "missing", "denied", "read_only", "full", "foreign", "busy", "other"};
  return kNames[static_cast<std::size_t>(failure)];
}

TextfileTrouble TextfileDirectory::trouble(const char* operation, const char* name,
                                           int error) const {
  std::string at = path_;
  if (*name != '\0') at.append("/").append(name);
  return {failure_of(error), errno_error(operation, printable(at), error).message};
}

Done TextfileDirectory::write(std::string_view text) {
  const UniqueFd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return tl::unexpected(trouble("open", "", errno));
  const auto locked = lock(directory.get());
  if (!locked) return tl::unexpected(locked.error());
  struct statfs system {};
  on_disk_ = ::fstatfs(directory.get(), &system) == 0 && system.f_type != TMPFS_MAGIC &&
             system.f_type != RAMFS_MAGIC;
  auto done = write_in(directory.get(), text);
  if (!done && done.error().failure == TextfileFailure::kFull &&
      remove_in(directory.get(), kName)) {
    done = write_in(directory.get(), text);
  }
  return done;
}

TextfileDirectory::Lock::~Lock() {
  if (file.valid()) ::unlinkat(directory, kLock, 0);
}

// The directory itself is no lock: whoever may read it could hold it.
tl::expected<TextfileDirectory::Lock, TextfileTrouble> TextfileDirectory::lock(int directory) {
  const auto busy = [this] {
    return tl::unexpected(
        TextfileTrouble{TextfileFailure::kBusy,
                        printable(path_) + " is locked: does another jetmemd write there?"});
  };
  for (int i = 0; i < kLockTries; ++i) {
    UniqueFd file(::openat(directory, kLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                           S_IRUSR | S_IWUSR));
    if (!file.valid()) {
      // Without room for it there is none: the values of before are not to stay for that.
      if (failure_of(errno) == TextfileFailure::kFull) return Lock{directory, UniqueFd()};
      return tl::unexpected(trouble("create", kLock, errno));
    }
    struct stat mine {};
    if (::fstat(file.get(), &mine) != 0) return tl::unexpected(trouble("look at", kLock, errno));
    if (!S_ISREG(mine.st_mode) || mine.st_uid != ::geteuid()) {
      return tl::unexpected(
          TextfileTrouble{TextfileFailure::kForeign,
                          printable(path_) + "/" + kLock + " belongs to another user: remove it"});
    }
    // Where the file system has no locks there is none.
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return busy();
    struct stat there {};
    const bool is_there = ::fstatat(directory, kLock, &there, AT_SYMLINK_NOFOLLOW) == 0;
    // Whoever had it before took it away between our two looks.
    if (!is_there || there.st_ino != mine.st_ino || there.st_dev != mine.st_dev) continue;
    return Lock{directory, std::move(file)};
  }
  return busy();
}

Done TextfileDirectory::write_in(int directory, std::string_view text) {
  struct stat there {};
  if (::fstatat(directory, kName, &there, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISREG(there.st_mode) || there.st_uid != ::geteuid()) {
      return tl::unexpected(TextfileTrouble{
          TextfileFailure::kForeign,
          printable(path_) + "/" + kName +
              (S_ISREG(there.st_mode)
                   ? " belongs to another user (" + std::to_string(there.st_uid) + ")"
                   : std::string(" is no regular file")) +
              ": it is left alone; remove it"});
    }
  } else if (errno != ENOENT) {
    return tl::unexpected(trouble("look at", kName, errno));
  }

  // What a killed jetmemd left, or somebody planted: a link is removed, not followed.
  if (::unlinkat(directory, kTemporary, 0) != 0 && errno != ENOENT) {
    return tl::unexpected(trouble("remove", kTemporary, errno));
  }
  UniqueFd fd(::openat(directory, kTemporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       S_IRUSR | S_IWUSR));
  if (!fd.valid()) return tl::unexpected(trouble("create", kTemporary, errno));
  const auto give_up = [&](const char* operation, int error) -> Done {
    ::unlinkat(directory, kTemporary, 0);
    return tl::unexpected(trouble(operation, kTemporary, error));
  };
  if (const int error = write_all(fd.get(), text); error != 0) return give_up("write", error);
  // Whatever the umask: node_exporter runs as another user.
  if (::fchmod(fd.get(), S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) != 0) {
    return give_up("chmod", errno);
  }
  // Some file systems (NFS) tell only now that there was no room.
  if (::close(fd.release()) != 0) return give_up("close", errno);
  if (::renameat(directory, kTemporary, directory, kName) != 0) return give_up("rename", errno);
  return {};
}

Done TextfileDirectory::remove_in(int directory, const char* name) {
  struct stat there {};
  if (::fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return tl::unexpected(trouble("look at", name, errno));
  }
  if (!S_ISREG(there.st_mode) || there.st_uid != ::geteuid()) return {};
  if (::unlinkat(directory, name, 0) != 0 && errno != ENOENT) {
    return tl::unexpected(trouble("remove", name, errno));
  }
  return {};
}

Done TextfileDirectory::remove() {
  const UniqueFd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) {
    if (errno == ENOENT) return {};
    return tl::unexpected(trouble("open", "", errno));
  }
  const auto locked = lock(directory.get());
  // Where no lock can be made there is nobody else who writes.
  const bool is_others = !locked && (locked.error().failure == TextfileFailure::kBusy ||
                                     locked.error().failure == TextfileFailure::kForeign);
  if (is_others) return tl::unexpected(locked.error());
  auto done = remove_in(directory.get(), kName);
  if (auto begun = remove_in(directory.get(), kTemporary); !begun && done) done = std::move(begun);
  return done;
}

}  // namespace jetmem
