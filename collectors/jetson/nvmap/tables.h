// SPDX-License-Identifier: Apache-2.0
// The tables of nvmap's debugfs folder, line by line. Which kernels print what:
// collectors/jetson/nvmap/source.h.
//
// A process chooses its own name, line breaks included, and the kernel prints it as it is. A line
// is therefore taken only when it is as wide as the header demands: 15 bytes cannot forge one. The
// lines into which a name breaks its row are together exactly as wide.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/text.h"

namespace jetmem::nvmap {

// Without the blanks around it, which a table does not tell from a name's own.
std::string_view trim_blanks(std::string_view text);

// "23525644K" as bytes. K, M or G; without a unit KiB, as carve-outs of old kernels print it.
std::optional<std::uint64_t> size_of(std::string_view word);

struct ClientRow {
  std::string_view process;  // the comm; "kernel" for a driver's own client
  std::uint32_t pid = 0;
  std::uint64_t bytes = 0;
};
// "user   gpu_burn   7979   23525644K"; some releases have another size (PSS) before the last.
std::optional<ClientRow> client_row(std::string_view line);
// "total   23549320K"
std::optional<std::uint64_t> total_row(std::string_view line);

struct OrphanRow {
  std::uint64_t bytes = 0;
  // Which handle; empty when the kernel hides it.
  std::string_view uid;
};
// "BASE SIZE USERFLAGS REFS KMAPS UMAPS [SHARE] UID", base, flags and UID in hex.
std::optional<OrphanRow> orphan_row(std::string_view line);

// One table, of which the middle may be missing: `head`, and `end` when it was cut.
struct Table {
  std::string_view head;
  std::string_view end;
  bool cut = false;
};

// Walks the lines behind the header. Empty lines, the word "total" and rows are distinguished by
// the caller.
class TableLines {
 public:
  // What is wrong with the table as a whole; empty when it can be walked.
  static std::string_view fault(const Table& table, std::string_view header_begins);

  explicit TableLines(const Table& table) : lines_(table.head), end_(table.end) {
    std::string_view header;
    lines_.next(header);
    // The unit letter is the one column of a header that rows may lack.
    width_ = header.empty() ? 0 : header.size() - 1;
  }

  // As next(), but a row that line breaks in a name have torn is one line, breaks included.
  bool next_row(std::string_view& line);
  bool next(std::string_view& line) {
    if (lines_.next(line)) return true;
    if (in_end_) return false;
    in_end_ = true;
    lines_ = Lines(end_);
    return lines_.next(line);
  }
  bool is_wide_enough(std::string_view line) const { return line.size() >= width_; }

 private:
  Lines lines_;
  std::string_view end_;
  std::size_t width_ = 0;
  bool in_end_ = false;
};

}  // namespace jetmem::nvmap
