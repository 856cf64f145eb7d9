// SPDX-License-Identifier: Apache-2.0
#include "config/web/web_config.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>

#include "base/text/text.h"
#include "config/setting_types.h"
#include "config/yaml_fields.h"

namespace jetmem {
namespace {

using Kind = YamlNode::Kind;
using ClientAuth = WebConfig::ClientAuth;

// Keys of the exporters' format that jetmemd does not support.
constexpr std::array<std::string_view, 6> kUnsupported{
    "rate_limit",    "client_allowed_sans",         "max_version",
    "cipher_suites", "prefer_server_cipher_suites", "curve_preferences"};
constexpr std::array<std::string_view, 4> kSections{"tls_server_config", "http_server_config",
                                                    "basic_auth_users", "rate_limit"};
constexpr std::array<std::string_view, 13> kTlsNames{"cert",
                                                     "key",
                                                     "client_ca",
                                                     "cert_file",
                                                     "key_file",
                                                     "client_ca_file",
                                                     "client_auth_type",
                                                     "min_version",
                                                     "client_allowed_sans",
                                                     "max_version",
                                                     "cipher_suites",
                                                     "prefer_server_cipher_suites",
                                                     "curve_preferences"};
constexpr std::array<std::string_view, 2> kHttpNames{"http2", "headers"};
constexpr std::array<std::string_view, 5> kHeaderNames{"Content-Security-Policy", "X-Frame-Options",
                                                       "X-Content-Type-Options", "X-XSS-Protection",
                                                       "Strict-Transport-Security"};
constexpr std::array kClientAuths{
    Named<ClientAuth>{ClientAuth::kNone, "NoClientCert"},
    Named<ClientAuth>{ClientAuth::kRequest, "RequestClientCert"},
    Named<ClientAuth>{ClientAuth::kRequireAny, "RequireAnyClientCert"},
    Named<ClientAuth>{ClientAuth::kVerifyIfGiven, "VerifyClientCertIfGiven"},
    Named<ClientAuth>{ClientAuth::kRequireAndVerify, "RequireAndVerifyClientCert"}};
// TLS 1.0 and 1.1 are not safe.
constexpr std::array kVersions{Named<bool>{false, "TLS12"}, Named<bool>{true, "TLS13"}};

// All headers precede each answer, in the memory of its connection.
constexpr std::size_t kMaxHeaderBytes = 1024;
constexpr std::size_t kMaxNameBytes = 128;
constexpr std::size_t kMaxPathBytes = 4095;

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

class WebConfigReader {
 public:
  explicit WebConfigReader(const std::string& file)
      : errors_(file, found_), directory_(file.substr(0, file.rfind('/') + 1)) {
    out_.file = file;
  }

  Loaded<WebConfig> read(std::string_view text) && {
    const YamlDocument document = parse_yaml(text);
    errors_.add(document.problems);
    if (document.readable) take_root(document.root);
    if (found_.empty()) return std::move(out_);
    std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    });
    return tl::unexpected(std::move(found_));
  }

 private:
  void take_root(const YamlNode& root) {
    if (root.kind != Kind::kNull) {
      const YamlMap map(errors_, root, "", kSections, "a web configuration");
      if (!map.is_map()) return;
      if (const YamlNode* node = map.get("tls_server_config")) take_tls(*node);
      if (const YamlNode* node = map.get("http_server_config")) take_http(*node);
      if (const YamlNode* node = map.get("basic_auth_users")) take_users(*node);
      refuse_unsupported(map, "");
    }
    // A file that was emptied, or is half written, must not open the port to everybody.
    if (found_.empty() && !out_.has_tls && out_.users.empty()) {
      errors_.add({}, {},
                  "protects nothing: it has neither tls_server_config nor basic_auth_users; "
                  "write one of them, or set http.web_config to \"\"");
    }
  }

  void refuse_unsupported(const YamlMap& map, const std::string& prefix) {
    for (const std::string_view name : kUnsupported) {
      const YamlNode* const node = map.get(name);
      if (node == nullptr) continue;
      const std::string key = prefix + std::string(name);
      errors_.add(node->at, key,
                  key + " is not supported: remove it (docs/access.md lists what serves instead)");
    }
  }

  // ---- tls_server_config

  void take_tls(const YamlNode& node) {
    const std::string key = "tls_server_config";
    const YamlMap map(errors_, node, key, kTlsNames, key);
    if (!map.is_map()) return;
    out_.has_tls = true;
    WebConfig::Tls& tls = out_.tls;
    tls.certificate = take_pem(map, "cert");
    tls.key = take_pem(map, "key");
    tls.client_ca = take_pem(map, "client_ca");
    if (map.ok() && !tls.certificate.given()) {
      errors_.add(node.at, key, key + " has no certificate; write cert_file: server.crt");
    }
    if (map.ok() && !tls.key.given()) {
      errors_.add(node.at, key, key + " has no key; write key_file: server.key");
    }
    if (const YamlNode* version = map.get("min_version")) {
      tls.only_tls13 = fields_.choice(*version, key + ".min_version", kVersions).value_or(false);
    }
    take_client_auth(map, key);
    refuse_unsupported(map, key + ".");
  }

