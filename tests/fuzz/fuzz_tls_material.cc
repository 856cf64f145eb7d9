// SPDX-License-Identifier: Apache-2.0
#include "base/text/text.h"
#include "config/web/tls_material.h"
#include "tests/test_certificate.h"

// A good PEM with a piece of it replaced (where, how much, by what), as the certificate, as its key
// and as the clients' CA.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace jetmem;
  static test::MadeCertificate pair;
  if (pair.certificate_pem.empty()) test::make_certificate(pair);
  if (size < 3) return 0;
  const std::string piece(reinterpret_cast<const char*>(data) + 3, size - 3);
  WebConfig good;
  good.file = "/fuzz/web.yaml";
  good.has_tls = true;
  good.tls.certificate.text = pair.certificate_pem;
  good.tls.key.text = pair.key_pem;
  if (!load_tls_material(good)) __builtin_trap();
  for (auto part :
       {&WebConfig::Tls::certificate, &WebConfig::Tls::key, &WebConfig::Tls::client_ca}) {
    WebConfig config = good;
    std::string& text = (config.tls.*part).text;
    if (text.empty()) text = pair.certificate_pem;
    text.replace((data[0] * 256U + data[1]) % text.size(), data[2], piece);
    const auto material = load_tls_material(config);
    if (!material) {
      if (material.error().empty() || describe(material.error()).empty()) __builtin_trap();
      continue;
    }
    if (printable(material->subject, 1000) != material->subject) __builtin_trap();
    validity_error(*material, 1'790'000'000);
  }
  return 0;
}
