// SPDX-License-Identifier: Apache-2.0
// Where the file of -o is written, and how.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace jetmem {

// An errno of what is written: kDenied or kIo, as a folder that is missing is no missing input.
tl::unexpected<Error> output_error(std::string_view operation, std::string_view path, int number);

struct OutputTarget {
  std::string file;       // behind symbolic links: they stay what they are
  bool in_place = false;  // a device, FIFO or the like: written into, never replaced
};

// Errors: a directory, a link that the kernel does not follow or that leads in a circle.
Result<OutputTarget> output_target(const std::string& requested);

// Standard output ("" or "-"), a device or FIFO that is written into, or a file that appears
// complete or not at all: it is written as FILE.part and renamed.
class OutputFile {
 public:
  enum class Replace {
    kNever,   // a FILE.part that exists is an error: another command may be writing it
    kAlways,  // one left by a killed command is replaced; the file is readable by everyone
  };

  explicit OutputFile(std::string file, Replace replace = Replace::kNever)
      : file_(std::move(file)), replace_(replace) {}
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Result<void> open();
  void put(const std::string& text);
  Result<void> finish();
  // The file of an earlier run, where it would now mislead. A device or FIFO stays.
  static Result<void> remove_old(const std::string& file);

 private:
  bool is_still_ours() const;

  std::string file_;
  Replace replace_;
  std::string temporary_;
  std::FILE* out_ = nullptr;
  int error_ = 0;  // errno of the first write that failed
};

}  // namespace jetmem
