// SPDX-License-Identifier: Apache-2.0
// Who uses the memory: processes by name, unit and container, with what they hold of the GPU and of
// DMA-BUFs. Asked of jetmem-reader; about 30 us for each process that has memory. Nothing that
// walks a process's mappings is read (no smaps): that would stop it.
//
// What belongs to a process beside its resident memory comes from the last readings of other
// sources, by pid. A process's GPU memory is what nvmap, NVML or the GPU's driver (DRM fdinfo)
// says, the largest: they may mean the same. DMA-BUFs that nvmap made are in nvmap's figure already
// where that is whole.
//
// Of nvmap's DMA-BUFs a process has only what nvmap does not charge it with: in full what no client
// of nvmap has, and of the others what exceeds its charge. What it has mapped of them is in its
// resident memory too, as far as it was touched: at most its shared pages.
//
// A client whose process has ended is charged to who inherited its /dev/nvmap, where that is known
// for certain (heirs.h) and all of one group. A client has ended, too, when its pid is another
// program's now.
//
// Those readings may be a minute old, and a pid may be another program's by now: values of nvmap
// and DMA-BUFs count for a process only while it has the name it had then. NVML reports no
// name. Without the lists of all processes GPU memory is absent: a table that could not be read
// makes no process's memory 0.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "collectors/jetson/nvmap/source.h"
#include "collectors/processes/group/groups.h"
#include "collectors/processes/group/shown_groups.h"
#include "collectors/source.h"

namespace jetmem {

class ProcessesSource final : public SourceOf<ProcessesSource, Processes> {
 public:
  static const SourceInfo kInfo;

  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;

 private:
  // What processes and groups have beside their resident memory. Storage is kept.
  struct Extras {
    struct OfProcess {
      std::uint64_t nvmap = 0;
      std::uint64_t nvml = 0;
      std::uint64_t drm = 0;
      // All together; modulo 2^64, as what is mapped is taken off.
      std::uint64_t beside = 0;
    };
    struct OfGroup {
      std::uint64_t gpu = 0;
      std::uint64_t gpu_unknown = 0;  // processes of whose memory the GPU's driver reports nothing
      std::uint64_t dmabuf = 0;
      std::uint64_t mapped = 0;
      // Processes of which the two above are not known: without the one, what the other is part of
      // is not known either.
      std::uint64_t dmabuf_unknown = 0;
      // The process that holds most, and how much.
      std::uint32_t largest = 0;
      std::uint64_t largest_bytes = 0;
    };
    std::vector<OfProcess> processes;
    std::vector<OfGroup> groups;
    std::vector<std::uint64_t> bytes;  // of each group, with its resident memory
    bool has_gpu = false;
    bool has_dmabuf = false;
    bool has_nvmap = false;  // what gpu is made of
    bool has_nvml = false;
    bool has_drm = false;
    bool has_mapped = false;
    bool is_cut = false;  // of the older processes only
    std::string name;     // at hand
    // Whoever keeps the memory of ended clients: one of them, where all are of one group.
    const Processes::Process* heir = nullptr;
    std::string_view heir_name;  // empty where they have several names
    bool has_heirs = false;

    // What bytes are made of: figures of different kinds are not compared.
    auto kind() const {
      return std::tuple(has_gpu, has_dmabuf, has_nvmap, has_nvml, has_drm, has_mapped, is_cut);
    }
  };
  void join(WriteContext& context) const;
  void join_gpu(WriteContext& context) const;
  void join_dmabuf(WriteContext& context) const;
  void note_ended(const Nvmap& nvmap, const WriteContext& context) const;
  // Whether no process of this name has this pid. False where not all processes are known.
  bool has_ended(const Nvmap::Client& client) const;
  bool is_ended(const Nvmap::Client& client) const;
  void find_heir(const Nvmap& nvmap, const WriteContext& context) const;
  void find_largest(std::uint64_t page) const;
  void find_newcomers(std::uint64_t page) const;
  void write_ended(SampleWriter& out, WriteContext& context) const;
  Extras::OfProcess& of(const Processes::Process& process) const {
    return extras_.processes[static_cast<std::size_t>(&process - reading_.processes.data())];
  }
  const Processes::Process* process_of(std::uint32_t pid) const;
  // As `name` (a process's comm) was then; nullptr also when it has another now.
  const Processes::Process* process_of(std::uint32_t pid, std::string_view name) const;

  // nvmap's table may be older than the list of processes, and who ended since then took its memory
  // along; who opened the device since then inherited nothing. So: who had ended, and who had it
  // open, when that table was first looked at; and who of those are heirs, as of when that was
  // first known for certain. In order. Bounded as nvmap's clients and dmabuf's openers are.
  struct AtTable {
    std::uint64_t number = 0;  // of nvmap's reading
    std::vector<std::uint32_t> ended;
    std::vector<std::uint32_t> openers;
    std::vector<std::uint32_t> heirs;
    bool heirs_certain = false;
  };
  mutable AtTable at_table_;
  // Other sources' readings are at hand only while samples are written, and what is shown depends
  // on them. Bounded.
  mutable Extras extras_;
  mutable ShownGroups shown_;
  mutable std::vector<Processes::Newcomer> newcomers_;
};

}  // namespace jetmem
