// SPDX-License-Identifier: Apache-2.0
#include "base/root/snapshot.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/root/gatherer.h"
#include "base/root/recorded.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxKeptFds = 256;
constexpr std::size_t kReadChunk = 8192;

// procfs and sysfs let go of open files when what they describe is removed: reading one fails from
// then on (proc_entry_rundown(), kernfs_drain()). Files of debugfs and tracefs may belong to a
// module that can be unloaded all the same, and then closing one runs freed code (nvmap of L4T 36:
// an oops); an open one also keeps its file system from being unmounted.
bool may_stay_open(int fd) {
  struct statfs info {};
  if (::fstatfs(fd, &info) != 0) return false;
  return info.f_type == PROC_SUPER_MAGIC || info.f_type == SYSFS_MAGIC;
}

}  // namespace

void ByteBuffer::append(std::string_view text) {
  const std::span<char> to = room(text.size());
  text.copy(to.data(), text.size());
  commit(text.size());
}

std::span<char> ByteBuffer::room(std::size_t least) {
  if (capacity_ - size_ < least) {
    const std::size_t capacity = std::max(size_ + least, capacity_ * 2);
    std::unique_ptr<char[]> bytes(new char[capacity]);
    view().copy(bytes.get(), size_);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }
  return {bytes_.get() + size_, capacity_ - size_};
}

void ByteBuffer::clear() {
  size_ = 0;
  if (capacity_ <= kKept) return;
  bytes_.reset();
  capacity_ = 0;
}

// Kernel files may give less than was asked for long before their end (seq_file hands out a page
// at a time), so only an empty read is the end.
int read_to_end(int fd, std::size_t limit, ByteBuffer& bytes, bool* again) {
  std::size_t used = 0;
  bool seekable = true;
  for (;;) {
    const std::span<char> room = bytes.room(kReadChunk);
    const ssize_t n = seekable ? ::pread(fd, room.data(), room.size(), static_cast<off_t>(used))
                               : ::read(fd, room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ESPIPE && seekable && used == 0) {
      seekable = false;
      if (again != nullptr) *again = false;
      continue;
    }
    if (n < 0) return errno;
    if (n == 0) return 0;
    bytes.commit(static_cast<std::size_t>(n));
    used += static_cast<std::size_t>(n);
    if (used > limit) return FileText::kTooLarge;
  }
}

Error FileText::as_error() const {
  if (error == kNotRegular) {
    return {Errc::kNotRegular, "read " + std::string(path) + ": not a regular file"};
  }
  if (error == kTooLarge) {
    return {Errc::kTooLarge, "read " + std::string(path) + ": larger than this source's bound"};
  }
  return errno_error("read", path, error);
}

FileText Snapshot::operator[](std::size_t i) const {
  const Record& r = records_[i];
  const std::string_view bytes = bytes_.view();
  return {bytes.substr(r.path_at, r.path_size), bytes.substr(r.path_at + r.path_size, r.text_size),
          r.error};
}

FileText Snapshot::find(std::string_view path) const {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const FileText file = (*this)[i];
    if (file.path == path) return file;
  }
  return {path, {}, ENOENT};
}

Result<std::string_view> Snapshot::text_of(std::string_view path) const {
  const FileText file = find(path);
  if (!file.ok()) return tl::unexpected(file.as_error());
  return file.text;
}

void Snapshot::clear() {
  bytes_.clear();
  records_.clear();
  truncated_ = false;
}

void Snapshot::add(std::string_view path, std::string_view text, int error) {
  begin(path);
  bytes_.append(text);
  end(error);
}

void Snapshot::drop_last() {
  bytes_.truncate(records_.back().path_at);
  records_.pop_back();
}

void Snapshot::cut_last_to_lines() {
  Record& record = records_.back();
  const std::size_t text_at = record.path_at + record.path_size;
  const std::string_view text = bytes_.view().substr(text_at);
  bytes_.truncate(text_at + text.rfind('\n') + 1);
  record.text_size = bytes_.size() - text_at;
}

