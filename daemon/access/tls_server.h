// The server's side of TLS, for GnuTLS: a certificate with its key, whom to trust, which versions
// and ciphers. Each connection keeps the one that it began with, so that a certificate is replaced
// without anybody noticing.
#pragma once

#include <gnutls/gnutls.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "config/tls_material.h"
#include "config/web_config.h"

namespace jetmem {

class TlsServer;

// How one handshake goes. Must outlive its session.
struct Handshake {
  const TlsServer* server = nullptr;
  bool done = false;
  bool client_refused = false;  // for its certificate
  std::string details;          // why; printable
};

class TlsServer {
 public:
  static Result<std::shared_ptr<const TlsServer>> make(const WebConfig::Tls& config,
                                                       const TlsMaterial& material);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  // Makes a session one of this server's, before its handshake. It and `handshake` must not outlive
  // this object. False: out of memory, and the session must not be used.
  bool prepare(gnutls_session_t session, Handshake& handshake) const;

  // What a client must be like: connections made under another policy are not to be kept.
  const std::string& client_policy() const { return client_policy_; }

 private:
  explicit TlsServer(const WebConfig::Tls& config) : config_(config) {}
  // GnuTLS': 0 or a negative error.
  static int on_message(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                        const gnutls_datum_t* message);
  static int on_client_certificate(gnutls_session_t session);
  // Empty: accepted.
  std::string trouble_with_client(gnutls_session_t session) const;

  WebConfig::Tls config_;  // without its texts
  std::string client_policy_;
  gnutls_certificate_credentials_t credentials_ = nullptr;
  gnutls_priority_t priorities_ = nullptr;
};

}  // namespace jetmem
