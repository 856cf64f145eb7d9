// SPDX-License-Identifier: Apache-2.0
// A folder that a command makes for itself: a bundle that is unpacked, one that is being written.
//
// It is removed with its process, however that ends: a helper process waits for that. Where the
// helper was killed too, the next command removes the folder.
//
// No folder is ever removed because of its name. Only one that holds a marker is: a file of this
// user that names the folder and its inode, so that a copy or a renamed folder has none, and that
// the process which made it keeps locked while it lives. It is emptied through its descriptor:
// whoever renames it, or puts a link in its place, leads nothing elsewhere.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jetmem {

// $TMPDIR if it is an absolute path, else /tmp.
std::string temporary_directory();

class TemporaryFolder {
 public:
  // kNone: whoever started this process removes the folder if it is killed.
  enum class Helper { kNone, kOne };
  // `path` does not exist, or was left by a process that is over. Errors: a process that lives has
  // it (kUnavailable), something else has that name (kDenied).
  static Result<std::unique_ptr<TemporaryFolder>> make(const std::string& path,
                                                       Helper helper = Helper::kOne);
  // WHERE/PREFIX and a random number, after those of earlier processes are removed.
  static Result<std::unique_ptr<TemporaryFolder>> make_in(const std::string& where,
                                                          std::string_view prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  // The folder itself, whatever has its name now: for this process only.
  std::string inside() const;
  int descriptor() const { return folder_.get(); }
  // The files of these names, and the folder. Only async-signal-safe calls.
  static void remove_now(int folder, const char* path, std::initializer_list<const char*> names);

  // The one name in it that is taken.
  static constexpr const char* kMarker = ".jetmem-marker";

 private:
  TemporaryFolder() = default;
  std::string path_;
  UniqueFd folder_;
  UniqueFd lock_;   // on the marker
  UniqueFd alive_;  // closed with the process, however that ends
};

// Removes the folder if its marker proves that a process of this user made it which is over. True:
// it is gone.
bool remove_abandoned_folder(const std::string& path);
// Those in `where` whose names begin and end so.
void remove_abandoned_folders(const std::string& where, std::string_view prefix,
                              std::string_view ending = {});

}  // namespace jetmem
