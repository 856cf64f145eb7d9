// The web configuration: what of the exporter toolkit's format is taken, and what is refused.
#include "config/web_config.h"

#include "config/tls_priorities.h"
#include "config_fixture.h"

namespace jetmem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Auth = WebConfig::ClientAuth;

const std::string kHash = "$2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze";

WebConfig good_web(std::string_view text) {
  auto config = parse_web_config("/etc/jetmem/web.yaml", text);
  if (config) return *config;
  ADD_FAILURE() << describe(config.error());
  return {};
}

std::string web_errors(std::string_view text) {
  const auto config = parse_web_config("w.yaml", text);
  return config ? "no error" : describe(config.error()) + "\n";
}

std::string tls(const std::string& more) {
  return "tls_server_config:\n  cert_file: a.crt\n  key_file: a.key\n" + more;
}

TEST(WebConfigFile, AllOfIt) {
  const WebConfig config = good_web(
      "tls_server_config:\n"
      "  cert_file: server.crt\n"
      "  key_file: /run/keys/server.key\n"
      "  client_ca_file: ca/clients.crt\n"
      "  client_auth_type: RequireAndVerifyClientCert\n"
      "  client_allowed_sans: [prometheus.example, 192.0.2.7]\n"
      "  min_version: TLS12\n"
      "  max_version: TLS13\n"
      "  prefer_server_cipher_suites: false\n"
      "  curve_preferences: [X25519, CurveP256]\n"
      "http_server_config:\n"
      "  http2: false\n"
      "  headers:\n"
      "    Content-Security-Policy: default-src 'self'\n"
      "    X-Frame-Options: deny\n"
      "    X-Content-Type-Options: nosniff\n"
      "    X-XSS-Protection: \"\"\n"
      "    Strict-Transport-Security: max-age=31536000\n"
      "basic_auth_users:\n"
      "  alice: " +
      kHash + "\n  b\xc3\xb6rge: \"" + kHash + "\"\n");
  ASSERT_TRUE(config.has_tls);
  // Relative to the file.
  EXPECT_EQ(config.tls.certificate.file, "/etc/jetmem/server.crt");
  EXPECT_EQ(config.tls.key.file, "/run/keys/server.key");
  EXPECT_EQ(config.tls.client_ca.file, "/etc/jetmem/ca/clients.crt");
  EXPECT_EQ(config.tls.client_auth, Auth::kRequireAndVerify);
  EXPECT_THAT(config.tls.client_allowed_sans, ElementsAre("prometheus.example", "192.0.2.7"));
  EXPECT_EQ(config.tls.priorities,
            "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:"
            "-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:-MAC-ALL:+AEAD:"
            "-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1");
  ASSERT_EQ(config.headers.size(), 3U);
  EXPECT_EQ(config.headers[0].second, "default-src 'self'");
  ASSERT_EQ(config.users.size(), 2U);
  EXPECT_EQ(config.users[0].name, "alice");
  EXPECT_EQ(config.users[1].hash, kHash);
}

TEST(WebConfigFile, ThePartsByThemselves) {
  const WebConfig only_users = good_web("basic_auth_users: {a: " + kHash + "}");
  EXPECT_FALSE(only_users.has_tls);
  const WebConfig only_tls = good_web(tls("basic_auth_users: {}\n"));
  EXPECT_TRUE(only_tls.users.empty());
  EXPECT_EQ(only_tls.tls.client_auth, Auth::kNone);
  EXPECT_THAT(only_tls.tls.priorities, HasSubstr("%SERVER_PRECEDENCE"));
  const WebConfig inlined = good_web(
      "tls_server_config:\n  cert: |\n    -----BEGIN CERTIFICATE-----\n    x\n"
      "  key: |\n    -----BEGIN PRIVATE KEY-----\n    y\n");
  EXPECT_EQ(inlined.tls.certificate.text, "-----BEGIN CERTIFICATE-----\nx\n");
  EXPECT_EQ(inlined.tls.key.at.line, 5);
}

