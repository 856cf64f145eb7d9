// SPDX-License-Identifier: Apache-2.0
#include "base/root/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace jetmem {
namespace {

struct Place {
  UniqueFd folder;
  std::string name;
};

Result<Place> place_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const bool has_folder = slash != std::string::npos;
  const std::string folder = has_folder ? path.substr(0, slash + 1) : ".";
  Place out;
  out.name = has_folder ? path.substr(slash + 1) : path;
  if (out.name.empty()) return tl::unexpected(errno_error("write", path, EISDIR));
  out.folder = UniqueFd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!out.folder.valid()) return tl::unexpected(errno_error("open", folder, errno));
  return out;
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

// `owner`: of a file that is created there. It is another than this process's user on a filesystem
// without users (vfat), or where root is nobody (NFS).
Result<void> check_target(int folder, const std::string& name, const std::string& path,
                          uid_t owner) {
  struct stat there {};
  if (::fstatat(folder, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return tl::unexpected(errno_error("look at", path, errno));
  }
  std::string what;
  if (S_ISLNK(there.st_mode)) {
    what = "is a symbolic link; name the file that it leads to";
  } else if (S_ISDIR(there.st_mode)) {
    what = "is a directory; name a file";
  } else if (!S_ISREG(there.st_mode)) {
    what = "is not a regular file; redirect standard output to it";
  } else if (there.st_uid != owner) {
    what = "belongs to user " + std::to_string(there.st_uid) + "; remove it";
  } else if (there.st_nlink != 1) {
    what = "has " + std::to_string(there.st_nlink) + " hard links; remove it";
  } else {
    return {};
  }
  return fail(Errc::kDenied, path + " " + what + ", or choose another name");
}

// Unlinking follows no link. A file of this user is in use as long as its writer lives.
Result<void> remove_part(int folder, const std::string& part, const std::string& shown) {
  struct stat there {};
  if (::fstatat(folder, part.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
    return tl::unexpected(errno_error("look at", shown, errno));
  }
  UniqueFd left;
  if (S_ISREG(there.st_mode)) {
    if (there.st_uid != ::geteuid()) {
      return fail(Errc::kDenied, shown + " belongs to user " + std::to_string(there.st_uid) +
                                     "; remove it, or choose another name");
    }
    constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    left = UniqueFd(::openat(folder, part.c_str(), kFlags));
    struct stat opened {};
    if (!left.valid() || ::fstat(left.get(), &opened) != 0) {
      return tl::unexpected(errno_error("open", shown, errno));
    }
    if (!is_same(there, opened) || ::flock(left.get(), LOCK_EX | LOCK_NB) != 0) {
      return fail(Errc::kUnavailable, shown + ": another jetmem is writing it");
    }
  }
  if (::unlinkat(folder, part.c_str(), 0) == 0 || errno == ENOENT) return {};
  return tl::unexpected(errno_error("remove", shown, errno));
}

}  // namespace

Result<std::unique_ptr<AtomicFile>> AtomicFile::create(std::string path,
                                                       AtomicFileOptions options) {
  auto place = place_of(path);
  if (!place) return tl::unexpected(std::move(place.error()));
  const std::string part = options.part.empty() ? place->name + ".part" : options.part;
  const std::string shown = options.part.empty() ? path + ".part" : options.part;
  const int folder = place->folder.get();
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(::openat(folder, part.c_str(), kFlags, 0600));
  if (!fd.valid() && errno == EEXIST) {
    if (auto ok = remove_part(folder, part, shown); !ok) return tl::unexpected(ok.error());
    fd = UniqueFd(::openat(folder, part.c_str(), kFlags, 0600));
  }
  if (!fd.valid()) return tl::unexpected(errno_error("create", shown, errno));
  std::unique_ptr<AtomicFile> out(new AtomicFile);
  out->path_ = std::move(path);
  out->name_ = std::move(place->name);
  out->part_ = part;
  out->replaces_any_ = options.replaces_any;
  out->folder_ = std::move(place->folder);
  out->fd_ = std::move(fd);
  // Not possible everywhere (NFS): then two at once are told apart by their inodes alone.
  if (::flock(out->fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(Errc::kUnavailable, shown + ": another jetmem is writing it");
  }
  ::fchmod(out->fd(), options.mode);
  struct stat made {};
  if (::fstat(out->fd(), &made) != 0) return tl::unexpected(errno_error("look at", shown, errno));
  if (options.replaces_any) return out;
  if (auto ok = check_target(folder, out->name_, out->path_, made.st_uid); !ok) {
    return tl::unexpected(std::move(ok.error()));
  }
  return out;
}

bool AtomicFile::has_part() const {
  struct stat ours {};
  struct stat there {};
  return !part_.empty() && ::fstat(fd(), &ours) == 0 &&
         ::fstatat(folder_.get(), part_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         is_same(ours, there);
}

AtomicFile::~AtomicFile() {
  if (has_part()) ::unlinkat(folder_.get(), part_.c_str(), 0);
}

Result<void> AtomicFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return tl::unexpected(errno_error("write", path_, n < 0 ? errno : EIO));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> AtomicFile::commit(bool durably) {
  struct stat made {};
  if (::fstat(fd(), &made) != 0) return tl::unexpected(errno_error("look at", path_, errno));
  if (!replaces_any_) {
    if (auto ok = check_target(folder_.get(), name_, path_, made.st_uid); !ok) return ok;
  }
  // A server that is full may report it only when the file is closed.
  const int error = durably ? ::fsync(fd()) : ::close(::fcntl(fd(), F_DUPFD_CLOEXEC, 3));
  if (error != 0) return tl::unexpected(errno_error("write", path_, errno));
  if (!has_part()) return fail(Errc::kIo, path_ + ": another process replaced its part");
  if (::renameat(folder_.get(), part_.c_str(), folder_.get(), name_.c_str()) != 0) {
    return tl::unexpected(errno_error("rename to", path_, errno));
  }
  part_.clear();
  if (!durably) return {};
  const UniqueFd folder(::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL: a filesystem that cannot (FUSE).
  if (!folder.valid() || (::fsync(folder.get()) != 0 && errno != EINVAL)) {
    Error problem = errno_error("sync the folder of", path_, errno);
    // What may be gone after a power cut is not left as if it were kept.
    ::unlinkat(folder_.get(), name_.c_str(), 0);
    return tl::unexpected(std::move(problem));
  }
  return {};
}

Result<void> AtomicFile::remove(const std::string& path) {
  auto place = place_of(path);
  if (!place) return tl::unexpected(std::move(place.error()));
  auto ok = check_target(place->folder.get(), place->name, path, ::geteuid());
  if (!ok) return ok;
  if (::unlinkat(place->folder.get(), place->name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return tl::unexpected(errno_error("remove", path, errno));
}

}  // namespace jetmem
