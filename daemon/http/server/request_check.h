// SPDX-License-Identifier: Apache-2.0
// Whether every HTTP program reads a request's headers in the same way, and whether they are small
// enough. Behind a reverse proxy a request that the two delimit differently would let one client's
// bytes become another one's request.
#pragma once

#include <cstddef>
#include <string_view>

namespace jetmem {

class RequestCheck {
 public:
  // Of the request line, header fields and cookies, and how many fields and parameters.
  static constexpr std::size_t kMaxBytes = 16'000;
  static constexpr std::size_t kMaxFields = 160;

  // Of a URI as sent: whether it has blanks, or its path would end early once decoded; and whether
  // it or the number of its parameters is too large by itself.
  static bool is_malformed_uri(std::string_view uri);
  static bool is_too_large_uri(std::string_view uri);
  void add_request_line(std::string_view method, std::size_t uri_size, std::string_view version);
  void add_header(std::string_view name, std::string_view value);
  // Part of what was added already, which the library keeps a second time.
  void add_parameter() { ++fields_; }
  void add_cookie(std::string_view name, std::string_view value);
  // The library understood part of it in its own way.
  void add_ambiguity() { is_malformed_ = true; }

  bool is_too_large() const { return bytes_ > kMaxBytes || fields_ > kMaxFields; }
  // After all have been added.
  bool is_malformed() const;
  // Whether a body was announced.
  bool has_body() const { return has_encoding_ || has_length_; }

 private:
  // The first of its name? `seen` is set.
  void once(bool& seen);

  std::size_t bytes_ = 0;
  std::size_t fields_ = 0;
  bool is_malformed_ = false;
  bool needs_host_ = false;
  bool has_host_ = false;
  bool has_authorization_ = false;
  bool has_length_field_ = false;
  bool has_length_ = false;  // other than 0
  bool has_encoding_ = false;
};

}  // namespace jetmem
