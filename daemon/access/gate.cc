#include "daemon/access/gate.h"

#include <string>
#include <utility>

namespace jetmem {
namespace {

Answer line_answer(unsigned code, const char* line) {
  Answer out;
  out.code = code;
  out.body = std::make_shared<const std::string>(line);
  out.add("Content-Type", "text/plain; charset=utf-8");
  out.add("Cache-Control", "no-store");
  out.add("X-Content-Type-Options", "nosniff");
  return out;
}

}  // namespace

void Gate::set_rules(std::shared_ptr<const AccessRules> rules) {
  rules_ = std::move(rules);
  desk_.set_users(rules_ ? rules_->users : PasswordDesk::Users{});
}

std::optional<Answer> Gate::check(const Request& request) {
  if (request.client.is_local()) return std::nullopt;
  if (!rules_ || rules_->users.empty()) return check_host(request);
  if (request.authorization.empty()) return refuse(AuthFailure::kMissing, request);
  const auto credentials = parse_basic_auth(request.authorization);
  if (!credentials) return refuse(AuthFailure::kWrong, request);
  if (request.has_body) {
    // It will be refused in any case, and cannot wait: its connection ends with the answer.
    if (desk_.known(*credentials).value_or(false)) return std::nullopt;
    return refuse(AuthFailure::kWrong, request);
  }
  switch (desk_.check(*credentials, request.client)) {
    case PasswordDesk::State::kRight:
      return std::nullopt;
    case PasswordDesk::State::kWrong:
      return refuse(AuthFailure::kWrong, request);
    case PasswordDesk::State::kClientFull:
      return put_off(429, request);
    case PasswordDesk::State::kFull:
    case PasswordDesk::State::kNoThread:
      return put_off(503, request);
    case PasswordDesk::State::kAsked:
      break;
  }
  if (request.waited_at_gate > kPatience) return put_off(503, request);
  Answer later;
  later.later = true;
  later.at_gate = true;
  return later;
}

// With TLS the browser itself holds the name against the certificate.
std::optional<Answer> Gate::check_host(const Request& request) {
  if (rules_ && rules_->tls) return std::nullopt;
  if (hosts_.lets_in(request.host, request.on_loopback)) return std::nullopt;
  refusals_.refused(Refusal::kHost, request.client);
  Answer out = line_answer(421,
                           "This device does not know that it is called so. Ask by localhost or an "
                           "address, or add the name to http.hosts in its settings.\n");
  out.close = true;
  out.add("Connection", "close");
  return out;
}

Answer Gate::refuse(AuthFailure why, const Request& request) {
  refusals_.auth_failed(why, request.client);
  Answer out =
      line_answer(401, why == AuthFailure::kMissing ? "A user and password are needed here.\n"
                                                    : "This user or password is wrong.\n");
  out.add("WWW-Authenticate", "Basic realm=\"jetmem\", charset=\"UTF-8\"");
  if (request.has_body) {
    out.close = true;
    out.add("Connection", "close");
  }
  return out;
}

Answer Gate::put_off(unsigned code, const Request& request) {
  refusals_.refused(Refusal::kPasswordQueue, request.client);
  Answer out = line_answer(code, "Too many passwords wait to be checked; ask again.\n");
  out.add("Retry-After", "2");
  return out;
}

}  // namespace jetmem
