// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/drm.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(text) {
  static const auto kPaths = expanded({"/proc/1*/{comm,fdinfo/*}"});
  Drm fresh;
  AbsentValues absent;
  parse_drm_fdinfo(text, absent);
  parse_drm(snapshot_of(text, kPaths), fresh, absent);
  check(fresh.clients >= fresh.unreported && fresh.regions.size() <= Drm::kMaxRegions);
}
