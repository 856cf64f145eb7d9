// SPDX-License-Identifier: Apache-2.0
// Errors are values that say where, what was found and what was expected.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace jetmem {

// The kinds of failure the rest of the program acts on. The name of each (errc_name) is the
// `reason` label of jetmem_source_errors_total, so the set is closed and small.
enum class Errc {
  kAbsent,       // this kernel or board has no such thing
  kDenied,       // it exists, and we may not read it
  kMalformed,    // text that is not in the format the source documents
  kNotRegular,   // a directory, FIFO, socket or device stands in the file's place
  kTooLarge,     // more bytes, files or entries than the source's bound
  kIo,           // the kernel answered with an errno that is none of the above
  kTimeout,      // no answer within the deadline
  kUnavailable,  // no reader process can be used now (wedged, not started)
  kSkipped,      // not read on purpose, to protect the device
  kInvalid,      // a user's mistake: an argument or a setting
};

std::string_view errc_name(Errc code);

struct Error {
  Errc code = Errc::kIo;
  std::string message;

  // Prepends where the error was met: "buddyinfo: line 3: ...".
  Error within(std::string_view where) && {
    message.insert(0, ": ").insert(0, where);
    return std::move(*this);
  }
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Errc code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

// The Errc that an errno from open(2) or read(2) means for a source.
Errc errc_of_errno(int error);

// "open /proc/pagetypeinfo: Permission denied"
Error errno_error(std::string_view operation, std::string_view path, int error);

}  // namespace jetmem
