// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/dmabuf/drm.h"
#include "tests/fuzz/snapshot_input.h"

namespace {
constexpr std::array<std::string_view, 2> kPaths{"/proc/1*/comm", "/proc/1*/fdinfo/*"};
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static jetmem::Drm reused;
  jetmem::Drm fresh;
  jetmem::AbsentValues absent;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  jetmem::parse_drm_fdinfo(text, absent);
  const jetmem::Snapshot snapshot = jetmem::snapshot_of(text, kPaths);
  jetmem::parse_drm(snapshot, fresh, absent);
  jetmem::parse_drm(snapshot, reused, absent);
  if (!(fresh == reused) || fresh.clients < fresh.unreported) __builtin_trap();
  if (fresh.regions.size() > jetmem::Drm::kMaxRegions) __builtin_trap();
  return 0;
}
