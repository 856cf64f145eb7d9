// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/gate.h"
#include "tests/fuzz/served.h"

namespace jetmem {

struct Guarded : Served {
  Gate gate{metrics};

  Guarded() {
    auto rules = std::make_shared<AccessRules>();
    // alice's is "secret".
    rules->users = {{"alice", "$2b$04$y8R/pXJI3ecyatcFgEJdKeviiBk8KClPn5Wfxv9PSLjVjee4eptQu"}};
    gate.set_rules(std::move(rules));
  }
};

}  // namespace jetmem

// A request as the HTTP library hands it over, every part of which is anybody's: a flag, then in
// lines method, path, Accept-Encoding, If-None-Match, Authorization, parameters.
FUZZ(text) {
  static Guarded served;
  if (text.empty()) return;
  const std::size_t flags = byte_of(text, 0);
  text.remove_prefix(1);
  Request request;
  if ((flags & 2U) != 0) request.asker.client.family = ClientKey::Family::kIpv4;
  if ((flags & 4U) != 0) request.waited_for_gate = std::chrono::hours(1);
  request.method = take_until(text, '\n');
  request.path = take_until(text, '\n');
  request.accept_encoding = take_until(text, '\n');
  request.accept = request.accept_encoding;
  request.if_none_match = take_until(text, '\n');
  request.authorization = take_until(text, '\n');
  std::vector<Parameter> parameters;
  while (!text.empty()) {
    const std::string_view name = take_until(text, '\n');
    parameters.push_back({name, take_until(text, '\n')});
  }
  request.parameters = parameters;

  const auto stopped = served.gate.check(request);
  const auto given = parse_basic_auth(request.authorization);
  const bool right = given && given->user == "alice" && given->password == "secret";
  check(stopped || request.asker.client.is_local() || right);
  const Answer answer = stopped ? *stopped : served.pages.answer(request);
  if (answer.later) return;
  check_answer(answer);
  for (const auto& [name, value] : answer.headers) {
    check(std::string_view(value).find_first_of("\r\n") == std::string_view::npos);
  }
  if (request.method != "GET" && request.method != "HEAD") check(answer.code >= 400);
}
