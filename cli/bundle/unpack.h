// SPDX-License-Identifier: Apache-2.0
// A bundle, unpacked into a private folder that is removed with the process.
//
// Nothing in it is trusted: no entry leaves the folder or is written through a link, only folders
// and plain files are created (others are skipped with a remark), and everything is bounded. It is
// a tar, plain or compressed once, and a child process unpacks it within bounds on its time and
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/root/temporary_folder.h"

namespace jetmem {

struct UnpackLimits {
  std::size_t entries = 20'000;
  std::size_t folders = 20'000;  // made for them
  std::uint64_t bytes = 512U << 20;
  std::size_t path_bytes = 1024;
  std::size_t depth = 32;
};

// Unpacks into an empty folder of our own; skipped entries become remarks. For UnpackedBundle and
// the fuzzer.
Result<void> unpack_into(const std::string& file, const std::string& folder,
                         const UnpackLimits& limits, std::vector<std::string>& remarks);

class UnpackedBundle {
 public:
  // Errors name the file, and the entry where one is at fault: no tar of a known compression, cut
  // off, damaged, beyond a bound.
  static Result<std::unique_ptr<UnpackedBundle>> open(const std::string& file,
                                                      UnpackLimits limits = {});
  // The folder that is the tree's "/": the one with jetmem/manifest.json, else the only one at the
  // top.
  const std::string& root() const { return root_; }
  // Skipped entries, and a missing manifest.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  UnpackedBundle() = default;

  std::unique_ptr<TemporaryFolder> folder_;
  std::string root_;
  std::vector<std::string> remarks_;
};

}  // namespace jetmem
