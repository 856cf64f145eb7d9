// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace jetmem {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t kMayBeUnlocked = 10;
constexpr int kMostLookedAt = 10'000;

UniqueFd open_folder(const std::string& folder) {
  return UniqueFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

std::string temporary_directory() {
  const char* directory = std::getenv("TMPDIR");
  return directory == nullptr || *directory != '/' ? "/tmp" : directory;
}

void remove_abandoned_folders(const std::string& where, std::string_view prefix) {
  std::error_code error;
  int seen = 0;
  for (fs::directory_iterator at(where, error), end; !error && at != end; at.increment(error)) {
    if (++seen > kMostLookedAt) return;
    if (!at->path().filename().string().starts_with(prefix)) continue;
    const UniqueFd fd = open_folder(at->path().string());
    struct stat info {};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    if (std::time(nullptr) - info.st_ctime < kMayBeUnlocked) continue;
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code ignored;
    fs::remove_all(at->path(), ignored);
  }
}

UniqueFd lock_folder(const std::string& folder) {
  UniqueFd fd = open_folder(folder);
  if (fd.valid()) (void)::flock(fd.get(), LOCK_EX | LOCK_NB);
  return fd;
}

}  // namespace jetmem
