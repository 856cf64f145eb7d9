#include "config/tls_material.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <memory>

#include "base/text.h"
#include "base/utc_time.h"

namespace jetmem {
namespace {

using Pem = WebConfig::Pem;

template <class T, void (*Free)(T*)>
struct Freed {
  void operator()(T* thing) const { Free(thing); }
};
using PrivateKey = std::unique_ptr<gnutls_x509_privkey_int,
                                   Freed<gnutls_x509_privkey_int, gnutls_x509_privkey_deinit>>;
using Credentials =
    std::unique_ptr<gnutls_certificate_credentials_st,
                    Freed<gnutls_certificate_credentials_st, gnutls_certificate_free_credentials>>;

// A chain as GnuTLS gives it.
class Chain {
 public:
  Chain() = default;
  ~Chain() {
    for (unsigned i = 0; i < size_; ++i) gnutls_x509_crt_deinit(list_[i]);
    gnutls_free(list_);
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  int import(const gnutls_datum_t& pem) {
    return gnutls_x509_crt_list_import2(&list_, &size_, &pem, GNUTLS_X509_FMT_PEM, 0);
  }
  unsigned size() const { return size_; }
  gnutls_x509_crt_t front() const { return list_[0]; }

 private:
  gnutls_x509_crt_t* list_ = nullptr;
  unsigned size_ = 0;
};

gnutls_datum_t datum(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          static_cast<unsigned>(text.size())};
}

class Loader {
 public:
  explicit Loader(const WebConfig& config) : config_(config), tls_(config.tls) {}

  Loaded<TlsMaterial> load() && {
    out_.certificate = text_of(tls_.certificate);
    out_.key = text_of(tls_.key);
    out_.client_ca = text_of(tls_.client_ca);
    if (errors_.empty()) check_certificate();
    if (errors_.empty()) check_key();
    if (errors_.empty() && tls_.client_ca.given()) check_client_ca();
    remark_on_key_mode();
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
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
    if (text.error().code == Errc::kNotRegular) why = "is no regular file; name a file in PEM";
    if (text.error().code == Errc::kDenied) {
      why =
          "cannot be read: permission denied; make it readable for the user that jetmemd runs "
          "as, as in chgrp jetmem and chmod 640, its directories too";
    }
    refuse(pem, why + " (named in " + config_.file + ":" + std::to_string(pem.at.line) + ")");
    return {};
  }

  void check_certificate() {
    const gnutls_datum_t pem = datum(out_.certificate);
    const int rc = chain_.import(pem);
    if (rc < 0 || chain_.size() == 0) {
      refuse(tls_.certificate, "holds no certificate in PEM (" + std::string(gnutls_strerror(rc)) +
                                   "); it begins with -----BEGIN CERTIFICATE-----");
      return;
    }
    out_.valid_from = gnutls_x509_crt_get_activation_time(chain_.front());
    out_.valid_until = gnutls_x509_crt_get_expiration_time(chain_.front());
    gnutls_datum_t name{};
    if (gnutls_x509_crt_get_dn3(chain_.front(), &name, 0) == GNUTLS_E_SUCCESS) {
      out_.subject = printable({reinterpret_cast<const char*>(name.data), name.size});
      gnutls_free(name.data);
    }
  }

  void check_key() {
    const gnutls_datum_t pem = datum(out_.key);
    gnutls_x509_privkey_t raw = nullptr;
    if (gnutls_x509_privkey_init(&raw) != GNUTLS_E_SUCCESS) {
      refuse(tls_.key, "cannot be examined: out of memory");
      return;
    }
    const PrivateKey key(raw);
    const int rc = gnutls_x509_privkey_import2(raw, &pem, GNUTLS_X509_FMT_PEM, nullptr, 0);
    if (rc == GNUTLS_E_DECRYPTION_FAILED || out_.key.find("ENCRYPTED") != std::string::npos) {
      refuse(tls_.key,
             "is encrypted, and nobody is there to type its password; write it without "
             "one (openssl pkey -in KEY -out NEW) and restrict who may read it");
      return;
    }
    if (rc != GNUTLS_E_SUCCESS) {
      refuse(tls_.key, "holds no private key in PEM (" + std::string(gnutls_strerror(rc)) +
                           "); it begins with -----BEGIN PRIVATE KEY----- or the like");
      return;
    }
    std::array<unsigned char, 64> of_key{};
    std::array<unsigned char, 64> of_certificate{};
    std::size_t key_size = of_key.size();
    std::size_t certificate_size = of_certificate.size();
    const bool known =
        gnutls_x509_privkey_get_key_id(raw, 0, of_key.data(), &key_size) == GNUTLS_E_SUCCESS &&
        gnutls_x509_crt_get_key_id(chain_.front(), 0, of_certificate.data(), &certificate_size) ==
            GNUTLS_E_SUCCESS;
    if (!known || key_size != certificate_size || of_key != of_certificate) {
      refuse(tls_.key, "is not the key of the certificate " + place_of(tls_.certificate) +
                           "; the two belong together, and the certificate stands before its "
                           "chain");
      return;
    }
    check_together();
  }

  // As a server would: the last word.
  void check_together() {
    gnutls_certificate_credentials_t raw = nullptr;
    if (gnutls_certificate_allocate_credentials(&raw) != GNUTLS_E_SUCCESS) {
      refuse(tls_.certificate, "cannot be examined: out of memory");
      return;
    }
    const Credentials credentials(raw);
    const gnutls_datum_t certificate = datum(out_.certificate);
    const gnutls_datum_t key = datum(out_.key);
    const int rc = gnutls_certificate_set_x509_key_mem2(raw, &certificate, &key,
                                                        GNUTLS_X509_FMT_PEM, nullptr, 0);
    if (rc < 0) {
      refuse(tls_.certificate, "cannot be used by GnuTLS: " + std::string(gnutls_strerror(rc)));
    }
  }

  void check_client_ca() {
    Chain chain;
    const int rc = chain.import(datum(out_.client_ca));
    if (rc < 0 || chain.size() == 0) {
      refuse(tls_.client_ca,
             "holds no certificate of a CA in PEM (" + std::string(gnutls_strerror(rc)) + ")");
    }
  }

  // Nothing that hinders, and no secret for long.
  void remark_on_key_mode() {
    struct stat status {};
    if (tls_.key.file.empty() || ::stat(tls_.key.file.c_str(), &status) != 0) return;
    if ((status.st_mode & S_IROTH) == 0) return;
    out_.remarks.push_back(problem(tls_.key,
                                   "can be read by every user of this machine; restrict "
                                   "it, as in chmod 640"));
  }

  static std::string place_of(const Pem& pem) {
    return pem.file.empty() ? "in line " + std::to_string(pem.at.line) : pem.file;
  }

  const WebConfig& config_;
  const WebConfig::Tls& tls_;
  TlsMaterial out_;
  Chain chain_;
  std::vector<ConfigError> errors_;
};

}  // namespace

std::string certificate_time(std::int64_t seconds) {
  return utc_time(std::chrono::seconds(seconds));
}

std::string validity_trouble(const TlsMaterial& material, std::int64_t now) {
  if (now >= material.valid_until)
    return "has expired on " + certificate_time(material.valid_until);
  if (now < material.valid_from) {
    return "is valid from " + certificate_time(material.valid_from) +
           " only, and this device's clock shows " + certificate_time(now);
  }
  return {};
}

Loaded<TlsMaterial> load_tls_material(const WebConfig& config) { return Loader(config).load(); }

}  // namespace jetmem
