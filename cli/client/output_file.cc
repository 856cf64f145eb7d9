// SPDX-License-Identifier: Apache-2.0
#include "cli/client/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "cli/draw/terminal.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

// As many as the kernel follows.
constexpr int kMostLinks = 40;

}  // namespace

tl::unexpected<Error> output_error(std::string_view operation, std::string_view path, int number) {
  Error error = errno_error(operation, path, number);
  if (error.code != Errc::kDenied) error.code = Errc::kIo;
  return tl::unexpected(std::move(error));
}

Result<OutputTarget> output_target(const std::string& requested) {
  OutputTarget out;
  out.file = requested;
  // Before links are followed here: the kernel refuses those that another left in /tmp.
  struct stat found {};
  if (::stat(requested.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) return output_error("write", requested, EISDIR);
    out.in_place = !S_ISREG(found.st_mode);
    if (out.in_place) return out;
  } else if (errno != ENOENT) {
    return output_error("write", requested, errno);
  }
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(out.file, error))) return out;
    const fs::path to = fs::read_symlink(out.file, error);
    if (error) return output_error("read link", out.file, error.value());
    out.file = (fs::path(out.file).parent_path() / to).string();
  }
  return output_error("write", requested, ELOOP);
}

OutputFile::~OutputFile() {
  if (out_ != nullptr) std::fclose(out_);
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

Result<void> OutputFile::open() {
  if (file_.empty() || file_ == "-") return {};
  auto location = output_target(file_);
  if (!location) return tl::unexpected(std::move(location.error()));
  file_ = std::move(location->file);
  if (location->in_place) {
    const int fd = ::open(file_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    out_ = fd < 0 ? nullptr : ::fdopen(fd, "w");
    if (out_ == nullptr) return output_error("open", file_, errno);
    return {};
  }
  const std::string temporary = file_ + ".part";
  // Also a link that somebody planted there: it is removed, never followed.
  if (replace_ == Replace::kAlways && ::unlink(temporary.c_str()) != 0 && errno != ENOENT) {
    return output_error("remove", temporary, errno);
  }
  out_ = std::fopen(temporary.c_str(), "wxe");
  if (out_ == nullptr) return output_error("create", temporary, errno);
  temporary_ = temporary;
  return {};
}

void OutputFile::put(const std::string& text) {
  if (out_ == nullptr) return jetmem::put(text);
  if (std::fwrite(text.data(), 1, text.size(), out_) != text.size() && error_ == 0) error_ = errno;
}

// Another command may have replaced FILE.part by its own, which is not complete yet.
bool OutputFile::is_still_ours() const {
  struct stat ours {};
  struct stat there {};
  return ::fstat(::fileno(out_), &ours) == 0 && ::lstat(temporary_.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

Result<void> OutputFile::finish() {
  if (out_ == nullptr) return {};  // main() checks standard output
  const bool is_file = !temporary_.empty();
  if (is_file && replace_ == Replace::kAlways) {
    // Whatever the umask: who reads it runs as another user.
    ::fchmod(::fileno(out_), S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
    if (!is_still_ours()) {
      temporary_.clear();
      return fail(Errc::kIo, "another command is writing " + file_);
    }
  }
  const bool whole = std::ferror(out_) == 0;
  const bool closed = std::fclose(out_) == 0;
  if (!closed && error_ == 0) error_ = errno;
  out_ = nullptr;
  if (!whole || !closed) return output_error("write", file_, error_);
  if (!is_file) return {};
  if (std::rename(temporary_.c_str(), file_.c_str()) != 0) {
    return output_error("rename to", file_, errno);
  }
  temporary_.clear();
  return {};
}

Result<void> OutputFile::remove_old(const std::string& file) {
  if (file.empty() || file == "-") return {};
  const auto location = output_target(file);
  if (!location || location->in_place) return {};
  if (::unlink(location->file.c_str()) == 0 || errno == ENOENT) return {};
  return output_error("remove", location->file, errno);
}

}  // namespace jetmem
