// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/request_check.h"

#include <algorithm>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::string_view kContentLength = "content-length";
constexpr std::string_view kTransferEncoding = "transfer-encoding";
// ": " and the end of the line.
constexpr std::size_t kAroundField = 4;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// `text` in lower case.
bool begins_with(std::string_view name, std::string_view text) {
  return name.size() >= text.size() &&
         std::equal(text.begin(), text.end(), name.begin(),
                    [](char wanted, char c) { return wanted == lower(c); });
}

bool is_name(std::string_view name, std::string_view text) {
  return name.size() == text.size() && begins_with(name, text);
}

// tchar of RFC 9110.
bool is_token_char(char c) {
  return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// Only tabs may be in a value.
bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

}  // namespace

bool RequestCheck::is_malformed_uri(std::string_view uri) {
  return uri.find_first_of(" \t") != std::string_view::npos ||
         uri.substr(0, uri.find('?')).find("%00") != std::string_view::npos;
}

bool RequestCheck::is_too_large_uri(std::string_view uri) {
  return uri.size() > kMaxBytes ||
         std::count(uri.begin(), uri.end(), '&') >= static_cast<std::ptrdiff_t>(kMaxFields);
}

void RequestCheck::add_request_line(std::string_view method, std::size_t uri_size,
                                    std::string_view version) {
  bytes_ += method.size() + uri_size + kAroundField + version.size();
  needs_host_ = version == "HTTP/1.1";
}

void RequestCheck::once(bool& seen) {
  if (seen) is_malformed_ = true;
  seen = true;
}

void RequestCheck::add_header(std::string_view name, std::string_view value) {
  bytes_ += name.size() + value.size() + kAroundField;
  ++fields_;
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_token_char) ||
      std::any_of(value.begin(), value.end(), is_control)) {
    is_malformed_ = true;
  }
  if (is_name(name, "host")) {
    once(has_host_);
  } else if (is_name(name, "authorization")) {
    once(has_authorization_);
  } else if (is_name(name, kContentLength)) {
    once(has_length_field_);
    has_length_ = value != "0";
  } else if (is_name(name, kTransferEncoding)) {
    once(has_encoding_);
    if (!is_name(value, "chunked")) is_malformed_ = true;
  } else if (begins_with(name, kContentLength) || begins_with(name, kTransferEncoding)) {
    // libmicrohttpd before 1.0 appends a folded line to the name instead of the value.
    is_malformed_ = true;
  }
}

void RequestCheck::add_cookie(std::string_view name, std::string_view value) {
  bytes_ += name.size() + value.size();
  ++fields_;
}

bool RequestCheck::is_malformed() const {
  return is_malformed_ || (has_encoding_ && has_length_field_) || (needs_host_ && !has_host_);
}

}  // namespace jetmem
