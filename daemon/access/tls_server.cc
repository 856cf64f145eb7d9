#include "daemon/access/tls_server.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/text.h"

namespace jetmem {
namespace {

using ClientAuth = WebConfig::ClientAuth;

constexpr const char* kNoCertificate = "it has none";

gnutls_datum_t datum(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          static_cast<unsigned>(text.size())};
}

gnutls_certificate_request_t request_of(ClientAuth auth) {
  switch (auth) {
    case ClientAuth::kNone:
      return GNUTLS_CERT_IGNORE;
    case ClientAuth::kRequest:
    case ClientAuth::kVerifyIfGiven:
      return GNUTLS_CERT_REQUEST;
    case ClientAuth::kRequireAny:
    case ClientAuth::kRequireAndVerify:
      break;
  }
  return GNUTLS_CERT_REQUIRE;
}

// As the kernel spells it, so that two spellings of one address are equal; empty: it is none.
std::string canonical_address(const std::string& text) {
  std::array<unsigned char, 16> address{};
  std::array<char, INET6_ADDRSTRLEN> out{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, text.c_str(), address.data()) == 1 &&
        inet_ntop(family, address.data(), out.data(), out.size()) != nullptr) {
      return out.data();
    }
  }
  return {};
}

std::string address_text(const std::string& bytes) {
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (bytes.size() != 4 && bytes.size() != 16) return {};
  const int family = bytes.size() == 4 ? AF_INET : AF_INET6;
  const char* const text = inet_ntop(family, bytes.data(), out.data(), out.size());
  return text == nullptr ? std::string() : text;
}

// Whether one of the certificate's names (DNS, address, e-mail, URI) is exactly one of the list.
bool has_allowed_san(gnutls_x509_crt_t certificate, const std::vector<std::string>& allowed) {
  constexpr unsigned kMostNames = 256;
  for (unsigned i = 0; i < kMostNames; ++i) {
    std::array<char, 1024> buffer{};
    std::size_t size = buffer.size();
    unsigned type = 0;
    const int rc =
        gnutls_x509_crt_get_subject_alt_name2(certificate, i, buffer.data(), &size, &type, nullptr);
    if (rc == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) return false;
    if (rc < 0) continue;  // too long for a name that anybody would list
    const std::string name(buffer.data(), std::min(size, buffer.size()));
    for (const std::string& each : allowed) {
      if (type == GNUTLS_SAN_IPADDRESS) {
        const std::string address = address_text(name);
        if (!address.empty() && address == canonical_address(each)) return true;
      } else if ((type == GNUTLS_SAN_DNSNAME || type == GNUTLS_SAN_RFC822NAME ||
                  type == GNUTLS_SAN_URI) &&
                 name == each) {
        return true;
      }
    }
  }
  return false;
}

struct FreeCertificate {
  void operator()(gnutls_x509_crt_int* certificate) const { gnutls_x509_crt_deinit(certificate); }
};
using Certificate = std::unique_ptr<gnutls_x509_crt_int, FreeCertificate>;

Certificate import_certificate(const gnutls_datum_t& der) {
  gnutls_x509_crt_t raw = nullptr;
  if (gnutls_x509_crt_init(&raw) != GNUTLS_E_SUCCESS) return nullptr;
  Certificate out(raw);
  if (gnutls_x509_crt_import(raw, &der, GNUTLS_X509_FMT_DER) != GNUTLS_E_SUCCESS) return nullptr;
  return out;
}

std::string subject_of(gnutls_x509_crt_t certificate) {
  gnutls_datum_t name{};
  if (gnutls_x509_crt_get_dn3(certificate, &name, 0) != GNUTLS_E_SUCCESS) return "?";
  std::string out = printable({reinterpret_cast<const char*>(name.data), name.size}, 120);
  gnutls_free(name.data);
  return out;
}

std::string verification_text(unsigned status) {
  gnutls_datum_t text{};
  if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) !=
      GNUTLS_E_SUCCESS) {
    return "it cannot be verified";
  }
  std::string out = printable(trim({reinterpret_cast<const char*>(text.data), text.size}), 200);
  gnutls_free(text.data);
  return out;
}

}  // namespace

