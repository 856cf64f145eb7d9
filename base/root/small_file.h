// SPDX-License-Identifier: Apache-2.0
// Files of some kilobytes that jetmem keeps for itself.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace jetmem {

// The whole text. Errors: none there (kAbsent), not a regular file, larger than `max_bytes`.
Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes = 1U << 20);
// The same of a file that is open, from its beginning; `path` is for the error.
Result<std::string> read_open_file(int fd, std::string_view path, std::size_t max_bytes);
// What one read(2) returns, without allocating: for files of /proc that fit into `buffer`. Empty
// when there is no such file or it cannot be read.
std::string_view read_once(const char* path, std::span<char> buffer);

// Puts a new file of this text in the place of the one there, which stays whole if this fails. Not
// forced to disk: for what need not outlive a power cut.
Result<void> replace_small_file(const std::string& path, std::string_view text,
                                std::string_view more = {});
// The same, and on the disk when it returns: for records that a power cut must not lose. It may
// take as long as the disk does, so never on the daemon's loop.
Result<void> replace_small_file_durably(const std::string& path, std::string_view text);

}  // namespace jetmem
