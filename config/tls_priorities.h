// The toolkit's words for TLS versions, cipher suites and curves, which are Go's, as a priority
// string of GnuTLS.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace jetmem {

struct TlsWanted {
  bool tls12 = true;
  bool tls13 = true;
  std::span<const std::string> cipher_suites{};  // empty: those with forward secrecy and AEAD
  std::span<const std::string> curves{};         // empty: GnuTLS' own choice
  bool prefer_server = true;
};

// kInvalid: a name that is not known or not supported; or GnuTLS, which is told of ciphers and key
// exchanges apart, would allow a suite that the list does not have. The message says what to do.
Result<std::string> tls_priorities(const TlsWanted& wanted);

}  // namespace jetmem
