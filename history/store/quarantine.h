// SPDX-License-Identifier: Apache-2.0
// A file that cannot be used is kept for whoever wants to look at it, but within bounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace jetmem {

enum class QuarantineReason : std::uint8_t {
  kDamaged,  // FILE.damaged-1 and -2, the older one replaced
  kNewer,    // FILE.newer-1 and -2, never taken away: a newer jetmem wants them back
};

// Renames the database and its WAL; returns the new name. Files it had to delete are added to
// `messages`.
Result<std::string> quarantine(const std::string& file, QuarantineReason why,
                               std::vector<std::string>& messages);
// Bytes of all that was set aside.
std::uint64_t quarantined_bytes(const std::string& file);
// Takes damaged ones away, the oldest first, until at most `most` bytes are aside.
void limit_quarantine(const std::string& file, std::uint64_t most,
                      std::vector<std::string>& messages);

// True for a link too, wherever it leads.
bool file_exists(const std::string& file);
// True if the file existed. Fails if it cannot be removed: SQLite would take it for the next
// database's.
Result<bool> remove_if_there(const std::string& file);
// 0 where there is none.
std::uint64_t file_bytes(const std::string& file);

}  // namespace jetmem
