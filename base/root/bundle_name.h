// SPDX-License-Identifier: Apache-2.0
// What the bundles of alerts are called: jetmem-capture-TIME-ALERT-nNUMBER.tar.zst. The number
// grows from one to the next; the time need not, where the clock begins in 1970 at each boot.
#pragma once

#include <cstdint>
#include <string_view>

namespace jetmem {

inline constexpr std::string_view kBundlePrefix = "jetmem-capture-";

// 0: it has none.
std::uint64_t bundle_number(std::string_view name);

}  // namespace jetmem
