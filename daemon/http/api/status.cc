// SPDX-License-Identifier: Apache-2.0
// /api/v1/status: how the device is, in short; as `jetmem status --json`.

#include "daemon/http/api/api.h"
#include "report/status/status_answer.h"

namespace jetmem {

ApiAnswer api_status(Api& api, const Parameters& /*parameters*/) {
  constexpr Nanoseconds kRest = std::chrono::seconds(1);
  return api.kept(api.status_body, kRest, [&] { return status_json(status_answer(api.now())); });
}

}  // namespace jetmem
