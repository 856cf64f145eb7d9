// SPDX-License-Identifier: Apache-2.0
// The bundles that alerts left in a folder: never more of them than wanted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace jetmem {

// Removes the oldest by the number in their names (base/root/bundle_name.h), then by name, until at
// most `keep` are left and at most `max_bytes` together; never `newest`. The names of those
// removed. Nothing that is not called jetmem-capture-*.tar[.zst|.gz] is touched.
std::vector<std::string> remove_old_bundles(const std::string& directory, const std::string& newest,
                                            std::size_t keep, std::uint64_t max_bytes);

}  // namespace jetmem