void Snapshot::begin(std::string_view path) {
  Record record;
  record.path_at = bytes_.size();
  record.path_size = path.size();
  bytes_.append(path);
  records_.push_back(record);
}

void Snapshot::end(int error) {
  Record& record = records_.back();
  const std::size_t text_at = record.path_at + record.path_size;
  if (error != 0) bytes_.truncate(text_at);
  record.text_size = bytes_.size() - text_at;
  record.error = error;
}

const Snapshot& SnapshotReader::read(const Root& root, bool is_sparing) {
  snapshot_.clear();
  cursor_ = 0;
  if (!root.is_live() && !recorded_as_.empty() &&
      read_recorded(root, recorded_as_, snapshot_, limits_)) {
    return snapshot_;
  }
  std::string prefix;
  for (const std::string_view pattern : patterns_) {
    if (pattern.find('*') == std::string_view::npos) {
      read_file(root, pattern);
    } else {
      prefix.clear();
      expand(root, prefix, pattern);
    }
  }
  if (gather_ != nullptr) {
    Gatherer gatherer(root, snapshot_, limits_, &remembered_, is_sparing);
    gather_(gatherer);
  }
  // Descriptors of files that no longer exist are given back.
  if (kept_.size() > cursor_) kept_.erase(kept_.begin() + static_cast<long>(cursor_), kept_.end());
  return snapshot_;
}

// `prefix` is a path without '*' ("/sys/class"), `rest` what follows ("/thermal/zone*/temp").
void SnapshotReader::expand(const Root& root, std::string& prefix, std::string_view rest) {
  const std::size_t star = rest.find('*');
  if (star == std::string_view::npos) {
    const std::size_t old = prefix.size();
    prefix.append(rest);
    read_file(root, prefix);
    prefix.resize(old);
    return;
  }
  const std::size_t slash = rest.rfind('/', star);
  const std::size_t end = std::min(rest.find('/', star), rest.size());
  const std::string_view pattern = rest.substr(slash + 1, end - slash - 1);
  const std::size_t old = prefix.size();
  prefix.append(rest.substr(0, slash));

  std::vector<std::string> names;
  bool cut = false;
  const int error = root.list(prefix, limits_.names, names, cut);
  if (error != 0) snapshot_.add(prefix, {}, error);
  std::erase_if(names, [&](const std::string& name) { return !glob_match(pattern, name); });
  if (cut || names.size() > limits_.files) snapshot_.set_truncated();
  for (const std::string& name : names) {
    const std::size_t here = prefix.size();
    prefix.append("/").append(name);
    expand(root, prefix, rest.substr(end));
    prefix.resize(here);
  }
  prefix.resize(old);
}

void SnapshotReader::read_file(const Root& root, std::string_view path) {
  if (snapshot_.size() >= limits_.files || snapshot_.buffer().size() >= limits_.total_bytes) {
    snapshot_.set_truncated();
    return;
  }
  snapshot_.begin(path);
  int error = 0;
  if (root.is_live() && cursor_ < kept_.size() && kept_[cursor_].path == path) {
    const std::size_t text_at = snapshot_.buffer().size();
    error = read_to_end(kept_[cursor_].fd.get(), limits_.file_bytes, snapshot_.buffer());
    if (error == 0 || error == FileText::kTooLarge) {
      ++cursor_;
      snapshot_.end(error);
      return;
    }
    // The device behind the descriptor may have gone and come back: open afresh, once.
    snapshot_.buffer().truncate(text_at);
    kept_.erase(kept_.begin() + static_cast<long>(cursor_));
  }
  UniqueFd fd = root.open_file(path, error);
  bool again = true;
  if (fd.valid()) error = read_to_end(fd.get(), limits_.file_bytes, snapshot_.buffer(), &again);
  if (error == 0 && again && root.is_live() && cursor_ < kMaxKeptFds && may_stay_open(fd.get())) {
    kept_.insert(kept_.begin() + static_cast<long>(cursor_), {std::string(path), std::move(fd)});
    ++cursor_;
  }
  snapshot_.end(error);
}

bool glob_match(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace jetmem
