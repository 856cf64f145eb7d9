// SPDX-License-Identifier: Apache-2.0
// Why an event happened and what to do about it, chosen by its message, its fields and what is
// known of the machine. `jetmem doctor` and `jetmem decode` print it.
//
// causes/*.yaml have the causes, known_issues.yaml defects of certain releases. An event that fits
// none of them gets the general words of its kind (kinds.yaml). A guess gets no cause.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "history/event_record.h"
#include "report/diagnosis/event_fields.h"
#include "report/diagnosis/machine_facts.h"

namespace jetmem::diagnosis {

// Between the first and the last line of a call of the OOM killer, also on a slow console.
inline constexpr Nanoseconds kOneOomCall = std::chrono::seconds(10);

enum class Harm : std::uint8_t {
  kNone,      // nothing is lost: no alert, nothing to do
  kWarning,   // something failed
  kCritical,  // data or the device is at stake
};
// "none", "warning", "critical".
std::string_view harm_name(Harm harm);

struct Cause {
  std::string id;  // "swiotlb-mapping-too-large"
  Harm harm = Harm::kWarning;
  std::string cause;
  std::string remedy;
  std::string runbook;  // a page of docs/runbooks
  std::string link;     // of a known issue: where it is described
  // The kind and device of the first event that it explains.
  std::string kind;
  std::string device;
  // What distinguishes causes of one id: whom the OOM killer killed, what was suppressed.
  std::string about;
  std::uint64_t events = 0;
  bool of_kind = false;  // the general words of the kind: no cause was found
  bool follows = false;  // from another event of the log, which is ranked before it
};

// The log's events, with the one that is explained. Guesses are not evidence.
struct LogContent {
  // Within ten minutes of the event; of what lasts until the next boot, within that boot.
  std::set<std::string, std::less<>> kinds;
  std::set<std::string, std::less<>> gpu_refusals;  // messages of kind gpu_alloc_failure
  bool tegra = false;                   // a message that only a Tegra's drivers and libraries print
  bool bus_error = false;               // a refused access or an SError, shortly before the event
  bool uncorrected_memory = false;      // an ECC error that was not corrected
  bool cpu_stall = false;               // a CPU stood still, shortly before the event
  bool dma_descriptor_refused = false;  // a DMA engine's, for one transfer
  // The largest request for contiguous memory, and the area, in bytes: all remedies name one size.
  double cma_request = 0;
  double cma_held = 0;  // by buffers of a GPU driver
  std::optional<double> cma_area;
  // Cause and number of the last fault or Xid of the same GPU shortly before the event.
  std::string gpu_fault;
  std::optional<double> gpu_fault_xid;
  // Storage errors of a device, those that need no attention not counted.
  std::map<std::string, std::uint64_t, std::less<>> storage_errors;
  // The OOM killer's call that the event belongs to: for whom, whom it killed, its memory report.
  struct OomCall {
    std::string asker, victim;
    bool for_nvmap = false;
    bool thrashing = false;  // reclaim called it for the time that it took
    // A control group at its limit, and which; empty: not named.
    bool of_group = false;
    std::string group;
    bool on_one_node = false;  // of a memory policy or cpuset
    bool of_machine = false;   // said so, or its report has all memory
    const EventFields* report = nullptr;
  } oom;
};

struct CauseEntry;  // cause_table.h

// One event and all that may explain it.
struct Case {
  const EventFields& event;
  const MachineFacts& facts;
  const LogContent& log;
  const CauseEntry* entry = nullptr;  // whose words are filled

  bool has_any_kind(std::initializer_list<std::string_view> kinds) const {
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](std::string_view kind) { return log.kinds.contains(kind); });
  }
};

// An ECC error of memory that was not corrected.
bool is_uncorrected_memory(const EventFields& event);

// What explains these events, the likeliest root first. Events of one cause and device are one.
// Known issues follow the cause that they specify.
std::vector<Cause> explain(std::span<const EventRecord* const> events, const MachineFacts& facts);

}  // namespace jetmem::diagnosis
