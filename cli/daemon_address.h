// SPDX-License-Identifier: Apache-2.0
// The address of a jetmemd and the user to log in as: its socket, an address of this machine, or a
// URL.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/listen_address.h"
#include "config/settings.h"

namespace jetmem {

// As the command line has it; the password is never there, where `ps` would show it.
struct ClientAccess {
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string user;
  std::string password_file;  // empty: the environment's JETMEM_PASSWORD
};

struct DaemonAddress {
  std::string shown;   // as the person knows it
  std::string socket;  // of a Unix socket, its path; else empty
  std::string base;    // "https://orin-7:10743", what a path is appended to
  // For a URL with https only.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string user;  // empty: none is named
  std::string password;
  bool is_named = false;  // by --daemon, rather than by this machine's settings

  DaemonAddress() = default;
  // A wildcard address is queried at the loopback address.
  DaemonAddress(const ListenAddress& address);  // NOLINT(google-explicit-constructor): is one

  const std::string& text() const { return shown; }
  bool is_https() const { return base.starts_with("https:"); }
};

// The address of the daemon that is named. Without a name, those of this machine: the socket, then
// the addresses of the settings that require neither TLS nor a password.
Result<std::vector<DaemonAddress>> daemon_addresses(const std::string& named,
                                                    const HttpSettings& http,
                                                    const ClientAccess& access);

}  // namespace jetmem
