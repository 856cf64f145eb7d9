// Raw deflate with a small window: what is compressed here is a few hundred bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace jetmem {

// Appends to `out`, and only when that is shorter than `bytes`: else false.
bool deflate_bytes(std::string_view bytes, std::string& out);
// Errors: kMalformed, as when it is longer than `most`.
Result<std::string> inflate_bytes(std::string_view bytes, std::size_t most);

}  // namespace jetmem
