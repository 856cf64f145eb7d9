// SPDX-License-Identifier: Apache-2.0
// What jetmem-probe is asked to do, on its command line or in a line of its stdin.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace jetmem::probe {

// In the order in which they run. "dmabuf" needs no CUDA; whatever comes after it does.
inline constexpr const char* kKinds[] = {
    "host", "dmabuf",        "pinned",        "managed",      "device",   "registered",
    "pool", "dmabuf_export", "dmabuf_import", "nvbufsurface", "eglstream"};

struct Options {
  std::vector<std::string> kinds;  // of kKinds, in its order
  std::uint64_t frame_bytes = 12U << 20;
  // Contiguous free memory behind each DMA heap that is not the system's, as far as it is known: a
  // heap is tried where four frames are.
  std::map<std::string, std::uint64_t> largest_runs;
  bool any_heap = false;
  std::uint64_t bisect_limit = 0;  // 0: no bisection
  bool progress = false;
  unsigned deadline_seconds = 60;
  // Where tests put stand-ins.
  std::string heap_directory = "/dev/dma_heap";
  std::string udmabuf = "/dev/udmabuf";
  std::string meminfo = "/proc/meminfo";
  std::string library_directory;  // of NvBufSurface, EGL: empty is the loader's search
};

enum class Parsed { kRun, kHelp, kVersion, kInvalid };

// Where the words come from. Whoever may send a request need not be whoever this program runs as:
// a request names no files.
enum class OptionSource { kCommandLine, kRequest };

// `problem` says what is wrong, naming the argument; printable, and not long.
Parsed parse_options(const std::vector<std::string>& arguments, OptionSource source,
                     Options& options, std::string& problem);

extern const char kHelp[];

}  // namespace jetmem::probe
