// SPDX-License-Identifier: Apache-2.0
#include "base/root/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <vector>

#include "base/root/small_file.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxManifestBytes = 4U << 20;
// The kernel's own number for /dev/kmsg, the same everywhere.
constexpr unsigned kKmsgMajor = 1;
constexpr unsigned kKmsgMinor = 11;
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

constexpr int kTriesOfOpenat2 = 16;

// A C string of "/proc/meminfo" without its leading slash, or an error if it does not fit.
struct RelativePath {
  std::array<char, PATH_MAX> text{};
  bool fits = false;

  explicit RelativePath(std::string_view path) {
    while (!path.empty() && path.front() == '/') path.remove_prefix(1);
    if (path.empty()) path = ".";
    fits = path.size() < text.size() && path.find('\0') == std::string_view::npos;
    if (fits) path.copy(text.data(), path.size());
  }
};

// Whether root or this user made what stands at `path`, and it is of that type (S_IFLNK, ...).
bool is_trusted(int root_fd, std::string_view path, mode_t type) {
  const RelativePath relative(path);
  struct stat info {};
  return relative.fits &&
         ::fstatat(root_fd, relative.text.data(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         (info.st_mode & S_IFMT) == type && (info.st_uid == 0 || info.st_uid == ::geteuid());
}

UniqueFd open_by_openat2(int root_fd, const char* path, int flags, int& error) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: "..", or a link that climbs, while anything anywhere was renamed or mounted. Where that
  // does not end, the walk answers: it depends on nobody else.
  for (int tries = 0; tries < kTriesOfOpenat2; ++tries) {
    const long fd = ::syscall(__NR_openat2, root_fd, path, &how, sizeof how);
    error = fd < 0 ? errno : 0;
    if (error != EAGAIN) return UniqueFd(static_cast<int>(fd));
  }
  return open_below_by_walk(root_fd, path, flags, error);
}

}  // namespace

// One component at a time, each opened without following links; a link's text is put in front of
// what is left, ".." never climbs above the root.
UniqueFd open_below_by_walk(int root_fd, std::string_view path, int flags, int& error) {
  constexpr int kMaxSteps = 400;
  constexpr int kMaxLinks = 40;
  std::vector<UniqueFd> above;  // the directories between the root and here
  std::string rest(path);
  int links = 0;
  const auto here = [&] { return above.empty() ? root_fd : above.back().get(); };
  for (int step = 0; step < kMaxSteps; ++step) {
    const std::size_t begin = rest.find_first_not_of('/');
    if (begin == std::string::npos) break;
    const std::size_t end = std::min(rest.find('/', begin), rest.size());
    const std::string name = rest.substr(begin, end - begin);
    rest.erase(0, end);
    if (name == ".") continue;
    if (name == "..") {
      if (!above.empty()) above.pop_back();
      continue;
    }
    UniqueFd next(::openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) {
      error = errno;
      return {};
    }
    struct stat info {};
    if (::fstat(next.get(), &info) != 0) {
      error = errno;
      return {};
    }
    if (S_ISLNK(info.st_mode)) {
      std::array<char, PATH_MAX> target;
      const ssize_t n = ::readlinkat(next.get(), "", target.data(), target.size());
      if (n < 0 || ++links > kMaxLinks) {
        error = n < 0 ? errno : ELOOP;
        return {};
      }
      const std::string_view text(target.data(), static_cast<std::size_t>(n));
      if (text.substr(0, 1) == "/") above.clear();
      rest.insert(0, std::string(text) + "/");
      continue;
    }
    if (rest.find_first_not_of('/') == std::string::npos) {
      // The last component: reopen it for real through the directory, links still refused.
      UniqueFd fd(::openat(here(), name.c_str(), flags | O_NOFOLLOW));
      error = fd.valid() ? 0 : errno;
      return fd;
    }
    if (!S_ISDIR(info.st_mode)) {
      error = ENOTDIR;
      return {};
    }
    above.push_back(std::move(next));
  }
  if (rest.find_first_not_of('/') != std::string::npos) {
    error = ELOOP;
    return {};
  }
  UniqueFd fd(::openat(here(), ".", flags));
  error = fd.valid() ? 0 : errno;
  return fd;
}

Root Root::live() {
  Root root;
  root.directory_.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  root.facts_ = Facts::of_this_machine();
  return root;
}

Result<Root> Root::at(const std::string& directory) {
  Root root;
  root.directory_.reset(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.directory_.valid()) return tl::unexpected(errno_error("open", directory, errno));
  int error = 0;
  if (!open_by_openat2(root.directory_.get(), ".", O_PATH | O_CLOEXEC, error).valid()) {
    root.has_openat2_ = false;
  }
  const UniqueFd file = root.open_file("/jetmem/manifest.json", error);
  if (!file.valid()) {
    if (error == ENOENT || error == ENOTDIR) return root;
    if (error == kNotRegular) {
      return fail(Errc::kNotRegular, directory + "/jetmem/manifest.json: not a regular file");
    }
    return tl::unexpected(errno_error("open", directory + "/jetmem/manifest.json", error));
  }
  auto text = read_open_file(file.get(), "jetmem/manifest.json", kMaxManifestBytes);
  if (!text) return tl::unexpected(std::move(text.error()).within(directory));
  auto manifest = parse_manifest(*text);
  if (!manifest) {
    return tl::unexpected(std::move(manifest.error()).within(directory + "/jetmem/manifest.json"));
  }
  root.facts_ = manifest->facts;
  root.manifest_ = std::make_shared<const Manifest>(std::move(*manifest));
  return root;
}

