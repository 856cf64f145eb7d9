// The file that http.web_config names: TLS, passwords and headers of what jetmemd serves, in the
// format of the Prometheus exporter toolkit's web configuration. docs/access.md says what of that
// format there is, and what is not.
//
// A file that asks for something we cannot do is refused with its place and what to do instead: a
// port is never less protected than written. Messages never show a value: it may be a secret.
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

  // What is asked of a client's certificate, in the words of Go's crypto/tls.
  enum class ClientAuth {
    kNone,              // NoClientCert
    kRequest,           // RequestClientCert: asked for, and whatever comes is taken
    kRequireAny,        // RequireAnyClientCert: there must be one, signed by anybody
    kVerifyIfGiven,     // VerifyClientCertIfGiven
    kRequireAndVerify,  // RequireAndVerifyClientCert
  };

  struct Tls {
    Pem certificate;  // with its chain
    Pem key;
    Pem client_ca;
    ClientAuth client_auth = ClientAuth::kNone;
    std::vector<std::string> client_allowed_sans;  // empty: any
    std::string priorities;  // versions, cipher suites and curves, as GnuTLS takes them

    bool verifies() const {
      return client_auth == ClientAuth::kVerifyIfGiven ||
             client_auth == ClientAuth::kRequireAndVerify;
    }
  };

  struct User {
    std::string name;
    std::string hash;  // bcrypt, checked for its form
  };

  static constexpr std::size_t kMaxBytes = 256U << 10;
  static constexpr std::size_t kMaxUsers = 100;
  static constexpr std::size_t kMaxSans = 64;
  // One more is twice the time; this one takes some two seconds of a Jetson's processor.
  static constexpr int kMaxCost = 14;

  std::string file;
  bool has_tls = false;
  Tls tls;                  // if has_tls
  std::vector<User> users;  // none: no password is asked for
  std::vector<std::pair<std::string, std::string>> headers;
};

// Reads and checks the file itself, not those that it names (config/tls_material.h).
Loaded<WebConfig> load_web_config(const std::string& file);
// The same from a text; `file` stands in errors, and relative paths are relative to it.
Loaded<WebConfig> parse_web_config(const std::string& file, std::string_view text);

// What is wrong with the file's own rights, and hinders nothing.
std::vector<ConfigError> remarks_on_rights(const WebConfig& config);

// The cost in a bcrypt hash ($2a$, $2b$, $2y$); 0 where it is none.
int bcrypt_cost(std::string_view hash);

}  // namespace jetmem
