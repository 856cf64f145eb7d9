// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/served.h"

// Any parameters, to any page of the API: an answer of a known status, JSON that is bounded.
FUZZ(text) {
  if (text.empty()) return;
  static Served served;
  const auto endpoints = Api::endpoints();
  const Api::Endpoint& endpoint = endpoints[byte_of(text, 0) % endpoints.size()];
  text.remove_prefix(1);
  std::vector<Parameter> parameters;
  while (!text.empty()) {
    std::string_view value = take_until(text, '&');
    const std::string_view name = take_until(value, '=');
    parameters.push_back({name, value});
  }
  const Answer answer =
      served.pages.answer({.method = "GET", .path = endpoint.path, .parameters = parameters});
  check_answer(answer);
  check(answer.body->starts_with('{'));
}
