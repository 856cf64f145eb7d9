// SPDX-License-Identifier: Apache-2.0
// Writes a bundle: a tar, compressed by its name, complete or not at all.
//
// It is written in a folder beside its place, NAME.part (base/root/temporary_folder.h), and renamed
// at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"
#include "base/root/atomic_file.h"
#include "base/unique_fd.h"

struct archive;

namespace jetmem {

class BundleWriter {
 public:
  // "-" is stdout, compressed with zstd. Errors: a name that ends in none of .tar.zst, .tar.gz and
  // .tar; a file that cannot be made, or one there that may not be replaced. `part_folder`: where
  // it is written first. `folder`: the one that all of it lies in.
  static Result<std::unique_ptr<BundleWriter>> create(const std::string& file,
                                                      const std::string& part_folder,
                                                      std::string folder, std::uint64_t max_bytes,
                                                      std::int64_t time);
  ~BundleWriter() = default;
  BundleWriter(const BundleWriter&) = delete;
  BundleWriter& operator=(const BundleWriter&) = delete;

  // `path` is absolute, as below "/". Errors: the disk is full, the bundle is as large as it may
  // be.
  Result<void> add(std::string_view path, std::string_view text);
  // A whole file, piece by piece.
  Result<void> add_file(std::string_view path, int fd, std::uint64_t size);
  Result<void> add_folder(std::string_view path);

  // Whether the tree has a file of this path with this very text.
  bool has(std::string_view path, std::string_view text) const;
  // Whether a file can be put there: nothing is, and no file is where a folder would have to be.
  bool is_free(std::string_view path) const;
  // Whether a folder of this path lies in the tree, or a file below it.
  bool has_folder(std::string_view path) const { return folders_.contains(std::string(path)); }

  std::size_t entries() const { return files_.size(); }
  // On disk, so far.
  std::uint64_t bytes() const;
  std::uint64_t max_bytes() const { return max_bytes_; }
  Result<void> finish();

 private:
  BundleWriter() = default;
  struct Close {
    void operator()(archive* a) const;
  };
  Result<void> header(std::string_view path, std::uint64_t size, bool folder);
  Result<void> data(const char* bytes, std::size_t size);
  Result<void> check(int result);
  void remember(std::string_view path, std::uint64_t hash);

  std::string name_;
  std::unique_ptr<AtomicFile> file_;  // empty: stdout
  UniqueFd stdout_;
  std::string folder_;
  std::uint64_t max_bytes_ = 0;
  std::int64_t time_ = 0;
  std::unique_ptr<archive, Close> archive_;
  std::unordered_map<std::string, std::uint64_t> files_;  // path: hash of the text
  std::unordered_set<std::string> folders_;
};

// ".tar.zst", ".tar.gz" or ".tar"; empty: no bundle can be called so.
std::string_view bundle_ending(std::string_view name);

}  // namespace jetmem
