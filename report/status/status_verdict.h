// SPDX-License-Identifier: Apache-2.0
// Level and reason of a status answer: what follows from its other fields.
#pragma once

#include "report/status/status_answer.h"

namespace jetmem {

// Critical: a critical alert fires. Warning: a warning alert fires, or its condition is true in a
// single reading, or a critical alert is pending, or a source failed or is stale. Unknown: no
// problem found, but something could not be checked (rules, daemon, memory values). Info alerts
// change nothing; pending warnings count only in one reading.
void set_verdict(StatusAnswer& answer, const DeviceNow& now);

}  // namespace jetmem
