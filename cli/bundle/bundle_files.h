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

// What a capture has on the disk that is not to stay there if it ends midway: by a signal, by its
// deadline, by refused memory, or by a library that calls exit().
//
// Names are remembered once the file is this capture's own, and forgotten as it gets its name or is
// removed. Nothing here takes memory; remove_partial_bundle() may be called by a signal's handler.
// For one thread.

// A folder is removed last, once it is empty.
enum class PartialBundle { kPart, kCopy, kFolder };

void track_partial_bundle(PartialBundle what, const std::string& name);
void untrack_partial_bundle(PartialBundle what);
void remove_partial_bundle();

}  // namespace jetmem
