// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them at night.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace jetmem {

// "1.2 GiB", "340 MiB", "8.5 MiB", "512 B"; "-" if it is not a number.
std::string bytes_text(double bytes);
std::string bytes_text(std::uint64_t bytes);
// "-" where it is not known.
std::string bytes_text(const std::optional<double>& bytes);

// 0.62: "62%"; below 1% with one digit more; "under 0.1%" for what is less and not 0.
std::string ratio_text(double ratio);
std::string ratio_text(const std::optional<double>& ratio);

// The two largest units: "3d4h", "1h30m", "12m5s", "40s", "0.25s", "3ms".
std::string duration_text(double seconds);

// "12 MiB/min"; per hour where it is less than 1 MiB a minute, per second from 1 GiB a minute.
std::string rate_text(double bytes_per_second);

// "02:11:47", with its date where it is not that of `now` (seconds since 1970, local time); where
// `now` is known, how long ago: "02:11:47 (5h49m ago)".
std::string moment_text(double wall, const std::optional<double>& now);

// "71.5 C"
std::string celsius_text(double celsius);
// "1.51 GHz", "408 MHz"
std::string hertz_text(double hertz);
// "7.2 W"
std::string watts_text(double watts);
// "1234567"; fractions have up to two digits: "0.5".
std::string number_text(double number);

}  // namespace jetmem
