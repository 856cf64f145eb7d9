// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/gate.h"

#include <string>
#include <utility>

namespace jetmem {
void Gate::set_rules(std::shared_ptr<const AccessRules> rules) {
  rules_ = std::move(rules);
  verifier_.set_users(rules_ ? rules_->users : PasswordVerifier::Users{});
}

std::optional<Answer> Gate::check(const Request& request) {
  if (request.asker.client.is_local()) return std::nullopt;
  if (!rules_ || rules_->users.empty()) return check_host(request);
  if (request.authorization.empty()) return refuse(AuthFailure::kMissing, request);
  const auto credentials = parse_basic_auth(request.authorization);
  if (!credentials) return refuse(AuthFailure::kWrong, request);
  switch (verifier_.check(*credentials, request.asker.client)) {
    case PasswordVerifier::State::kRight:
      return std::nullopt;
    case PasswordVerifier::State::kWrong:
      return refuse(AuthFailure::kWrong, request);
    case PasswordVerifier::State::kFull:
      return put_off(request);
    case PasswordVerifier::State::kRequested:
      break;
  }
  if (request.waited_for_gate > kTimeout) return put_off(request);
  Answer later;
  later.later = true;
  later.at_gate = true;
  return later;
}

// With TLS the browser itself compares the name with the certificate.
std::optional<Answer> Gate::check_host(const Request& request) {
  if (rules_ && rules_->tls) return std::nullopt;
  if (allows_host(request.host, request.on_loopback, hosts_)) return std::nullopt;
  metrics_.refused(Refusal::kHost, request.asker.client);
  Answer out = text_answer(421,
                           "The Host header is not a name of this device. Use localhost or an "
                           "address, or add the name to http.hosts in its settings.\n");
  out.close = true;
  out.add("Connection", "close");
  return out;
}

Answer Gate::refuse(AuthFailure why, const Request& request) {
  metrics_.auth_failed(why, request.asker.client);
  Answer out = text_answer(401, why == AuthFailure::kMissing ? "A user and password are required.\n"
                                                             : "Wrong user or password.\n");
  out.add("WWW-Authenticate", "Basic realm=\"jetmem\", charset=\"UTF-8\"");
  return out;
}

Answer Gate::put_off(const Request& request) {
  metrics_.refused(Refusal::kPasswordQueue, request.asker.client);
  Answer out = text_answer(503, "Too many passwords wait to be checked; try again.\n");
  out.add("Retry-After", "2");
  return out;
}

}  // namespace jetmem
