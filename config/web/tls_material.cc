// SPDX-License-Identifier: Apache-2.0
#include "config/web/tls_material.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>

#include "base/text/text.h"
#include "base/text/utc_time.h"

namespace jetmem {
namespace {

using Pem = WebConfig::Pem;

gnutls_datum_t datum(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          static_cast<unsigned>(text.size())};
}

class TlsLoader {
 public:
  explicit TlsLoader(const WebConfig& config) : config_(config), tls_(config.tls) {}

  Loaded<TlsMaterial> load() && {
    const std::string certificate = text_of(tls_.certificate);
    const std::string key = text_of(tls_.key);
    const std::string client_ca = text_of(tls_.client_ca);
    out_.fingerprint = std::hash<std::string>()(certificate + '\0' + key + '\0' + client_ca);
    gnutls_certificate_credentials_t raw = nullptr;
    if (gnutls_certificate_allocate_credentials(&raw) != GNUTLS_E_SUCCESS) {
      refuse(tls_.certificate, "cannot be examined: out of memory");
      return tl::unexpected(std::move(errors_));
    }
    out_.credentials.reset(raw, gnutls_certificate_free_credentials);
    if (errors_.empty()) describe_certificate(certificate);
    if (errors_.empty()) use_pair(certificate, key);
    if (errors_.empty() && tls_.client_ca.given()) use_client_ca(client_ca);
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    warn_about_permissions();
    return std::move(out_);
  }

 private:
  ConfigError problem(const Pem& pem, std::string message) const {
    if (!pem.file.empty()) return {.file = pem.file, .key = {}, .message = std::move(message)};
    return {config_.file, pem.at.line, pem.at.column, {}, std::move(message)};
  }
  void refuse(const Pem& pem, std::string message) {
    errors_.push_back(problem(pem, std::move(message)));
  }

  std::string text_of(const Pem& pem) {
    if (pem.file.empty()) return pem.text;
    auto text = read_config_file(pem.file);
    if (text) return std::move(*text);
    std::string why = text.error().message;
    if (text.error().code == Errc::kNotRegular) why = "is not a regular file; name a file in PEM";
    if (text.error().code == Errc::kDenied) {
      why =
          "cannot be read: permission denied; make it and its directories readable for the user "
          "that jetmemd runs as, as in chgrp jetmem and chmod 640";
    }
    refuse(pem, why + " (named in " + config_.file + ":" + std::to_string(pem.at.line) + ")");
    return {};
  }

  void describe_certificate(const std::string& text) {
    gnutls_x509_crt_t* chain = nullptr;
    unsigned size = 0;
    const gnutls_datum_t pem = datum(text);
    const int rc = gnutls_x509_crt_list_import2(&chain, &size, &pem, GNUTLS_X509_FMT_PEM, 0);
    if (rc < 0 || size == 0) {
      refuse(tls_.certificate, "holds no certificate in PEM (" + std::string(gnutls_strerror(rc)) +
                                   "); it begins with -----BEGIN CERTIFICATE-----");
      return;
    }
    out_.valid_from = gnutls_x509_crt_get_activation_time(chain[0]);
    out_.valid_until = gnutls_x509_crt_get_expiration_time(chain[0]);
    gnutls_datum_t name{};
    if (gnutls_x509_crt_get_dn3(chain[0], &name, 0) == GNUTLS_E_SUCCESS) {
      out_.subject = printable({reinterpret_cast<const char*>(name.data), name.size});
      gnutls_free(name.data);
    }
    for (unsigned i = 0; i < size; ++i) gnutls_x509_crt_deinit(chain[i]);
    gnutls_free(chain);
  }

  void use_pair(const std::string& certificate, const std::string& key) {
    const gnutls_datum_t certificate_pem = datum(certificate);
    const gnutls_datum_t key_pem = datum(key);
    const int rc = gnutls_certificate_set_x509_key_mem2(out_.credentials.get(), &certificate_pem,
                                                        &key_pem, GNUTLS_X509_FMT_PEM, nullptr, 0);
    if (rc >= 0) return;
    if (rc == GNUTLS_E_CERTIFICATE_KEY_MISMATCH) {
      refuse(tls_.key, "is not the key of the certificate " +
                           (tls_.certificate.file.empty()
                                ? "in line " + std::to_string(tls_.certificate.at.line)
                                : tls_.certificate.file) +
                           "; the two belong together, and the certificate precedes its chain");
    } else if (rc == GNUTLS_E_DECRYPTION_FAILED || key.find("ENCRYPTED") != std::string::npos) {
      refuse(tls_.key,
             "is encrypted, and nobody is there to type its password; write it without one "
             "(openssl pkey -in KEY -out NEW) and restrict who may read it");
    } else {
      refuse(tls_.key, "holds no private key in PEM that can be used (" +
                           std::string(gnutls_strerror(rc)) +
                           "); it begins with -----BEGIN PRIVATE KEY----- or the like");
    }
  }

  void use_client_ca(const std::string& text) {
    const gnutls_datum_t pem = datum(text);
    const int rc =
        gnutls_certificate_set_x509_trust_mem(out_.credentials.get(), &pem, GNUTLS_X509_FMT_PEM);
    if (rc > 0) return;
    refuse(tls_.client_ca,
           "holds no certificate of a CA in PEM (" + std::string(gnutls_strerror(rc)) + ")");
  }

  void warn_about_permissions() {
    struct stat status {};
    if (tls_.key.file.empty() || ::stat(tls_.key.file.c_str(), &status) != 0) return;
    if ((status.st_mode & S_IROTH) == 0) return;
    out_.warnings.push_back(problem(
        tls_.key, "can be read by every user of this machine; restrict it, as in chmod 640"));
  }

  const WebConfig& config_;
  const WebConfig::Tls& tls_;
  TlsMaterial out_;
  std::vector<ConfigError> errors_;
};

}  // namespace

std::string certificate_time(std::int64_t seconds) {
  // RFC 5280: a certificate without an end has one in 9999.
  const auto wall = wall_of(static_cast<double>(seconds));
  return wall ? utc_time(*wall) : "a day beyond the year 2200";
}

std::string validity_error(const TlsMaterial& material, std::int64_t now) {
  if (now >= material.valid_until) {
    return "has expired on " + certificate_time(material.valid_until);
  }
  if (now >= material.valid_from) return {};
  return "is valid from " + certificate_time(material.valid_from) +
         " only, and this device's clock shows " + certificate_time(now);
}

Loaded<TlsMaterial> load_tls_material(const WebConfig& config) { return TlsLoader(config).load(); }

}  // namespace jetmem
