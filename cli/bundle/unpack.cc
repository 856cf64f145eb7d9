#include "cli/bundle/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>

#include "base/spawn.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/bundle/unpack_room.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "jetmem-bundle-";
constexpr std::size_t kMostRemarks = 8;
// A folder that was made a moment ago may not be locked yet.
constexpr std::time_t kYoung = 10;
// Of a tar, beside the data of as many entries as there may be.
constexpr std::uint64_t kHeaders = 64U << 20;
// How often it is asked whether there is room.
constexpr std::uint64_t kLookEach = 4U << 20;

struct Free {
  void operator()(archive* a) const { archive_read_free(a); }
};
using Reader = std::unique_ptr<archive, Free>;

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder == nullptr || *folder != '/' ? "/tmp" : folder;
}

// Of processes that are gone, and ours: nobody holds their lock.
void remove_left_folders(const std::string& where) {
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

// A process that waits for this one's end, however it ends, and removes the folder then.
UniqueFd start_remover(const std::string& folder) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  UniqueFd mine(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    // Twice, so that nobody has to reap it; in a session of its own, out of the terminal's reach.
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(s, SIG_IGN);
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    ::dup2(ends[0], 3);
    close_from(4);
    char byte;
    ssize_t told = -1;
    while ((told = ::read(3, &byte, 1)) < 0 && errno == EINTR) {
    }
    if (told > 0) ::_exit(0);  // there is no such folder
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    ::_exit(0);
  }
  ::close(ends[0]);
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  return pid > 0 ? std::move(mine) : UniqueFd();
}

// The parts of an entry's name; nothing where it leaves the folder or is beyond a bound.
std::optional<std::string> safe_path(std::string_view name, const UnpackLimits& limits) {
  if (name.empty() || name.size() > limits.path_bytes || name.front() == '/') return std::nullopt;
  std::string out;
  std::size_t depth = 0;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.size() > 255 || ++depth > limits.depth) return std::nullopt;
    out.append(out.empty() ? "" : "/").append(part);
  }
  return out;
}

class Unpacker {
 public:
  Unpacker(std::string file, std::string folder, const UnpackLimits& limits,
           std::vector<std::string>& remarks)
      : file_(std::move(file)), folder_(std::move(folder)), limits_(limits), remarks_(remarks) {}

  Result<void> run() {
    in_.reset(archive_read_new());
    if (!in_) return fail(Errc::kIo, "no memory for libarchive");
    archive_read_support_format_tar(in_.get());
    archive_read_support_filter_zstd(in_.get());
    archive_read_support_filter_gzip(in_.get());
    archive_read_support_filter_xz(in_.get());
    const UniqueFd fd(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return tl::unexpected(errno_error("open", file_, errno));
    if (archive_read_open_fd(in_.get(), fd.get(), 64U << 10) != ARCHIVE_OK) {
      return wrong("is no bundle (a tar with zstd, gzip, xz or no compression)");
    }
    for (;;) {
      archive_entry* entry = nullptr;
      const int ok = archive_read_next_header(in_.get(), &entry);
      if (ok == ARCHIVE_EOF) break;
      if (ok < ARCHIVE_WARN) return damaged();
      if (++entries_ > limits_.entries) {
        return wrong("has more than " + std::to_string(limits_.entries) + " entries");
      }
      if (auto taken = take(entry); !taken) return taken;
      // What nobody wants is read all the same, and so counts.
      if (auto rest = pass_data(); !rest) return rest;
    }
    if (entries_ == 0) return wrong("is empty, or no bundle");
    return {};
  }

  std::size_t passed_over() const { return passed_over_; }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const {
    return fail(Errc::kMalformed, file_ + ": " + what);
  }
  tl::unexpected<Error> damaged() const {
    const char* why = archive_error_string(in_.get());
    std::string what = last_.empty()
                           ? "is no bundle, or damaged at its beginning"
                           : "is damaged or cut off at or behind " + printable(last_, 300);
    return wrong(what + (why == nullptr ? "" : ": " + printable(why, 200)));
  }
  void pass_over(std::string_view name, const char* why) {
    if (++passed_over_ <= kMostRemarks) {
      remarks_.push_back("passed over " + printable(name, 200) + ": " + why);
    }
  }

  Result<void> pass_data() {
    for (;;) {
      const void* piece = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int ok = archive_read_data_block(in_.get(), &piece, &size, &offset);
      if (ok == ARCHIVE_EOF) return check_bytes();
      if (ok < ARCHIVE_WARN) return damaged();
      if (auto few = check_bytes(); !few) return few;
    }
  }

  // All that was decompressed, wanted or not.
  Result<void> check_bytes() const {
    const auto all =
        static_cast<std::uint64_t>(std::max<la_int64_t>(archive_filter_bytes(in_.get(), 0), 0));
    if (all <= limits_.bytes + kHeaders) return {};
    return wrong("unpacks to more than " + format_size(limits_.bytes) + ", at " +
                 printable(last_, 200));
  }

  // Whether the archive names them or not. 0 or an errno.
  int make_folders(const fs::path& below, bool& too_many) {
    fs::path at(folder_);
    for (const fs::path& part : below) {
      at /= part;
      std::error_code error;
      const bool is_new = fs::create_directory(at, error);
      if (error) return error.value();
      if (is_new && ++folders_ > limits_.folders) {
        too_many = true;
        return 0;
      }
    }
    return 0;
  }

  Result<void> take(archive_entry* entry) {
    const char* raw = archive_entry_pathname(entry);
    const std::string_view name = raw == nullptr ? "" : raw;
    last_ = name;
    const auto path = safe_path(name, limits_);
    if (!path) {
      pass_over(name, "its name leaves the bundle, or is too long or too deep");
      return {};
    }
    if (path->empty()) return {};
    if (archive_entry_hardlink(entry) != nullptr) {
      pass_over(name, "a hard link");
      return {};
    }
    const auto type = archive_entry_filetype(entry);
    // Links would be harmless to read through, but no bundle of jetmem's has any.
    if (type != AE_IFREG && type != AE_IFDIR) {
      pass_over(name, "neither a file nor a folder");
      return {};
    }
    const fs::path target = fs::path(folder_) / *path;
    // All below is of our own making, folders and plain files: there is no link to follow.
    const fs::path inside(*path);
    bool too_many = false;
    const int error = make_folders(type == AE_IFDIR ? inside : inside.parent_path(), too_many);
    if (too_many) {
      return wrong("has more than " + std::to_string(limits_.folders) + " folders");
    }
    if (error != 0) return unmade(name, error);
    return type == AE_IFDIR ? Result<void>() : take_file(target.string(), name);
  }

  Result<void> unmade(std::string_view name, int error) {
    if (error == EEXIST || error == ENOTDIR || error == EISDIR) {
      pass_over(name, "it is there twice, as a file and as a folder");
      return {};
    }
    return tl::unexpected(errno_error("unpack", file_ + ": " + printable(name, 200), error));
  }

  Result<void> take_file(const std::string& target, std::string_view name) {
    const UniqueFd fd(
        ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd.valid()) return unmade(name, errno);
    std::array<char, 65536> piece;
    for (;;) {
      const la_ssize_t n = archive_read_data(in_.get(), piece.data(), piece.size());
      if (n == 0) return {};
      if (n < 0) return damaged();
      bytes_ += static_cast<std::uint64_t>(n);
      if (bytes_ > limits_.bytes) {
        return wrong("unpacks to more than " + format_size(limits_.bytes) + ", at " +
                     printable(name, 200));
      }
      if (bytes_ >= looked_at_ + kLookEach) {
        looked_at_ = bytes_;
        if (auto room = room_to_unpack(folder_, kLookEach); !room) return room;
      }
      const char* from = piece.data();
      for (auto left = static_cast<std::size_t>(n); left > 0;) {
        const ssize_t put = ::write(fd.get(), from, left);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return unmade(name, errno);
        from += put;
        left -= static_cast<std::size_t>(put);
      }
    }
  }

  std::string file_;
  std::string folder_;
  const UnpackLimits& limits_;
  std::vector<std::string>& remarks_;
  Reader in_;
  std::string last_;
  std::size_t entries_ = 0;
  std::size_t folders_ = 0;
  std::size_t passed_over_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t looked_at_ = 0;  // for room
};

bool has_manifest(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "jetmem" / "manifest.json", ignored);
}

