// What encodings a client takes (RFC 9110, 12.5.3).
#pragma once

#include <string_view>

namespace jetmem {

// Whether to send gzip, given the Accept-Encoding header: the client takes it and does not rank
// it below the plain text. No header, or one that cannot be read: plain.
bool prefers_gzip(std::string_view accept_encoding);

}  // namespace jetmem
