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

// In a value of the header Connection.
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
    if (value.data() == nullptr || !has_nuls_for_line_ends()) return;
    if (!is_line_end(connection, value.data() + value.size(), next_name)) check.add_ambiguity();
  }
};

struct ConnectionOptions {
  bool close = false;
  bool keep_alive = false;
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
  const std::string_view last = headers.value;
  if (last.data() != nullptr && last.data() != version && has_nuls_for_line_ends() &&
      !is_headers_end(handle, method, last.data() + last.size())) {
    out.add_ambiguity();
  }
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

bool ends_connection(MHD_Connection* handle, std::string_view version) {
  ConnectionOptions options;
  MHD_get_connection_values_n(
      handle, MHD_HEADER_KIND,
      [](void* to, MHD_ValueKind, const char* name, std::size_t, const char* value, std::size_t) {
        if (value == nullptr || ::strcasecmp(name, MHD_HTTP_HEADER_CONNECTION) != 0) return MHD_YES;
        auto& options = *static_cast<ConnectionOptions*>(to);
        options.close = options.close || has_option(value, "close");
        options.keep_alive = options.keep_alive || has_option(value, "keep-alive");
        return MHD_YES;
      },
      &options);
  const bool is_old = version == "HTTP/1.0" || !version.starts_with("HTTP/1.");
  return options.close || (is_old && !options.keep_alive);
}

}  // namespace jetmem
