// SPDX-License-Identifier: Apache-2.0
// The doctor's answer for people: the conclusion, then what is not fine, then the rest in a line.
#pragma once

#include <string>

#include "report/doctor/doctor.h"

namespace jetmem {

struct DoctorTextOptions {
  bool color = false;
  bool all = false;  // every step in full
  std::string step;  // only this one, in full
};

std::string doctor_text(const DoctorAnswer& answer, const DoctorTextOptions& options);

// 0 ok, 1 warning, 2 critical, 3 unknown.
int doctor_status(Verdict verdict);

}  // namespace jetmem
