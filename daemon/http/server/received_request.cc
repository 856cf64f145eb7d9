// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/received_request.h"

#include <microhttpd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

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

// Whether a NUL ends the value before its line does. libmicrohttpd puts one or two NULs in place of
// the line's end, and the next line's name follows. Where none does, it is the empty line that ends
// the headers, and only one byte of that is looked at: what is behind it may be anything.
bool has_nul(const Connection& connection, std::string_view value, const char* next_name) {
  constexpr std::string_view kLineEnd("\0\r\n \t", 5);
  const char* const end = value.data() + value.size();
  if (!is_received(connection, end + 1)) return false;
  if (next_name == nullptr) return kLineEnd.find(end[1]) == std::string_view::npos;
  if (!is_received(connection, next_name) || !std::less<>()(end, next_name)) return false;
  const std::string_view gap(end, static_cast<std::size_t>(next_name - end));
  return gap.find_first_not_of(kLineEnd) != std::string_view::npos ||
         std::count(gap.begin(), gap.end(), '\0') > 2;
}

struct HeaderCheck {
  const Connection& connection;
  RequestCheck check{};
  std::string_view value{};  // of the header before

  void end_value(const char* next_name) {
    if (value.data() != nullptr && has_nul(connection, value, next_name)) check.add_ambiguity();
  }
};

}  // namespace

std::string_view header_of(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string_view() : value;
}

RequestCheck check_request(MHD_Connection* handle, const Connection& connection, const char* method,
                           const char* version) {
  HeaderCheck headers{connection};
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
        headers.end_value(name);
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
  headers.end_value(nullptr);
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
  return std::string_view(version) != "HTTP/1.1" ||
         !header_of(handle, MHD_HTTP_HEADER_CONNECTION).empty();
}

}  // namespace jetmem
