// SPDX-License-Identifier: Apache-2.0
// Numbers and moments in sentences of the doctor and of causes.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"

namespace jetmem::doctor {

// "340 MiB", "1.4 GiB"; below zero with its sign.
std::string bytes(double value);
// "12 MiB/min", "3.1 MiB/h": in the unit that leaves the number readable.
std::string rate(double bytes_per_second);
// "42%", "0.4%".
std::string share(double ratio);
// "45 s", "12 min", "2 h 11 min", "3 d 4 h".
std::string span(double seconds);
// "12", "3.5": at most `digits` decimals, without trailing zeros.
std::string number(double value, int digits = 1);
// "71,781".
std::string count(double value);
// "1 fault", "71,781 faults".
std::string counted(double value, const char* one, const char* many);
// "x8 over 35 s", "x8": of what happened several times, from the first to the last.
std::string repeated(std::uint64_t count, double seconds);
// "about 40 min", "about 2.5 h": of what is estimated.
std::string about(double seconds);
// A clause as a sentence: a full stop, and a capital letter unless it begins with a program's name.
std::string sentence(std::string clause);
// Local time: "02:11:00", with the day before it where it is another than that of `now`.
std::string moment(double wall, std::optional<double> now);
// "UTC", "CEST", and its seconds east of UTC now.
using Zone = std::pair<std::string, double>;
Zone local_zone();
Nanoseconds nanoseconds_of(double seconds);

}  // namespace jetmem::doctor
