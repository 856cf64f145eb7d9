// A bundle that somebody sent, unpacked into a private folder that goes with the process.
//
// Nothing in it is trusted: no entry leaves the folder, none is written through a link, only
// folders and plain files are made (anything else is passed over and said), and all of it is
// bounded. Where the process is killed another one removes the folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jetmem {

struct UnpackLimits {
  std::size_t entries = 20'000;
  std::size_t folders = 20'000;  // made for them
  std::uint64_t bytes = 512U << 20;
  std::size_t path_bytes = 1024;
  std::size_t depth = 32;
};

// The archive's files, below an empty folder of our own, and what was passed over as remarks. For
// UnpackedBundle, and for the fuzzer.
Result<void> unpack_into(const std::string& file, const std::string& folder,
                         const UnpackLimits& limits, std::vector<std::string>& remarks);

class UnpackedBundle {
 public:
  // Errors name the file, and the entry where one is at fault: no tar of a known compression, cut
  // off, damaged, beyond a bound.
  static Result<std::unique_ptr<UnpackedBundle>> open(const std::string& file,
                                                      UnpackLimits limits = {});
  ~UnpackedBundle();
  UnpackedBundle(const UnpackedBundle&) = delete;
  UnpackedBundle& operator=(const UnpackedBundle&) = delete;

  // What stands for "/": the folder with jetmem/manifest.json, else the one folder at the top.
  const std::string& root() const { return root_; }
  // What was passed over, for a person; and that there is no manifest.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  UnpackedBundle() = default;

  std::string folder_;
  std::string root_;
  std::vector<std::string> remarks_;
  UniqueFd lock_;
  UniqueFd alive_;  // closed with the process, however that ends
};

}  // namespace jetmem
