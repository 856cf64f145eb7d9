// SPDX-License-Identifier: Apache-2.0
// The text of a source's files at one moment: what Root gives and parsers take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root/root.h"
#include "base/unique_fd.h"

namespace jetmem {

struct FileText {
  static constexpr int kNotRegular = Root::kNotRegular;
  static constexpr int kTooLarge = -2;

  std::string_view path;
  std::string_view text;  // empty when there is an error
  int error = 0;          // 0, an errno, or one of the two above

  bool ok() const { return error == 0; }
  // Why the file could not be read, in words and as an Errc.
  Error as_error() const;
};

// A byte buffer that grows without filling what it grew by: a std::string would write zeroes over
// every read's room, each cycle.
class ByteBuffer {
 public:
  std::size_t size() const { return size_; }
  std::string_view view() const { return {bytes_.get(), size_}; }
  // What a rare large reading needed is given back; what each cycle needs is kept.
  void clear();
  void truncate(std::size_t size) { size_ = std::min(size, size_); }
  void append(std::string_view text);
  // Room for at least `least` bytes behind the end; what was written there is kept by commit().
  std::span<char> room(std::size_t least);
  void commit(std::size_t bytes) { size_ += bytes; }

 private:
  static constexpr std::size_t kKept = 1U << 20;

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Reads from the beginning to the end into `bytes`; 0, an errno, or FileText::kTooLarge beyond
// `limit`. `again`, where given: whether that can be done again with the same descriptor. Single
// values in debugfs (simple attributes) are not seekable: they are read once for each opening.
int read_to_end(int fd, std::size_t limit, ByteBuffer& bytes, bool* again = nullptr);

class Snapshot {
 public:
  std::size_t size() const { return records_.size(); }
  FileText operator[](std::size_t i) const;

  // The file of exactly this path; an ENOENT record if the source did not meet it.
  FileText find(std::string_view path) const;
  // Its text, or the error that reading it gave.
  Result<std::string_view> text_of(std::string_view path) const;
  // Set when more files matched, or more bytes came, than the source's bounds allow.
  bool truncated() const { return truncated_; }

  void clear();
  void add(std::string_view path, std::string_view text, int error);
  void set_truncated() { truncated_ = true; }

  // Takes the last record out again.
  void drop_last();
  // Cuts the last record's text behind its last newline.
  void cut_last_to_lines();
  std::size_t buffer_size() const { return bytes_.size(); }

  // For readers that write straight into the buffer, between begin() and end().
  void begin(std::string_view path);
  ByteBuffer& buffer() { return bytes_; }
  void end(int error);

 private:
  struct Record {
    std::size_t path_at = 0;
    std::size_t path_size = 0;
    std::size_t text_size = 0;
    int error = 0;
  };
  ByteBuffer bytes_;
  std::vector<Record> records_;
  bool truncated_ = false;
};

// What one source may read in a cycle.
struct ReadLimits {
  std::size_t file_bytes = 256U << 10;
  std::size_t total_bytes = 1U << 20;
  std::size_t files = 1024;
  // Of a directory, before any pattern is looked at.
  std::size_t names = 65536;
};

class Gatherer;
// Adds the files that no pattern can name (base/root/gatherer.h).
using Gather = void (*)(Gatherer&);

// Reads the files that a source's patterns name. Where the root is live, descriptors of procfs and
// sysfs stay open between cycles; of no other file system, debugfs and tracefs least of all. A
// pattern is an absolute path in which '*' stands for any run of characters within one component:
// "/sys/class/thermal/thermal_zone*/temp". A directory that a '*' is looked up in and that cannot
// be listed becomes a record of its own with the errno, so that "denied" and "absent" stay apart.
class SnapshotReader {
 public:
  // `recorded_as`: the source, whose records a captured tree may have (base/root/recorded.h). They
  // are taken as they were then, and nothing is looked for anew.
  SnapshotReader(std::span<const std::string_view> patterns, ReadLimits limits,
                 Gather gather = nullptr, std::string_view recorded_as = {})
      : patterns_(patterns), limits_(limits), gather_(gather), recorded_as_(recorded_as) {}

  // Valid until the next call. `is_sparing`: Gatherer::is_sparing().
  const Snapshot& read(const Root& root, bool is_sparing = false);

 private:
  struct Kept {
    std::string path;
    UniqueFd fd;
  };
  void expand(const Root& root, std::string& prefix, std::string_view rest);
  void read_file(const Root& root, std::string_view path);
  std::span<const std::string_view> patterns_;
  ReadLimits limits_;
  Gather gather_;
  std::string_view recorded_as_;
  std::vector<std::string> remembered_;  // by gather_
  Snapshot snapshot_;
  std::vector<Kept> kept_;
  std::size_t cursor_ = 0;  // where in kept_ the next file is expected
};

// True when `name` matches `pattern` with '*' for any run of characters.
bool glob_match(std::string_view pattern, std::string_view name);

}  // namespace jetmem
