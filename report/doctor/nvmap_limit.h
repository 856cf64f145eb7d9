// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace jetmem::doctor {

// What nvmap does with a request for more than is free.
enum class NvmapLimit : std::uint8_t {
  kRefuses,  // although reclaiming memory could meet it
  kGrants,   // up to all RAM; where it is not there, the OOM killer ends processes
  kUnknown,
};
// By the release of L4T, "36.4.3"; as its published driver or reports have it, else unknown.
NvmapLimit nvmap_limit(std::string_view l4t);

}  // namespace jetmem::doctor
