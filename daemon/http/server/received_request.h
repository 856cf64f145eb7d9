// SPDX-License-Identifier: Apache-2.0
// A request as libmicrohttpd hands it over: its headers, and whether they are unambiguous.
#pragma once

#include <cstddef>
#include <string_view>

#include "daemon/http/access/connections.h"
#include "daemon/http/server/request_check.h"

namespace jetmem {

// For a connection's request line, headers and answer headers: what RequestCheck accepts, with as
// much for each field as libmicrohttpd takes, and then the answer's headers. libmicrohttpd refuses
// more by itself, with 414 or 431.
inline constexpr std::size_t kMemoryOfField = 56;
inline constexpr std::size_t kMemoryOfAnswer = 3'072;
inline constexpr std::size_t kConnectionMemory =
    RequestCheck::kMaxBytes + RequestCheck::kMaxFields * kMemoryOfField + kMemoryOfAnswer;

// Empty: there is none.
std::string_view header_of(MHD_Connection* connection, const char* name);
// Of a request whose headers are complete.
RequestCheck check_request(MHD_Connection* handle, const Connection& connection, const char* method,
                           const char* version);
// Whether the client asked for its connection to end with the answer, or speaks HTTP/1.0.
bool ends_connection(MHD_Connection* handle, std::string_view version);

}  // namespace jetmem
