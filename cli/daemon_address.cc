// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_address.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "base/text/text.h"
#include "config/files.h"

namespace jetmem {
namespace {

// Where systemd's jetmemd always listens.
constexpr const char* kApiSocket = "/run/jetmem/api.socket";
constexpr const char* kPasswordVariable = "JETMEM_PASSWORD";
constexpr std::size_t kMostHost = 255;

bool is_url(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

tl::unexpected<Error> refuse(std::string_view text, std::string_view why) {
  return fail(Errc::kInvalid, "'" + printable(text, 300) + "' " + std::string(why));
}

Result<std::string> base_of(std::string_view text) {
  std::string_view rest = text.substr(text.find("//") + 2);
  if (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  if (rest.find('@') != std::string_view::npos) {
    return fail(Errc::kInvalid,
                "a URL with user and password can be seen by everybody on this machine; name the "
                "user with --user, and put the password into a file for --password-file");
  }
  if (rest.find_first_of("/?#") != std::string_view::npos) {
    return refuse(text, "has a path; name the daemon alone, as in https://orin-7:10743");
  }
  const bool plain = std::all_of(rest.begin(), rest.end(), [](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '\\';
  });
  if (rest.empty() || rest.size() > kMostHost || !plain) {
    return refuse(text, "has no host; expected e.g. https://orin-7:10743");
  }
  return std::string(text.substr(0, text.find("//") + 2)) + std::string(rest);
}

Result<std::string> password_of(const ClientAccess& access) {
  if (access.password_file.empty()) {
    const char* const value = std::getenv(kPasswordVariable);
    if (value != nullptr) return std::string(value);
    return fail(Errc::kInvalid,
                "--user needs a password: name a file that holds it with --password-file, or set "
                "JETMEM_PASSWORD");
  }
  auto text = read_config_file(access.password_file);
  if (!text) {
    const bool other = text.error().code == Errc::kNotRegular;
    return fail(text.error().code, "--password-file: " + printable(access.password_file, 300) +
                                       " " +
                                       (other ? "is not a regular file" : text.error().message));
  }
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  if (text->empty() || text->find('\n') != std::string::npos) {
    return fail(Errc::kMalformed, "--password-file: " + printable(access.password_file, 300) +
                                      " must hold one line, the password");
  }
  return std::move(*text);
}

}  // namespace

DaemonAddress::DaemonAddress(const ListenAddress& address) : shown(address.text()) {
  switch (address.family) {
    case ListenAddress::Family::kUnix:
      socket = address.host;
      base = "http://localhost";
      return;
    case ListenAddress::Family::kIpv4:
      base = address.host == "0.0.0.0" ? "127.0.0.1" : address.host;
      break;
    case ListenAddress::Family::kIpv6:
      base = address.host == "::" ? "::1" : address.host;
      // As URLs have it.
      if (const std::size_t percent = base.find('%'); percent != std::string::npos) {
        base.insert(percent + 1, "25");
      }
      base = "[" + base + "]";
      break;
  }
  base = "http://" + base + ":" + std::to_string(address.port);
}

// "orin-7" and "localhost:10743": names are looked up by who asks, other than by who listens.
static std::string url_of_name(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const bool is_name =
      !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
      });
  if (!is_name || name == "unix") return {};
  std::string out = "http://" + std::string(text);
  if (name.size() == text.size()) out += ":" + std::to_string(HttpSettings{}.listen.front().port);
  return out;
}

// What --daemon names: an address as in http.listen, NAME[:PORT], or http(s)://HOST[:PORT].
// kInvalid: it is none of these, or `access` does not belong to it or cannot be read.
static Result<DaemonAddress> parse_daemon_address(std::string_view text,
                                                  const ClientAccess& access) {
  DaemonAddress out;
  const std::string by_name = is_url(text) ? std::string() : url_of_name(text);
  if (is_url(text) || !by_name.empty()) {
    auto base = base_of(by_name.empty() ? text : std::string_view(by_name));
    if (!base) return tl::unexpected(std::move(base.error()).within("--daemon"));
    out.base = std::move(*base);
    out.shown = printable(out.base, 300);
  } else {
    auto address = parse_listen_address(text);
    if (!address) return tl::unexpected(std::move(address.error()).within("--daemon"));
    out = DaemonAddress(*address);
  }
  const bool has_tls_options =
      !access.ca_file.empty() || !access.certificate_file.empty() || !access.key_file.empty();
  if (has_tls_options && !out.is_https()) {
    return fail(Errc::kInvalid,
                "--cacert, --cert and --key belong to TLS; write --daemon https://HOST:PORT");
  }
  if (access.user.find(':') != std::string::npos) {
    return fail(Errc::kInvalid,
                "--user takes the name alone; the password comes from --password-file or "
                "JETMEM_PASSWORD");
  }
  out.ca_file = access.ca_file;
  out.certificate_file = access.certificate_file;
  out.key_file = access.key_file;
  if (access.user.empty()) return out;
  auto password = password_of(access);
  if (!password) return tl::unexpected(std::move(password.error()));
  out.user = access.user;
  out.password = std::move(*password);
  return out;
}

Result<std::vector<DaemonAddress>> daemon_addresses(const std::string& named,
                                                    const HttpSettings& http,
                                                    const ClientAccess& access) {
  if (!named.empty()) {
    auto location = parse_daemon_address(named, access);
    if (!location) return tl::unexpected(std::move(location.error()));
    location->is_named = true;
    return std::vector<DaemonAddress>{std::move(*location)};
  }
  std::vector<ListenAddress> addresses{{ListenAddress::Family::kUnix, kApiSocket, 0}};
  for (const ListenAddress& each : http.listen) {
    const bool is_unix = each.family == ListenAddress::Family::kUnix;
    // Port 0 is any, and which one only the daemon knows.
    const bool can_be_queried = is_unix || (each.port != 0 && http.web_config.empty());
    const bool is_new = std::find(addresses.begin(), addresses.end(), each) == addresses.end();
    if (can_be_queried && is_new) addresses.push_back(each);
  }
  return std::vector<DaemonAddress>(addresses.begin(), addresses.end());
}

}  // namespace jetmem
