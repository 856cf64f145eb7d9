// Whether the folder that a bundle is unpacked into can take more without harm to this machine:
// /tmp is memory on many devices.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace jetmem {

// Of a disk, and of memory where the folder lies in it, something stays free. The error says what
// to do. `meminfo`: the kernel's, for tests.
Result<void> room_to_unpack(const std::string& folder, std::uint64_t bytes,
                            const std::string& meminfo = "/proc/meminfo");

}  // namespace jetmem
