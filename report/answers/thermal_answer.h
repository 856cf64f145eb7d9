// SPDX-License-Identifier: Apache-2.0
// Temperatures and their limits, and what slows the device now: throttling, clocks below what the
// hardware has, over-current, fan. docs/status.md has the JSON form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/answers/answer_head.h"

namespace jetmem {

struct ThermalAnswer {
  static constexpr std::string_view kSchema = "jetmem-thermal/1";
  static constexpr std::size_t kMaxEach = 128;  // zones, cooling devices, clocks, rails

  struct Trip {
    std::string kind;
    double celsius = 0;
    // Whether reaching a passive or active trip slows the chip or starts a fan.
    std::optional<bool> bound;
  };
  struct Zone {
    std::string zone;
    std::string index;
    std::optional<double> celsius;
    std::optional<bool> enabled;
    std::vector<Trip> trips;                              // ascending
    std::vector<std::pair<std::string, double>> margins;  // kind, degrees to the next one
    Absences absent;

    std::optional<double> margin(std::string_view kind) const;
  };
  struct Cooling {
    std::string type;
    std::string index;
    double state = 0;
    std::optional<double> max_state;
  };
  struct Clock {
    std::string domain;
    std::string clock;
    std::optional<double> hertz;
    std::optional<double> max_hertz;           // that it may have now
    std::optional<double> hardware_max_hertz;  // that it could have
    std::string governor;
  };
  // The GPU, and the engines for video, images and deep learning.
  struct Engine {
    std::string engine;  // "GPU", "NVENC", "NVDLA0"
    std::optional<double> on;
    std::optional<double> load;  // 0 to 1
    std::optional<double> hertz;
    // Where these are from: "kernel" or "tegrastats". The kernel's are preferred.
    std::string source;
    std::string load_source;  // empty: there is no load
    Absences absent;
  };
  struct Rail {
    std::string rail;
    std::string index;
    std::optional<double> watts;
    std::optional<double> volts;
    std::optional<double> amperes;
    std::optional<double> warning_amperes;
  };
  struct OverCurrent {
    std::string event;
    double count = 0;  // since boot
    std::optional<double> throttles;
  };

  AnswerFrom from;
  std::optional<double> level;       // jetmem_throttling_level
  std::optional<double> throttling;  // 1: something slows it now
  std::vector<std::string> causes;   // that are active
  std::vector<std::string> alerts;   // of the board, that slow nothing
  std::string power_mode;            // its name, or number; empty: not known
  std::optional<double> cpus_online;
  std::optional<double> cpus_present;
  std::vector<Zone> zones;  // the hottest first
  std::vector<Cooling> cooling;
  std::vector<Clock> clocks;
  std::vector<Engine> engines;
  std::vector<Rail> rails;
  std::vector<OverCurrent> over_current;
  std::vector<std::string> slows;  // sentences: what slows the device now
  std::uint64_t omitted = 0;
  Absences absent;
};

ThermalAnswer thermal_answer(const DeviceNow& now);
// The fields that a status shows, too.
void describe_throttling(json::Fields& v, ThermalAnswer& answer);
std::string thermal_json(const ThermalAnswer& answer);

}  // namespace jetmem
