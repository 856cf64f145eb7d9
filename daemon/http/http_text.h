// SPDX-License-Identifier: Apache-2.0
// Texts of HTTP's headers.
#pragma once

#include <strings.h>

#include <string_view>

namespace jetmem {

// Names compare without case. `text` holds no NUL.
inline bool has_name_prefix(std::string_view name, std::string_view text) {
  return name.size() >= text.size() && ::strncasecmp(name.data(), text.data(), text.size()) == 0;
}
inline bool is_same_name(std::string_view name, std::string_view text) {
  return name.size() == text.size() && has_name_prefix(name, text);
}

}  // namespace jetmem
