// SPDX-License-Identifier: Apache-2.0
// What a source was given at a capture, record by record: jetmem/records/SOURCE in a captured tree.
//
// The tree has the files; what it cannot have is here: which were asked for and in what order, the
// errno of each, what the gatherer noted beside them, and the text of a file that two sources read
// at different moments.
//
//   jetmem-records 1[ truncated]
//   PATH_BYTES TEXT_BYTES ERROR      then PATH, TEXT and a newline
//
// TEXT_BYTES is "=" where the text is that of the file in the tree. ERROR is "0", the name of an
// errno (base/root/manifest.h), "not_regular" or "too_large".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/root/root.h"
#include "base/root/snapshot.h"

namespace jetmem {

inline constexpr std::string_view kRecordsFolder = "/jetmem/records/";
inline constexpr std::size_t kMaxRecordsFile = 16U << 20;

std::string recorded_head(bool truncated);
// `in_tree`: the file of this path below the tree has the text.
void append_recorded(std::string& out, const FileText& file, bool in_tree);

// False when the tree has no records of this source. Records that are damaged make the snapshot a
// truncated one, never a shorter one; so do those beyond the source's limits, which a bundle that
// somebody sent need not keep.
bool read_recorded(const Root& root, std::string_view source, Snapshot& out,
                   const ReadLimits& limits = {});

}  // namespace jetmem