Result<std::shared_ptr<const TlsServer>> TlsServer::make(const WebConfig::Tls& config,
                                                         const TlsMaterial& material) {
  const std::shared_ptr<TlsServer> out(new TlsServer(config));
  out->config_.certificate = {};
  out->config_.key = {};
  out->config_.client_ca = {};
  const auto failed = [](const char* what, int rc) {
    return fail(Errc::kIo, std::string("GnuTLS cannot ") + what + ": " + gnutls_strerror(rc));
  };
  int rc = gnutls_certificate_allocate_credentials(&out->credentials_);
  if (rc != GNUTLS_E_SUCCESS) return failed("make credentials", rc);
  const gnutls_datum_t certificate = datum(material.certificate);
  const gnutls_datum_t key = datum(material.key);
  rc = gnutls_certificate_set_x509_key_mem2(out->credentials_, &certificate, &key,
                                            GNUTLS_X509_FMT_PEM, nullptr, 0);
  if (rc < 0) return failed("use the certificate", rc);
  if (!material.client_ca.empty()) {
    const gnutls_datum_t ca = datum(material.client_ca);
    rc = gnutls_certificate_set_x509_trust_mem(out->credentials_, &ca, GNUTLS_X509_FMT_PEM);
    if (rc <= 0) return failed("use the clients' CA", rc);
  }
  rc = gnutls_priority_init2(&out->priorities_, config.priorities.c_str(), nullptr, 0);
  if (rc != GNUTLS_E_SUCCESS) return failed("use the TLS versions and ciphers asked for", rc);
  out->client_policy_ = std::to_string(static_cast<int>(config.client_auth)) + "\n" +
                        config.priorities + "\n" + material.client_ca;
  for (const std::string& san : config.client_allowed_sans) {
    out->client_policy_.append("\n").append(san);
  }
  return std::shared_ptr<const TlsServer>(out);
}

TlsServer::~TlsServer() {
  if (credentials_ != nullptr) gnutls_certificate_free_credentials(credentials_);
  if (priorities_ != nullptr) gnutls_priority_deinit(priorities_);
}

bool TlsServer::prepare(gnutls_session_t session, Handshake& handshake) const {
  handshake.server = this;
  gnutls_session_set_ptr(session, &handshake);
  if (gnutls_priority_set(session, priorities_) != GNUTLS_E_SUCCESS ||
      gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials_) != GNUTLS_E_SUCCESS) {
    return false;
  }
  gnutls_certificate_server_set_request(session, request_of(config_.client_auth));
  gnutls_session_set_verify_function(session, on_client_certificate);
  gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_ANY, GNUTLS_HOOK_BOTH, on_message);
  return true;
}

int TlsServer::on_message(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                          const gnutls_datum_t* message) {
  if (incoming == 0) return 0;
  auto& handshake = *static_cast<Handshake*>(gnutls_session_get_ptr(session));
  // Both sides send one; of either version of TLS the client's comes when all else is settled.
  if (type == GNUTLS_HANDSHAKE_FINISHED && when == GNUTLS_HOOK_POST) handshake.done = true;
  // GnuTLS refuses a list without a certificate by itself, and does not say so to anybody.
  constexpr unsigned kEmptyList = 4;
  if (type == GNUTLS_HANDSHAKE_CERTIFICATE_PKT && when == GNUTLS_HOOK_PRE && message != nullptr &&
      message->size <= kEmptyList &&
      request_of(handshake.server->config_.client_auth) == GNUTLS_CERT_REQUIRE) {
    handshake.client_refused = true;
    handshake.details = kNoCertificate;
  }
  return 0;
}

int TlsServer::on_client_certificate(gnutls_session_t session) {
  auto& handshake = *static_cast<Handshake*>(gnutls_session_get_ptr(session));
  try {
    handshake.details = handshake.server->trouble_with_client(session);
    if (handshake.details.empty()) return 0;
  } catch (const std::exception&) {
    // No exception crosses C, and nobody comes in unverified.
  }
  handshake.client_refused = true;
  // libmicrohttpd only hangs up; so the client is told why.
  gnutls_alert_send(session, GNUTLS_AL_FATAL, GNUTLS_A_BAD_CERTIFICATE);
  return GNUTLS_E_CERTIFICATE_ERROR;
}

std::string TlsServer::trouble_with_client(gnutls_session_t session) const {
  unsigned count = 0;
  const gnutls_datum_t* const list = gnutls_certificate_get_peers(session, &count);
  if (list == nullptr || count == 0) {
    return request_of(config_.client_auth) == GNUTLS_CERT_REQUIRE ? kNoCertificate : std::string();
  }
  const Certificate certificate = import_certificate(list[0]);
  if (!certificate) return "it is no X.509 certificate";
  if (config_.verifies()) {
    std::string purpose = GNUTLS_KP_TLS_WWW_CLIENT;
    gnutls_typed_vdata_st data{GNUTLS_DT_KEY_PURPOSE_OID,
                               reinterpret_cast<unsigned char*>(purpose.data()), 0};
    unsigned status = 0;
    const int rc = gnutls_certificate_verify_peers(session, &data, 1, &status);
    if (rc != GNUTLS_E_SUCCESS) return gnutls_strerror(rc);
    if (status != 0) return subject_of(certificate.get()) + ": " + verification_text(status);
  }
  if (!config_.client_allowed_sans.empty() &&
      !has_allowed_san(certificate.get(), config_.client_allowed_sans)) {
    return subject_of(certificate.get()) + ": none of its names is among client_allowed_sans";
  }
  return {};
}

}  // namespace jetmem
