// SPDX-License-Identifier: Apache-2.0
// The doctor's answer for people: the conclusion, then what is not fine, then the rest in a line.
#pragma once

#include <string>

#include "cli/draw/terminal.h"
#include "report/doctor/doctor.h"

namespace jetmem {

struct DoctorTextOptions {
  ScreenStyle style;
  bool all = false;  // every step in full
  std::string step;  // only this one, in full
};

std::string doctor_text(const DoctorAnswer& answer, const DoctorTextOptions& options);


}  // namespace jetmem
