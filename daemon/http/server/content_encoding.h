// SPDX-License-Identifier: Apache-2.0
// The encodings that a client accepts (RFC 9110, 12.5.3).
#pragma once

#include <string_view>

namespace jetmem {

// Whether to send gzip: the client accepts it and does not rank it below plain text. Without a
// header, or with a malformed one: plain.
bool prefers_gzip(std::string_view accept_encoding);

}  // namespace jetmem
