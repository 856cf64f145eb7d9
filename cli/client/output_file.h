// SPDX-License-Identifier: Apache-2.0
// Where the file of -o is written, and how.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/root/atomic_file.h"

namespace jetmem {

// An error about what is written: kDenied, kUnavailable or kIo, as a folder that is missing is no
// missing input.
Error output_error(Error error);

// Standard output ("" or "-"), or a file that appears complete or not at all.
class OutputFile {
 public:
  explicit OutputFile(std::string file, mode_t mode = 0600) : name_(std::move(file)), mode_(mode) {}

  Result<void> open();
  void put(const std::string& text);
  Result<void> finish();
  // The file of an earlier run, where it would now mislead.
  static Result<void> remove_old(const std::string& file);

 private:
  void flush();

  std::string name_;
  mode_t mode_;
  std::unique_ptr<AtomicFile> file_;
  std::string waiting_;
  Result<void> result_;  // of the first write that failed
};

}  // namespace jetmem
