// The exit status of every jetmem command.
#pragma once

namespace jetmem {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;   // it could not be done, or something is not as it should be
inline constexpr int kExitUsage = 2;    // the command line or a settings file is wrong
inline constexpr int kExitUnknown = 3;  // whether something is as it should be could not be told

}  // namespace jetmem
