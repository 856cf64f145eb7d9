// SPDX-License-Identifier: Apache-2.0
// Why a program of jetmem could not do its work, by the numbers of <sysexits.h>: 1 to 3 are
// verdicts on the device. cli/exit_codes.h has the whole table.
#pragma once

namespace jetmem {

inline constexpr int kExitUsage = 64;
inline constexpr int kExitData = 65;
inline constexpr int kExitNoInput = 66;
inline constexpr int kExitUnavailable = 69;
inline constexpr int kExitInternal = 70;
// Memory was refused.
inline constexpr int kExitNoMemory = 71;
inline constexpr int kExitIo = 74;
inline constexpr int kExitDenied = 77;

}  // namespace jetmem
