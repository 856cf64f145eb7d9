// SPDX-License-Identifier: Apache-2.0
// The web configuration: what of the exporter toolkit's format is taken, and what is refused; the
// certificate and key that it names, and the errors of a wrong pair.
#include "config/web/web_config.h"

#include "config/web/tls_material.h"
#include "tests/config/config_fixture.h"
#include "tests/test_certificate.h"

namespace jetmem {
namespace {

using test::MadeCertificate;
using test::make_certificate;
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
      // Keys that only the exporters have.
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
  EXPECT_THAT(web_errors("basic_auth_users: {a: " + std::string(kHash).replace(4, 2, "15") + "}"),
              HasSubstr("cost 15"));
  EXPECT_THAT(web_errors(tls("http_server_config: {headers: {Content-Security-Policy: " +
                             std::string(2000, 'x') + "}}\n")),
              HasSubstr("more than 1024 bytes"));
}

class TlsMaterialTest : public testing::Test {
 protected:
  void SetUp() override {
    make_certificate(pair_);
    directory_.write("a.crt", pair_.certificate_pem);
    directory_.write("a.key", pair_.key_pem);
    ::chmod(directory_.file("a.key").c_str(), 0600);
  }

  std::string web(const std::string& more = "") const {
    return directory_.write("web.yaml",
                            "tls_server_config:\n  cert_file: a.crt\n  key_file: a.key\n" + more);
  }
  Loaded<TlsMaterial> load(const std::string& more = "") const {
    const auto config = load_web_config(web(more));
    if (!config) return tl::unexpected(config.error());
    return load_tls_material(*config);
  }
  std::string errors(const std::string& more = "") const {
    const auto material = load(more);
    return material ? "no error" : describe(material.error());
  }

  TempDir directory_;
  MadeCertificate pair_;
};

TEST_F(TlsMaterialTest, AGoodPair) {
  const auto material = load();
  ASSERT_TRUE(material) << describe(material.error());
  EXPECT_EQ(material->subject, "CN=localhost");
  EXPECT_EQ(material->valid_until - material->valid_from, 7200);
  EXPECT_EQ(validity_error(*material, material->valid_from + 1), "");
  EXPECT_THAT(validity_error(*material, material->valid_until), HasSubstr("has expired on 20"));
  EXPECT_THAT(validity_error(*material, 0), HasSubstr("clock shows 1970-01-01T00:00:00.000Z"));
  EXPECT_TRUE(material->warnings.empty());
}

TEST_F(TlsMaterialTest, WarnsAboutAKeyThatEverybodyMayRead) {
  ::chmod(directory_.file("a.key").c_str(), 0644);
  const auto material = load();
  ASSERT_TRUE(material);
  ASSERT_EQ(material->warnings.size(), 1U);
  EXPECT_EQ(describe(material->warnings[0]),
            directory_.file("a.key") +
                ": can be read by every user of this machine; restrict it, as in chmod 640");
}

TEST_F(TlsMaterialTest, ErrorsNameTheFile) {
  MadeCertificate other;
  make_certificate(other);
  gnutls_datum_t text{};
  gnutls_x509_privkey_export2_pkcs8(pair_.key, GNUTLS_X509_FMT_PEM, "secret",
                                    GNUTLS_PKCS_PBES2_AES_128, &text);
  const std::string encrypted(reinterpret_cast<const char*>(text.data), text.size);
  gnutls_free(text.data);
  for (const auto& [key, error] :
       {std::pair(other.key_pem, ": is not the key of the certificate " + directory_.file("a.crt")),
        {pair_.certificate_pem, ": holds no private key in PEM"},
        {"", ": holds no private key in PEM"},
        {encrypted, ": is encrypted"}}) {
    directory_.write("a.key", key);
    EXPECT_THAT(errors(), HasSubstr(directory_.file("a.key") + error));
  }
  std::filesystem::remove(directory_.file("a.key"));
  EXPECT_EQ(errors(), directory_.file("a.key") +
                          ": there is no such file; check its name (named in " +
                          directory_.file("web.yaml") + ":3)");
  directory_.write("a.key", pair_.key_pem);
  directory_.write("a.crt", pair_.key_pem);
  EXPECT_THAT(errors(), HasSubstr("a.crt: holds no certificate in PEM"));
  std::filesystem::remove(directory_.file("a.crt"));
  std::filesystem::create_directory(directory_.file("a.crt"));
  EXPECT_THAT(errors(), HasSubstr("a.crt: is not a regular file"));
}

TEST_F(TlsMaterialTest, TheClientsCa) {
  const std::string needed = "  client_auth_type: RequireAndVerifyClientCert\n";
  MadeCertificate ca;
  make_certificate(ca, {.name = "clients", .is_ca = true});
  directory_.write("ca.crt", ca.certificate_pem);
  const auto material = load(needed + "  client_ca_file: ca.crt\n");
  ASSERT_TRUE(material) << describe(material.error());
  directory_.write("ca.crt", "none");
  EXPECT_THAT(errors(needed + "  client_ca_file: ca.crt\n"),
              HasSubstr("ca.crt: holds no certificate of a CA in PEM"));
}

TEST_F(TlsMaterialTest, TextsInTheFileItself) {
  const auto indented = [](std::string text) {
    std::string out = "    ";
    for (const char c : text) {
      out += c;
      if (c == '\n') out += "    ";
    }
    return out;
  };
  const std::string file = directory_.write(
      "web.yaml", "tls_server_config:\n  cert: |\n" + indented(pair_.certificate_pem) +
                      "\n  key: |\n" + indented(pair_.certificate_pem) + "\n");
  const auto config = load_web_config(file);
  ASSERT_TRUE(config) << describe(config.error());
  const auto material = load_tls_material(*config);
  ASSERT_FALSE(material);
  EXPECT_THAT(describe(material.error()), HasSubstr("web.yaml:"));
  EXPECT_THAT(describe(material.error()), HasSubstr("holds no private key"));
}

TEST(BcryptHash, ItsForm) {
  EXPECT_EQ(bcrypt_cost(kHash), 10);
  const auto cost_with = [](std::size_t at, std::string_view text) {
    return bcrypt_cost(std::string(kHash).replace(at, text.size(), text));
  };
  for (const char* kind : {"a", "b", "y"}) EXPECT_EQ(cost_with(2, kind), 10);
  EXPECT_EQ(cost_with(2, "x"), 0) << "made by a crypt with a bug";
  EXPECT_EQ(cost_with(30, ":"), 0);
  EXPECT_EQ(cost_with(4, "03"), 0);
  EXPECT_EQ(bcrypt_cost(kHash + "x"), 0);
  EXPECT_EQ(bcrypt_cost(""), 0);
}

}  // namespace
}  // namespace jetmem
