// SPDX-License-Identifier: Apache-2.0
// How a source reads what no pattern can name: which files are worth reading is known only from
// others (the buffers among a process's descriptors), or one is too large to be read whole.
//
// A gather function decides which files, and takes their bytes as they are: what they mean is for
// the source's parse. It runs where the source is read, usually in jetmem-reader, with its
// privilege: it follows no text from outside but the names in a directory, and it stays within the
// limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/root/root.h"
#include "base/root/snapshot.h"

namespace jetmem {

class Gatherer {
 public:
  // `remembered` outlives the reading; null where there is only one.
  Gatherer(const Root& root, Snapshot& out, const ReadLimits& limits,
           std::vector<std::string>* remembered = nullptr, bool is_sparing = false)
      : root_(root),
        out_(out),
        limits_(limits),
        remembered_(remembered),
        is_sparing_(is_sparing) {}

  const Root& root() const { return root_; }
  // A whole reading did not return: omit what the kernel may take long for, with a record of
  // ETIMEDOUT in its place. Only of sources that can (SourceInfo::can_spare).
  bool is_sparing() const { return is_sparing_; }
  // Whether the limits on files and bytes allow for another. Look before each: beyond them the
  // whole reading is refused as too large. What was omitted is reported with note().
  bool has_room() const {
    return out_.size() + kNotes < limits_.files && out_.buffer_size() < limits_.total_bytes;
  }

  // The names in a directory, sorted; the first limits.names of them. 0 or an errno, of which no
  // record is made.
  int list(std::string_view path, std::vector<std::string>& names);
  // As list(), until `end` at the latest; true for `cut` where there are more.
  int list(std::string_view path, std::vector<std::string>& names, Root::Moment end, bool& cut);

  // Reads a file as a record of its own, its error included. The result is valid until the next
  // call.
  FileText read(std::string_view path);
  // As read(), of a file that need not be there: then it leaves no record, and the error is ENOENT.
  FileText read_if_any(std::string_view path);
  // As read(), of a file of any size: what is longer than both together is cut to its first `head`
  // bytes, up to the end of a line, and a second record, end_of(path), has the last `tail` bytes,
  // from the beginning of a line. What lies between goes by without being kept.
  FileText read_ends(std::string_view path, std::size_t head, std::size_t tail) {
    return read_ends(path, head, tail, {}, 0);
  }
  // And a third record where it was cut, lines_of(path), has all lines behind the first part that
  // have `word` in them: FileText::kTooLarge when those are more than `most` bytes.
  FileText read_ends(std::string_view path, std::size_t head, std::size_t tail,
                     std::string_view word, std::size_t most);
  static std::string end_of(std::string_view path);
  static std::string lines_of(std::string_view path);
  // As read(), of a file of any size: only its lines that have `word` in them.
  // FileText::kTooLarge when those, or one line, are more than `most` bytes.
  FileText read_lines_with(std::string_view path, std::string_view word, std::size_t most);

  // What the function left here in the reading before, in the same process: what is worth another
  // look, and whether it changed. Never what was found; and bounded.
  std::vector<std::string>& remembered() { return remembered_ != nullptr ? *remembered_ : own_; }

  // Takes back the record made last: it was looked at and is none of ours.
  void forget() { out_.drop_last(); }
  // A record of what is no file's text, for parse: "jetmem:NAME" with the number and a newline.
  void note(std::string_view name, std::uint64_t number);
  // A record of one's own making, where a file's meaning is not in its bytes (a link's target).
  void add(std::string_view path, std::string_view text, int error = 0) {
    out_.add(path, text, error);
  }

 private:
  // Room kept for notes, so that what was omitted can always be reported.
  static constexpr std::size_t kNotes = 8;

  const Root& root_;
  Snapshot& out_;
  const ReadLimits& limits_;
  std::vector<std::string>* remembered_ = nullptr;
  bool is_sparing_ = false;
  std::vector<std::string> own_;
};

}  // namespace jetmem
