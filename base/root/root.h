// SPDX-License-Identifier: Apache-2.0
// Where the files are: this machine, or a fixture, scenario or captured bundle that stands for
// another. Every collector reads below a Root and cannot tell which it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root/facts.h"
#include "base/root/manifest.h"
#include "base/unique_fd.h"

namespace jetmem {

class Root {
 public:
  static Root live();
  // A directory with the layout of "/". Nothing outside it is ever opened: absolute symbolic links
  // and ".." resolve inside it. A damaged manifest is an error; a missing one leaves facts absent.
  static Result<Root> at(const std::string& directory);

  bool is_live() const { return facts_.live; }
  const Facts& facts() const { return facts_; }
  // Of a captured tree, where it has one; null otherwise.
  const Manifest* manifest() const { return manifest_.get(); }

  // Opens a regular file for reading ("/proc/meminfo"). Never blocks on a FIFO and never takes a
  // terminal. On failure the fd is invalid and `error` an errno, or one of the two below.
  static constexpr int kNotRegular = -1;
  UniqueFd open_file(std::string_view path, int& error) const;
  // Opens what is followed rather than read to its end: a regular file, or on a live root the
  // kernel's log device (/dev/kmsg). Anything else is kNotRegular, and is not even opened. Reading
  // from it does not block.
  UniqueFd open_stream(std::string_view path, int& error) const;
  // The names in a directory, sorted, without those that begin with a dot. At `most` names, or
  // at `end`, it stops and says true for `cut`. 0 or an errno.
  using Moment = std::chrono::steady_clock::time_point;
  int list(std::string_view path, std::size_t most, std::vector<std::string>& names, bool& cut,
           Moment end = Moment::max()) const;
  // What a symbolic link says, at most 255 bytes of it; never followed. 0 or an errno.
  int read_link(std::string_view path, std::string& target) const;
  // The inode of what a path leads to, links of /proc/<pid>/fd followed. Live only: under another
  // root inodes are of other files. 0 or an errno.
  int inode_of(std::string_view path, std::uint64_t& inode) const;
  // The links of a directory, which are its directories and two more. Live only. 0: it is none, or
  // may not be looked at.
  std::uint64_t links_of(std::string_view path) const;

 private:
  Root() = default;
  UniqueFd open_below(std::string_view path, int flags, int& error) const;

  UniqueFd directory_;
  Facts facts_;
  std::shared_ptr<const Manifest> manifest_;
  bool has_openat2_ = true;
};

// The checked walk used where the kernel has no openat2 (before 5.6). Declared for its test.
UniqueFd open_below_by_walk(int root_fd, std::string_view path, int flags, int& error);

}  // namespace jetmem
