// SPDX-License-Identifier: Apache-2.0
// /proc/sys/fs/file-nr: open file handles of the whole machine. World readable, about 1 us.
//
// Format (fs/file_table.c): three numbers, "allocated<TAB>0<TAB>maximum<NEWLINE>". The second was
// the number of free handles before Linux 2.6 and has been 0 since.
#pragma once

#include "collectors/source.h"

namespace jetmem {

struct FileNr {
  std::uint64_t allocated = 0;
  std::uint64_t maximum = 0;
};

// Errors: fewer than three numbers, one beyond 64 bits, anything behind the third, no newline.
Result<void> parse_file_nr(std::string_view text, FileNr& out);

class FileNrSource final : public ParsedSource<FileNrSource, FileNr, parse_file_nr> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
