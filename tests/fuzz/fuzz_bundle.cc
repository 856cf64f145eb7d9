// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>

#include "base/root/manifest.h"
#include "base/root/root.h"
#include "cli/bundle/unpack.h"
#include "tests/fuzz/target.h"
#include "tests/temp_dir.h"

namespace {

namespace fs = std::filesystem;
using jetmem::check;
constexpr jetmem::UnpackLimits kLimits{
    .entries = 300, .folders = 300, .bytes = 1U << 20, .path_bytes = 256, .depth = 8};

// Nothing but folders and plain files that only their owner may read, and within the bounds.
void check_tree(const std::string& folder) {
  std::uint64_t bytes = 0;
  std::size_t files = 0;
  std::size_t folders = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::file_status status = entry.symlink_status();
    check(fs::is_regular_file(status) || fs::is_directory(status));
    (fs::is_directory(status) ? folders : files) += 1;
    if (!fs::is_regular_file(status)) continue;
    check((status.permissions() & ~(fs::perms::owner_read | fs::perms::owner_write)) ==
          fs::perms::none);
    bytes += entry.file_size();
  }
  // The one piece that goes beyond them is not written.
  check(bytes <= kLimits.bytes && files <= kLimits.entries && folders <= kLimits.folders + 1);
}

}  // namespace

// The bytes of an archive that somebody sent.
FUZZ(input) {
  static const TempDir around;
  static const std::string folder = around.file("bundle");
  static const int fd = ::memfd_create("bundle", MFD_CLOEXEC);
  static const std::string file = "/proc/self/fd/" + std::to_string(fd);
  check(::ftruncate(fd, 0) == 0);
  check(::pwrite(fd, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size()));
  fs::create_directory(folder);
  std::vector<std::string> remarks;
  const auto unpacked = unpack_into(file, folder, kLimits, remarks);
  check(unpacked || !unpacked.error().message.empty());
  check(remarks.size() <= 9);
  for (const std::string& remark : remarks) check_shown(remark);
  check_tree(folder);
  check(std::distance(fs::directory_iterator(around.path()), {}) == 1);
  // Whatever is in it: reading it as a tree is no trouble.
  (void)Root::at(folder);
  fs::remove_all(folder);
}
