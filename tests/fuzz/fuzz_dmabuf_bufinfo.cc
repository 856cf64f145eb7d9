// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/bufinfo.h"
#include "tests/fuzz/target.h"

// A NUL separates the beginning from the end of a file that was too large.
FUZZ(text) {
  std::optional<std::string_view> end;
  const bool is_cut = text.find('\0') != text.npos;
  const std::string_view begin = take_until(text, '\0');
  if (is_cut) end = text;
  Bufinfo fresh;
  if (!parse_bufinfo(begin, end, fresh)) return;
  check(fresh.exporters.size() <= Bufinfo::kMaxExporters + 1);
  check(fresh.devices.size() <= Bufinfo::kMaxDevices);
  std::uint64_t listed = 0;
  for (const DmabufShare& share : fresh.exporters) listed += share.buffers;
  check(listed <= fresh.rows && fresh.devices_unknown <= fresh.rows);
}
