// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/process/bounded_child.h"
#include "base/root/small_file.h"
#include "base/text/text.h"
#include "base/unique_fd.h"
#include "cli/draw/number_text.h"
#include "collectors/proc/meminfo.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

// ARCHIVE_RETRY, of a damaged header, is greater than ARCHIVE_WARN.
bool is_good(int result) { return result == ARCHIVE_OK || result == ARCHIVE_WARN; }

constexpr std::string_view kUnpackedPrefix = "jetmem-bundle-";
constexpr std::size_t kMostRemarks = 8;
constexpr std::size_t kMostMessage = 1000;
// Of a tar, beside the data of as many entries as there may be.
constexpr std::uint64_t kHeaders = 64U << 20;
// How often free space is checked.
constexpr std::uint64_t kCheckInterval = 4U << 20;

// So long a bundle may take to be unpacked, and so much memory: a decompressor's window too.
constexpr ChildBounds kBounds{.cpu = std::chrono::seconds(60),
                              .wall = std::chrono::minutes(10),
                              .memory = 96U << 20,
                              .answer_bytes = 1U << 20};
constexpr const char* kAccepted = "a tar, plain or compressed once with zstd or gzip";

struct Free {
  void operator()(archive* a) const { archive_read_free(a); }
};
using Reader = std::unique_ptr<archive, Free>;

