// What holds for those who ask over TCP, as the web configuration and its files say it: made once,
// and replaced as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/web_config.h"
#include "daemon/access/extra_headers.h"
#include "daemon/access/tls_server.h"

namespace jetmem {

struct AccessRules {
  std::shared_ptr<const TlsServer> tls;  // null: plain HTTP
  std::vector<WebConfig::User> users;    // none: no password is asked for
  bool asks_for_certificate = false;     // of each client
  bool asks_for_name = false;            // and one of client_allowed_sans in it
  std::shared_ptr<const ExtraHeaders> headers;
  std::string subject;                // of the certificate, printable
  std::int64_t certificate_from = 0;  // seconds since 1970
  std::int64_t certificate_until = 0;
};

}  // namespace jetmem
