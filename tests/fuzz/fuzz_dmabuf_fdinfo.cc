// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/source.h"
#include "tests/fuzz/snapshot_input.h"

// One fdinfo, and the files of processes together (snapshot_input.h).
FUZZ(text) {
  static const auto kPaths =
      expanded({"/proc/*/{comm,beyond bound,fdinfo/*,fd/*}",
                "/sys/kernel/dmabuf/buffers/*/{size,exporter_name}", "jetmem:buffers"});
  (void)parse_dmabuf_fdinfo(text);
  Snapshot snapshot = snapshot_of(text, kPaths);
  snapshot.add(kNoteProcesses, "3\n", 0);
  Dmabuf fresh;
  if (!parse_dmabuf(snapshot, fresh)) return;
  check(fresh.held.names.size() <= fresh.held.holders.size());
  check(fresh.held.shared_buffers <= fresh.held.buffers);
  // Sums agree whichever way they are made, but for what holders share.
  std::uint64_t buffers = 0;
  for (const DmabufHolder& holder : fresh.held.holders) buffers += holder.buffers;
  check(buffers >= fresh.held.buffers);
}
