#include "config/web_config.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/text.h"
#include "config/rule_fields.h"
#include "config/setting_types.h"
#include "config/tls_priorities.h"

namespace jetmem {
namespace {

using Kind = YamlNode::Kind;
using Tls = WebConfig::Tls;
using ClientAuth = WebConfig::ClientAuth;

constexpr std::array<std::string_view, 4> kSections{"tls_server_config", "http_server_config",
                                                    "basic_auth_users", "rate_limit"};
constexpr std::array<std::string_view, 13> kTlsNames{"cert",
                                                     "key",
                                                     "client_ca",
                                                     "cert_file",
                                                     "key_file",
                                                     "client_ca_file",
                                                     "client_auth_type",
                                                     "client_allowed_sans",
                                                     "min_version",
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

// All of them go in front of each answer, from the memory of its connection.
constexpr std::size_t kMaxHeaderBytes = 1024;
constexpr std::size_t kMaxNameBytes = 128;
constexpr std::size_t kMaxPathBytes = 4095;

class WebConfigReader {
 public:
  explicit WebConfigReader(const std::string& file) : problems_(file, errors_) {
    out_.file = file;
    const std::size_t slash = file.rfind('/');
    directory_ = slash == std::string::npos ? std::string() : file.substr(0, slash + 1);
  }

  Loaded<WebConfig> read(std::string_view text) && {
    const YamlDocument document = parse_yaml(text);
    for (const YamlProblem& problem : document.problems) {
      problems_.add(problem.at, {}, problem.message);
    }
    if (document.readable) take_root(document.root);
    if (errors_.empty()) return std::move(out_);
    const auto place = [](const ConfigError& e) { return std::pair(e.line, e.column); };
    std::stable_sort(
        errors_.begin(), errors_.end(),
        [&](const ConfigError& a, const ConfigError& b) { return place(a) < place(b); });
    return tl::unexpected(std::move(errors_));
  }

 private:
  void take_root(const YamlNode& root) {
    if (root.kind != Kind::kNull) {
      const RuleMap map(problems_, root, "", kSections, "a web configuration");
      if (!map.is_map()) return;
      if (const YamlNode* node = map.get("tls_server_config")) take_tls(*node);
      if (const YamlNode* node = map.get("http_server_config")) take_http(*node);
      if (const YamlNode* node = map.get("basic_auth_users")) take_users(*node);
      if (const YamlNode* node = map.get("rate_limit")) {
        problems_.add(node->at, "rate_limit",
                      "rate_limit is not supported; remove it: jetmemd limits what clients may "
                      "take by itself (http.max_connections and its neighbours in jetmem.yaml)");
      }
    }
    // A file that was emptied, or is being written, must not open what it is to protect.
    if (errors_.empty() && !out_.has_tls && out_.users.empty()) {
      problems_.add({}, {},
                    "protects nothing: it has neither tls_server_config nor basic_auth_users; "
                    "write one of them, or set http.web_config to \"\"");
    }
  }

  // ---- tls_server_config

  void take_tls(const YamlNode& node) {
    const std::string key = "tls_server_config";
    const RuleMap map(problems_, node, key, kTlsNames, key);
    if (!map.is_map()) return;
    out_.has_tls = true;
    Tls& tls = out_.tls;
    tls.certificate = take_pem(map, key, "cert");
    tls.key = take_pem(map, key, "key");
    tls.client_ca = take_pem(map, key, "client_ca");
    if (map.ok() && !tls.certificate.given()) {
      problems_.add(node.at, key, key + " has no certificate; write cert_file: server.crt");
    }
    if (map.ok() && !tls.key.given()) {
      problems_.add(node.at, key, key + " has no key; write key_file: server.key");
    }
    take_client_auth(map, key);
    take_versions(map, key, node.at);
  }

  // NAME is the text, NAME_file its path.
  WebConfig::Pem take_pem(const RuleMap& map, const std::string& section, const std::string& name) {
    WebConfig::Pem out;
    const YamlNode* const text = map.get(name);
    const YamlNode* const file = map.get(name + "_file");
    if (text != nullptr && file != nullptr) {
      problems_.add(text->at, section + "." + name,
                    section + " has both " + name + " and " + name + "_file; keep one");
      return out;
    }
    if (text != nullptr && is_text(*text, section + "." + name)) {
      if (text->text.find("-----BEGIN ") == std::string::npos) {
        problems_.add(text->at, section + "." + name,
                      section + "." + name +
                          " must be PEM, as in '-----BEGIN ...'; for a path write " + name +
                          "_file");
      }
      out.text = text->text;
      out.at = text->at;
    }
    if (file != nullptr && is_text(*file, section + "." + name + "_file")) {
      out.file = path_of(*file, section + "." + name + "_file");
      out.at = file->at;
    }
    return out;
  }

  std::string path_of(const YamlNode& node, const std::string& key) {
    const std::string& path = node.text;
    if (path.empty() || path.size() > kMaxPathBytes || printable(path, path.size() + 3) != path) {
      problems_.add(node.at, key,
                    key + " must be the path of a file, from this file's folder or from /");
      return {};
    }
    return path.front() == '/' ? path : directory_ + path;
  }

  void take_client_auth(const RuleMap& map, const std::string& section) {
    Tls& tls = out_.tls;
    const YamlNode* const type = map.get("client_auth_type");
    if (type != nullptr) {
      const auto value = fields_.choice(*type, section + ".client_auth_type", kClientAuths);
      if (!value) return;
      tls.client_auth = *value;
    }
    const Position at = type != nullptr ? type->at : tls.client_ca.at;
    if (tls.verifies() && !tls.client_ca.given() && map.get("client_ca") == nullptr &&
        map.get("client_ca_file") == nullptr) {
      problems_.add(at, section,
                    std::string(name_in(kClientAuths, tls.client_auth)) +
                        " needs to know whom to trust; write client_ca_file");
    }
    if (!tls.verifies() && tls.client_ca.given()) {
      problems_.add(tls.client_ca.at, section,
                    "a client CA is given, and client_auth_type " +
                        std::string(name_in(kClientAuths, tls.client_auth)) +
                        " does not look at it; write client_auth_type: "
                        "RequireAndVerifyClientCert, or remove the CA");
    }
    if (const YamlNode* sans = map.get("client_allowed_sans")) {
      tls.client_allowed_sans =
          take_list(*sans, section + ".client_allowed_sans", WebConfig::kMaxSans);
      if (tls.client_auth != ClientAuth::kRequireAndVerify) {
        problems_.add(
            sans->at, section + ".client_allowed_sans",
            "client_allowed_sans needs client_auth_type: RequireAndVerifyClientCert: with "
            "others anybody may write any name into a certificate, or come without one");
      } else if (tls.client_allowed_sans.empty()) {
        problems_.add(sans->at, section + ".client_allowed_sans",
                      "client_allowed_sans is empty, which would mean that any name is allowed; "
                      "name one, or remove it");
      }
    }
  }

  // 12 or 13; 0: refused, and said.
  int take_version(const RuleMap& map, const std::string& section, const std::string& name,
                   int otherwise) {
    const YamlNode* const node = map.get(name);
    if (node == nullptr) return otherwise;
    const std::string key = section + "." + name;
    if (node->kind == Kind::kScalar) {
      if (node->text == "TLS12") return 12;
      if (node->text == "TLS13") return 13;
      if (node->text == "TLS10" || node->text == "TLS11") {
        problems_.add(
            node->at, key,
            key + ": " + node->text + " is no longer safe and not supported; write TLS12");
        return 0;
      }
    }
    problems_.add(node->at, key, key + " must be TLS12 or TLS13, found " + found(*node));
    return 0;
  }

  void take_versions(const RuleMap& map, const std::string& section, Position at) {
    const int min = take_version(map, section, "min_version", 12);
    const int max = take_version(map, section, "max_version", 13);
    TlsWanted wanted;
    std::vector<std::string> suites;
    std::vector<std::string> curves;
    const YamlNode* const suites_node = map.get("cipher_suites");
    const YamlNode* const curves_node = map.get("curve_preferences");
    if (suites_node != nullptr) suites = take_list(*suites_node, section + ".cipher_suites", 32);
    if (curves_node != nullptr) {
      curves = take_list(*curves_node, section + ".curve_preferences", 32);
    }
    if (const YamlNode* prefer = map.get("prefer_server_cipher_suites")) {
      const std::string key = section + ".prefer_server_cipher_suites";
      if (const auto value = take_boolean(*prefer, key)) wanted.prefer_server = *value;
    }
    if (min == 0 || max == 0) return;
    if (min > max) {
      problems_.add(map.get("max_version")->at, section + ".max_version",
                    "max_version is below min_version; no client could connect");
      return;
    }
    wanted.tls12 = min == 12;
    wanted.tls13 = max == 13;
    // Apart, so that each mistake is told at its own place.
    wanted.cipher_suites = suites;
    auto priorities = tls_priorities(wanted);
    if (!priorities) {
      problems_.add(suites_node != nullptr ? suites_node->at : at, section + ".cipher_suites",
                    "cipher_suites: " + priorities.error().message);
      wanted.cipher_suites = {};
    }
    wanted.curves = curves;
    priorities = tls_priorities(wanted);
    if (!priorities) {
      problems_.add(curves_node != nullptr ? curves_node->at : at, section + ".curve_preferences",
                    "curve_preferences: " + priorities.error().message);
      return;
    }
    out_.tls.priorities = std::move(*priorities);
  }

  // ---- http_server_config

  void take_http(const YamlNode& node) {
    const std::string key = "http_server_config";
    const RuleMap map(problems_, node, key, kHttpNames, key);
    if (!map.is_map()) return;
    if (const YamlNode* http2 = map.get("http2")) {
      const auto value = take_boolean(*http2, key + ".http2");
      if (value && *value) {
        problems_.add(http2->at, key + ".http2",
                      "HTTP/2 is not supported, and no scraper needs it; write http2: false, or "
                      "remove the line");
      }
    }
    if (const YamlNode* headers = map.get("headers")) take_headers(*headers, key + ".headers");
  }

  void take_headers(const YamlNode& node, const std::string& key) {
    const RuleMap map(problems_, node, key, kHeaderNames, key);
    if (!map.is_map()) return;
    std::size_t bytes = 0;
    for (const std::string_view name : kHeaderNames) {
      const YamlNode* const value = map.get(name);
      const std::string full = key + "." + std::string(name);
      if (value == nullptr || !is_text(*value, full) || value->text.empty()) continue;
      const std::string& text = value->text;
      bytes += name.size() + text.size();
      if (bytes > kMaxHeaderBytes) {
        problems_.add(value->at, full, key + " have more than 1024 bytes in all; shorten them");
        return;
      }
      const bool is_plain =
          std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
      if (!is_plain) {
        problems_.add(value->at, full, full + " must be one line of ASCII");
        continue;
      }
      std::string lower = text;
      for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (name == "X-Frame-Options" && lower != "deny" && lower != "sameorigin") {
        problems_.add(value->at, full, full + " must be deny or sameorigin");
      } else if (name == "X-Content-Type-Options" && lower != "nosniff") {
        problems_.add(value->at, full, full + " must be nosniff");
      } else if (name != "X-Content-Type-Options") {  // that one is always there
        out_.headers.emplace_back(std::string(name), text);
      }
    }
  }

  // ---- basic_auth_users

  void take_users(const YamlNode& node) {
    if (node.kind == Kind::kRefused) return;
    const std::string section = "basic_auth_users";
    if (node.kind != Kind::kMap) {
      problems_.add(node.at, section,
                    section + " must be a map of names and bcrypt hashes, as in alice: $2y$10$...");
      return;
    }
    if (node.keys.size() > WebConfig::kMaxUsers) {
      problems_.add(node.at, section,
                    section + " has more than " + std::to_string(WebConfig::kMaxUsers) +
                        " users; many are better told apart by client certificates");
      return;
    }
    for (std::size_t i = 0; i < node.keys.size(); ++i) take_user(node.keys[i], node.items[i]);
  }

  void take_user(const YamlNode& name, const YamlNode& hash) {
    if (name.kind == Kind::kRefused || hash.kind == Kind::kRefused) return;
    const std::string key = "basic_auth_users." + printable(name.text, kMaxNameBytes);
    const bool is_name = name.kind == Kind::kScalar && !name.text.empty() &&
                         name.text.size() <= kMaxNameBytes &&
                         printable(name.text, kMaxNameBytes + 3) == name.text;
    if (!is_name || name.text.find(':') != std::string::npos) {
      problems_.add(name.at, key,
                    "a user's name must have from 1 to 128 printable bytes and no ':', which ends "
                    "it in a request");
      return;
    }
    for (const WebConfig::User& other : out_.users) {
      if (other.name != name.text) continue;
      problems_.add(name.at, key, "'" + name.text + "' is there twice; keep one");
      return;
    }
    const int cost = hash.kind == Kind::kScalar ? bcrypt_cost(hash.text) : 0;
    if (cost == 0) {
      const bool is_empty =
          hash.text.empty() && hash.kind != Kind::kList && hash.kind != Kind::kMap;
      problems_.add(hash.at.line > 0 && !is_empty ? hash.at : name.at, key,
                    "the password of '" + name.text +
                        "' must be a bcrypt hash, $2y$10$ and 53 more characters; jetmem "
                        "hash-password makes one");
    } else if (cost > WebConfig::kMaxCost) {
      problems_.add(hash.at, key,
                    "the hash of '" + name.text + "' has the cost " + std::to_string(cost) +
                        ", too dear for this device; at most " +
                        std::to_string(WebConfig::kMaxCost) +
                        " is accepted, 10 is usual: make it anew with jetmem hash-password");
    } else {
      out_.users.push_back({name.text, hash.text});
    }
  }

  // ---- values

  // What is no scalar is told by its kind: the text may be a secret.
  bool is_text(const YamlNode& node, const std::string& key) {
    if (node.kind == Kind::kScalar) return true;
    if (node.kind != Kind::kRefused) {
      problems_.add(node.at, key, key + " must be text, found " + found(node));
    }
    return false;
  }

  std::optional<bool> take_boolean(const YamlNode& node, const std::string& key) {
    ValueProblems problems;
    const auto value = Boolean{}.read(node, problems);
    for (const ValueProblem& problem : problems) {
      problems_.add(problem.at, key, key + " " + problem.message);
    }
    return value;
  }

  std::vector<std::string> take_list(const YamlNode& node, const std::string& key,
                                     std::size_t most) {
    std::vector<std::string> out;
    if (node.kind == Kind::kRefused) return out;
    if (node.kind != Kind::kList || node.items.size() > most) {
      problems_.add(node.at, key,
                    key + " must be a list of at most " + std::to_string(most) + " words");
      return out;
    }
    for (const YamlNode& item : node.items) {
      if (is_text(item, key)) out.push_back(item.text);
    }
    return out;
  }

  std::vector<ConfigError> errors_;
  RuleProblems problems_;
  RuleFields fields_{problems_};
  WebConfig out_;
  std::string directory_;
};

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
    return tl::unexpected(std::vector<ConfigError>{
        {.file = file, .key = {}, .message = "is larger than 256 KiB; is this the right file?"}});
  }
  return WebConfigReader(file).read(text);
}

Loaded<WebConfig> load_web_config(const std::string& file) {
  const auto text = read_config_file(file);
  if (!text) {
    return tl::unexpected(
        std::vector<ConfigError>{{.file = file, .key = {}, .message = text.error().message}});
  }
  return parse_web_config(file, *text);
}

std::vector<ConfigError> remarks_on_rights(const WebConfig& config) {
  struct stat status {};
  if (::stat(config.file.c_str(), &status) != 0) return {};
  const auto remark = [&](const char* message) {
    return std::vector<ConfigError>{{.file = config.file, .key = {}, .message = message}};
  };
  if ((status.st_mode & S_IWOTH) != 0) {
    return remark("can be changed by every user of this machine; restrict it, as in chmod 640");
  }
  const bool has_secrets = !config.users.empty() || (config.has_tls && config.tls.key.file.empty());
  if ((status.st_mode & S_IROTH) != 0 && has_secrets) {
    return remark(
        "holds secrets and can be read by every user of this machine; restrict it, as in chmod "
        "640");
  }
  return {};
}

}  // namespace jetmem