// A file that was cut off while it was written must not open the port to everybody.
TEST(WebConfigFile, NothingAtAllIsAMistake) {
  for (const char* text :
       {"", "# all gone\n", "{}", "http_server_config: {http2: false}", "basic_auth_users: {}"}) {
    EXPECT_THAT(web_errors(text), HasSubstr("w.yaml: protects nothing")) << text;
  }
  EXPECT_THAT(web_errors("tls_server_config:\n"), HasSubstr("w.yaml:1:1: 'tls_server_config' has"));
  EXPECT_THAT(web_errors("tls_server_config: {}"), HasSubstr("has no certificate"));
  EXPECT_THAT(web_errors("tls_server_config: {cert_file: a}"), HasSubstr("has no key"));
  EXPECT_THAT(web_errors("basic_auth_users:\n"), HasSubstr("'basic_auth_users' has no value"));
}

TEST(WebConfigFile, WhatIsNotSupportedIsRefusedWithARemedy) {
  const std::pair<std::string, const char*> cases[] = {
      {"rate_limit: {interval: 1s, burst: 20}\n", "rate_limit is not supported; remove it"},
      {"http_server_config: {http2: true}\n", "HTTP/2 is not supported"},
      {"http_server_config: {http2: yes}\n", "must be true or false, found 'yes'; write true"},
      {"http_server_config: {headers: {Server: x}}\n", "unknown key 'Server'; known here"},
      {"http_server_config: {headers: {X-Frame-Options: allow}}\n", "must be deny or sameorigin"},
      {"http_server_config: {headers: {X-Content-Type-Options: sniff}}\n", "must be nosniff"},
      {"http_server_config: {headers: {X-XSS-Protection: \"a\\nb\"}}\n", "one line of ASCII"},
      {"basic_auth_user: {}\n", "unknown key 'basic_auth_user'; did you mean 'basic_auth_users'?"},
      {"  min_version: TLS10\n", "TLS10 is no longer safe and not supported; write TLS12"},
      {"  min_version: \"1.2\"\n", "must be TLS12 or TLS13"},
      {"  min_version: TLS13\n  max_version: TLS12\n", "max_version is below min_version"},
      {"  client_auth_type: Require\n", "must be one of NoClientCert, RequestClientCert"},
      {"  client_auth_type: RequireAndVerifyClientCert\n", "write client_ca_file"},
      {"  client_auth_type: VerifyClientCertIfGiven\n", "write client_ca_file"},
      {"  client_ca_file: ca.crt\n", "NoClientCert does not look at it"},
      {"  client_allowed_sans: [x]\n", "needs client_auth_type: RequireAndVerifyClientCert"},
      {"  client_auth_type: RequireAnyClientCert\n  client_allowed_sans: [x]\n",
       "anybody may write any name"},
      {"  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n"
       "  client_allowed_sans: []\n",
       "any name"},
      {"  cert: x\n", "has both cert and cert_file; keep one"},
      {"  curve_preferences: [CurveP224]\n", "'CurveP224' is no curve"},
      {"  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]\n", "is no cipher suite that is supported"},
      {"  cipher_suites: [TLS_AES_128_GCM_SHA256]\n", "leaves no suite for TLS 1.2"},
      {"  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]\n", "leaves no suite for TLS 1.3"},
      {"  cert_file_: x\n", "unknown key 'cert_file_'; did you mean 'cert_file'?"},
  };
  for (const auto& [more, message] : cases) EXPECT_THAT(web_errors(tls(more)), HasSubstr(message));
}

TEST(WebConfigFile, MistakesHaveTheirPlaces) {
  EXPECT_EQ(web_errors("basic_auth_users:\n  alice: secret\n  alice: " + kHash +
                       "\n  \"a:b\": " + kHash + "\n  bob: [" + kHash + "]\n  eve:\n"),
            "w.yaml:2:10: the password of 'alice' must be a bcrypt hash, $2y$10$ and 53 more "
            "characters; jetmem hash-password makes one\n"
            "w.yaml:4:3: a user's name must have from 1 to 128 printable bytes and no ':', which "
            "ends it in a request\n"
            "w.yaml:5:8: the password of 'bob' must be a bcrypt hash, $2y$10$ and 53 more "
            "characters; jetmem hash-password makes one\n"
            "w.yaml:6:3: the password of 'eve' must be a bcrypt hash, $2y$10$ and 53 more "
            "characters; jetmem hash-password makes one\n");
  EXPECT_EQ(web_errors("basic_auth_users: {a: " + kHash + ", a: " + kHash + "}"),
            "w.yaml:1:85: 'a' is there twice; keep one\n");
  EXPECT_THAT(web_errors(tls("basic_auth_users: {a: &x " + kHash + ", b: *x}\n")),
              HasSubstr("not supported"));
}

