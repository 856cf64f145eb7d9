// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/refusals.h"

#include <utility>

namespace jetmem {
namespace {

constexpr std::array<std::string_view, kRefusalNames.size()> kWhat{
    "opened more than http.max_connections_per_client connections; an idle one of it or the new "
    "one was closed",
    "was refused a connection, as all of http.max_connections are open and none is idle",
    "was idle while all of http.max_connections were open, and was closed for a new connection",
    "did not complete its request within http.request_timeout, and was cut",
    "read its answer too slowly, and was cut",
    "got 503: unread answers fill the memory for them",
    "got 503: too many passwords wait to be checked",
    "got 503: too many questions wait for the history",
    "got 421: its Host header is not a name of this device, as when a web page rebinds its DNS "
    "name here; if it is a name of this device, add it to http.hosts",
    "sent a request that is malformed, ambiguous, too large or has a body (docs/access.md): 400, "
    "414 or 431",
};

template <class E>
std::size_t index(E value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

void Refusals::refused(Refusal why, const ClientKey& client) {
  ++stats_.refused[index(why)];
  notify(kRefusalNames[index(why)], client, kWhat[index(why)]);
}

void Refusals::handshake_failed(HandshakeFailure why, const ClientKey& client,
                                std::string_view details) {
  ++stats_.handshake_failures[index(why)];
  // A client that gives up, or a port scan, is not worth a log line.
  if (why != HandshakeFailure::kClientCertificate) return;
  std::string what = "was refused for its client certificate";
  if (!details.empty()) what.append(": ").append(details);
  notify("client_certificate", client, what);
}

void Refusals::auth_failed(AuthFailure why, const ClientKey& client) {
  ++stats_.auth_failures[index(why)];
  if (why != AuthFailure::kWrong) return;
  notify("password", client, "gave a wrong user or password");
}

void Refusals::notify(std::string_view kind, const ClientKey& client, std::string_view what) {
  std::string message = "http: " + client.text() + " ";
  message.append(what);
  log_.write(clock_.mono(), {LogLevel::kWarning, std::move(message), {}}, {.per_key = 1}, kind);
}

}  // namespace jetmem
