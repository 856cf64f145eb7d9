// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/marks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/json/fields.h"
#include "base/root/snapshot.h"
#include "base/text/text.h"
#include "base/unique_fd.h"

namespace jetmem::boot {
namespace {

constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP;
constexpr int kLockTries = 100;  // of 20 ms
// What counts marks and seconds stays far below; beyond it one line could use up all the numbers.
constexpr std::uint64_t kNumbers = 1'000'000'000'000;

Error denied(std::string_view operation, const std::string& path, int error) {
  Error found = errno_error(operation, path, error);
  if (error == EACCES || error == EPERM) {
    found.message += "; root and the group jetmem may: sudo jetmem mark ..., sudo jetmem ack ...";
  } else if (error == ENOENT) {
    found.message += "; jetmemd makes its directory: is it installed and was it started once?";
  }
  return found;
}

// Opens the file, of which only the owner of its directory may be the owner, or root.
Result<UniqueFd> open_marks(const std::string& directory) {
  const UniqueFd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat location {};
  if (!folder.valid() || ::fstat(folder.get(), &location) != 0) {
    return tl::unexpected(denied("open", directory, errno));
  }
  const std::string name(kMarksFile);
  const std::string path = directory + "/" + name;
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  UniqueFd fd(::openat(folder.get(), name.c_str(), kFlags));
  if (!fd.valid() && errno == ENOENT) {
    fd.reset(::openat(folder.get(), name.c_str(), kFlags | O_CREAT | O_EXCL, kMode));
    // Root makes it for the daemon, whose umask is none of ours.
    if (fd.valid()) {
      if (::geteuid() == 0 && ::fchown(fd.get(), location.st_uid, location.st_gid) != 0) {
        return tl::unexpected(denied("give away", path, errno));
      }
      ::fchmod(fd.get(), kMode);
    } else if (errno == EEXIST) {
      fd.reset(::openat(folder.get(), name.c_str(), kFlags));
    }
  }
  if (!fd.valid()) return tl::unexpected(denied("open", path, errno));
  struct stat file {};
  if (::fstat(fd.get(), &file) != 0) return tl::unexpected(errno_error("look at", path, errno));
  if (!S_ISREG(file.st_mode)) return fail(Errc::kNotRegular, path + " is no regular file");
  if (file.st_nlink != 1 || (file.st_uid != location.st_uid && file.st_uid != 0)) {
    return fail(Errc::kDenied, path + " is not the file of " + directory + "'s owner alone");
  }
  return fd;
}

Result<void> lock(int fd, const std::string& path) {
  for (int i = 0; i < kLockTries; ++i) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    const timespec pause{0, 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return tl::unexpected(errno_error("lock", path, errno));
}

// 0 or an errno.
int write_at(int fd, std::string_view text, std::size_t offset) {
  while (!text.empty()) {
    const ssize_t n = ::pwrite(fd, text.data(), text.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : ENOSPC;
    text.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::size_t>(n);
  }
  return 0;
}

// 0 or an errno. Asks for nothing where the size is right already.
int cut_to(int fd, off_t size) {
  struct stat now {};
  if (::fstat(fd, &now) != 0) return errno;
  return now.st_size == size || ::ftruncate(fd, size) == 0 ? 0 : errno;
}

// Makes `text` what is in the file from `offset` on, of which `before` was all (or its first
// part, of `size` bytes). Where that fails the file is as it was: an older mark is never lost to a
// newer one that could not be written.
Result<void> replace_from(int fd, std::size_t offset, std::string_view text,
                          std::string_view before, off_t size, const std::string& path) {
  int error = write_at(fd, text, offset);
  if (error == 0) error = cut_to(fd, static_cast<off_t>(offset + text.size()));
  if (error == 0) return {};
  Error found = errno_error("write", path, error);
  int back = write_at(fd, before.substr(offset, text.size()), offset);
  if (back == 0) back = cut_to(fd, size);
  if (back != 0) found.message += "; what was written of it stays";
  return tl::unexpected(std::move(found));
}

// No overload of describe(): answers have marks in another form.
void describe_mark(json::Fields& v, Mark& mark) {
  v.required("n", mark.number);
  v.required("wall", mark.at.wall);
  v.required("uptime", mark.at.uptime);
  v.required("boot", mark.boot);
  v.required_text("text", mark.text);
  if (v.reading() || !mark.finding.empty()) {
    v("finding", mark.finding);
    v("by", mark.by);
  }
  if (!v.reading()) return;
  mark.boot = printable(mark.boot, 40);
  mark.text = printable(mark.text, Mark::kMaxText);
  mark.finding = printable(mark.finding, 64);
  mark.by = printable(mark.by, 32);
  if (mark.number >= kNumbers) v.missing("n");
  if (mark.at.wall < 0 || mark.at.wall > kLastSecond) v.missing("wall");
  if (mark.at.uptime > static_cast<std::uint64_t>(kLastSecond)) v.missing("uptime");
}

Result<void> read_mark(std::string_view line, Mark& mark) {
  return json::read_document(
      line, [&](json::Fields& v) { describe_mark(v, mark); }, json::From::kFile);
}

}  // namespace

std::string to_line(const Mark& mark) {
  return json::write_document(-1, [own = mark](json::Fields& v) mutable { describe_mark(v, own); });
}

void parse_marks(std::string_view text, Marks& out) {
  out.list.clear();
  out.malformed = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    Mark mark;
    // Without its newline it was cut.
    if (end != std::string_view::npos && read_mark(text.substr(0, end), mark)) {
      out.list.push_back(std::move(mark));
    } else {
      ++out.malformed;
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::vector<Mark> acknowledgements(const Marks& marks) {
  std::vector<Mark> out;
  for (auto mark = marks.list.rbegin(); mark != marks.list.rend(); ++mark) {
    if (mark->finding.empty() || !mark->at.plausible() || out.size() == kMaxAcknowledged) continue;
    const bool is_newer_there = std::any_of(
        out.begin(), out.end(), [&](const Mark& each) { return each.finding == mark->finding; });
    if (!is_newer_there) out.push_back(*mark);
  }
  return out;
}

Result<Mark> add_mark(const std::string& directory, Mark mark) {
  if (trim(mark.text).empty()) return fail(Errc::kInvalid, "a mark needs a text");
  mark.text = printable(mark.text, Mark::kMaxText);
  const std::string path = directory + "/" + std::string(kMarksFile);
  auto fd = open_marks(directory);
  if (!fd) return tl::unexpected(std::move(fd.error()));
  if (auto ok = lock(fd->get(), path); !ok) return tl::unexpected(std::move(ok.error()));
  ByteBuffer bytes;
  const int error = read_to_end(fd->get(), Marks::kMaxFile * 2, bytes);
  if (error != 0 && error != FileText::kTooLarge) {
    return tl::unexpected(errno_error("read", path, error));
  }
  const std::string_view text = bytes.view();
  Marks marks;
  parse_marks(text, marks);
  mark.number = 1;
  for (const Mark& each : marks.list) mark.number = std::max(mark.number, each.number + 1);
  std::string line = to_line(mark);
  // It is no mark unless the daemon will take it for one.
  if (Mark again; !read_mark(line, again)) {
    return fail(Errc::kMalformed, path + " would not be understood with this mark: its number, " +
                                      std::to_string(mark.number) +
                                      ", or its time is out of range");
  }
  struct stat file {};
  if (::fstat(fd->get(), &file) != 0) return tl::unexpected(errno_error("look at", path, errno));
  std::size_t offset = text.size();
  if (text.size() + line.size() > Marks::kMaxFile) {
    std::string kept;
    const std::size_t half = marks.list.size() / 2;
    for (std::size_t i = half; i < marks.list.size(); ++i) kept += to_line(marks.list[i]);
    line.insert(0, kept);
    offset = 0;
  } else if (!text.empty() && text.back() != '\n') {
    line.insert(0, "\n");  // what was cut stays a line of its own
  }
  auto ok = replace_from(fd->get(), offset, line, text, file.st_size, path);
  if (!ok) return tl::unexpected(std::move(ok.error()));
  return mark;
}

Result<void> make_marks_file(const std::string& directory) {
  auto fd = open_marks(directory);
  if (!fd) return tl::unexpected(std::move(fd.error()));
  return {};
}

}  // namespace jetmem::boot
