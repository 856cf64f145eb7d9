// SPDX-License-Identifier: Apache-2.0
#include "base/root/temporary_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/root/small_file.h"
#include "base/spawn.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLookedAt = 10'000;
constexpr std::size_t kMostMarkerBytes = 1024;

UniqueFd open_folder(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::string marker_text(const std::string& path, ino_t inode) {
  return "A temporary folder of jetmem, which removes it: " + fs::path(path).filename().string() +
         "\ninode " + std::to_string(inode) + "\n";
}

// Whether what this process makes in the folder gets the user that the folder has. It is another
// than this process's on a filesystem without users (vfat), or where root is nobody (NFS).
bool is_own(const UniqueFd& folder, uid_t user) {
  if (user == ::geteuid()) return true;
  constexpr const char* kTry = ".jetmem-try";
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const UniqueFd made(::openat(folder.get(), kTry, kFlags, 0600));
  struct stat info {};
  const bool is_same = made.valid() && ::fstat(made.get(), &info) == 0 && info.st_uid == user;
  if (made.valid()) ::unlinkat(folder.get(), kTry, 0);
  return is_same;
}

// The marker of the folder, which is this user's and nobody else may write into. Not valid: it has
// none that proves anything.
UniqueFd open_marker(const UniqueFd& folder, const std::string& path) {
  struct stat info {};
  if (!folder.valid() || ::fstat(folder.get(), &info) != 0) return {};
  const uid_t user = info.st_uid;
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return {};
  const std::string expected = marker_text(path, info.st_ino);
  UniqueFd marker(::openat(folder.get(), TemporaryFolder::kMarker,
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!marker.valid() || ::fstat(marker.get(), &info) != 0) return {};
  if (!S_ISREG(info.st_mode) || info.st_uid != user || info.st_nlink != 1) return {};
  const auto text = read_open_file(marker.get(), TemporaryFolder::kMarker, kMostMarkerBytes);
  return text && *text == expected && is_own(folder, user) ? std::move(marker) : UniqueFd();
}

// Calls `use` with each name in the folder until it returns false. False: so it did, or the folder
// cannot be read.
template <typename Use>
bool each_name(UniqueFd folder, const Use& use) {
  DIR* const names = folder.valid() ? ::fdopendir(folder.get()) : nullptr;
  if (names == nullptr) return false;
  const int at = folder.release();
  bool goes_on = true;
  while (goes_on) {
    const dirent* const entry = ::readdir(names);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") goes_on = use(at, entry->d_name);
  }
  ::closedir(names);
  return goes_on;
}

UniqueFd open_below(int folder, const char* name) {
  return UniqueFd(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// All but `kept`; through no link and into no other filesystem.
bool remove_inside(UniqueFd folder, dev_t device, std::string_view kept) {
  bool is_empty = true;
  const bool is_read = each_name(std::move(folder), [&](int at, const char* name) {
    if (name == kept) return true;
    if (::unlinkat(at, name, 0) == 0) return true;
    UniqueFd below = open_below(at, name);
    struct stat info {};
    if (below.valid() && ::fstat(below.get(), &info) == 0 && info.st_dev == device) {
      (void)remove_inside(std::move(below), device, {});
    }
    if (::unlinkat(at, name, AT_REMOVEDIR) != 0) is_empty = false;
    return true;
  });
  return is_read && is_empty;
}

// By its descriptor: whoever may rename it must not lead this elsewhere. The marker goes last: what
// is interrupted can be continued.
bool remove_folder(const UniqueFd& folder, const std::string& path) {
  struct stat ours {};
  struct stat there {};
  if (!folder.valid() || ::fstat(folder.get(), &ours) != 0) return false;
  if (!remove_inside(open_below(folder.get(), "."), ours.st_dev, TemporaryFolder::kMarker)) {
    return false;
  }
  ::unlinkat(folder.get(), TemporaryFolder::kMarker, 0);
  return ::lstat(path.c_str(), &there) == 0 && there.st_ino == ours.st_ino &&
         there.st_dev == ours.st_dev && ::rmdir(path.c_str()) == 0;
}

// `wait`: for whoever has it locked; he is about to end.
bool remove_if_abandoned(const std::string& path, bool wait) {
  const UniqueFd folder = open_folder(path);
  const UniqueFd marker = open_marker(folder, path);
  if (!marker.valid() || ::flock(marker.get(), LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) return false;
  // Another may have removed it before it was locked here.
  const UniqueFd there = open_marker(folder, path);
  struct stat locked {};
  struct stat now {};
  if (!there.valid() || ::fstat(marker.get(), &locked) != 0 || ::fstat(there.get(), &now) != 0 ||
      locked.st_ino != now.st_ino || locked.st_dev != now.st_dev) {
    return false;
  }
  return remove_folder(folder, path);
}

// Of a process that was killed as it made the folder: it is empty but for a marker without text.
void remove_unfinished(const std::string& path) {
  const UniqueFd folder = open_folder(path);
  struct stat ours {};
  struct stat info {};
  if (!folder.valid() || ::fstat(folder.get(), &ours) != 0 || !is_own(folder, ours.st_uid)) return;
  const bool is_empty =
      ::fstatat(folder.get(), TemporaryFolder::kMarker, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(info.st_mode) && info.st_size == 0 && info.st_uid == ours.st_uid;
  if (is_empty) ::unlinkat(folder.get(), TemporaryFolder::kMarker, 0);
  ::rmdir(path.c_str());
}

// No signal where the helper is gone.
void tell_to_leave(const UniqueFd& helper) {
  if (helper.valid()) (void)::send(helper.get(), "x", 1, MSG_NOSIGNAL);
}

// Waits for this process's end and removes the folder then. Starts before there is one.
UniqueFd start_remover(const std::string& path) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  UniqueFd mine(ends[1]);
  const UniqueFd others(ends[0]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    // A double fork needs no reaping; a session of its own survives the terminal.
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGALRM}) ::signal(s, SIG_IGN);
    // Also where there is no room for another descriptor.
    ::close(ends[1]);
    const int end = ::fcntl(ends[0], F_DUPFD, 3);
    if (end < 0) ::_exit(1);
    ::close(ends[0]);
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    for (int fd = 3; fd < end; ++fd) ::close(fd);
    close_from(end + 1);
    char byte;
    ssize_t reported = -1;
    while ((reported = ::read(end, &byte, 1)) < 0 && errno == EINTR) {
    }
    if (reported > 0) ::_exit(0);  // there is no such folder, or no more
    if (!remove_if_abandoned(path, /*wait=*/true)) remove_unfinished(path);
    ::_exit(0);
  }
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  return pid > 0 ? std::move(mine) : UniqueFd();
}

constexpr const char* kReplaced = ": another user replaced it as it was made";

// Locked before it proves anything, so that nobody takes a folder for abandoned that is being made.
Result<UniqueFd> put_marker(const UniqueFd& folder, const std::string& path) {
  const std::string name = path + "/" + TemporaryFolder::kMarker;
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd marker(::openat(folder.get(), TemporaryFolder::kMarker, kFlags, 0600));
  struct stat info {};
  struct stat made {};
  if (!marker.valid() || ::fstat(folder.get(), &info) != 0 || ::fstat(marker.get(), &made) != 0 ||
      ::flock(marker.get(), LOCK_EX | LOCK_NB) != 0) {
    return tl::unexpected(errno_error("make", name, errno));
  }
  if (made.st_uid != info.st_uid) return fail(Errc::kDenied, path + kReplaced);
  const std::string text = marker_text(path, info.st_ino);
  if (::write(marker.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return tl::unexpected(errno_error("write", name, errno));
  }
  return marker;
}

}  // namespace

std::string temporary_directory() {
  const char* directory = std::getenv("TMPDIR");
  return directory == nullptr || *directory != '/' ? "/tmp" : directory;
}

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make(const std::string& path,
                                                               Helper helper) {
  (void)remove_abandoned_folder(path);
  UniqueFd alive;
  if (helper == Helper::kOne) alive = start_remover(path);
  if (::mkdir(path.c_str(), 0700) != 0) {
    const int error = errno;
    tell_to_leave(alive);
    if (error != EEXIST) return tl::unexpected(errno_error("make", path, error));
    if (open_marker(open_folder(path), path).valid()) {
      return fail(Errc::kUnavailable, path + ": another jetmem is writing it");
    }
    return fail(Errc::kDenied, path +
                                   " exists, and nothing in it shows that an earlier jetmem of "
                                   "this user left it: remove it, or choose another name");
  }
  UniqueFd made = open_folder(path);
  // Nobody else puts anything into it, and nobody has: what is in it is removed.
  if (made.valid()) (void)::fchmod(made.get(), 0700);
  Result<UniqueFd> marker = UniqueFd();
  if (!made.valid()) {
    marker = tl::unexpected(errno_error("open", path, errno));
  } else if (!each_name(open_below(made.get(), "."), [](int, const char*) { return false; })) {
    marker = fail(Errc::kDenied, path + kReplaced);
  } else {
    marker = put_marker(made, path);
    if (!marker) ::unlinkat(made.get(), kMarker, 0);
  }
  if (!marker) {
    ::rmdir(path.c_str());
    tell_to_leave(alive);
    return tl::unexpected(std::move(marker.error()));
  }
  std::unique_ptr<TemporaryFolder> folder(new TemporaryFolder);
  folder->path_ = path;
  folder->alive_ = std::move(alive);
  folder->folder_ = std::move(made);
  folder->lock_ = std::move(*marker);
  return folder;
}

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make_in(const std::string& where,
                                                                  std::string_view prefix) {
  remove_abandoned_folders(where, prefix);
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) {
    return tl::unexpected(errno_error("name a folder in", where, errno));
  }
  return make(where + "/" + std::string(prefix) + std::to_string(random));
}

TemporaryFolder::~TemporaryFolder() {
  // What has that name later is another's.
  if (remove_folder(folder_, path_)) tell_to_leave(alive_);
}

std::string TemporaryFolder::inside() const {
  return "/proc/self/fd/" + std::to_string(folder_.get());
}

void TemporaryFolder::remove_now(int folder, const char* path,
                                 std::initializer_list<const char*> names) {
  for (const char* name : names) ::unlinkat(folder, name, 0);
  ::unlinkat(folder, kMarker, 0);
  ::rmdir(path);
}

bool remove_abandoned_folder(const std::string& path) {
  return remove_if_abandoned(path, /*wait=*/false);
}

void remove_abandoned_folders(const std::string& where, std::string_view prefix,
                              std::string_view ending) {
  std::error_code error;
  int seen = 0;
  for (fs::directory_iterator at(where, error), end; !error && at != end; at.increment(error)) {
    if (++seen > kMostLookedAt) return;
    const std::string name = at->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(ending)) {
      (void)remove_abandoned_folder(at->path().string());
    }
  }
}

}  // namespace jetmem