UniqueFd Root::open_below(std::string_view path, int flags, int& error) const {
  if (manifest_ != nullptr) {
    error = manifest_->error_of(path);
    if (error != 0) return {};
  }
  const RelativePath relative(path);
  if (!relative.fits) {
    error = ENAMETOOLONG;
    return {};
  }
  if (is_live()) {
    UniqueFd fd(::openat(directory_.get(), relative.text.data(), flags));
    error = fd.valid() ? 0 : errno;
    return fd;
  }
  if (has_openat2_) return open_by_openat2(directory_.get(), relative.text.data(), flags, error);
  return open_below_by_walk(directory_.get(), relative.text.data(), flags, error);
}

// Live, this process may read more than others (jetmem-reader, a command of root's): whoever owns a
// folder that it looks into, as the daemon does its own, must not have it read another file for
// him by a link in the place of one there.
UniqueFd Root::open_file(std::string_view path, int& error) const {
  UniqueFd fd = open_below(path, kOpenFlags | (is_live() ? O_NOFOLLOW : 0), error);
  if (!fd.valid() && error == ELOOP && is_live() && is_trusted(directory_.get(), path, S_IFLNK)) {
    fd = open_below(path, kOpenFlags, error);
  }
  if (!fd.valid()) {
    // A socket cannot be opened at all, and a device without a driver answers likewise.
    if (error == ENXIO && !is_live()) error = kNotRegular;
    return {};
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) {
    error = errno;
    return {};
  }
  if (!S_ISREG(info.st_mode)) {
    error = kNotRegular;
    return {};
  }
  if (is_live() && info.st_nlink > 1 &&
      !is_trusted(directory_.get(), path.substr(0, path.rfind('/') + 1), S_IFDIR)) {
    error = EPERM;
    return {};
  }
  return fd;
}

UniqueFd Root::open_stream(std::string_view path, int& error) const {
  const auto check = [&](const UniqueFd& fd) {
    struct stat info {};
    if (!fd.valid()) return false;
    if (::fstat(fd.get(), &info) != 0) {
      error = errno;
      return false;
    }
    const bool kmsg = S_ISCHR(info.st_mode) && info.st_rdev == makedev(kKmsgMajor, kKmsgMinor);
    // Live, containers and sandboxes put an empty file in the device's place.
    if (is_live() ? kmsg : S_ISREG(info.st_mode)) return true;
    error = kNotRegular;
    return false;
  };
  // Looked at before it is opened: opening is already an act to some devices (a watchdog, a tape).
  if (!check(open_below(path, O_PATH | O_CLOEXEC, error))) return {};
  UniqueFd fd = open_below(path, kOpenFlags, error);
  return check(fd) ? std::move(fd) : UniqueFd();
}

int Root::list(std::string_view path, std::size_t most, std::vector<std::string>& names, bool& cut,
               Moment end) const {
  names.clear();
  cut = false;
  int error = 0;
  UniqueFd fd = open_below(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, error);
  if (!fd.valid()) return error;
  DIR* raw = ::fdopendir(fd.get());
  if (raw == nullptr) return errno;
  fd.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(raw, ::closedir);
  for (;;) {
    // A list that breaks off is none: what it leaves out would pass for absent.
    errno = 0;
    const dirent* const entry = ::readdir(directory.get());
    if (entry == nullptr && errno != 0) {
      error = errno;
      names.clear();
      return error;
    }
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name.front() == '.') continue;
    const bool is_late = names.size() % 1024 == 1023 && Moment::clock::now() >= end;
    if (names.size() >= most || is_late) {
      cut = true;
      break;
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return 0;
}

int Root::read_link(std::string_view path, std::string& target) const {
  target.clear();
  std::array<char, 255> text;
  ssize_t n = -1;
  if (is_live()) {
    const RelativePath relative(path);
    if (!relative.fits) return ENAMETOOLONG;
    n = ::readlinkat(directory_.get(), relative.text.data(), text.data(), text.size());
  } else {
    int error = 0;
    const UniqueFd fd = open_below(path, O_PATH | O_NOFOLLOW | O_CLOEXEC, error);
    if (!fd.valid()) return error;
    n = ::readlinkat(fd.get(), "", text.data(), text.size());
  }
  if (n < 0) return errno;
  target.assign(text.data(), static_cast<std::size_t>(n));
  return 0;
}

int Root::inode_of(std::string_view path, std::uint64_t& inode) const {
  if (!is_live()) return ENOTSUP;
  const RelativePath relative(path);
  if (!relative.fits) return ENAMETOOLONG;
  struct stat info {};
  if (::fstatat(directory_.get(), relative.text.data(), &info, 0) != 0) return errno;
  inode = info.st_ino;
  return 0;
}

std::uint64_t Root::links_of(std::string_view path) const {
  const RelativePath relative(path);
  struct stat info {};
  if (!is_live() || !relative.fits ||
      ::fstatat(directory_.get(), relative.text.data(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return 0;
  }
  return S_ISDIR(info.st_mode) ? info.st_nlink : 0;
}

}  // namespace jetmem
