#include "cli/bundle/copy_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "cli/bundle/unfinished.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "jetmem-copy-";
// One that was made a moment ago may not be locked yet.
constexpr std::time_t kYoung = 10;

void remove_left(const std::string& where) {
  std::error_code error;
  int looked = 0;
  for (fs::directory_iterator at(where, error), end; !error && at != end; at.increment(error)) {
    if (++looked > 10'000) return;
    if (!at->path().filename().string().starts_with(kPrefix)) continue;
    const UniqueFd fd(::open(at->path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    if (std::time(nullptr) - info.st_ctime < kYoung) continue;
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code ignored;
    fs::remove_all(at->path(), ignored);
  }
}

}  // namespace

Result<CopyFolder> CopyFolder::make() {
  const char* told = std::getenv("TMPDIR");
  const std::string where = told == nullptr || *told != '/' ? "/tmp" : told;
  remove_left(where);
  std::string name = where + "/" + kPrefix + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return tl::unexpected(errno_error("make a folder in", where, errno));
  }
  remember_unfinished(Unfinished::kFolder, name);
  CopyFolder folder;
  folder.path_ = name;
  folder.lock_ = UniqueFd(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.lock_.valid()) (void)::flock(folder.lock_.get(), LOCK_EX | LOCK_NB);
  return folder;
}

CopyFolder::~CopyFolder() {
  if (path_.empty() || !lock_.valid()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  forget_unfinished(Unfinished::kFolder);
}

}  // namespace jetmem
