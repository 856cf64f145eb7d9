#include "daemon/access/refusals.h"

#include <utility>

namespace jetmem {
namespace {

constexpr std::array<std::string_view, kRefusalNames.size()> kWhat{
    "has as many connections as one client may have (http.max_connections_per_client); further "
    "ones are closed",
    "did not complete its request within http.request_timeout, and was cut",
    "took its answer too slowly, and was cut",
    "was idle or slow while others waited for a connection, and was cut",
    "was answered 503: slow readers hold as many answers as they may",
    "was answered 429 or 503: too many passwords wait to be checked",
    "was answered 421: it asked for a name that is not this device's, as a web page could that "
    "leads "
    "a browser here; if it is, add it to http.hosts",
};

template <class E>
std::size_t index(E value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

void Refusals::refused(Refusal why, const ClientKey& client) {
  ++figures_.refused[index(why)];
  tell(index(why), client, kWhat[index(why)]);
}

void Refusals::handshake_failed(HandshakeFailure why, const ClientKey& client,
                                std::string_view details) {
  ++figures_.handshake_failures[index(why)];
  // A client that gives up, or scans ports, is no news; what it was to prove is.
  if (why != HandshakeFailure::kClientCertificate) return;
  std::string what = "was refused for its client certificate";
  if (!details.empty()) what.append(": ").append(details);
  tell(kRefusalNames.size(), client, what);
}

void Refusals::auth_failed(AuthFailure why, const ClientKey& client) {
  ++figures_.auth_failures[index(why)];
  if (why != AuthFailure::kWrong) return;
  tell(kRefusalNames.size() + 1, client, "gave a wrong user or password");
}

void Refusals::tell(std::size_t kind, const ClientKey& client, std::string_view what) {
  Told& told = told_[kind];
  ++told.since;
  const Nanoseconds now = clock_.mono();
  if (told.ever && now - told.at < kPause) return;
  std::string message = "http: " + client.text() + " ";
  message.append(what);
  if (told.since > 1) {
    message += " (" + std::to_string(told.since) +
               " times, of whatever client, since this was "
               "said last)";
  }
  told = {true, now, 0};
  if (log_) log_(LogLevel::kWarning, std::move(message));
}

}  // namespace jetmem
