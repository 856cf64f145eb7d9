// The one word and the one sentence of a status.
#pragma once

#include "report/answers/status_answer.h"

namespace jetmem {

// Sets level and reason. Critical: a critical alert fires. Warning: a warning one does, one look
// found its condition true now, or a source that should be read failed or is too old. Unknown:
// nothing is known to be wrong, and not all could be told (rules not judged, no daemon's answer, no
// memory figures). Info alerts and pending ones of a daemon leave it as it is.
void judge_status(StatusAnswer& answer, const DeviceNow& now);

}  // namespace jetmem
