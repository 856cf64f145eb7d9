// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/tls_server.h"

#include <gnutls/x509.h>

#include <exception>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr const char* kNoCertificate = "it has none";
// Forward secrecy and AEAD only.
constexpr const char* kOnlyTls13 = "NORMAL:-VERS-ALL:+VERS-TLS1.3";
constexpr const char* kAlsoTls12 = ":+VERS-TLS1.2";
constexpr const char* kSuites =
    ":-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:"
    "-MAC-ALL:+AEAD:%SERVER_PRECEDENCE";

std::string take_text(gnutls_datum_t& text, std::size_t most) {
  std::string out = printable(trim({reinterpret_cast<const char*>(text.data), text.size}), most);
  gnutls_free(text.data);
  return out;
}

// Empty: it is not an X.509 certificate.
std::string subject_of(const gnutls_datum_t& der) {
  gnutls_x509_crt_t certificate = nullptr;
  if (gnutls_x509_crt_init(&certificate) != GNUTLS_E_SUCCESS) return {};
  gnutls_datum_t name{};
  std::string out;
  if (gnutls_x509_crt_import(certificate, &der, GNUTLS_X509_FMT_DER) == GNUTLS_E_SUCCESS) {
    const bool has_name = gnutls_x509_crt_get_dn3(certificate, &name, 0) == GNUTLS_E_SUCCESS;
    out = has_name ? take_text(name, 120) : "?";
  }
  gnutls_x509_crt_deinit(certificate);
  return out;
}

std::string verification_text(unsigned status) {
  gnutls_datum_t text{};
  return gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) ==
                 GNUTLS_E_SUCCESS
             ? take_text(text, 200)
             : "it cannot be verified";
}

}  // namespace

Result<std::shared_ptr<const TlsServer>> TlsServer::make(const WebConfig::Tls& config,
                                                         const TlsMaterial& material) {
  const std::shared_ptr<TlsServer> out(new TlsServer(config, material));
  const std::string priorities =
      std::string(kOnlyTls13) + (config.only_tls13 ? "" : kAlsoTls12) + kSuites;
  const int rc = gnutls_priority_init2(&out->priorities_, priorities.c_str(), nullptr, 0);
  if (rc == GNUTLS_E_SUCCESS) return std::shared_ptr<const TlsServer>(out);
  return fail(Errc::kIo,
              std::string("GnuTLS cannot set up its cipher suites: ") + gnutls_strerror(rc));
}

TlsServer::~TlsServer() {
  if (priorities_ != nullptr) gnutls_priority_deinit(priorities_);
}

gnutls_certificate_request_t TlsServer::request() const {
  using ClientAuth = WebConfig::ClientAuth;
  if (client_auth_ == ClientAuth::kNone) return GNUTLS_CERT_IGNORE;
  const bool is_optional =
      client_auth_ == ClientAuth::kRequest || client_auth_ == ClientAuth::kVerifyIfGiven;
  return is_optional ? GNUTLS_CERT_REQUEST : GNUTLS_CERT_REQUIRE;
}

bool TlsServer::prepare(gnutls_session_t session, Handshake& handshake) const {
  handshake.server = this;
  gnutls_session_set_ptr(session, &handshake);
  if (gnutls_priority_set(session, priorities_) != GNUTLS_E_SUCCESS ||
      gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials_.get()) !=
          GNUTLS_E_SUCCESS) {
    return false;
  }
  gnutls_certificate_server_set_request(session, request());
  gnutls_session_set_verify_function(session, on_client_certificate);
  gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_ANY, GNUTLS_HOOK_BOTH, on_message);
  return true;
}

int TlsServer::on_message(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                          const gnutls_datum_t* message) {
  if (incoming == 0) return 0;
  auto& handshake = *static_cast<Handshake*>(gnutls_session_get_ptr(session));
  // In either version of TLS the client's comes when all else is settled.
  if (type == GNUTLS_HANDSHAKE_FINISHED && when == GNUTLS_HOOK_POST) handshake.done = true;
  // GnuTLS refuses a list without a certificate by itself, before on_client_certificate().
  constexpr unsigned kEmptyList = 4;
  if (type == GNUTLS_HANDSHAKE_CERTIFICATE_PKT && when == GNUTLS_HOOK_PRE && message != nullptr &&
      message->size <= kEmptyList && handshake.server->request() == GNUTLS_CERT_REQUIRE) {
    handshake.client_refused = true;
    handshake.details = kNoCertificate;
  }
  return 0;
}

int TlsServer::on_client_certificate(gnutls_session_t session) {
  auto& handshake = *static_cast<Handshake*>(gnutls_session_get_ptr(session));
  try {
    handshake.details = handshake.server->client_certificate_error(session);
    if (handshake.details.empty()) return 0;
  } catch (const std::exception&) {
    // No exception crosses C, and nobody connects unverified.
  }
  handshake.client_refused = true;
  // libmicrohttpd only hangs up; this tells the client why.
  gnutls_alert_send(session, GNUTLS_AL_FATAL, GNUTLS_A_BAD_CERTIFICATE);
  return GNUTLS_E_CERTIFICATE_ERROR;
}

std::string TlsServer::client_certificate_error(gnutls_session_t session) const {
  unsigned count = 0;
  const gnutls_datum_t* const list = gnutls_certificate_get_peers(session, &count);
  if (list == nullptr || count == 0) {
    return request() == GNUTLS_CERT_REQUIRE ? kNoCertificate : std::string();
  }
  const std::string subject = subject_of(list[0]);
  if (subject.empty()) return "it is not an X.509 certificate";
  if (!verifies_) return {};
  std::string purpose = GNUTLS_KP_TLS_WWW_CLIENT;
  gnutls_typed_vdata_st data{GNUTLS_DT_KEY_PURPOSE_OID,
                             reinterpret_cast<unsigned char*>(purpose.data()), 0};
  unsigned status = 0;
  const int rc = gnutls_certificate_verify_peers(session, &data, 1, &status);
  if (rc != GNUTLS_E_SUCCESS) return gnutls_strerror(rc);
  return status == 0 ? std::string() : subject + ": " + verification_text(status);
}

}  // namespace jetmem
