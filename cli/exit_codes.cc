// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_codes.h"

#include "cli/draw/terminal.h"

namespace jetmem {

int exit_code(Errc code) {
  switch (code) {
    case Errc::kInvalid:
      return kExitUsage;
    case Errc::kMalformed:
    case Errc::kTooLarge:
      return kExitData;
    case Errc::kAbsent:
    case Errc::kNotRegular:
      return kExitNoInput;
    case Errc::kDenied:
      return kExitDenied;
    case Errc::kTimeout:
    case Errc::kUnavailable:
    case Errc::kSkipped:
      return kExitUnavailable;
    case Errc::kIo:
      return kExitIo;
  }
  return kExitInternal;
}

std::string exit_codes_text() {
  std::string out;
  for (const ExitCode& each : kExitCodes) {
    constexpr std::size_t kIndent = 6;
    std::string head = "  " + std::to_string(each.code);
    head.resize(kIndent, ' ');
    std::string lines = wrapped(std::string(each.name) + ": " + std::string(each.meaning), kIndent);
    out += lines.replace(0, kIndent, head);
  }
  return out;
}

}  // namespace jetmem
