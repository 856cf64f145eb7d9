// SPDX-License-Identifier: Apache-2.0
// /api/v1/texts: {"path": "text"}, the last raw text of what only the daemon has: output of
// programs, for `jetmem capture`, and the history of boots, for `jetmem boots`.

#include <nlohmann/json.hpp>

#include "daemon/http/api/api.h"

namespace jetmem {

ApiAnswer api_texts(Api& api, const Parameters& /*parameters*/) {
  // Of what JSON makes of it: a byte may take six.
  constexpr std::size_t kMost = 3U << 20;
  using Json = nlohmann::ordered_json;
  Json out = Json::object();
  std::size_t size = 0;
  std::size_t left_out = 0;
  for (const auto& source : api.texts()) {
    left_out += source->left_out;
    for (const auto& [path, text] : source->files) {
      Json value(text);
      size += value.dump(-1, ' ', false, Json::error_handler_t::replace).size();
      if (size <= kMost) {
        out[path] = std::move(value);
      } else {
        ++left_out;
      }
    }
  }
  // A number, not a text: clients that look for texts skip it.
  if (left_out > 0) out["omitted"] = left_out;
  return api_text(out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace jetmem
