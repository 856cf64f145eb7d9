// SPDX-License-Identifier: Apache-2.0
// The exit status of every jetmem command.
#pragma once

namespace jetmem {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;   // failure, or something is not as it should be
inline constexpr int kExitUsage = 2;    // the command line or a settings file is wrong
inline constexpr int kExitUnknown = 3;  // the answer is unknown

}  // namespace jetmem
