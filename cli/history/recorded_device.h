// SPDX-License-Identifier: Apache-2.0
// A moment of the recorder as a device: what `jetmem diff` and `jetmem watch --at` show.
#pragma once

#include "base/result.h"
#include "history/history.h"
#include "report/device/device_now.h"

namespace jetmem {

// Values at `wall`, none older than `timeout`. Without alerts and events. kAbsent: nothing was
// recorded then.
Result<DeviceNow> recorded_device(History& history, const HistoryFacts& facts, Nanoseconds wall,
                                  Nanoseconds timeout);

// Which alerts were pending and firing then (jetmem_alert_state), with what their last change
// reported; and the events of the day before, newest first.
void add_recorded_alerts(History& history, DeviceNow& then);

}  // namespace jetmem
