// The certificate, its key and the clients' CA that a web configuration names: read, and checked to
// be what they should be and to belong together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/web_config.h"

namespace jetmem {

struct TlsMaterial {
  std::string certificate;  // PEM, with its chain
  std::string key;          // PEM, not encrypted
  std::string client_ca;    // PEM; empty: none
  // Of the certificate itself, in seconds since 1970.
  std::int64_t valid_from = 0;
  std::int64_t valid_until = 0;
  std::string subject;  // "CN=orin-7", printable
  // What works, and is still not as it should be.
  std::vector<ConfigError> remarks;
};

// What is wrong with its time at `now` (seconds since 1970), or nothing: "has expired on ...". A
// device whose clock was never set is no judge of that, so it is no error of load_tls_material().
std::string validity_trouble(const TlsMaterial& material, std::int64_t now);

// "2026-11-22T08:13:37.000Z"
std::string certificate_time(std::int64_t seconds);

Loaded<TlsMaterial> load_tls_material(const WebConfig& config);

}  // namespace jetmem
