// SPDX-License-Identifier: Apache-2.0
// What happened, as the recorder keeps it and everybody shows it: an event of the kernel's log, a
// change of an alert, a start, a mark.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace jetmem {

enum class EventWhat : std::uint8_t {
  kKernel,  // kind: the kernel-log event's kind ("smmu_context_fault")
  kAlert,   // kind: the change ("pending", "firing", "resolved", ...)
  kDaemon,  // kind: "start", "stop", "clock_step", "clock_trusted", "loss"
  kMark,    // kind: "mark"; the summary is what the person wrote
  kGuess,   // no message that jetmem knows; kind: what its words suggest. Nobody acts on it.
};

inline constexpr std::array<std::string_view, 5> kDaemonEventKinds{"start", "stop", "clock_step",
                                                                   "clock_trusted", "loss"};
inline constexpr std::string_view kMarkEventKind = "mark";

// "kernel", "alert", "daemon", "mark", "guess".
std::string_view event_what_name(EventWhat what);
std::optional<EventWhat> event_what_named(std::string_view name);

struct EventRecord {
  // Texts are printable() already and bounded; `fields` is one JSON object of at most kMaxFields
  // bytes ("{}": none).
  static constexpr std::size_t kMaxText = 512;
  static constexpr std::size_t kMaxFields = 4096;

  std::int64_t id = 0;  // of the recorder, growing; 0: not recorded
  EventWhat what = EventWhat::kKernel;
  std::string kind;
  std::string severity;  // "info", "warning", "error", "critical"
  std::string origin;    // of a kernel event: "system" or "probe"; else empty
  std::string subject;   // the alert's name, the killed process, the SMMU's client; may be empty
  std::string summary;   // one sentence for a person
  std::string fields = "{}";
  // Which boot of the history; 0: this one, before the recorder gave it a number.
  std::int64_t boot = 0;
  // Boot clock of that boot; absent where the log had no time.
  std::optional<Nanoseconds> at;
  // Since 1970, corrected by what was learnt of the clock later; absent where nobody knows.
  std::optional<Nanoseconds> wall;
  // Whether that clock was ever known to be right in that boot.
  bool wall_trusted = false;
  // How often, where several alike were kept as one; `until` is then the last's boot clock.
  std::uint64_t count = 1;
  std::optional<Nanoseconds> until;
};

// Whether two are of one kind and thing, and may be kept as one that was repeated. A process is
// killed once: another PID is another event.
inline bool are_alike(const EventRecord& a, const EventRecord& b) {
  return a.what == b.what && a.kind == b.kind && a.subject == b.subject &&
         (!a.kind.starts_with("oom_kill") || a.summary == b.summary);
}

}  // namespace jetmem
