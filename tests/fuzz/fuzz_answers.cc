// SPDX-License-Identifier: Apache-2.0
#include "report/alerts/alerts.h"
#include "report/doctor/doctor.h"
#include "tests/fuzz/target.h"

// What answers may be anybody. What is understood is written so that it is understood again.
FUZZ(text) {
  if (const auto alerts = parse_alerts(text)) {
    const auto again = parse_alerts(alerts_json(*alerts));
    check(again && again->count("firing") == alerts->count("firing"));
  }
  if (const auto doctor = parse_doctor(text)) {
    const auto again = parse_doctor(doctor_json(*doctor));
    check(again && again->level == doctor->level && again->steps.size() == doctor->steps.size());
  }
}
