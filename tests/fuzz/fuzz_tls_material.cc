// SPDX-License-Identifier: Apache-2.0
#include "base/text/text.h"
#include "config/web/tls_material.h"
#include "tests/fuzz/target.h"
#include "tests/test_certificate.h"

// A good PEM with a piece of it replaced (where, how much, by what), as the certificate, as its key
// and as the clients' CA.
FUZZ(input) {
  static test::MadeCertificate pair;
  if (pair.certificate_pem.empty()) test::make_certificate(pair);
  if (input.size() < 3) return;
  WebConfig good;
  good.file = "/fuzz/web.yaml";
  good.has_tls = true;
  good.tls.certificate.text = pair.certificate_pem;
  good.tls.key.text = pair.key_pem;
  check(load_tls_material(good).has_value());
  for (auto part :
       {&WebConfig::Tls::certificate, &WebConfig::Tls::key, &WebConfig::Tls::client_ca}) {
    WebConfig config = good;
    std::string& text = (config.tls.*part).text;
    if (text.empty()) text = pair.certificate_pem;
    text.replace(two_bytes_of(input) % text.size(), byte_of(input, 2), input.substr(3));
    const auto material = load_tls_material(config);
    if (!material) {
      check(!material.error().empty() && !describe(material.error()).empty());
      continue;
    }
    check(printable(material->subject, 1000) == material->subject);
    validity_error(*material, 1'790'000'000);
  }
}