  // NAME is the text, NAME_file its path.
  WebConfig::Pem take_pem(const YamlMap& map, const std::string& name) {
    WebConfig::Pem out;
    const std::string key = "tls_server_config." + name;
    const YamlNode* const text = map.get(name);
    const YamlNode* const file = map.get(name + "_file");
    if (text != nullptr && file != nullptr) {
      errors_.add(text->at, key,
                  "tls_server_config has both " + name + " and " + name + "_file; keep one");
      return out;
    }
    if (text != nullptr && is_text(*text, key)) {
      if (text->text.find("-----BEGIN ") == std::string::npos) {
        errors_.add(
            text->at, key,
            key + " must be PEM, as in '-----BEGIN ...'; for a path write " + name + "_file");
      }
      out = {{}, text->text, text->at};
    }
    if (file != nullptr && is_text(*file, key + "_file")) {
      const std::string& path = file->text;
      if (path.empty() || path.size() > kMaxPathBytes || printable(path, path.size() + 3) != path) {
        errors_.add(file->at, key + "_file",
                    key + "_file must be the path of a file, from this file's folder or from /");
        return out;
      }
      out = {path.front() == '/' ? path : directory_ + path, {}, file->at};
    }
    return out;
  }

  void take_client_auth(const YamlMap& map, const std::string& section) {
    WebConfig::Tls& tls = out_.tls;
    const YamlNode* const type = map.get("client_auth_type");
    if (type != nullptr) {
      const auto value = fields_.choice(*type, section + ".client_auth_type", kClientAuths);
      if (!value) return;
      tls.client_auth = *value;
    }
    const std::string name(name_in(kClientAuths, tls.client_auth));
    const bool has_ca_key = map.get("client_ca") != nullptr || map.get("client_ca_file") != nullptr;
    if (type != nullptr && tls.verifies() && !has_ca_key) {
      errors_.add(type->at, section,
                  name +
                      " needs the CA that signs the clients' certificates; write "
                      "client_ca_file");
    }
    if (!tls.verifies() && tls.client_ca.given()) {
      errors_.add(tls.client_ca.at, section,
                  "client_auth_type " + name +
                      " does not use the client CA; write client_auth_type: "
                      "RequireAndVerifyClientCert, or remove the CA");
    }
  }

  // ---- http_server_config

  void take_http(const YamlNode& node) {
    const std::string key = "http_server_config";
    const YamlMap map(errors_, node, key, kHttpNames, key);
    if (!map.is_map()) return;
    if (const YamlNode* http2 = map.get("http2"); http2 != nullptr && http2->text != "false") {
      errors_.add(http2->at, key + ".http2",
                  key + ".http2 must be false: only HTTP/1.1 is served; remove it");
    }
    if (const YamlNode* headers = map.get("headers")) take_headers(*headers, key + ".headers");
  }

  void take_headers(const YamlNode& node, const std::string& section) {
    const YamlMap map(errors_, node, section, kHeaderNames, section);
    if (!map.is_map()) return;
    std::size_t bytes = 0;
    for (const std::string_view name : kHeaderNames) {
      const YamlNode* const value = map.get(name);
      const std::string key = section + "." + std::string(name);
      if (value == nullptr || !is_text(*value, key) || value->text.empty()) continue;
      bytes += name.size() + value->text.size();
      const char* const problem = header_problem(name, value->text);
      if (bytes > kMaxHeaderBytes) {
        errors_.add(value->at, key, section + " have more than 1024 bytes in all; shorten them");
        return;
      }
      if (problem != nullptr) {
        errors_.add(value->at, key, key + " " + problem);
      } else if (name != "X-Content-Type-Options") {  // every answer has that one
        out_.headers.emplace_back(name, value->text);
      }
    }
  }

