// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/basic_auth.h"

#include <gnutls/gnutls.h>

#include "base/text/text.h"
#include "daemon/http/http_text.h"

namespace jetmem {

std::optional<Credentials> parse_basic_auth(std::string_view header) {
  const std::string_view scheme = take_word(header);
  const std::string_view encoded = trim(header);
  // The decoder would skip spaces.
  if (!is_same_name(scheme, "basic") || encoded.empty() || encoded.size() > 2 * kMaxCredentials ||
      encoded.find_first_of(" \t") != std::string_view::npos) {
    return std::nullopt;
  }
  const gnutls_datum_t text{reinterpret_cast<unsigned char*>(const_cast<char*>(encoded.data())),
                            static_cast<unsigned>(encoded.size())};
  gnutls_datum_t decoded{};
  if (gnutls_base64_decode2(&text, &decoded) != GNUTLS_E_SUCCESS) return std::nullopt;
  const std::string pair(reinterpret_cast<const char*>(decoded.data), decoded.size);
  gnutls_memset(decoded.data, 0, decoded.size);
  gnutls_free(decoded.data);
  const std::size_t colon = pair.find(':');
  // bcrypt would ignore what follows a NUL.
  if (colon == std::string::npos || pair.size() > kMaxCredentials ||
      pair.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  return Credentials{pair.substr(0, colon), pair.substr(colon + 1)};
}

}  // namespace jetmem
