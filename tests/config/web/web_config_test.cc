// SPDX-License-Identifier: Apache-2.0
// The web configuration: what of the exporter toolkit's format is taken, and what is refused.
#include "config/web/web_config.h"

#include "tests/config/config_fixture.h"

namespace jetmem {
namespace {

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

TEST(WebConfigFile, EveryKey) {
  const WebConfig config = good_web(
      "tls_server_config:\n"
      "  cert_file: server.crt\n"
      "  key_file: /run/keys/server.key\n"
      "  client_ca_file: ca/clients.crt\n"
      "  client_auth_type: RequireAndVerifyClientCert\n"
      "  min_version: TLS13\n"
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
  EXPECT_TRUE(config.tls.only_tls13);
  ASSERT_EQ(config.headers.size(), 3U);
  EXPECT_EQ(config.headers[0].second, "default-src 'self'");
  ASSERT_EQ(config.users.size(), 2U);
  EXPECT_EQ(config.users[0].name, "alice");
  EXPECT_EQ(config.users[1].hash, kHash);
}

TEST(WebConfigFile, EachSectionAlone) {
  const WebConfig only_users = good_web("basic_auth_users: {a: " + kHash + "}");
  EXPECT_FALSE(only_users.has_tls);
  const WebConfig only_tls = good_web(tls("basic_auth_users: {}\n"));
  EXPECT_TRUE(only_tls.users.empty());
  EXPECT_EQ(only_tls.tls.client_auth, Auth::kNone);
  EXPECT_FALSE(only_tls.tls.only_tls13);
  const WebConfig inlined = good_web(
      "tls_server_config:\n  cert: |\n    -----BEGIN CERTIFICATE-----\n    x\n"
      "  key: |\n    -----BEGIN PRIVATE KEY-----\n    y\n");
  EXPECT_EQ(inlined.tls.certificate.text, "-----BEGIN CERTIFICATE-----\nx\n");
  EXPECT_EQ(inlined.tls.key.at.line, 5);
}

// A half-written file must not open the port to everybody.
TEST(WebConfigFile, AFileThatProtectsNothingIsRefused) {
  for (const char* text :
       {"", "# all gone\n", "{}", "http_server_config: {http2: false}", "basic_auth_users: {}"}) {
    EXPECT_THAT(web_errors(text), HasSubstr("w.yaml: protects nothing")) << text;
  }
  EXPECT_THAT(web_errors("tls_server_config:\n"), HasSubstr("w.yaml:1:1: 'tls_server_config' has"));
  EXPECT_THAT(web_errors("tls_server_config: {}"), HasSubstr("has no certificate"));
  EXPECT_THAT(web_errors("tls_server_config: {cert_file: a}"), HasSubstr("has no key"));
  EXPECT_THAT(web_errors("basic_auth_users:\n"), HasSubstr("'basic_auth_users' has no value"));
}

TEST(WebConfigFile, ErrorsNameTheKey) {
  const std::pair<std::string, const char*> cases[] = {
      {"http_server_config: {headers: {Server: x}}\n", "unknown key 'Server'"},
      {"http_server_config: {headers: {X-Frame-Options: allow}}\n", "X-Frame-Options"},
      {"http_server_config: {headers: {X-Content-Type-Options: sniff}}\n", "nosniff"},
      {"http_server_config: {headers: {X-XSS-Protection: \"a\\nb\"}}\n", "X-XSS-Protection"},
      {"basic_auth_user: {}\n", "did you mean 'basic_auth_users'?"},
      {"  min_version: TLS10\n", "tls_server_config.min_version"},
      {"  min_version: \"1.2\"\n", "tls_server_config.min_version"},
      {"  client_auth_type: Require\n", "NoClientCert, RequestClientCert"},
      {"  client_auth_type: RequireAndVerifyClientCert\n", "client_ca_file"},
      {"  client_auth_type: VerifyClientCertIfGiven\n", "client_ca_file"},
      {"  client_ca_file: ca.crt\n", "RequireAndVerifyClientCert"},
      {"  cert: x\n", "both cert and cert_file"},
      {"  cert_file_: x\n", "did you mean 'cert_file'?"},
  };
  for (const auto& [more, part] : cases) EXPECT_THAT(web_errors(tls(more)), HasSubstr(part));
}

TEST(WebConfigFile, KeysThatOnlyTheExportersHaveAreRefusedWithTheirPlace) {
  const std::pair<std::string, const char*> cases[] = {
      {"rate_limit: {interval: 1s, burst: 20}\n", "w.yaml:4:13: rate_limit is not supported"},
      {"http_server_config: {http2: true}\n", "w.yaml:4:29: http_server_config.http2 must be"},
      {"  max_version: TLS13\n", "w.yaml:4:16: tls_server_config.max_version is not supported"},
      {"  cipher_suites: [TLS_AES_128_GCM_SHA256]\n",
       "w.yaml:4:18: tls_server_config.cipher_suites is not supported"},
      {"  curve_preferences: [X25519]\n",
       "w.yaml:4:22: tls_server_config.curve_preferences is not supported"},
      {"  prefer_server_cipher_suites: true\n",
       "w.yaml:4:32: tls_server_config.prefer_server_cipher_suites is not supported"},
      {"  client_allowed_sans: [x]\n",
       "w.yaml:4:24: tls_server_config.client_allowed_sans is not supported"},
  };
  for (const auto& [more, part] : cases) EXPECT_THAT(web_errors(tls(more)), HasSubstr(part));
}

TEST(WebConfigFile, UsersErrorsNameTheirPlaces) {
  const std::string errors =
      web_errors("basic_auth_users:\n  alice: secret\n  alice: " + kHash + "\n  \"a:b\": " + kHash +
                 "\n  bob: [" + kHash + "]\n  eve:\n");
  for (const char* place : {"w.yaml:2:10: the password of 'alice'", "w.yaml:4:3: a user's name",
                            "w.yaml:5:8: the password of 'bob'",
                            "w.yaml:6:3: the password of 'eve'", "jetmem hash-password"}) {
    EXPECT_THAT(errors, HasSubstr(place));
  }
  EXPECT_THAT(web_errors("basic_auth_users: {a: " + kHash + ", a: " + kHash + "}"),
              HasSubstr("w.yaml:1:85: 'a'"));
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
  EXPECT_THAT(web_errors("basic_auth_users: {a: " + dear + "}"), HasSubstr("cost 15"));
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
  bad[2] = 'x';  // made by a crypt with a bug
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

}  // namespace
}  // namespace jetmem
