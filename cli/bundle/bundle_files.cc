// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/bundle_files.h"

#include <algorithm>
#include <filesystem>

#include "base/root/bundle_name.h"
#include "cli/bundle/pack.h"

namespace jetmem {

std::vector<std::string> remove_old_bundles(const std::string& directory, const std::string& newest,
                                            std::size_t keep, std::uint64_t max_bytes) {
  namespace fs = std::filesystem;
  struct Bundle {
    std::string name;
    std::uint64_t bytes = 0;
  };
  std::vector<Bundle> bundles;
  std::uint64_t bytes = 0;
  std::error_code error;
  int checked = 0;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (++checked > 10'000) break;
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with(kBundlePrefix) || bundle_ending(name).empty()) continue;
    if (at->symlink_status(ignored).type() != fs::file_type::regular) continue;
    const std::uint64_t size = at->file_size(ignored);
    if (ignored) continue;
    bundles.push_back({name, size});
    bytes += size;
  }
  std::sort(bundles.begin(), bundles.end(), [](const Bundle& a, const Bundle& b) {
    const std::uint64_t left = bundle_number(a.name);
    const std::uint64_t right = bundle_number(b.name);
    return left != right ? left < right : a.name < b.name;
  });
  std::vector<std::string> removed;
  std::size_t left = bundles.size();
  for (const Bundle& bundle : bundles) {
    if (left <= keep && bytes <= max_bytes) break;
    if (bundle.name == newest) continue;
    std::error_code failed;
    if (!fs::remove(fs::path(directory) / bundle.name, failed)) continue;
    removed.push_back(bundle.name);
    --left;
    bytes -= bundle.bytes;
  }
  return removed;
}

}  // namespace jetmem
