// SPDX-License-Identifier: Apache-2.0
// Whether every HTTP program reads a request's headers in the same way, it has no body, and they
// are small enough. Behind a reverse proxy a request that the two delimit differently would let one
// client's bytes become another one's request.
#pragma once

#include <cstddef>
#include <string_view>

#include "daemon/http/access/connections.h"

namespace jetmem {

class RequestCheck {
 public:
  // Limits of the request line, header fields and cookies together, and of the number of fields and
  // parameters.
  static constexpr std::size_t kMaxBytes = 16'000;
  static constexpr std::size_t kMaxFields = 160;
  // For a connection's request line, headers and answer headers: what is accepted, with as much for
  // each field as libmicrohttpd takes, and then the answer's headers. libmicrohttpd refuses more by
  // itself, with 414 or 431.
  static constexpr std::size_t kConnectionMemory = kMaxBytes + kMaxFields * 56 + 3'072;

  // Whether a URI as sent has blanks, or a path that would end early once decoded; and whether it,
  // or the number of its parameters, is too large by itself.
  static bool is_malformed_uri(std::string_view uri);
  static bool is_too_large_uri(std::string_view uri);

  // Checks a request whose headers are complete, as libmicrohttpd hands it over.
  RequestCheck(MHD_Connection* handle, const Connection& connection, const char* method,
               const char* version);

  bool is_too_large() const { return bytes_ > kMaxBytes || fields_ > kMaxFields; }
  bool is_malformed() const { return is_malformed_ || (needs_host_ && !has_host_); }
  // Whether the client may have asked for its connection to end with the answer.
  bool may_end_connection() const { return may_end_ || !needs_host_; }

 private:
  void add_header(std::string_view name, std::string_view value);
  void add_field(std::size_t bytes);
  // The first of its name? `seen` is set.
  void once(bool& seen);
  void end_line(const Connection& connection, const char* next_name);

  std::string_view value_;  // of the last header, or the version
  std::size_t bytes_ = 0;
  std::size_t fields_ = 0;
  bool is_malformed_ = false;
  bool needs_host_ = false;
  bool has_host_ = false;
  bool has_authorization_ = false;
  bool has_length_ = false;
  bool may_end_ = false;
};

// Empty: there is none.
std::string_view header_of(MHD_Connection* connection, const char* name);

}  // namespace jetmem
