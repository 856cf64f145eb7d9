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

// Longer ones are wrong: no hash was ever made of them.
inline constexpr std::size_t kMaxCredentials = 512;

// Nothing where the header is not of that form.
std::optional<Credentials> parse_basic_auth(std::string_view header);

}  // namespace jetmem
