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
  // Of a log that was read as text: its date or other time, as printed there; else empty.
  std::string printed_time;
  // Since 1970, corrected by what was learnt of the clock later; absent where nobody knows.
  std::optional<Nanoseconds> wall;
  // Whether that clock was ever known to be right in that boot.
  bool wall_trusted = false;
  // How often, where several alike were kept as one; `until` is then the last's boot clock.
  std::uint64_t count = 1;
  std::optional<Nanoseconds> until;

  // From the first to the last of them.
  Nanoseconds lasted() const { return at && until && *until > *at ? *until - *at : Nanoseconds(0); }
  // Of the last of them.
  std::optional<Nanoseconds> last_wall() const {
    return wall ? std::optional(*wall + lasted()) : std::nullopt;
  }
  std::optional<Nanoseconds> last_at() const { return until ? until : at; }
};

// Whether two are the same message about the same thing, and may be kept as one that was repeated:
// only addresses, sizes and durations may differ in their sentences. A process is killed once:
// another PID is another event.
bool are_alike(const EventRecord& a, const EventRecord& b);

// Whether an event itself counts something.
bool adds_up(const EventRecord& record);
// What an event itself counts (messages that the kernel suppressed) is added up where `more` is
// kept as a repetition of `record`. False: it counts nothing.
bool add_amounts(EventRecord& record, const EventRecord& more);

}  // namespace jetmem
