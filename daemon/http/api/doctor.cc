// SPDX-License-Identifier: Apache-2.0
// /api/v1/doctor: the checklist; as `jetmem doctor --json`.

#include "report/doctor/doctor.h"

#include "daemon/http/api/api.h"

namespace jetmem {

ApiAnswer api_doctor(Api& api, const Parameters& /*parameters*/) {
  constexpr Nanoseconds kRest = std::chrono::seconds(1);
  if (auto answer = api.kept(api.doctor_body, kRest)) return std::move(*answer);
  const auto now = std::make_shared<const DeviceNow>(api.now());
  ApiAnswer out = api.on_query_worker(
      "doctor",
      [now, history = api.history(), missing_reason = api.history_missing_reason()] {
        return api_text(doctor_json(examine(*now, history, missing_reason)));
      },
      true);
  if (out.later || out.code != 200) return out;
  return api.keep(api.doctor_body, std::move(out), api.query_duration());
}

}  // namespace jetmem
