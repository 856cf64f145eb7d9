#include "config/tls_priorities.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace jetmem {
namespace {

struct Suite {
  std::string_view name;          // Go's, which is IANA's
  std::string_view key_exchange;  // GnuTLS'; empty: of TLS 1.3
  std::string_view cipher;
  std::string_view mac;
};

constexpr std::array kSuites{
    Suite{"TLS_AES_128_GCM_SHA256", "", "AES-128-GCM", "AEAD"},
    Suite{"TLS_AES_256_GCM_SHA384", "", "AES-256-GCM", "AEAD"},
    Suite{"TLS_CHACHA20_POLY1305_SHA256", "", "CHACHA20-POLY1305", "AEAD"},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA", "AES-128-GCM", "AEAD"},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA", "AES-256-GCM", "AEAD"},
    Suite{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA", "CHACHA20-POLY1305",
          "AEAD"},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA", "AES-128-CBC", "SHA1"},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA", "AES-256-CBC", "SHA1"},
    Suite{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA", "AES-128-GCM", "AEAD"},
    Suite{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA", "AES-256-GCM", "AEAD"},
    Suite{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA", "CHACHA20-POLY1305", "AEAD"},
    Suite{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA", "AES-128-CBC", "SHA1"},
    Suite{"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA", "AES-256-CBC", "SHA1"},
};

struct Curve {
  std::string_view name;   // Go's
  std::string_view group;  // GnuTLS'
};
constexpr std::array kCurves{Curve{"X25519", "X25519"}, Curve{"CurveP256", "SECP256R1"},
                             Curve{"CurveP384", "SECP384R1"}, Curve{"CurveP521", "SECP521R1"}};

template <class List>
std::vector<std::string_view> names_of(const List& list) {
  std::vector<std::string_view> out;
  for (const auto& each : list) out.push_back(each.name);
  return out;
}

std::string known(const std::vector<std::string_view>& names, std::string_view typed) {
  if (typed.size() <= 100) {
    if (const auto near = nearest_name(typed, names); !near.empty()) {
      return "; did you mean " + std::string(near) + "?";
    }
  }
  std::string out = "; there are ";
  for (const std::string_view name : names) {
    if (name != names.front()) out.append(", ");
    out.append(name);
  }
  return out;
}

using Words = std::vector<std::string_view>;

bool has(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void add(Words& words, std::string_view word) {
  if (!word.empty() && !has(words, word)) words.push_back(word);
}

void append(std::string& out, const Words& words) {
  for (const std::string_view word : words) out.append(":+").append(word);
}

// Ciphers, key exchanges and MACs of the suites, in their order.
struct Parts {
  Words key_exchanges;
  Words ciphers;
  Words macs;
};

Result<Parts> parts_of(const TlsWanted& wanted) {
  Parts out;
  Words chosen;
  for (const std::string& name : wanted.cipher_suites) {
    const auto suite = std::find_if(kSuites.begin(), kSuites.end(),
                                    [&](const Suite& each) { return each.name == name; });
    if (suite == kSuites.end()) {
      return fail(Errc::kInvalid, "'" + printable(name, 80) +
                                      "' is no cipher suite that is supported" +
                                      known(names_of(kSuites), name));
    }
    add(chosen, suite->name);
    add(out.key_exchanges, suite->key_exchange);
    add(out.ciphers, suite->cipher);
    add(out.macs, suite->mac);
  }
  for (const Suite& each : kSuites) {
    if (has(chosen, each.name) || !has(out.ciphers, each.cipher)) continue;
    // Those of TLS 1.3 cannot be chosen in Go's format either.
    if (each.key_exchange.empty() || !wanted.tls12 || !has(out.key_exchanges, each.key_exchange)) {
      continue;
    }
    return fail(Errc::kInvalid,
                "cannot be kept to exactly: GnuTLS would allow " + std::string(each.name) +
                    " too; add that one, or leave out another of its cipher or key exchange");
  }
  if (wanted.tls12 && out.key_exchanges.empty()) {
    return fail(Errc::kInvalid,
                "leaves no suite for TLS 1.2; add one such as "
                "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, or write min_version: TLS13");
  }
  if (wanted.tls13 && !has(out.macs, "AEAD")) {
    return fail(Errc::kInvalid,
                "leaves no suite for TLS 1.3; add one such as TLS_AES_128_GCM_SHA256, or write "
                "max_version: TLS12");
  }
  return out;
}

}  // namespace

Result<std::string> tls_priorities(const TlsWanted& wanted) {
  if (!wanted.tls12 && !wanted.tls13) {
    return fail(Errc::kInvalid, "leaves no version of TLS");
  }
  Parts parts{
      {"ECDHE-ECDSA", "ECDHE-RSA"}, {"AES-256-GCM", "CHACHA20-POLY1305", "AES-128-GCM"}, {"AEAD"}};
  if (!wanted.cipher_suites.empty()) {
    auto chosen = parts_of(wanted);
    if (!chosen) return tl::unexpected(std::move(chosen.error()));
    parts = std::move(*chosen);
  }
  std::string out = "NORMAL:-VERS-ALL";
  if (wanted.tls13) out.append(":+VERS-TLS1.3");
  if (wanted.tls12) out.append(":+VERS-TLS1.2");
  // Those of TLS 1.3 are its groups.
  if (wanted.tls12) {
    out.append(":-KX-ALL");
    append(out, parts.key_exchanges);
  }
  out.append(":-CIPHER-ALL");
  append(out, parts.ciphers);
  out.append(":-MAC-ALL");
  append(out, parts.macs);
  if (!wanted.curves.empty()) {
    out.append(":-GROUP-ALL");
    for (const std::string& name : wanted.curves) {
      const auto curve = std::find_if(kCurves.begin(), kCurves.end(),
                                      [&](const Curve& each) { return each.name == name; });
      if (curve == kCurves.end()) {
        return fail(Errc::kInvalid, "'" + printable(name, 80) + "' is no curve that is supported" +
                                        known(names_of(kCurves), name));
      }
      out.append(":+GROUP-").append(curve->group);
    }
  }
  if (wanted.prefer_server) out.append(":%SERVER_PRECEDENCE");
  return out;
}

}  // namespace jetmem