// Messages go to the log, where more people read than the file.
TEST(WebConfigFile, NoMessageShowsASecret) {
  const std::string secret = "hunter2";
  for (const std::string& text :
       {"basic_auth_users: {a: " + secret + "}", "basic_auth_users: {a: [" + secret + "]}",
        "basic_auth_users: [" + secret + "]", "basic_auth_users: " + secret,
        "tls_server_config: {cert: x, key: " + secret + "}",
        "tls_server_config: {cert: x, key: [" + secret + "]}",
        "tls_server_config: {cert: x, key: {a: " + secret + "}}"}) {
    EXPECT_THAT(web_errors(text), Not(HasSubstr(secret))) << text;
    EXPECT_NE(web_errors(text), "no error");
  }
}

TEST(WebConfigFile, Bounds) {
  EXPECT_THAT(web_errors(std::string(300 << 10, '#')), HasSubstr("larger than 256 KiB"));
  std::string users = "basic_auth_users:\n";
  for (int i = 0; i < 101; ++i) users += "  u" + std::to_string(i) + ": " + kHash + "\n";
  EXPECT_THAT(web_errors(users), HasSubstr("more than 100 users"));
  std::string dear = kHash;
  dear[4] = '1';
  dear[5] = '5';
  EXPECT_THAT(web_errors("basic_auth_users: {a: " + dear + "}"), HasSubstr("has the cost 15"));
  EXPECT_THAT(web_errors(tls("http_server_config: {headers: {Content-Security-Policy: " +
                             std::string(2000, 'x') + "}}\n")),
              HasSubstr("more than 1024 bytes"));
}

TEST(BcryptHash, ItsForm) {
  EXPECT_EQ(bcrypt_cost(kHash), 10);
  for (const char kind : {'a', 'b', 'y'}) {
    std::string other = kHash;
    other[2] = kind;
    EXPECT_EQ(bcrypt_cost(other), 10);
  }
  std::string bad = kHash;
  bad[2] = 'x';  // of a crypt with a bug
  EXPECT_EQ(bcrypt_cost(bad), 0);
  bad = kHash;
  bad[30] = ':';
  EXPECT_EQ(bcrypt_cost(bad), 0);
  bad = kHash;
  bad[4] = '0';
  bad[5] = '3';
  EXPECT_EQ(bcrypt_cost(bad), 0);
  EXPECT_EQ(bcrypt_cost(kHash + "x"), 0);
  EXPECT_EQ(bcrypt_cost(""), 0);
}

// GnuTLS is told of key exchanges and ciphers apart: what that would allow beyond the list is
// refused.
TEST(TlsPriorities, NeverMoreThanTheList) {
  const auto of = [](std::vector<std::string> suites) {
    TlsWanted wanted;
    wanted.cipher_suites = suites;
    const auto out = tls_priorities(wanted);
    return out ? *out : "refused: " + out.error().message;
  };
  EXPECT_THAT(
      of({"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}),
      HasSubstr("would allow TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 too"));
  EXPECT_THAT(of({"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"}),
              HasSubstr(":-KX-ALL:+ECDHE-ECDSA:-CIPHER-ALL:+AES-256-GCM:-MAC-ALL:+AEAD:"));
  EXPECT_THAT(of({"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"}),
              HasSubstr("+AES-128-GCM:+AES-128-CBC:-MAC-ALL:+AEAD:+SHA1"));
  EXPECT_THAT(of({"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA25"}), HasSubstr("did you mean"));
}

}  // namespace
}  // namespace jetmem
