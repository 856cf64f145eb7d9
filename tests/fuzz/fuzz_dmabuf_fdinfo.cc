// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/dmabuf/source.h"
#include "tests/fuzz/snapshot_input.h"

// One fdinfo, and the files of processes together (snapshot_input.h).
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static constexpr std::array<std::string_view, 7> kPaths{
      "/proc/*/comm",
      "/proc/*/beyond bound",
      "/proc/*/fdinfo/*",
      "/proc/*/fd/*",
      "/sys/kernel/dmabuf/buffers/*/size",
      "/sys/kernel/dmabuf/buffers/*/exporter_name",
      "jetmem:buffers"};
  static jetmem::Dmabuf reused;
  jetmem::Dmabuf fresh;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)jetmem::parse_dmabuf_fdinfo(text);
  jetmem::Snapshot snapshot = jetmem::snapshot_of(text, kPaths);
  snapshot.add(jetmem::kNoteProcesses, "3\n", 0);
  const bool ok = jetmem::parse_dmabuf(snapshot, fresh).has_value();
  if (jetmem::parse_dmabuf(snapshot, reused).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
  if (!(fresh == reused)) __builtin_trap();
  if (fresh.held.names.size() > fresh.holders.size() ||
      fresh.held.shared_buffers > fresh.held.buffers) {
    __builtin_trap();
  }
  // Sums agree whichever way they are made, but for what holders share.
  std::uint64_t buffers = 0;
  for (const jetmem::DmabufHolder& holder : fresh.holders) buffers += holder.buffers;
  if (buffers < fresh.held.buffers) __builtin_trap();
  return 0;
}
