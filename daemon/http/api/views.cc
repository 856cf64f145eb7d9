// SPDX-License-Identifier: Apache-2.0
// Parts of the device in full, each the same as the command of its name says with --json.

#include "daemon/http/api/api.h"
#include "report/answers/cma_answer.h"
#include "report/answers/fragmentation_answer.h"
#include "report/answers/thermal_answer.h"
#include "report/answers/top_answer.h"

namespace jetmem {
namespace {

constexpr Nanoseconds kRest = std::chrono::seconds(1);

}  // namespace

ApiAnswer api_top(Api& api, const Parameters& /*parameters*/) {
  return api.kept(api.top_body, kRest, [&] { return top_json(top_answer(api.now(), {})); });
}

ApiAnswer api_cma(Api& api, const Parameters& /*parameters*/) {
  return api.kept(api.cma_body, kRest, [&] { return cma_json(cma_answer(api.now())); });
}

ApiAnswer api_fragmentation(Api& api, const Parameters& /*parameters*/) {
  return api.kept(api.fragmentation_body, kRest,
                  [&] { return fragmentation_json(fragmentation_answer(api.now())); });
}

ApiAnswer api_thermal(Api& api, const Parameters& /*parameters*/) {
  return api.kept(api.thermal_body, kRest, [&] { return thermal_json(thermal_answer(api.now())); });
}

}  // namespace jetmem
