// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace jetmem {

std::string_view errc_name(Errc code) {
  static constexpr std::array<std::string_view, 10> kNames{
      "absent", "denied",  "malformed",   "not_regular", "too_large",
      "io",     "timeout", "unavailable", "skipped",     "invalid"};
  return kNames[static_cast<std::size_t>(code)];
}

Errc errc_of_errno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:  // compiled in and switched off, as PSI is without psi=1
      return Errc::kAbsent;
    case EACCES:
    case EPERM:
      return Errc::kDenied;
    case EISDIR:
      return Errc::kNotRegular;
    case ETIMEDOUT:
      return Errc::kTimeout;
    default:
      return Errc::kIo;
  }
}

Error errno_error(std::string_view operation, std::string_view path, int error) {
  // The GNU strerror_r may return a static string instead of filling the buffer.
  char buffer[128];
  const char* text = strerror_r(error, buffer, sizeof buffer);
  std::string message;
  message.append(operation).append(" ").append(path).append(": ").append(text);
  return Error{errc_of_errno(error), std::move(message)};
}

}  // namespace jetmem
