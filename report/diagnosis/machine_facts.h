// SPDX-License-Identifier: Apache-2.0
// Facts about the machine, from one reading or from the text of a log. An unknown fact is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "report/device/device_now.h"

namespace jetmem::diagnosis {

struct MachineFacts {
  std::string l4t;           // "36.4.7"
  std::string kernel;        // "5.15.148-tegra"
  std::string command_line;  // of the kernel
  std::string board;         // "Raspberry Pi 5 Model B Rev 1.0"
  // Names of programs and drivers that the known issues ask for, which the log has:
  // "jetson-inference".
  std::set<std::string, std::less<>> programs;
  bool is_32_bit_arm = false;
  bool is_jetson() const { return !l4t.empty() || kernel.find("tegra") != std::string::npos; }
  std::optional<double> page_size;
  std::optional<double> total, free, available;  // memory, in bytes
  std::optional<double> cma_total, cma_largest;  // of all areas; the largest free run
  std::optional<double> swiotlb_bytes;
  std::optional<double> gpu_free;            // as a CUDA program printed it, in bytes
  std::optional<double> bytes_in_2m_blocks;  // free, in blocks of 2 MiB and more
  // Modules in the kernel's backtraces: "v3d".
  std::set<std::string, std::less<>> backtrace_modules;
  // Reports of tasks that wait, and a function in the backtrace of one: of contiguous allocation
  // ("cma_alloc"), of reclaim or compaction. Empty where there is none.
  int stuck_tasks = 0;
  std::string stuck_in_contiguous, stuck_in_reclaim;
};

MachineFacts facts_of(const DeviceNow& now);

// Reads a log's text line by line, in pieces of any size. Lines longer than kMaxLine are cut.
class LogFacts {
 public:
  static constexpr std::size_t kMaxLine = 4096;
  static constexpr std::size_t kMaxModules = 8;

  void feed(std::string_view bytes);
  void finish();
  const MachineFacts& facts() const { return facts_; }

 private:
  void line(std::string_view text);
  void stuck_frame(std::string_view function);

  MachineFacts facts_;
  std::string held_;
  bool overlong_ = false;
  bool refused_ = false;  // a program was refused memory in a line before
  int stuck_lines_ = 0;   // that may still belong to the report of a task that waits
};

}  // namespace jetmem::diagnosis
