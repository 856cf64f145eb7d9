// SPDX-License-Identifier: Apache-2.0
// The state of a device on one screen: /api/v1/status and `jetmem status --json`. docs/status.md
// has the JSON form field by field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/answers/answer_head.h"
#include "report/answers/cma_answer.h"
#include "report/answers/fragmentation_answer.h"
#include "report/answers/memory_budget.h"
#include "report/answers/thermal_answer.h"
#include "report/doctor/judgement.h"

namespace jetmem {

// The last thing that happened: of the kernel's log, jetmem's probes excluded.
struct StatusEvent {
  std::string kind;
  std::string severity;
  std::string subject;
  std::string summary;
  std::uint64_t count = 1;
  double lasted_seconds = 0;   // from the first to the last of them
  std::optional<double> wall;  // of the last
  std::optional<double> age_seconds;
  bool before_this_boot = false;
};

struct StatusAnswer : Judgement {
  static constexpr std::string_view kSchema = "jetmem-status/1";
  static constexpr std::size_t kMaxAlerts = 32;
  static constexpr std::size_t kMaxProcesses = 10;
  static constexpr std::size_t kMaxProbes = 48;

  struct Process {
    std::string process;
    double bytes = 0;
  };
  struct Fault {
    std::string kind;
    // Absent: the events are not known. Of a boot of less than a day with those that the kernel
    // only counted, else without them.
    std::optional<double> last_day;
    bool at_least = false;                   // there were more than are kept or were printed
    std::optional<double> since_boot;        // with those that the kernel only counted
    std::optional<double> suppressed;        // these
    std::optional<double> last_wall;         // seconds since 1970
    std::optional<double> last_age_seconds;  // by the boot clock where that is known
    bool before_this_boot = false;           // the last one that is known
    std::string last;                        // one sentence, of the last one that is known
    std::string severity;
    Absences absent;
  };
  struct Alert {
    std::string name;
    std::string severity;
    std::string state;  // "firing", "pending"
    std::string summary;
    std::string cause;
    std::string remedy;
    std::string runbook;
    double active_seconds = 0;
    std::uint64_t more = 0;  // alerts of the same rule beyond this one
    bool explains = false;   // it is a part of the verdict; not in the JSON form
  };
  struct Probe {
    std::string kind;
    std::string target;
    std::string state;    // "ok", "failed", "mismatch", ...
    std::string failure;  // where and with what it failed
    std::optional<double> since_success_seconds;
  };
  struct Blind {
    std::string source;
    std::string state;  // "denied", "failed", "stale", "pending"
    std::string why;
  };

  AnswerFrom from;
  std::string host_name;
  std::string model;
  std::string soc;
  std::string l4t;
  std::string kernel;

  std::optional<double> mem_total_bytes;
  std::optional<double> available_bytes;
  std::optional<double> available_ratio;
  std::optional<double> pressure_level;
  std::optional<double> pressure_some_ratio;  // of the last 10 s
  std::optional<double> pressure_full_ratio;  // the same, of all tasks at once
  std::optional<double> swap_bytes;
  std::optional<double> swap_used_bytes;
  std::optional<double> exhaustion_seconds;  // by the last half minute, or by a trend over hours
  MemoryBudget budget;
  CmaAnswer cma;
  FragmentationAnswer fragmentation;
  ThermalAnswer thermal;

  std::optional<double> gpu_bytes;
  std::vector<Process> gpu_processes;  // those that hold most, first
  bool no_gpu = false;                 // the device has none that shares the memory

  // Kinds that occurred since boot, the last first; absent["faults"] says why others may be
  // missing.
  std::vector<Fault> faults;
  std::optional<StatusEvent> last_event;

  std::optional<std::uint64_t> firing;
  std::optional<std::uint64_t> pending;
  std::optional<std::uint64_t> unknown;  // rules that could not be judged
  std::uint64_t rules = 0;
  std::vector<Alert> alerts;  // as alert_order.h has it
  std::uint64_t alerts_omitted = 0;

  std::vector<Probe> probes;
  std::optional<double> probe_age_seconds;  // the oldest group's

  std::string reader;  // "socket", "spawned", "none"; empty: not known
  std::optional<double> loop_lag_seconds;
  std::optional<double> log_dropped;
  std::optional<double> history_up;
  std::optional<double> daemon_resident_bytes;
  std::uint64_t sources_ok = 0;
  std::vector<Blind> blind;
  Absences absent;
};

// `history` as in judge().
StatusAnswer status_answer(const DeviceNow& now, History* history = nullptr);
std::string status_json(const StatusAnswer& answer);
// The same in one line, with "host"; and the line for a device that does not answer.
std::string status_json_line(const StatusAnswer& answer, std::string_view host);
std::string unknown_status_json_line(std::string_view reason, std::string_view host);

}  // namespace jetmem
