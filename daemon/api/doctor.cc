// /api/v1/doctor: the checklist; as `jetmem doctor --json`.

#include "report/doctor/doctor.h"

#include "daemon/api/api.h"

namespace jetmem {

ApiAnswer api_doctor(Api& api, const Parameters& /*parameters*/) {
  constexpr Nanoseconds kRest = std::chrono::seconds(1);
  if (auto text = api.kept(api.doctor_body, kRest)) return {200, std::move(text)};
  const auto now = std::make_shared<const DeviceNow>(api.now());
  ApiAnswer out =
      api.at_desk("doctor", [now, history = api.history(), why_none = api.why_no_history()] {
        return api_text(doctor_json(examine(*now, history, why_none)));
      });
  if (out.later || out.code != 200) return out;
  return api.keep(api.doctor_body, std::move(out), api.desk_took());
}

}  // namespace jetmem
