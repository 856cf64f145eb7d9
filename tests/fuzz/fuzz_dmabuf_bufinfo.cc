// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/bufinfo.h"
#include "tests/fuzz/target.h"

// A NUL separates the beginning from the end of a file that was too large.
FUZZ(text) {
  Bufinfo fresh;
  std::optional<std::string_view> end;
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    end = text.substr(nul + 1);
    text = text.substr(0, nul);
  }
  if (!parse_bufinfo(text, end, fresh)) return;
  if (fresh.exporters.size() > Bufinfo::kMaxExporters + 1) __builtin_trap();
  if (fresh.devices.size() > Bufinfo::kMaxDevices) __builtin_trap();
  std::uint64_t listed = 0;
  for (const DmabufShare& share : fresh.exporters) listed += share.buffers;
  if (listed > fresh.rows || fresh.devices_unknown > fresh.rows) __builtin_trap();
}
