// SPDX-License-Identifier: Apache-2.0
// The file that http.web_config names: TLS, passwords and headers of jetmemd's TCP ports, in the
// format of the Prometheus exporter toolkit's web configuration (docs/access.md lists the keys).
//
// A file with an unknown key is refused, with its place: a port is never less protected than
// written. Messages never show a value: it may be a secret.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/load.h"
#include "config/yaml_document.h"

namespace jetmem {

struct WebConfig {
  // Something in PEM: the absolute path of its file, or the text itself.
  struct Pem {
    std::string file;
    std::string text;
    Position at;  // in the web configuration

    bool given() const { return !file.empty() || !text.empty(); }
  };

  // What a client's certificate must be, by the names of Go's crypto/tls.
  enum class ClientAuth {
    kNone,              // NoClientCert
    kRequest,           // RequestClientCert: requested, and accepted whatever it is
    kRequireAny,        // RequireAnyClientCert: required, whoever signed it
    kVerifyIfGiven,     // VerifyClientCertIfGiven
    kRequireAndVerify,  // RequireAndVerifyClientCert
  };

  struct Tls {
    Pem certificate;  // with its chain
    Pem key;
    Pem client_ca;
    ClientAuth client_auth = ClientAuth::kNone;
    bool only_tls13 = false;  // min_version: TLS13

    bool verifies() const {
      return client_auth == ClientAuth::kVerifyIfGiven ||
             client_auth == ClientAuth::kRequireAndVerify;
    }
  };

  struct User {
    std::string name;
    std::string hash;  // bcrypt, checked for its form
    bool operator==(const User&) const = default;
  };

  using Headers = std::vector<std::pair<std::string, std::string>>;

  static constexpr std::size_t kMaxBytes = 256U << 10;
  static constexpr std::size_t kMaxUsers = 100;
  // Each step doubles the time; this one takes some two seconds of a Jetson's CPU.
  static constexpr int kMaxCost = 14;

  std::string file;
  bool has_tls = false;
  Tls tls;                  // if has_tls
  std::vector<User> users;  // empty: no password is required
  Headers headers;          // added to every answer
};

// Reads and checks the file itself, not those that it names (config/web/tls_material.h).
Loaded<WebConfig> load_web_config(const std::string& file);
// The same from a text; errors name `file`, and relative paths start from its folder.
Loaded<WebConfig> parse_web_config(const std::string& file, std::string_view text);

// Warnings about the file's own permissions.
std::vector<ConfigError> permission_warnings(const WebConfig& config);

// The cost in a bcrypt hash ($2a$, $2b$, $2y$); 0: not such a hash.
int bcrypt_cost(std::string_view hash);

}  // namespace jetmem
