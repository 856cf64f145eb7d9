// Files of some kilobytes that jetmem keeps for itself.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace jetmem {

// The whole text. Errors: none there (kAbsent), not a regular file, larger than `max_bytes`.
Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes = 1U << 20);

// Puts a new file of this text in the place of the one there, which stays whole if this fails. Not
// forced to disk: for what need not outlive a power cut.
Result<void> replace_small_file(const std::string& path, std::string_view text);
// The same, and on the disk when it returns: for what tells of a power cut. May take as long as the
// disk does, so never on the daemon's loop.
Result<void> replace_small_file_durably(const std::string& path, std::string_view text);

}  // namespace jetmem
