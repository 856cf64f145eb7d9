#include "collectors/boot/marks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/unique_fd.h"

namespace jetmem::boot {
namespace {

using Json = nlohmann::json;

constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP;
constexpr int kLockTries = 100;  // of 20 ms

bool mark_of(std::string_view line, Mark& out) {
  try {
    const Json json = Json::parse(line);
    const auto number = [&](const char* name) {
      const Json& value = json.at(name);
      if (!value.is_number_unsigned()) throw Json::other_error::create(501, name, nullptr);
      return value.get<std::uint64_t>();
    };
    out.number = number("n");
    const std::uint64_t wall = number("wall");
    out.at.uptime = number("uptime");
    if (wall > 253402300799U || out.at.uptime > INT64_MAX / 4 || out.number > INT64_MAX / 4) {
      return false;
    }
    out.at.wall = static_cast<std::int64_t>(wall);
    out.boot = printable(json.at("boot").get_ref<const std::string&>(), 40);
    out.text = printable(json.at("text").get_ref<const std::string&>(), Mark::kMaxText);
    return !out.text.empty();
  } catch (const Json::exception&) {
    return false;
  }
}

Error denied(std::string_view operation, const std::string& path, int error) {
  Error found = errno_error(operation, path, error);
  if (error == EACCES || error == EPERM) {
    found.message += "; root and the group jetmem may: sudo jetmem mark ...";
  } else if (error == ENOENT) {
    found.message += "; jetmemd makes its directory: is it installed and was it started once?";
  }
  return found;
}

// Opens the file, of which only the owner of its directory may be the owner, or root.
Result<UniqueFd> open_marks(const std::string& directory) {
  const UniqueFd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat place {};
  if (!folder.valid() || ::fstat(folder.get(), &place) != 0) {
    return tl::unexpected(denied("open", directory, errno));
  }
  const std::string name(kMarksFile);
  const std::string path = directory + "/" + name;
  constexpr int kFlags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  UniqueFd fd(::openat(folder.get(), name.c_str(), kFlags));
  if (!fd.valid() && errno == ENOENT) {
    fd.reset(::openat(folder.get(), name.c_str(), kFlags | O_CREAT | O_EXCL, kMode));
    // Root makes it for the daemon, whose umask is none of ours.
    if (fd.valid()) {
      if (::geteuid() == 0 && ::fchown(fd.get(), place.st_uid, place.st_gid) != 0) {
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
  if (file.st_nlink != 1 || (file.st_uid != place.st_uid && file.st_uid != 0)) {
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

Result<std::string> whole(int fd, const std::string& path) {
  std::string text(Marks::kMaxFile * 2, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::pread(fd, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::unexpected(errno_error("read", path, errno));
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return text;
}

Result<void> put(int fd, std::string_view text, const std::string& path) {
  ssize_t n = 0;
  do {
    n = ::write(fd, text.data(), text.size());
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(text.size())) return {};
  return tl::unexpected(errno_error("write", path, n < 0 ? errno : ENOSPC));
}

}  // namespace

void Mark::clear() { *this = Mark(); }

std::string to_line(const Mark& mark) {
  const Json json{{"n", mark.number},
                  {"wall", mark.at.wall},
                  {"uptime", mark.at.uptime},
                  {"boot", mark.boot},
                  {"text", mark.text}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void parse_marks(std::string_view text, Marks& out) {
  out.list.clear();
  out.malformed = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    Mark mark;
    // Without its newline it was cut.
    if (end != std::string_view::npos && mark_of(text.substr(0, end), mark)) {
      out.list.push_back(std::move(mark));
    } else {
      ++out.malformed;
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

Result<Mark> add_mark(const std::string& directory, Mark mark) {
  if (trim(mark.text).empty()) return fail(Errc::kInvalid, "a mark needs a text");
  mark.text = printable(mark.text, Mark::kMaxText);
  const std::string path = directory + "/" + std::string(kMarksFile);
  auto fd = open_marks(directory);
  if (!fd) return tl::unexpected(std::move(fd.error()));
  if (auto ok = lock(fd->get(), path); !ok) return tl::unexpected(std::move(ok.error()));
  auto text = whole(fd->get(), path);
  if (!text) return tl::unexpected(std::move(text.error()));
  Marks marks;
  parse_marks(*text, marks);
  mark.number = 1;
  for (const Mark& each : marks.list) mark.number = std::max(mark.number, each.number + 1);
  std::string line = to_line(mark);
  if (text->size() + line.size() > Marks::kMaxFile) {
    std::string kept;
    const std::size_t half = marks.list.size() / 2;
    for (std::size_t i = half; i < marks.list.size(); ++i) kept += to_line(marks.list[i]);
    // Emptied first, so that what is cut short by a full disk is cut at its end.
    if (::ftruncate(fd->get(), 0) != 0) return tl::unexpected(errno_error("cut", path, errno));
    line.insert(0, kept);
  } else if (!text->empty() && text->back() != '\n') {
    line.insert(0, "\n");  // what was cut stays a line of its own
  }
  if (auto ok = put(fd->get(), line, path); !ok) {
    // Half a line would be a malformed one for ever.
    struct stat now {};
    if (::fstat(fd->get(), &now) == 0 && text->size() + line.size() <= Marks::kMaxFile &&
        ::ftruncate(fd->get(), static_cast<off_t>(text->size())) != 0) {
      return tl::unexpected(std::move(Error(ok.error())).within("and what was written stays"));
    }
    return tl::unexpected(std::move(ok.error()));
  }
  return mark;
}

Result<void> make_marks_file(const std::string& directory) {
  auto fd = open_marks(directory);
  if (!fd) return tl::unexpected(std::move(fd.error()));
  return {};
}

}  // namespace jetmem::boot
