// SPDX-License-Identifier: Apache-2.0
// Folders that a source's patterns look into, and that could not be listed this time.
//
// Each pattern lists its folder by itself: where one of them fails (no descriptor left, no memory)
// a parser sees the other files of the same devices, and cannot tell a file that is not there from
// one that nobody saw. So whoever calls it asks here.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/root/snapshot.h"

namespace jetmem {

struct Unlisted {
  std::size_t count = 0;  // lists: one folder may be several patterns'
  FileText first{};       // valid as long as the snapshot
};

// Not those which there are not, and not those which are not ours to list: what that means each
// source knows itself.
Unlisted unlisted_folders(const Snapshot& snapshot, std::span<const std::string_view> patterns);

}  // namespace jetmem
