// Where a capture to standard output puts its copy of the history: a private folder, so that
// nobody who can write the temporary one can put something in the copy's place.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jetmem {

class CopyFolder {
 public:
  // Removes those of captures that were killed, then makes one below $TMPDIR.
  static Result<CopyFolder> make();
  CopyFolder(CopyFolder&& other) noexcept = default;
  CopyFolder& operator=(CopyFolder&& other) noexcept = default;
  // Goes with what is in it.
  ~CopyFolder();

  const std::string& path() const { return path_; }

 private:
  CopyFolder() = default;
  std::string path_;
  UniqueFd lock_;  // as long as it is ours
};

}  // namespace jetmem
