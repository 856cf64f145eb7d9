// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/l4t_releases.h"

#include <array>
#include <optional>

#include "base/text/text.h"

namespace jetmem::doctor {
namespace {

// The fixes of CVE-2025-33177 and CVE-2025-33182 in nvmap refuse allocations that might lead to an
// OOM, far below what is free: measured on an Orin Nano with 36.4.7, 3 GiB are had and 4 GiB are
// refused with 5.4 GiB of 7.4 free. NVIDIA named the three releases and those that lift it.
//   https://github.com/ggml-org/llama.cpp/discussions/16706
//   https://github.com/ggml-org/llama.cpp/pull/23732
//   https://forums.developer.nvidia.com/t/347862
//   https://forums.developer.nvidia.com/t/349752
//   https://github.com/pytorch/pytorch/issues/185240
constexpr std::string_view kNvmapLimit =
    "nvmap of this release refuses large GPU allocations (NvMapMemAllocInternalTagged, error 12) "
    "although much more memory is free: a side effect of its fix of CVE-2025-33177";

constexpr std::array<KnownBad, 3> kKnown{{
    {"36.4.7", kNvmapLimit, "Update to L4T 36.5 (JetPack 6.2.2) or later."},
    {"35.6.3", kNvmapLimit, "Update to L4T 35.6.4 (JetPack 5.1.6) or later."},
    {"38.2.2", kNvmapLimit,
     "Update to the newest L4T 38 release, and try a single large allocation there."},
}};

// "36.4.3" as 36 and 4.
struct Release {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
};
std::optional<Release> release_of(std::string_view l4t) {
  const auto major = take_u64(l4t);
  if (!major || !take_prefix(l4t, ".")) return std::nullopt;
  const auto minor = take_u64(l4t);
  if (!minor) return std::nullopt;
  return Release{*major, *minor};
}

}  // namespace

const KnownBad* known_bad_l4t(std::string_view l4t) {
  for (const KnownBad& each : kKnown) {
    if (each.l4t == l4t) return &each;
  }
  return nullptr;
}

NvmapLimit nvmap_limit(std::string_view l4t) {
  if (const KnownBad* const bad = known_bad_l4t(l4t); bad != nullptr && bad->what == kNvmapLimit) {
    return NvmapLimit::kRefuses;
  }
  // Published drivers of 36.2 to 36.4: only what is more than all RAM is refused.
  const auto release = release_of(l4t);
  const bool is_seen =
      release && release->major == 36 && release->minor >= 2 && release->minor <= 4;
  return is_seen ? NvmapLimit::kGrants : NvmapLimit::kUnknown;
}

}  // namespace jetmem::doctor
