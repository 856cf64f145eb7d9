// SPDX-License-Identifier: Apache-2.0
// The certificate, its key and the clients' CA that a web configuration names: read, checked to
// belong together, and given to GnuTLS.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/web/web_config.h"

struct gnutls_certificate_credentials_st;

namespace jetmem {

struct TlsMaterial {
  std::shared_ptr<gnutls_certificate_credentials_st> credentials;
  std::uint64_t fingerprint = 0;  // of all texts
  // Of the certificate, in seconds since 1970.
  std::int64_t valid_from = 0;
  std::int64_t valid_until = 0;
  std::string subject;  // "CN=orin-7", printable
  std::vector<ConfigError> warnings;
};

// What is wrong with its dates at `now` (seconds since 1970), or nothing: "has expired on ...". No
// error of load_tls_material(), because the clock of a device without a battery may be wrong.
std::string validity_error(const TlsMaterial& material, std::int64_t now);

// "2026-11-22T08:13:37.000Z"
std::string certificate_time(std::int64_t seconds);

Loaded<TlsMaterial> load_tls_material(const WebConfig& config);

}  // namespace jetmem
