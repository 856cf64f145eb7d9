// SPDX-License-Identifier: Apache-2.0
// What the bundles of alerts are called: jetmem-capture-TIME-ALERT-nNUMBER.tar.zst. The number
// grows from one to the next; the time need not, where the clock begins in 1970 at each boot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace jetmem {

inline constexpr std::string_view kBundlePrefix = "jetmem-capture-";
// NAME.part is the folder that it is written in (base/root/temporary_folder.h).
inline constexpr std::string_view kPartEnding = ".part";

// "jetmem-capture-20261122T021147Z-JetmemOomKill"; `alert` may be empty.
std::string bundle_stem(Nanoseconds wall, std::string_view alert);

// 0: it has none.
std::uint64_t bundle_number(std::string_view name);

}  // namespace jetmem
