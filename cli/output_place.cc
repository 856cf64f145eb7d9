#include "cli/output_place.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace jetmem {
namespace {

namespace fs = std::filesystem;

// As many as the kernel follows.
constexpr int kMostLinks = 40;

}  // namespace

Result<OutputPlace> output_place(const std::string& asked) {
  OutputPlace out;
  out.file = asked;
  // Before links are followed here: the kernel refuses those that another left in /tmp.
  struct stat found {};
  if (::stat(asked.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) return tl::unexpected(errno_error("write", asked, EISDIR));
    out.in_place = !S_ISREG(found.st_mode);
    if (out.in_place) return out;
  } else if (errno != ENOENT) {
    return tl::unexpected(errno_error("write", asked, errno));
  }
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(out.file, error))) return out;
    const fs::path to = fs::read_symlink(out.file, error);
    if (error) return tl::unexpected(errno_error("read link", out.file, error.value()));
    out.file = (fs::path(out.file).parent_path() / to).string();
  }
  return tl::unexpected(errno_error("write", asked, ELOOP));
}

}  // namespace jetmem
