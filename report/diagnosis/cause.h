// SPDX-License-Identifier: Apache-2.0
// Why an event happened and what to do about it, chosen by its fields and by what is known of the
// machine. `jetmem doctor` and `jetmem decode` print it.
//
// Each cause has a code, which tests and programs use, and its words in one place: causes_*.cc, or
// known_issues.yaml for defects of certain releases. An event that fits none of them gets the
// general words of its kind (kinds.h).
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
  // Of the first event that it explains.
  std::string kind;
  std::string device;
  // What else tells causes of one id apart: whom the OOM killer killed, what was suppressed.
  std::string about;
  std::uint64_t events = 0;
  bool of_kind = false;  // the general words of the kind: no cause was found
  bool follows = false;  // from another event of the log, which is ranked before it
};

// The words of a cause: {name} stands for a value, {?...} for a part that is omitted where it names
// a value that is not known.
struct CauseText {
  std::string_view id;
  Harm harm = Harm::kWarning;
  std::string_view cause;
  std::string_view remedy;
  // Another page than that of the kind.
  std::string_view runbook{};
  // What happened follows from another event: ranked behind all that may be a root.
  bool follows = false;
};

using Values = std::map<std::string_view, std::string, std::less<>>;
std::string fill(std::string_view text, const Values& values);

// The kernel's report of memory, as far as the log has it.
struct MemoryReport {
  std::optional<double> swap_free_kb, swap_total_kb;
  // Pages of kernel objects that cannot be reclaimed, and of all memory.
  std::optional<double> slab_pages, ram_pages;
};

// What the log has, the event that is explained too.
struct LogContent {
  std::set<std::string, std::less<>> kinds;
  bool bus_error = false;           // a refused access or an SError, shortly before the event
  bool uncorrected_memory = false;  // an ECC error that was not corrected
  bool cpu_stall = false;           // a CPU stood still, shortly before the event
  // Of the last fault or Xid of the same GPU shortly before the event: its cause, its number.
  std::string gpu_fault;
  std::optional<double> gpu_fault_xid;
  // Storage errors of a device, those that need no attention not counted.
  std::map<std::string, std::uint64_t, std::less<>> storage_errors;
  // Of the OOM killer's call that the event is of.
  MemoryReport report;
  // Of the OOM killer's last call before the event: for whom, and whether for nvmap.
  std::string oom_for;
  bool oom_for_nvmap = false;
  // Whether that call was for a control group at its limit, and which; empty: not named.
  bool oom_of_group = false;
  std::string oom_group;
};

// One event and all that may explain it.
struct Case {
  const EventFields& event;
  const MachineFacts& facts;
  const LogContent& log;
  Values& values;  // for the words

  bool has_kind(std::string_view kind) const { return log.kinds.contains(kind); }
  bool has_any_kind(std::initializer_list<std::string_view> kinds) const {
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](std::string_view kind) { return has_kind(kind); });
  }
};

// An SError, of whichever kind it is recorded: an access of a CPU that failed after it had gone on.
bool is_serror(const EventFields& event);
// A DMA engine that did not finish: no refused access.
bool is_dma_engine_timeout(const EventFields& event);
bool is_uncorrected_memory(const EventFields& event);
// What the firmware reports (APEI), and no line of it says that it is about memory.
bool is_of_other_hardware(const EventFields& event);
// What comes with a fault of a GPU: Xid 45 (channels removed) and 154 (recovery action), notifier
// 31 of nvgpu (MMU fault), a job that met a bus fault.
bool follows_gpu_fault(const EventFields& event);
// A disk or card, and an error that it did not get over by itself.
bool is_storage_failure(const EventFields& event);

// The code of what explains the event, and its words; an empty code: none of these.
struct CauseGroup {
  std::span<const CauseText> texts;
  std::string_view (*choose)(const Case& it);
};
extern const CauseGroup kDmaCauses;       // swiotlb, CMA, DMA, reserved memory, IOMMU
extern const CauseGroup kMemoryCauses;    // page allocator, OOM, swap, programs
extern const CauseGroup kGpuCauses;       // nvmap, CUDA, GPU drivers, cameras
extern const CauseGroup kHardwareCauses;  // ECC, bus, hangs, storage
std::span<const CauseGroup* const> cause_groups();

// Codes of all causes that are not those of known issues or of a kind as such.
std::vector<std::string_view> cause_ids();

// What explains these events, the likeliest root first. Events of one cause and device are one.
// Known issues follow the cause that they specify.
std::vector<Cause> explain(std::span<const EventRecord* const> events, const MachineFacts& facts);

}  // namespace jetmem::diagnosis
