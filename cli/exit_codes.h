// SPDX-License-Identifier: Apache-2.0
// The exit status of every jetmem command: up to 3 it is about the device, as monitoring plugins
// have it (Nagios, Icinga); from 64 on the command could not do its work, by the numbers of
// <sysexits.h>.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/exit_codes.h"
#include "base/result.h"

namespace jetmem {

inline constexpr int kExitOk = 0;
inline constexpr int kExitWarning = 1;
inline constexpr int kExitCritical = 2;
inline constexpr int kExitUnknown = 3;

struct ExitCode {
  int code;
  std::string_view name;  // of <sysexits.h>, or the state
  std::string_view meaning;
};

// jetmem(1) and docs/exit-codes.md have this table.
inline constexpr std::array<ExitCode, 12> kExitCodes{{
    {kExitOk, "OK", "Success; no problem found."},
    {kExitWarning, "WARNING", "The device, or what was checked, has a problem."},
    {kExitCritical, "CRITICAL", "The problem is critical."},
    {kExitUnknown, "UNKNOWN",
     "Cannot tell: values are missing. For status, doctor, alerts and plan also: the device could "
     "not be reached."},
    {kExitUsage, "EX_USAGE", "The command line is wrong."},
    {kExitData, "EX_DATAERR",
     "A file has errors: a damaged bundle, invalid settings, rules or plan."},
    {kExitNoInput, "EX_NOINPUT", "A file or folder does not exist or is of the wrong type."},
    {kExitUnavailable, "EX_UNAVAILABLE",
     "Not available: jetmemd does not answer, or this machine lacks what the command needs."},
    {kExitInternal, "EX_SOFTWARE", "Internal error; please report it."},
    {kExitNoMemory, "EX_OSERR", "Out of memory: an allocation failed."},
    {kExitIo, "EX_IOERR", "Reading or writing failed: the disk is full, the output is closed."},
    {kExitDenied, "EX_NOPERM", "Permission denied."},
}};

// That of a command that failed with such an error.
int exit_code(Errc code);

// The table for a terminal, a line for each.
std::string exit_codes_text();

}  // namespace jetmem