// Of what the file is compressed with, by its first bytes; none where it is plain.
void support_filter_of(int fd, archive* in) {
  std::array<unsigned char, 4> head{};
  if (::pread(fd, head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) return;
  if (head[0] == 0x1f && head[1] == 0x8b) archive_read_support_filter_gzip(in);
  const bool is_frame = head == std::array<unsigned char, 4>{0x28, 0xb5, 0x2f, 0xfd};
  const bool is_skippable =
      (head[0] & 0xf0U) == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18;
  if (is_frame || is_skippable) archive_read_support_filter_zstd(in);
}

// The bytes of the tar: one decompressor, and a count of all that it gives, headers included.
class TarBytes {
 public:
  explicit TarBytes(std::uint64_t most) : most_(most) {}

  // False: error() says why.
  bool open(int fd) {
    in_.reset(archive_read_new());
    if (!in_) return false;
    support_filter_of(fd, in_.get());
    archive_read_support_format_raw(in_.get());
    if (archive_read_open_fd(in_.get(), fd, 64U << 10) != ARCHIVE_OK) return false;
    // libarchive finds a compression within a compression; the last filter is the file itself.
    is_nested_ = archive_filter_count(in_.get()) > 2;
    return !is_nested_ && next_header();
  }
  bool is_too_large() const { return bytes_ > most_; }
  const char* error() const {
    if (is_nested_) return "it is compressed more than once";
    return in_ ? archive_error_string(in_.get()) : nullptr;
  }

  static la_ssize_t read(archive* tar, void* self, const void** bytes) {
    return static_cast<TarBytes*>(self)->next(tar, bytes);
  }

 private:
  bool next_header() {
    archive_entry* entry = nullptr;
    const int ok = archive_read_next_header(in_.get(), &entry);
    is_empty_ = ok == ARCHIVE_EOF;
    return is_empty_ || is_good(ok);
  }
  la_ssize_t next(archive* tar, const void** bytes) {
    if (is_empty_) return 0;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int ok = archive_read_data_block(in_.get(), bytes, &size, &offset);
    if (ok == ARCHIVE_EOF) return 0;
    if (!is_good(ok)) {
      archive_set_error(tar, archive_errno(in_.get()), "%s",
                        error() == nullptr ? "cannot be decompressed" : error());
      return ARCHIVE_FATAL;
    }
    bytes_ += size;
    if (is_too_large()) {
      archive_set_error(tar, EFBIG, "too large");
      return ARCHIVE_FATAL;
    }
    return static_cast<la_ssize_t>(size);
  }

  std::uint64_t most_;
  Reader in_;
  bool is_nested_ = false;
  bool is_empty_ = false;
  std::uint64_t bytes_ = 0;
};

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

constexpr long kTmpfs = 0x01021994;
constexpr long kRamfs = 0x858458f6;
constexpr std::uint64_t kFreeDisk = 16U << 20;
constexpr std::uint64_t kFreeMemory = 256U << 20;

std::optional<std::uint64_t> available_memory() {
  const auto text = read_small_file("/proc/meminfo");
  Meminfo meminfo;
  if (!text || !parse_meminfo(*text, meminfo)) return std::nullopt;
  return meminfo.find("MemAvailable");
}

// Whether the folder that a bundle is unpacked into can take more without harm to this machine:
// /tmp is memory on many devices. Something stays free, of a disk and of memory. The error says
// what to do.
Result<void> max_unpack_bytes(const std::string& folder, std::uint64_t bytes) {
  struct statfs disk {};
  if (::statfs(folder.c_str(), &disk) != 0) return {};  // creating the folder reports the error
  const std::string advice = "; set TMPDIR to a folder on a disk with more";
  const auto free =
      static_cast<std::uint64_t>(disk.f_bavail) * static_cast<std::uint64_t>(disk.f_bsize);
  if (free < bytes + kFreeDisk) {
    return fail(Errc::kIo, "no room to unpack in " + printable(folder, 200) + ": " +
                               bytes_text(free) + " free" + advice);
  }
  const auto type = static_cast<long>(disk.f_type);
  if (type != kTmpfs && type != kRamfs) return {};
  const auto memory = available_memory();
  if (!memory || *memory >= bytes + kFreeMemory) return {};
  return fail(Errc::kIo, "no room to unpack in " + printable(folder, 200) +
                             ", which lies in memory: " + bytes_text(*memory) + " available" +
                             advice);
}

class Unpacker {
 public:
  Unpacker(std::string file, std::string folder, const UnpackLimits& limits,
           std::vector<std::string>& remarks)
      : file_(std::move(file)),
        folder_(std::move(folder)),
        limits_(limits),
        remarks_(remarks),
        bytes_of_tar_(limits.bytes + kHeaders) {}

  Result<void> run() {
    const UniqueFd fd(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return tl::unexpected(errno_error("open", file_, errno));
    in_.reset(archive_read_new());
    if (!in_) return fail(Errc::kIo, "no memory for libarchive");
    archive_read_support_format_tar(in_.get());
    if (!bytes_of_tar_.open(fd.get())) return not_accepted(bytes_of_tar_.error());
    if (archive_read_open(in_.get(), &bytes_of_tar_, nullptr, TarBytes::read, nullptr) !=
        ARCHIVE_OK) {
      return bytes_of_tar_.is_too_large() ? too_large()
                                          : not_accepted(archive_error_string(in_.get()));
    }
    for (;;) {
      archive_entry* entry = nullptr;
      const int ok = archive_read_next_header(in_.get(), &entry);
      if (ok == ARCHIVE_EOF) break;
      if (!is_good(ok)) return damaged();
      if (++entries_ > limits_.entries) {
        return wrong("has more than " + std::to_string(limits_.entries) + " entries");
      }
      if (auto taken = take(entry); !taken) return taken;
      // Skipped data is read all the same, and so counts.
      if (auto rest = pass_data(); !rest) return rest;
    }
    if (entries_ == 0) return wrong("is empty, or not a jetmem bundle");
    return {};
  }

  std::size_t passed_over() const { return passed_over_; }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const {
    return fail(Errc::kMalformed, file_ + ": " + what);
  }
  tl::unexpected<Error> not_accepted(const char* why) const {
    return wrong(std::string("is not a jetmem bundle (") + kAccepted + ")" +
                 (why == nullptr ? "" : ": " + printable(why, 200)));
  }
  tl::unexpected<Error> too_large() const {
    return wrong("unpacks to more than " + bytes_text(limits_.bytes) +
                 (last_.empty() ? " before its first entry" : ", at " + printable(last_, 200)));
  }
  tl::unexpected<Error> damaged() const {
    if (bytes_of_tar_.is_too_large()) return too_large();
    const char* why = archive_error_string(in_.get());
    if (last_.empty()) return not_accepted(why);
    return wrong("is damaged or truncated at or after " + printable(last_, 300) +
                 (why == nullptr ? "" : ": " + printable(why, 200)));
  }
  void pass_over(std::string_view name, const char* why) {
    if (++passed_over_ <= kMostRemarks) {
      remarks_.push_back("skipped " + printable(name, 200) + ": " + why);
    }
  }

  Result<void> pass_data() {
    for (;;) {
      const void* piece = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int ok = archive_read_data_block(in_.get(), &piece, &size, &offset);
      if (ok == ARCHIVE_EOF) return {};
      if (!is_good(ok)) return damaged();
    }
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
      pass_over(name, "its path points outside the bundle, or is too long or too deep");
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
      pass_over(name, "it exists twice, as a file and as a folder");
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
      if (bytes_ > limits_.bytes) return too_large();
      if (bytes_ >= examined_ + kCheckInterval) {
        examined_ = bytes_;
        if (auto room = max_unpack_bytes(folder_, kCheckInterval); !room) return room;
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
  TarBytes bytes_of_tar_;
  Reader in_;
  std::string last_;
  std::size_t entries_ = 0;
  std::size_t folders_ = 0;
  std::size_t passed_over_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t examined_ = 0;  // for room
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
    remarks.push_back("skipped " + std::to_string(unpacker.passed_over() - kMostRemarks) + " more");
  }
  return done;
}

Result<std::unique_ptr<UnpackedBundle>> UnpackedBundle::open(const std::string& file,
                                                             UnpackLimits limits) {
  const std::string where = temporary_directory();
  struct stat packed {};
  const bool is_known = ::stat(file.c_str(), &packed) == 0;
  const auto least = static_cast<std::uint64_t>(is_known ? packed.st_size : 0);
  if (auto room = max_unpack_bytes(where, std::min(least, limits.bytes)); !room) {
    return tl::unexpected(std::move(room.error()));
  }
  std::unique_ptr<UnpackedBundle> bundle(new UnpackedBundle);
  auto folder = TemporaryFolder::make_in(where, kUnpackedPrefix);
  if (!folder) return tl::unexpected(std::move(folder.error()));
  bundle->folder_ = std::move(*folder);
  // No name in the bundle is beside its tree.
  const std::string tree = bundle->folder_->path() + "/tree";
  if (::mkdir(tree.c_str(), 0700) != 0) {
    return tl::unexpected(errno_error("make", tree, errno));
  }
  // A line for each remark.
  const auto report = run_bounded(kBounds, [&]() -> Result<std::string> {
    std::vector<std::string> remarks;
    if (auto done = unpack_into(file, tree, limits, remarks); !done) {
      return tl::unexpected(std::move(done.error()));
    }
    std::string out;
    for (const std::string& remark : remarks) out += printable(remark, kMostMessage) + "\n";
    return out;
  });
  if (!report) return fail(report.error().code, file + ": " + report.error().message);
  if (!*report) return tl::unexpected(report->error());
  Lines lines(**report);
  std::string_view line;
  while (bundle->remarks_.size() <= kMostRemarks && lines.next(line)) {
    bundle->remarks_.emplace_back(line);
  }
  bool manifest = false;
  bundle->root_ = find_root(tree, manifest);
  if (!manifest) {
    bundle->remarks_.push_back(
        "it has no jetmem/manifest.json: denied files look like absent ones");
  }
  return bundle;
}

}  // namespace jetmem
