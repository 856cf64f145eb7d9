// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/dmabuf/source.h"
#include "tests/fuzz/snapshot_input.h"

// One fdinfo, and the files of processes together (snapshot_input.h).
FUZZ(text) {
  static constexpr std::array<std::string_view, 7> kPaths{
      "/proc/*/comm",
      "/proc/*/beyond bound",
      "/proc/*/fdinfo/*",
      "/proc/*/fd/*",
      "/sys/kernel/dmabuf/buffers/*/size",
      "/sys/kernel/dmabuf/buffers/*/exporter_name",
      "jetmem:buffers"};
  (void)parse_dmabuf_fdinfo(text);
  Snapshot snapshot = snapshot_of(text, kPaths);
  snapshot.add(kNoteProcesses, "3\n", 0);
  Dmabuf fresh;
  if (!parse_dmabuf(snapshot, fresh)) return;
  if (fresh.held.names.size() > fresh.held.holders.size() ||
      fresh.held.shared_buffers > fresh.held.buffers) {
    __builtin_trap();
  }
  // Sums agree whichever way they are made, but for what holders share.
  std::uint64_t buffers = 0;
  for (const DmabufHolder& holder : fresh.held.holders) buffers += holder.buffers;
  if (buffers < fresh.held.buffers) __builtin_trap();
}
