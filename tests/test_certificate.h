// SPDX-License-Identifier: Apache-2.0
// Certificates made up for a test: a CA, and what it signs.
#pragma once

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <cstdint>
#include <ctime>
#include <string>

namespace jetmem::test {

struct MadeCertificate {
  gnutls_x509_crt_t certificate = nullptr;
  gnutls_x509_privkey_t key = nullptr;
  std::string certificate_pem;
  std::string key_pem;

  MadeCertificate() = default;
  MadeCertificate(const MadeCertificate&) = delete;
  MadeCertificate& operator=(const MadeCertificate&) = delete;
  ~MadeCertificate() {
    if (certificate != nullptr) gnutls_x509_crt_deinit(certificate);
    if (key != nullptr) gnutls_x509_privkey_deinit(key);
  }
};

struct CertificateSpec {
  std::string name = "localhost";
  std::int64_t valid_from = -3600;  // seconds from now
  std::int64_t valid_until = 3600;
  const MadeCertificate* signer = nullptr;  // null: itself
  bool is_ca = false;
};

inline void make_certificate(MadeCertificate& out, const CertificateSpec& needed = {}) {
  static unsigned char serial = 0;
  gnutls_x509_privkey_init(&out.key);
  gnutls_x509_privkey_generate(out.key, GNUTLS_PK_ECDSA,
                               GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
  gnutls_x509_crt_init(&out.certificate);
  const unsigned char number[] = {1, ++serial};
  gnutls_x509_crt_set_version(out.certificate, 3);
  gnutls_x509_crt_set_serial(out.certificate, number, sizeof number);
  gnutls_x509_crt_set_dn(out.certificate, ("CN=" + needed.name).c_str(), nullptr);
  const std::time_t now = std::time(nullptr);
  gnutls_x509_crt_set_activation_time(out.certificate, now + needed.valid_from);
  gnutls_x509_crt_set_expiration_time(out.certificate, now + needed.valid_until);
  gnutls_x509_crt_set_basic_constraints(out.certificate, needed.is_ca ? 1 : 0, -1);
  if (!needed.is_ca) {
    gnutls_x509_crt_set_subject_alt_name(out.certificate, GNUTLS_SAN_DNSNAME, needed.name.data(),
                                         static_cast<unsigned>(needed.name.size()),
                                         GNUTLS_FSAN_SET);
    const unsigned char loopback[] = {127, 0, 0, 1};
    gnutls_x509_crt_set_subject_alt_name(out.certificate, GNUTLS_SAN_IPADDRESS, loopback,
                                         sizeof loopback, GNUTLS_FSAN_APPEND);
  }
  gnutls_x509_crt_set_key(out.certificate, out.key);
  const MadeCertificate& signer = needed.signer == nullptr ? out : *needed.signer;
  gnutls_x509_crt_sign2(out.certificate, signer.certificate, signer.key, GNUTLS_DIG_SHA256, 0);
  gnutls_datum_t text{};
  gnutls_x509_crt_export2(out.certificate, GNUTLS_X509_FMT_PEM, &text);
  out.certificate_pem.assign(reinterpret_cast<const char*>(text.data), text.size);
  gnutls_free(text.data);
  gnutls_x509_privkey_export2_pkcs8(out.key, GNUTLS_X509_FMT_PEM, nullptr, GNUTLS_PKCS_PLAIN,
                                    &text);
  out.key_pem.assign(reinterpret_cast<const char*>(text.data), text.size);
  gnutls_free(text.data);
}

}  // namespace jetmem::test
