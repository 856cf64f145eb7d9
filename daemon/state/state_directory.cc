// SPDX-License-Identifier: Apache-2.0
#include "daemon/state/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/root/small_file.h"
#include "base/text/text.h"
#include "base/unique_fd.h"
#include "collectors/device/boot/marks.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxHistory = 128U << 10;

// One is kept, the newest: it may hold what a person wants to know, or show what went wrong.
std::string set_aside(const std::string& file, const std::string& why) {
  const std::string to = file + ".bad";
  std::string what = "it is kept as " + to;
  if (std::rename(file.c_str(), to.c_str()) != 0) {
    what = "nor can it be set aside: " + errno_error("rename to", to, errno).message;
  }
  return printable(why, 300) + "; " + what;
}

}  // namespace

MarksState check_marks(const std::string& directory, const MarksSeen& seen) {
  MarksState snapshot;
  snapshot.seen = seen;
  const std::string path = directory + "/" + std::string(boot::kMarksFile);
  struct stat file {};
  const auto is_as_it_was = [&] {
    return file.st_size == seen.size && file.st_mtim.tv_sec == seen.changed.tv_sec &&
           file.st_mtim.tv_nsec == seen.changed.tv_nsec;
  };
  if (::stat(path.c_str(), &file) != 0 || is_as_it_was()) return snapshot;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  // Who adds a mark may be half done; the next look is soon.
  if (fd.valid() && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return snapshot;
  if (fd.valid() && ::fstat(fd.get(), &file) != 0) return snapshot;
  snapshot.seen = {file.st_size, file.st_mtim};
  snapshot.text = read_small_file(path, boot::Marks::kMaxFile * 2);
  return snapshot;
}

StateFound open_state(const std::string& directory) {
  StateFound found;
  const std::string path = directory + "/" + std::string(boot::kHistoryFile);
  if (auto text = read_small_file(path, kMaxHistory); !text) {
    if (text.error().code != Errc::kAbsent) found.lost = set_aside(path, text.error().message);
  } else if (auto ok = boot::parse_history(*text, found.history); !ok) {
    found.history.clear();
    found.lost = set_aside(path, path + ": " + ok.error().message);
  }
  if (auto made = boot::make_marks_file(directory); !made) found.no_marks = made.error().message;
  found.marks = check_marks(directory, {});
  return found;
}

}  // namespace jetmem
