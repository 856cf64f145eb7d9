// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/received_request.h"

#include <microhttpd.h>
#include <strings.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

#include "base/text/text.h"

namespace jetmem {
namespace {

// Whether the request's URI ends before its place does: with a NUL in it, as `version` follows.
bool is_cut_short(const char* uri, std::size_t size, const char* version) {
  const auto begin = reinterpret_cast<std::uintptr_t>(uri);
  const auto end = reinterpret_cast<std::uintptr_t>(version);
  return end > begin + size + 1 && end - begin <= kConnectionMemory;
}

// Whether it is in the memory in which libmicrohttpd keeps the request.
bool is_received(const Connection& connection, const char* byte) {
  const auto begin = reinterpret_cast<std::uintptr_t>(connection.uri);
  const auto at = reinterpret_cast<std::uintptr_t>(byte);
  return at >= begin && at - begin < kConnectionMemory;
}

// Whether each line ends with CRLF, and no value before its line does. libmicrohttpd before 1.0
// puts NULs in place of CRLF, and takes a NUL of the client's for the end of a value, at the
// beginning of a line for the end of the headers. Version 1.0 refuses all that itself.
bool is_line_end(const Connection& connection, const char* end, const char* next_name) {
  constexpr std::string_view kLineEnd("\0\0", 2);
  constexpr std::string_view kHeadersEnd("\0\0\0\0", 4);
  static const bool checks = std::string_view(MHD_get_version()).starts_with("0.");
  if (!checks || !is_received(connection, end + kHeadersEnd.size())) return true;
  if (next_name == nullptr) return std::string_view(end, kHeadersEnd.size()) == kHeadersEnd;
  if (!is_received(connection, next_name) || !std::less<>()(end, next_name)) return true;
  return std::string_view(end, static_cast<std::size_t>(next_name - end)) == kLineEnd;
}

// Of the header Connection.
bool has_option(std::string_view options, std::string_view option) {
  while (!options.empty()) {
    const std::size_t end = std::min(options.find(','), options.size());
    const std::string_view each = trim(options.substr(0, end));
    if (each.size() == option.size() && ::strncasecmp(each.data(), option.data(), each.size()) == 0)
      return true;
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return false;
}

struct HeaderCheck {
  const Connection& connection;
  std::string_view value;  // of the header before, or the version
  RequestCheck check{};

  void end_line(const char* next_name) {
    if (value.data() == nullptr) return;
    if (!is_line_end(connection, value.data() + value.size(), next_name)) check.add_ambiguity();
  }
};

}  // namespace

std::string_view header_of(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string_view() : value;
}

RequestCheck check_request(MHD_Connection* handle, const Connection& connection, const char* method,
                           const char* version) {
  HeaderCheck headers{connection, version};
  RequestCheck& out = headers.check;
  out.add_request_line(method, connection.uri_size, version);
  if (connection.is_uri_malformed || is_cut_short(connection.uri, connection.uri_size, version) ||
      is_cut_short(method, std::strlen(method), connection.uri)) {
    out.add_ambiguity();
  }
  MHD_get_connection_values_n(
      handle, MHD_HEADER_KIND,
      [](void* to, MHD_ValueKind, const char* name, std::size_t name_size, const char* value,
         std::size_t value_size) {
        auto& headers = *static_cast<HeaderCheck*>(to);
        RequestCheck& check = headers.check;
        headers.end_line(name);
        headers.value = value == nullptr ? std::string_view() : std::string_view(value, value_size);
        check.add_header({name, name_size}, headers.value);
        // A folded line made libmicrohttpd move the name behind the value.
        if (value != nullptr && std::less<>()(value, name)) {
          check.add_ambiguity();
          headers.value = {};
        }
        return MHD_YES;
      },
      &headers);
  // Without any header the connection ends with the answer (HTTP/1.0), or the request has no Host.
  if (headers.value.data() != version) headers.end_line(nullptr);
  MHD_get_connection_values_n(
      handle, MHD_COOKIE_KIND,
      [](void* to, MHD_ValueKind, const char* name, std::size_t name_size, const char* value,
         std::size_t value_size) {
        static_cast<RequestCheck*>(to)->add_cookie(
            {name, name_size},
            value == nullptr ? std::string_view() : std::string_view(value, value_size));
        return MHD_YES;
      },
      &out);
  MHD_get_connection_values_n(
      handle, MHD_GET_ARGUMENT_KIND,
      [](void* to, MHD_ValueKind, const char*, std::size_t, const char*, std::size_t) {
        static_cast<RequestCheck*>(to)->add_parameter();
        return MHD_YES;
      },
      &out);
  return out;
}

bool ends_connection(MHD_Connection* handle, const char* version) {
  const std::string_view options = header_of(handle, MHD_HTTP_HEADER_CONNECTION);
  if (has_option(options, "close")) return true;
  return std::string_view(version) != "HTTP/1.1" && !has_option(options, "keep-alive");
}

}  // namespace jetmem
