// SPDX-License-Identifier: Apache-2.0
// The server's side of TLS: a certificate with its key, which clients to trust, which versions.
#pragma once

#include <gnutls/gnutls.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "config/web/tls_material.h"
#include "config/web/web_config.h"

namespace jetmem {

class TlsServer;

// How one handshake goes. Must outlive its session.
struct Handshake {
  const TlsServer* server = nullptr;  // null: plain HTTP
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

  // Sets up a session before its handshake; this object and `handshake` must outlive it. False:
  // out of memory, and the session must not be used.
  bool prepare(gnutls_session_t session, Handshake& handshake) const;

  // Whether connections of the other may go on with this one.
  bool same_as(const TlsServer& other) const {
    return fingerprint_ == other.fingerprint_ && client_auth_ == other.client_auth_ &&
           only_tls13_ == other.only_tls13_;
  }

 private:
  TlsServer(const WebConfig::Tls& config, const TlsMaterial& material)
      : client_auth_(config.client_auth),
        only_tls13_(config.only_tls13),
        verifies_(config.verifies()),
        fingerprint_(material.fingerprint),
        credentials_(material.credentials) {}
  // Called by GnuTLS; 0 or a negative error.
  static int on_message(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                        const gnutls_datum_t* message);
  static int on_client_certificate(gnutls_session_t session);
  gnutls_certificate_request_t request() const;
  // Empty: accepted.
  std::string client_certificate_error(gnutls_session_t session) const;

  const WebConfig::ClientAuth client_auth_;
  const bool only_tls13_;
  const bool verifies_;
  const std::uint64_t fingerprint_;
  const std::shared_ptr<gnutls_certificate_credentials_st> credentials_;
  gnutls_priority_t priorities_ = nullptr;
};

}  // namespace jetmem
