// SPDX-License-Identifier: Apache-2.0
// The header Authorization: Basic ... of a request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace jetmem {

struct Credentials {
  std::string user;
  std::string password;
};

// Longer ones are invalid: hash-password makes no hash of them.
inline constexpr std::size_t kMaxCredentials = 512;

// Nothing: the header has another form.
std::optional<Credentials> parse_basic_auth(std::string_view header);

}  // namespace jetmem
