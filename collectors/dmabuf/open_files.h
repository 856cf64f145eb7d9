// SPDX-License-Identifier: Apache-2.0
// Which descriptors of several processes are one open file, and which processes share all of theirs
// (kcmp(2)). Needs a kernel with CONFIG_KCMP, and the right to trace both processes; else nothing
// is known. It changes nothing in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace jetmem {

// Numbers open files from 1.
class OpenFiles {
 public:
  static constexpr std::size_t kMost = 256;

  // The same for each descriptor of one open file. 0: not known.
  std::uint32_t number_of(int pid, int descriptor);

 private:
  struct File {
    int pid = 0;
    int descriptor = 0;
  };
  std::vector<File> files_;
};

// Processes that share their descriptors (CLONE_FILES), or their memory (CLONE_VM).
class SharingProcesses {
 public:
  enum class What : std::uint8_t { kDescriptors, kMemory };
  static constexpr std::size_t kMost = 256;

  explicit SharingProcesses(What what) : what_(what) {}
  // Whether an earlier one shares them with this one.
  bool has_met(int pid);

 private:
  What what_;
  std::vector<int> pids_;
};

}  // namespace jetmem
