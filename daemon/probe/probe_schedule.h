// SPDX-License-Identifier: Apache-2.0
// When which group of probes is tried. A pure value, as Schedule is: a test drives it with any
// clock.
//
// The source's interval comes from the daemon's schedule; here is what is put on top of it: a
// first time that leaves a boot alone, jitter, so that a fleet does not probe in step, and pauses
// after failures and after probes that made the driver complain.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/process/child_process.h"
#include "probes/gates.h"

namespace jetmem {

struct ProbeScheduleOptions {
  // After the daemon's start, each with up to its spread on top. A daemon that crashes in a loop
  // makes no contexts.
  Nanoseconds first_memory = std::chrono::seconds(20);
  Nanoseconds first_memory_spread = std::chrono::seconds(20);
  Nanoseconds first_cuda = std::chrono::minutes(5);
  Nanoseconds first_cuda_spread = std::chrono::minutes(5);
  // The limit of the jitter, which is also at most a tenth of the interval.
  Nanoseconds most_jitter = std::chrono::seconds(30);
  // The pause after the settings were read again, and the least pause between two runs.
  Nanoseconds after_reload = std::chrono::seconds(1);
  Nanoseconds between_runs = std::chrono::seconds(5);
  // From 0 to 1; empty: chance.
  std::function<double()> random;
};

class ProbeSchedule {
 public:
  explicit ProbeSchedule(ProbeScheduleOptions options);

  // The daemon starts. All times are the boot clock's.
  void begin(Nanoseconds now);
  void set(Nanoseconds interval, bool cuda, Nanoseconds cuda_interval);
  // The source is due.
  void due(Nanoseconds now);
  // The settings changed, and whoever changed them waits for the result: runs soon and drops the
  // rest of a pause.
  void soon(Nanoseconds now);
  void cancel() { at_.reset(); }

  // What a restart of the daemon must not forget. Nothing in it need be true.
  struct Saved {
    struct Group {
      std::optional<Nanoseconds> last;
      Nanoseconds pause{0};    // in force
      Nanoseconds failure{0};  // the one after the last failure; 0: it was none

      bool operator==(const Group&) const = default;
    };
    std::array<Group, kProbeGroups> groups;
    std::uint64_t doublings = 0;

    bool operator==(const Saved&) const = default;
  };
  Saved save() const;
  // After begin(). A daemon that dies again and again probes at most as often as one that keeps
  // running: each group waits for its interval, whatever the first times say.
  void restore(const Saved& saved, Nanoseconds now);

  // When a cycle is to begin: first memory, then CUDA if it wants.
  std::optional<Nanoseconds> next() const { return at_; }
  // Whether it begins now; only once each.
  bool begin_cycle(Nanoseconds now);
  bool wants(ProbeGroup group, Nanoseconds now) const;
  // Left out for its pause, not for its interval.
  bool pauses(ProbeGroup group, Nanoseconds now) const;

  void started(ProbeGroup group, Nanoseconds now);
  void succeeded(ProbeGroup group, Nanoseconds now);
  // How long it is left alone now.
  Nanoseconds failed(ProbeGroup group, Nanoseconds now);
  // Whether the kernel's log had something to say of a run with CUDA. True when the interval
  // changed by it.
  bool complained(bool complaints);

  bool cuda() const { return cuda_; }
  // In force, with what pauses add.
  Nanoseconds interval(ProbeGroup group) const;
  // As set, without pauses and doublings: results are worth three of these.
  Nanoseconds set_interval(ProbeGroup group) const;

 private:
  struct Group {
    std::optional<Nanoseconds> last;  // its last start, or its end if it failed
    Nanoseconds pause{0};             // after a failure
    Nanoseconds failure{0};           // what the backoff said last
    bool restored = false;            // `last` was another daemon's
    Backoff backoff;
  };
  const Group& of(ProbeGroup group) const { return groups_[static_cast<std::size_t>(group)]; }
  Group& of(ProbeGroup group) { return groups_[static_cast<std::size_t>(group)]; }
  double random() const { return options_.random(); }

  ProbeScheduleOptions options_;
  Nanoseconds interval_ = std::chrono::minutes(5);
  bool cuda_ = true;
  Nanoseconds cuda_interval_ = std::chrono::hours(1);
  unsigned doublings_ = 0;
  std::array<Group, kProbeGroups> groups_;
  Nanoseconds first_memory_{0};
  Nanoseconds first_cuda_{0};
  Nanoseconds last_end_{0};
  std::optional<Nanoseconds> at_;
};

}  // namespace jetmem