std::string find_root(const std::string& folder, bool& manifest) {
  manifest = true;
  if (has_manifest(folder)) return folder;
  std::error_code error;
  std::vector<fs::path> top;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (has_manifest(at->path())) return at->path().string();
    top.push_back(at->path());
  }
  manifest = false;
  // Packed as one folder, or as what lies in it.
  const bool is_tree = std::any_of(top.begin(), top.end(), [](const fs::path& path) {
    return path.filename() == "proc" || path.filename() == "sys";
  });
  return top.size() == 1 && !is_tree && fs::is_directory(top.front()) ? top.front().string()
                                                                      : folder;
}

}  // namespace

Result<void> unpack_into(const std::string& file, const std::string& folder,
                         const UnpackLimits& limits, std::vector<std::string>& remarks) {
  Unpacker unpacker(file, folder, limits, remarks);
  auto done = unpacker.run();
  if (done && unpacker.passed_over() > kMostRemarks) {
    remarks.push_back("passed over " + std::to_string(unpacker.passed_over() - kMostRemarks) +
                      " more");
  }
  return done;
}

Result<std::unique_ptr<UnpackedBundle>> UnpackedBundle::open(const std::string& file,
                                                             UnpackLimits limits) {
  const std::string where = temporary_folder();
  remove_left_folders(where);
  struct stat packed {};
  const bool is_known = ::stat(file.c_str(), &packed) == 0;
  const auto least = static_cast<std::uint64_t>(is_known ? packed.st_size : 0);
  if (auto room = room_to_unpack(where, std::min(least, limits.bytes)); !room) {
    return tl::unexpected(std::move(room.error()));
  }
  std::unique_ptr<UnpackedBundle> bundle(new UnpackedBundle);
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) {
    return tl::unexpected(errno_error("name a folder in", where, errno));
  }
  const std::string pattern = where + "/" + std::string(kPrefix) + std::to_string(random);
  // First who removes it: at no moment is it there and nobody's.
  bundle->alive_ = start_remover(pattern);
  if (::mkdir(pattern.c_str(), 0700) != 0) {
    const int error = errno;
    (void)!::write(bundle->alive_.get(), "x", 1);
    return tl::unexpected(errno_error("make a folder in", where, error));
  }
  bundle->folder_ = pattern;
  bundle->lock_ =
      UniqueFd(::open(pattern.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (bundle->lock_.valid()) (void)::flock(bundle->lock_.get(), LOCK_EX | LOCK_NB);
  if (auto ok = unpack_into(file, pattern, limits, bundle->remarks_); !ok) {
    return tl::unexpected(std::move(ok.error()));
  }
  bool manifest = false;
  bundle->root_ = find_root(pattern, manifest);
  if (!manifest) {
    bundle->remarks_.push_back(
        "it has no jetmem/manifest.json: what was denied looks like what was never there");
  }
  return bundle;
}

UnpackedBundle::~UnpackedBundle() {
  if (folder_.empty()) return;
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace jetmem
