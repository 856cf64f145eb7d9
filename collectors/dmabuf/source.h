// SPDX-License-Identifier: Apache-2.0
// DMA-BUF: the buffers that cameras, codecs, display and GPU hand to each other, and to programs.
// How many there are, who made them, which devices have them mapped, which processes hold them.
// Asked of jetmem-reader; about 10 us for each process of the machine, and what bufinfo takes;
// where nvmap made buffers, about 50 us more for each process, whose mappings are listed.
//
// Three places, each optional:
//   /sys/kernel/debug/dma_buf/bufinfo  all buffers, exporters, devices (bufinfo.h). Root's.
//   /sys/kernel/dmabuf/buffers/<inode>/{exporter_name,size}  all buffers and exporters, world
//        readable, where bufinfo cannot be read. CONFIG_DMABUF_SYSFS_STATS, 5.14; gone in 2026.
//   /proc/<pid>/fd, /proc/<pid>/fdinfo  the holders (holders.h). Of other users' processes with
//        CAP_SYS_PTRACE only. Where nvmap made buffers, /proc/<pid>/maps too.
// The same walk sees who has the GPU open, and what its driver says of that (drm.h).
// The totals of the machine are of the first two. Holders give none: drivers hold buffers too.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "collectors/dmabuf/bufinfo.h"
#include "collectors/dmabuf/drm.h"
#include "collectors/dmabuf/holders.h"
#include "collectors/processes/group/groups.h"
#include "collectors/processes/group/shown_groups.h"
#include "collectors/source.h"

namespace jetmem {

struct Dmabuf : Reading {
  // All of the machine; absent when neither file reports them.
  std::optional<std::uint64_t> buffers;
  std::optional<std::uint64_t> bytes;
  std::string_view origin;  // of both: "bufinfo", "sysfs" or empty
  std::optional<std::uint64_t> largest;
  // Who made them, and from bufinfo only which devices have them attached, is in `bufinfo`.
  // Buffers and bytes that are in the totals and not in the breakdowns.
  std::uint64_t unlisted_buffers = 0;
  std::uint64_t unlisted_bytes = 0;

  // Whether any process's descriptors could be looked at.
  bool holders_known = false;
  bool holders_whole = false;  // all processes' are in `held`

  Bufinfo bufinfo;
  DmabufHolders held;
  Drm drm;
};

// Errors: kDenied or kAbsent when nothing at all could be seen.
Result<void> parse_dmabuf(const Snapshot& snapshot, Dmabuf& out);

class DmabufSource final : public ParsedSource<DmabufSource, Dmabuf, parse_dmabuf> {
 public:
  static const SourceInfo kInfo;

  void write(SampleWriter& out, WriteContext& context) const override;

 private:
  void write_names(SampleWriter& out, WriteContext& context) const;

  // Which names have series of their own, by the rules for groups of processes. Bounded.
  mutable std::vector<std::uint64_t> sizes_;
  mutable ShownGroups shown_;
};

}  // namespace jetmem
