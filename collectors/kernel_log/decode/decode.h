// SPDX-License-Identifier: Apache-2.0
// From a line to its message, and from an event to a sentence.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "collectors/kernel_log/catalogue/catalogue.h"
#include "collectors/kernel_log/line/line.h"

namespace jetmem::kernel_log {

// Longer lines are decoded as far as this: the kernel's own never exceed 1 KiB or so.
inline constexpr std::size_t kMaxLine = 4096;

// The field of a guess that has the line itself.
inline constexpr std::string_view kGuessedLine = "text";

struct Decoded {
  const Message* message = nullptr;  // null of a guess
  Piece piece;
};

// Finds the message that the line is. The role is kNothing for a line without one. A quiet line
// (LogLine::is_quiet()) is none of the kernel's generic messages.
Decoded decode_line(std::string_view text, Voice voice, Event& event,
                    const Catalogues& catalogues = {}, bool quiet = false);
// Of a line that is no message: what its words suggest (catalogue/vocabulary.h), as an event that
// is marked as a guess.
Decoded guess_line(const LogLine& line, Event& event);

// Adds what the fields mean.
void complete(Event& event, const Decoded& decoded, Soc soc);
// "12000000.iommu: host1x_ctx0 wrote to ..." in words; untrusted text in it is made printable.
// Of a guess: that it is one, what the words suggest, and the line.
std::string describe(const Event& event);

}  // namespace jetmem::kernel_log
