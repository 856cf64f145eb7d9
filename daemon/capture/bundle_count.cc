// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/bundle_count.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/root/bundle_name.h"
#include "base/root/temporary_folder.h"

namespace jetmem {
namespace {

constexpr int kMostNames = 1000;

// Of the plain files in a folder that a bundle is written in.
std::uint64_t bytes_in(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::uint64_t bytes = 0;
  std::error_code error;
  int checked = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (++checked > kMostNames) break;
    std::error_code ignored;
    if (at->symlink_status(ignored).type() != fs::file_type::regular) continue;
    const std::uintmax_t size = at->file_size(ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

}  // namespace

std::optional<BundlesSeen> look_at_bundles(const std::string& folder,
                                           const std::string& remove_parts_of) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!remove_parts_of.empty()) {
    (void)remove_abandoned_folder(remove_parts_of + std::string(kPartEnding));
  }
  BundlesSeen seen;
  int checked = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (++checked > kMostNames) break;
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kBundlePrefix) || name.find(".tar") == std::string::npos) continue;
    seen.highest = std::max(seen.highest, bundle_number(name));
    struct stat info {};
    if (::stat(at->path().c_str(), &info) != 0) {
      if (errno == ENOENT) continue;  // taken away meanwhile
      return std::nullopt;
    }
    if (S_ISDIR(info.st_mode)) {
      seen.bytes += bytes_in(at->path());
      continue;
    }
    seen.bytes += static_cast<std::uint64_t>(info.st_size);
    // Copies of the history were left so by older versions.
    if (name.ends_with(kPartEnding) || name.find(".db-copy") != std::string::npos) continue;
    ++seen.bundles;
    seen.written.emplace_back(std::chrono::seconds(info.st_mtime));
  }
  if (error && error != std::errc::no_such_file_or_directory) return std::nullopt;
  return seen;
}

}  // namespace jetmem
