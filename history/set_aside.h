// A file that cannot be used is kept for whoever wants to look at it, but within bounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace jetmem {

enum class AsideWhy : std::uint8_t {
  kDamaged,  // FILE.damaged-1 and -2, the older one replaced
  kNewer,    // FILE.newer-1 and -2, never taken away: a newer jetmem wants them back
};

// Renames the database and its WAL. What had to go is appended to `told`. The name it has then.
Result<std::string> set_aside(const std::string& file, AsideWhy why,
                              std::vector<std::string>& told);
// Bytes of all that was set aside.
std::uint64_t aside_bytes(const std::string& file);
// Takes damaged ones away, the oldest first, until at most `most` bytes are aside.
void bound_aside(const std::string& file, std::uint64_t most, std::vector<std::string>& told);

// 0 where there is none.
std::uint64_t file_bytes(const std::string& file);

}  // namespace jetmem
