// SPDX-License-Identifier: Apache-2.0
// The contiguous memory areas (CMA): what is taken, the largest piece left, and whether a camera
// frame still fits. docs/status.md has the JSON form field by field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/answers/answer_head.h"
#include "report/device/cma_ownership.h"

namespace jetmem {

struct CmaAnswer {
  static constexpr std::string_view kSchema = "jetmem-cma/1";
  static constexpr std::size_t kMaxAreas = 64;

  struct Area : CmaOwnership {
    std::string name;
    std::optional<double> bytes;
    std::optional<double> used_bytes;       // by drivers
    std::optional<double> available_bytes;  // in whatever pieces
    std::optional<double> used_ratio;
    std::optional<double> largest_run_bytes;
    std::optional<double> required_bytes;   // the frame, or a larger request that failed
    std::optional<double> frame_fit_ratio;  // largest run by what is wanted
    std::optional<double> pages_allocated;  // since boot
    std::optional<double> pages_refused;

    Absences absent;
  };

  // A refused request, newest first.
  struct Failure {
    std::string kind;
    std::string subject;
    std::string summary;
    std::optional<double> wall;
    std::optional<double> since_boot;
    std::uint64_t count = 1;
    double lasted_seconds = 0;  // from the first to the last, which the times are of
  };
  static constexpr std::size_t kMaxFailures = 10;

  AnswerFrom from;
  std::optional<bool> has_cma;  // absent: unknown; absent["has_cma"] has the reason
  std::string none;             // where it is false
  std::optional<double> total_bytes;
  std::optional<double> requested_bytes;  // cma= of the kernel's command line
  // "1 GiB requested (cma=), 256 MiB reserved: the request was not met"; empty: it was met.
  std::string reservation;
  std::optional<double> free_bytes;  // CmaFree: what borrowers hold is not in it
  std::optional<double> calls_failed;
  std::optional<double> calls_succeeded;
  std::optional<double> largest_request_bytes;  // that the log has seen fail
  std::vector<Area> areas;
  std::uint64_t areas_omitted = 0;
  std::vector<Failure> failures;
  std::uint64_t failures_omitted = 0;
  std::vector<std::string> advice;
  Absences absent;
};

CmaAnswer cma_answer(const DeviceNow& now);
// CmaAnswer::reservation
std::string unmet_request(const SampleSet& samples);
void describe(json::Fields& v, CmaAnswer::Area& area);
// "Restart camera-preview (PID 412, 4 MiB for 37 h): the largest free block grows from 36 to 92
// MiB"; empty where no restart is known to help a request of this size.
std::string restart_advice(const CmaAnswer::Area& area, double required_bytes);
std::string cma_json(const CmaAnswer& answer);

}  // namespace jetmem
