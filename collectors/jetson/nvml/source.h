// SPDX-License-Identifier: Apache-2.0
// GPU memory by process where the GPU's driver is nvidia.ko: Jetson Thor (L4T 38 and later), PCs,
// other boards with an NVIDIA GPU. Elsewhere on Jetson nvmap has it (source nvmap).
//
// NVML, NVIDIA's management library, reports it. The daemon never loads it: it maps tens of
// megabytes, talks to a driver that may hang beyond SIGKILL, and does not work without the GPU's
// device nodes. The program jetmem-nvml loads it, prints its values and exits; no CUDA context is
// created. A captured tree holds that text as /jetmem/nvml.
//
// Format, our own (collectors/jetson/nvml/main.cc prints it), one thing each line, in this order:
//   jetmem-nvml 1                       the version of the format
//   pid <n>                             the program itself
//   library ok <name>                   | library error <CODE> <text>
//   init ok
//   device error <ERRNO>                only after an init that failed: /dev/nvidiactl is not ours
//   driver ok <version>
//   gpus ok <n>
//   gpu <i> name ok <text>
//   gpu <i> memory ok <total> <used> <free>      bytes, each a number or N/A
//   gpu <i> bar1 ok <total>                      bytes of the window into a card's own memory
//   gpu <i> utilization ok <gpu> <memory>        percent
//   gpu <i> <kind> ok <n> <v1|v2|v3>             kind: compute, graphics or mps; n processes
//   gpu <i> process <kind> <pid> <bytes|N/A>
//   end
// Whatever NVML answered instead stands as "error <CODE> <text>" in the place of "ok ...", CODE
// being NVML's name for it: NOT_SUPPORTED is usual (Orin answers nothing else, Thor so for memory).
// Lines that begin with other words may come with later versions and are passed over. Without its
// last line the text was cut.
//
// A process with work of two kinds is in two lists, with the same bytes: it counts once. N/A is
// NVML's 0xFFFFFFFFFFFFFFFF.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

struct Nvml : Reading {
  // A process with memory on a GPU. On Thor it is the machine's own memory, on a PC the card's.
  struct Process {
    std::uint32_t gpu = 0;
    std::uint32_t pid = 0;
    std::uint64_t bytes = 0;

    bool operator==(const Process&) const = default;
  };
  struct Gpu {
    std::uint32_t index = 0;
    std::string name;
    // In bytes. Absent: NVML does not tell it for this GPU.
    std::optional<std::uint64_t> total;
    std::optional<std::uint64_t> used;
    std::optional<std::uint64_t> free;
    std::optional<std::uint32_t> utilization_percent;
    // Whether the GPU has no memory of its own.
    std::optional<bool> integrated;
    // Absent: a list of processes was unavailable or incomplete.
    std::optional<std::uint32_t> processes;
    // Absent also when the memory of one of them is unknown.
    std::optional<std::uint64_t> process_bytes;

    bool operator==(const Gpu&) const = default;
  };

  // Whether the GPU shares the machine's memory; absent when NVML does not tell, or when one GPU
  // does and another does not.
  std::optional<bool> integrated;
  // By GPU and number. Processes whose memory NVML does not tell are not among them.
  std::vector<Process> processes;
  // Whether those are all: the lists of every GPU were complete, with everybody's memory. Then a
  // process that is not among them has nothing.
  bool processes_whole = false;
  // Whether NVML has such lists for any GPU at all, readable or denied.
  bool has_lists = false;
  std::vector<Gpu> gpus;
  std::string driver;
};

// Errors: kAbsent when NVML is not installed or supports nothing of this GPU, kDenied when the
// device nodes are not ours, kUnavailable when they are not there yet, kMalformed when the text was
// cut or is of another version.
Result<void> parse_nvml(std::string_view text, Nvml& out);

class NvmlSource final : public SourceOf<NvmlSource, Nvml> {
 public:
  static const SourceInfo kInfo;
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
