// One text file in a directory that others read, and may write to: whole or not there, never in
// part, and never through a link that somebody planted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/unique_fd.h"

namespace jetmem {

// Why it could not be written; `reason` of jetmem_textfile_failures_total.
enum class TextfileFailure : std::uint8_t {
  kMissing,   // there is no such directory
  kDenied,    // we may not write there
  kReadOnly,  // the file system is mounted read-only
  kFull,      // no room, or beyond a quota
  kForeign,   // what lies there under the file's name is not ours
  kBusy,      // another jetmemd writes there now
  kOther,
};
inline constexpr std::size_t kTextfileFailures = 7;
std::string_view textfile_failure_name(TextfileFailure failure);

struct TextfileTrouble {
  TextfileFailure failure = TextfileFailure::kOther;
  std::string message;  // "write /var/.../jetmem.prom.tmp: No space left on device"
};

class TextfileDirectory {
 public:
  static constexpr const char* kName = "jetmem.prom";
  // node_exporter reads *.prom only.
  static constexpr const char* kTemporary = "jetmem.prom.tmp";
  // There while one of us writes.
  static constexpr const char* kLock = "jetmem.prom.lock";

  explicit TextfileDirectory(std::string path) : path_(std::move(path)) {}

  // Puts a file of this text in the place of the one there, readable to all. The directory is
  // opened anew each time: it may be mounted, filled or taken away meanwhile. May take as long as
  // its disk does.
  //
  // Refused where a file of another user, a link or a directory bears the name. Not forced to the
  // disk: it is written anew within seconds of the next boot, and flash wears out. Where there is
  // no room for two, the old one goes first.
  tl::expected<void, TextfileTrouble> write(std::string_view text);
  // What is ours of the file and of one that was begun. Nothing there is fine.
  tl::expected<void, TextfileTrouble> remove();

  // As of the last write: the file system is no memory, so each write is one to a disk.
  bool on_disk() const { return on_disk_; }

 private:
  // Held and taken away again: so that two of us, by mistake, do not write one temporary file.
  struct Lock {
    Lock(int in, UniqueFd held) : directory(in), file(std::move(held)) {}
    Lock(Lock&&) = default;
    ~Lock();
    int directory;
    UniqueFd file;  // invalid: there was no room for one
  };
  static constexpr int kLockTries = 8;

  tl::expected<Lock, TextfileTrouble> lock(int directory);
  tl::expected<void, TextfileTrouble> write_in(int directory, std::string_view text);
  tl::expected<void, TextfileTrouble> remove_in(int directory, const char* name);
  TextfileTrouble trouble(const char* operation, const char* name, int error) const;

  std::string path_;
  bool on_disk_ = false;
};

}  // namespace jetmem