  // Null: none.
  static const char* header_problem(std::string_view name, const std::string& text) {
    if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; })) {
      return "must be one line of ASCII";
    }
    const std::string lower = lower_case(text);
    if (name == "X-Frame-Options" && lower != "deny" && lower != "sameorigin") {
      return "must be deny or sameorigin";
    }
    if (name == "X-Content-Type-Options" && lower != "nosniff") return "must be nosniff";
    return nullptr;
  }

  // ---- basic_auth_users

  void take_users(const YamlNode& node) {
    if (node.kind == Kind::kRefused) return;
    const std::string section = "basic_auth_users";
    if (node.kind != Kind::kMap) {
      errors_.add(node.at, section,
                  section + " must be a map of names and bcrypt hashes, as in alice: $2y$10$...");
    } else if (node.keys.size() > WebConfig::kMaxUsers) {
      errors_.add(node.at, section,
                  section + " has more than " + std::to_string(WebConfig::kMaxUsers) +
                      " users; give so many clients certificates instead");
    } else {
      for (std::size_t i = 0; i < node.keys.size(); ++i) take_user(node.keys[i], node.items[i]);
    }
  }

  void take_user(const YamlNode& name, const YamlNode& hash) {
    if (name.kind == Kind::kRefused || hash.kind == Kind::kRefused) return;
    const std::string key = "basic_auth_users." + printable(name.text, kMaxNameBytes);
    const bool is_name = name.kind == Kind::kScalar && !name.text.empty() &&
                         name.text.size() <= kMaxNameBytes &&
                         printable(name.text, kMaxNameBytes + 3) == name.text;
    if (!is_name || name.text.find(':') != std::string::npos) {
      errors_.add(name.at, key,
                  "a user's name must have 1 to 128 printable bytes and no ':', which ends it "
                  "in a request");
      return;
    }
    const auto same = [&](const WebConfig::User& other) { return other.name == name.text; };
    if (std::any_of(out_.users.begin(), out_.users.end(), same)) {
      errors_.add(name.at, key, "'" + name.text + "' is there twice; keep one");
      return;
    }
    const int cost = hash.kind == Kind::kScalar ? bcrypt_cost(hash.text) : 0;
    if (cost == 0) {
      const bool is_missing = hash.at.line == 0 || hash.kind == Kind::kNull;
      errors_.add(is_missing ? name.at : hash.at, key,
                  "the password of '" + name.text +
                      "' must be a bcrypt hash, $2y$10$ and 53 more characters; jetmem "
                      "hash-password makes one");
    } else if (cost > WebConfig::kMaxCost) {
      errors_.add(hash.at, key,
                  "the hash of '" + name.text + "' has cost " + std::to_string(cost) +
                      ", which takes this device too long; at most " +
                      std::to_string(WebConfig::kMaxCost) +
                      " is accepted, 10 is usual: make a new one with jetmem hash-password");
    } else {
      out_.users.push_back({name.text, hash.text});
    }
  }

  // A message names the kind of anything but text, never the value: it may be a secret.
  bool is_text(const YamlNode& node, const std::string& key) {
    if (node.kind == Kind::kScalar) return true;
    if (node.kind != Kind::kRefused) {
      errors_.add(node.at, key, key + " must be text, found " + found(node));
    }
    return false;
  }

  std::vector<ConfigError> found_;
  ConfigErrors errors_;
  YamlFields fields_{errors_};
  WebConfig out_;
  std::string directory_;
};

std::vector<ConfigError> one_error(const std::string& file, std::string message) {
  return {{.file = file, .key = {}, .message = std::move(message)}};
}

}  // namespace

int bcrypt_cost(std::string_view hash) {
  constexpr std::size_t kSize = 60;
  if (hash.size() != kSize || !take_prefix(hash, "$2")) return 0;
  if (hash[0] != 'a' && hash[0] != 'b' && hash[0] != 'y') return 0;
  if (hash[1] != '$' || !is_digit(hash[2]) || !is_digit(hash[3]) || hash[4] != '$') return 0;
  const auto is_base64 = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '/';
  };
  if (!std::all_of(hash.begin() + 5, hash.end(), is_base64)) return 0;
  const int cost = (hash[2] - '0') * 10 + (hash[3] - '0');
  return cost >= 4 && cost <= 31 ? cost : 0;
}

Loaded<WebConfig> parse_web_config(const std::string& file, std::string_view text) {
  if (text.size() > WebConfig::kMaxBytes) {
    return tl::unexpected(one_error(file, "is larger than 256 KiB; is this the right file?"));
  }
  return WebConfigReader(file).read(text);
}

Loaded<WebConfig> load_web_config(const std::string& file) {
  const auto text = read_config_file(file);
  if (!text) return tl::unexpected(one_error(file, text.error().message));
  return parse_web_config(file, *text);
}

std::vector<ConfigError> permission_warnings(const WebConfig& config) {
  struct stat status {};
  if (::stat(config.file.c_str(), &status) != 0) return {};
  if ((status.st_mode & S_IWOTH) != 0) {
    return one_error(config.file,
                     "can be changed by every user of this machine; restrict it, as in chmod 640");
  }
  const bool has_secrets = !config.users.empty() || (config.has_tls && config.tls.key.file.empty());
  if ((status.st_mode & S_IROTH) == 0 || !has_secrets) return {};
  return one_error(config.file,
                   "holds secrets and can be read by every user of this machine; restrict it, as "
                   "in chmod 640");
}

}  // namespace jetmem
