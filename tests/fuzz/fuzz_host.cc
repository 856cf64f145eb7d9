// SPDX-License-Identifier: Apache-2.0
#include <cctype>

#include "daemon/http/access/host_guard.h"
#include "tests/fuzz/target.h"

using namespace jetmem;

namespace {

// What a browser sends of a page's own name: letters, digits, dots and dashes, of which the last
// part begins with a letter, and perhaps a port. The name in small letters; empty: something else.
std::string outsiders_name(std::string_view host) {
  std::string_view port = host;
  host = take_until(port, ':');
  if (port.find_first_not_of("0123456789") != port.npos) return {};
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string name;
  for (const char letter : host) {
    const auto c = static_cast<unsigned char>(letter);
    if (std::isalnum(c) == 0 && c != '.' && c != '-') return {};
    name += static_cast<char>(std::tolower(c));
  }
  const std::string last = name.substr(name.rfind('.') + 1);
  if (last.empty() || std::isalpha(static_cast<unsigned char>(last[0])) == 0) return {};
  return name;
}

}  // namespace

// A Host header. Whoever's name it is, no page but one of this device's own gets an answer.
FUZZ(host) {
  static const std::vector<std::string> named{"Orin-7.example."};
  const std::string name = outsiders_name(host);
  const bool is_local = name == "localhost" || name.ends_with(".localhost") ||
                        name == "ip6-localhost" || name == "ip6-loopback";
  check(allows_host(host, false, {}));
  check(name.empty() || allows_host(host, true, {}) == is_local);
  for (const bool on_loopback : {false, true}) {
    const bool is_ours = is_local || name == "orin-7.example";
    check(name.empty() || allows_host(host, on_loopback, named) == is_ours);
  }
  // What a name may do, with a port it may too.
  if (host.find_first_of(":[") != host.npos || host.empty()) return;
  check(allows_host(host, true, {}) == allows_host(std::string(host) + ":10743", true, {}));
}
