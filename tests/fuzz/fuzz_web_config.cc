// SPDX-License-Identifier: Apache-2.0
#include "config/web/web_config.h"
#include "tests/fuzz/target.h"

// Whatever the text is: no crash, errors with a text, and nothing accepted that protects nothing.
FUZZ(input) {
  const std::string text(input);
  for (const char* begin : {"", "tls_server_config: {cert_file: a, key_file: b}\n",
                            "tls_server_config:\n  cert_file: a\n  key_file: b\n  "}) {
    const auto config = parse_web_config("/fuzz/web.yaml", begin + text);
    if (!config) {
      check(!config.error().empty() && !describe(config.error()).empty());
      continue;
    }
    check(config->has_tls || !config->users.empty());
    check(!config->tls.verifies() || config->tls.client_ca.given());
    for (const auto& user : config->users) check(bcrypt_cost(user.hash) != 0);
  }
}
