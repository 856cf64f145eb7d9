// SPDX-License-Identifier: Apache-2.0
// A file that appears complete or not at all: written under another name, then renamed.
//
// A folder that others may write into holds what they put there: a link to another file, a FIFO
// with a reader, a second name of somebody's file. So the new file is created with O_EXCL and
// O_NOFOLLOW, and replaces only a regular file of one name and of its own owner.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jetmem {

struct AtomicFileOptions {
  std::string part{};         // where it is written; empty: PATH.part
  mode_t mode = 0600;         // whatever the umask
  bool replaces_any = false;  // state in a folder that is jetmem's own
};

class AtomicFile {
 public:
  // A part that a killed process of this user left is removed, and so is a link or FIFO in its
  // place. Errors: what `path` names now may not be replaced (kDenied); a process that lives is
  // writing the part (kUnavailable); the part is another user's file (kDenied).
  static Result<std::unique_ptr<AtomicFile>> create(std::string path,
                                                    AtomicFileOptions options = {});
  // Removes the part if it was not renamed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  int fd() const { return fd_.get(); }
  Result<void> write(std::string_view text);
  // Renames it. `durably`: on the disk before, so that it is whole after a power cut.
  Result<void> commit(bool durably);

  // Deletes the file of an earlier run. Errors: as create() about what `path` names.
  static Result<void> remove(const std::string& path);

 private:
  AtomicFile() = default;
  bool has_part() const;

  std::string path_;
  std::string name_;  // below folder_
  std::string part_;  // below folder_, or absolute; empty: renamed
  bool replaces_any_ = false;
  UniqueFd folder_;
  UniqueFd fd_;
};

}  // namespace jetmem
