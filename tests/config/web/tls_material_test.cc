// SPDX-License-Identifier: Apache-2.0
// The certificate and key that a web configuration names, and the errors of a wrong pair.
#include "config/web/tls_material.h"

#include "tests/config/config_fixture.h"
#include "tests/test_certificate.h"

namespace jetmem {
namespace {

using test::CertificateSpec;
using test::MadeCertificate;
using test::make_certificate;
using testing::HasSubstr;

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
  directory_.write("a.key", other.key_pem);
  EXPECT_THAT(errors(),
              HasSubstr(directory_.file("a.key") + ": is not the key of the certificate " +
                        directory_.file("a.crt")));
  directory_.write("a.key", pair_.certificate_pem);
  EXPECT_THAT(errors(), HasSubstr("a.key: holds no private key in PEM"));
  directory_.write("a.key", "");
  EXPECT_THAT(errors(), HasSubstr("a.key: holds no private key in PEM"));
  gnutls_datum_t text{};
  gnutls_x509_privkey_export2_pkcs8(pair_.key, GNUTLS_X509_FMT_PEM, "secret",
                                    GNUTLS_PKCS_PBES2_AES_128, &text);
  directory_.write("a.key", {reinterpret_cast<const char*>(text.data), text.size});
  gnutls_free(text.data);
  EXPECT_THAT(errors(), HasSubstr("a.key: is encrypted"));
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

}  // namespace
}  // namespace jetmem
