// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/dmabuf/drm.h"
#include "tests/fuzz/snapshot_input.h"

namespace {
constexpr std::array<std::string_view, 2> kPaths{"/proc/1*/comm", "/proc/1*/fdinfo/*"};
}

FUZZ(text) {
  Drm fresh;
  AbsentValues absent;
  parse_drm_fdinfo(text, absent);
  const Snapshot snapshot = snapshot_of(text, kPaths);
  parse_drm(snapshot, fresh, absent);
  if (fresh.clients < fresh.unreported) __builtin_trap();
  if (fresh.regions.size() > Drm::kMaxRegions) __builtin_trap();
}
