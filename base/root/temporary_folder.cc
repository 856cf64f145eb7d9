// SPDX-License-Identifier: Apache-2.0
#include "base/root/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
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

// The marker of the folder, which is this user's and nobody else may write into. Not valid: it has
// none that proves anything.
UniqueFd open_marker(const std::string& path) {
  const UniqueFd folder = open_folder(path);
  struct stat info {};
  if (!folder.valid() || ::fstat(folder.get(), &info) != 0) return {};
  const uid_t user = ::geteuid();
  if (info.st_uid != user || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return {};
  const std::string expected = marker_text(path, info.st_ino);
  UniqueFd marker(::openat(folder.get(), TemporaryFolder::kMarker,
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!marker.valid() || ::fstat(marker.get(), &info) != 0) return {};
  if (!S_ISREG(info.st_mode) || info.st_uid != user || info.st_nlink != 1) return {};
  const auto text = read_open_file(marker.get(), TemporaryFolder::kMarker, kMostMarkerBytes);
  return text && *text == expected ? std::move(marker) : UniqueFd();
}

// The marker goes last: what is interrupted can be continued.
bool remove_folder(const std::string& path) {
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename() == TemporaryFolder::kMarker) continue;
    std::error_code ignored;
    fs::remove_all(at->path(), ignored);
  }
  ::unlink((path + "/" + TemporaryFolder::kMarker).c_str());
  return ::rmdir(path.c_str()) == 0;
}

// `wait`: for whoever has it locked; he is about to end.
bool remove_if_abandoned(const std::string& path, bool wait) {
  const UniqueFd marker = open_marker(path);
  if (!marker.valid() || ::flock(marker.get(), LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) return false;
  // Another may have removed it before it was locked here, and made a new one.
  const UniqueFd there = open_marker(path);
  struct stat locked {};
  struct stat now {};
  if (!there.valid() || ::fstat(marker.get(), &locked) != 0 || ::fstat(there.get(), &now) != 0 ||
      locked.st_ino != now.st_ino || locked.st_dev != now.st_dev) {
    return false;
  }
  return remove_folder(path);
}

// Of a process that was killed as it made the folder: it is empty but for a marker without text.
void remove_unfinished(const std::string& path) {
  const std::string marker = path + "/" + TemporaryFolder::kMarker;
  struct stat info {};
  const bool is_empty = ::lstat(marker.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
                        info.st_size == 0 && info.st_uid == ::geteuid();
  if (is_empty) ::unlink(marker.c_str());
  ::rmdir(path.c_str());
}

// Waits for this process's end and removes the folder then. Starts before there is one.
UniqueFd start_remover(const std::string& path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  UniqueFd mine(ends[1]);
  const UniqueFd others(ends[0]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    // A double fork needs no reaping; a session of its own survives the terminal.
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGALRM}) ::signal(s, SIG_IGN);
    constexpr int kHigh = 64;
    const int end = ::fcntl(ends[0], F_DUPFD, kHigh);
    if (end < 0) ::_exit(1);
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    for (int fd = 3; fd < end; ++fd) ::close(fd);
    close_from(end + 1);
    char byte;
    ssize_t reported = -1;
    while ((reported = ::read(end, &byte, 1)) < 0 && errno == EINTR) {
    }
    if (reported > 0) ::_exit(0);  // there is no such folder
    if (!remove_if_abandoned(path, /*wait=*/true)) remove_unfinished(path);
    ::_exit(0);
  }
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  return pid > 0 ? std::move(mine) : UniqueFd();
}

// Locked before it proves anything, so that nobody takes a folder for abandoned that is being made.
Result<UniqueFd> put_marker(const std::string& path) {
  const std::string name = path + "/" + TemporaryFolder::kMarker;
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd marker(::open(name.c_str(), kFlags, 0600));
  struct stat info {};
  if (!marker.valid() || ::stat(path.c_str(), &info) != 0 ||
      ::flock(marker.get(), LOCK_EX | LOCK_NB) != 0) {
    return tl::unexpected(errno_error("make", name, errno));
  }
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
    if (alive.valid()) (void)!::write(alive.get(), "x", 1);
    if (error != EEXIST) return tl::unexpected(errno_error("make", path, error));
    if (open_marker(path).valid()) {
      return fail(Errc::kUnavailable, path + ": another jetmem is writing it");
    }
    return fail(Errc::kDenied,
                path + " exists already and was not made by jetmem for this user: remove it");
  }
  std::unique_ptr<TemporaryFolder> folder(new TemporaryFolder);
  folder->path_ = path;
  folder->alive_ = std::move(alive);
  auto marker = put_marker(path);
  if (!marker) return tl::unexpected(std::move(marker.error()));
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

TemporaryFolder::~TemporaryFolder() { remove_folder(path_); }

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
