// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/request_check.h"

#include <microhttpd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

#include "base/text/text.h"
#include "daemon/http/http_text.h"

namespace jetmem {
namespace {

// ": " and the end of the line.
constexpr std::size_t kAroundField = 4;

// tchar of RFC 9110.
bool is_token_char(char c) {
  return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// Only tabs may be in a value.
bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

std::string_view text_of(const char* value, std::size_t size) {
  return value == nullptr ? std::string_view() : std::string_view(value, size);
}

// Whether the request's URI ends before its place does: with a NUL in it, as `version` follows.
bool is_cut_short(const char* uri, std::size_t size, const char* version) {
  const auto begin = reinterpret_cast<std::uintptr_t>(uri);
  const auto end = reinterpret_cast<std::uintptr_t>(version);
  return end > begin + size + 1 && end - begin <= RequestCheck::kConnectionMemory;
}

// Whether it is in the memory in which libmicrohttpd keeps the request.
bool is_received(const Connection& connection, const char* byte) {
  const auto begin = reinterpret_cast<std::uintptr_t>(connection.uri);
  const auto at = reinterpret_cast<std::uintptr_t>(byte);
  return at >= begin && at - begin < RequestCheck::kConnectionMemory;
}

// libmicrohttpd before 1.0 puts NULs in place of a line's end, and takes a NUL of the client's for
// the end of a value, at the beginning of a line for the end of the headers. Version 1.0 refuses
// all that itself.
bool has_nuls_for_line_ends() {
  static const bool has = std::string_view(MHD_get_version()).starts_with("0.");
  return has;
}

// Whether a line ends with CRLF, and no value before it does: `next_name` follows.
bool is_line_end(const Connection& connection, const char* end, const char* next_name) {
  constexpr std::string_view kLineEnd("\0\0", 2);
  if (!is_received(connection, end + kLineEnd.size())) return true;
  if (!is_received(connection, next_name) || !std::less<>()(end, next_name)) return true;
  return std::string_view(end, static_cast<std::size_t>(next_name - end)) == kLineEnd;
}

// Whether the last line ends with CRLF, and only an empty line with CRLF follows. What is behind
// that is not looked at: it may be anything.
bool is_headers_end(MHD_Connection* handle, const char* method, const char* end) {
  constexpr std::string_view kNuls("\0\0\0\0", 4);
  // From the request's beginning to the end of the empty line. Before 0.9.74: the empty line's
  // length as a negative number.
  const MHD_ConnectionInfo* const info =
      MHD_get_connection_info(handle, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  if (info == nullptr) return true;
  constexpr auto kEmptyLine = static_cast<std::size_t>(-2);
  if (info->header_size == kEmptyLine) return kNuls.starts_with(std::string_view(end, 3));
  const auto size =
      reinterpret_cast<std::uintptr_t>(end) - reinterpret_cast<std::uintptr_t>(method);
  return info->header_size == size + kNuls.size() && std::string_view(end, kNuls.size()) == kNuls;
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

RequestCheck::RequestCheck(MHD_Connection* handle, const Connection& connection, const char* method,
                           const char* version)
    : value_(version),
      bytes_(std::strlen(method) + connection.uri_size + kAroundField + value_.size()),
      needs_host_(value_ == "HTTP/1.1") {
  is_malformed_ = connection.is_uri_malformed ||
                  is_cut_short(connection.uri, connection.uri_size, version) ||
                  is_cut_short(method, std::strlen(method), connection.uri);
  const auto each_header = [&](const char* name, std::string_view name_text, const char* value,
                               std::size_t size) {
    end_line(connection, name);
    value_ = text_of(value, size);
    add_header(name_text, value_);
    // A folded line made libmicrohttpd move the name behind the value.
    if (value == nullptr || !std::less<>()(value, name)) return;
    is_malformed_ = true;
    value_ = {};
  };
  MHD_get_connection_values_n(
      handle, MHD_HEADER_KIND,
      [](void* to, MHD_ValueKind, const char* name, std::size_t name_size, const char* value,
         std::size_t size) {
        (*static_cast<decltype(each_header)*>(to))(name, {name, name_size}, value, size);
        return MHD_YES;
      },
      const_cast<void*>(static_cast<const void*>(&each_header)));
  // Without any header the connection ends with the answer (HTTP/1.0), or the request has no Host.
  if (value_.data() != nullptr && value_.data() != version && has_nuls_for_line_ends() &&
      !is_headers_end(handle, method, value_.data() + value_.size())) {
    is_malformed_ = true;
  }
  // Part of the headers already, but libmicrohttpd keeps them a second time.
  MHD_get_connection_values_n(
      handle, static_cast<MHD_ValueKind>(MHD_COOKIE_KIND | MHD_GET_ARGUMENT_KIND),
      [](void* to, MHD_ValueKind kind, const char*, std::size_t name_size, const char*,
         std::size_t size) {
        static_cast<RequestCheck*>(to)->add_field(kind == MHD_COOKIE_KIND ? name_size + size : 0);
        return MHD_YES;
      },
      this);
}

void RequestCheck::end_line(const Connection& connection, const char* next_name) {
  if (value_.data() == nullptr || !has_nuls_for_line_ends()) return;
  if (!is_line_end(connection, value_.data() + value_.size(), next_name)) is_malformed_ = true;
}

void RequestCheck::add_field(std::size_t bytes) {
  bytes_ += bytes;
  ++fields_;
}

void RequestCheck::once(bool& seen) {
  if (seen) is_malformed_ = true;
  seen = true;
}

void RequestCheck::add_header(std::string_view name, std::string_view value) {
  add_field(name.size() + value.size() + kAroundField);
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_token_char) ||
      std::any_of(value.begin(), value.end(), is_control)) {
    is_malformed_ = true;
  }
  if (is_same_name(name, "host")) {
    once(has_host_);
  } else if (is_same_name(name, "authorization")) {
    once(has_authorization_);
  } else if (is_same_name(name, "connection")) {
    may_end_ = may_end_ || !is_same_name(value, "keep-alive");
  } else if (has_name_prefix(name, "content-length")) {
    // libmicrohttpd before 1.0 appends a folded line to the name instead of the value.
    once(has_length_);
    if (!is_same_name(name, "content-length") || value != "0") is_malformed_ = true;
  } else if (has_name_prefix(name, "transfer-encoding") || has_name_prefix(name, "expect")) {
    is_malformed_ = true;
  }
}

std::string_view header_of(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace jetmem
