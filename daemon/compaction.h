// Has memory compacted when it is fragmented, where the settings say so: while
// JetmemBuddyFragmented fires, and no more often than they allow, restarts of the daemon included.
//
// The daemon may not do it itself: a unit of root's behind a socket does (jetmem-compact.socket),
// and answers with what it brought. Compaction stalls whoever allocates meanwhile, cameras first,
// so nothing is done where it is not known that it is time: an alert whose source went blind asks
// for none, and when the last one was must be known.
#pragma once

#include <systemd/sd-event.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/sample.h"
#include "base/snapshot.h"
#include "base/spawn.h"
#include "config/settings.h"
#include "daemon/child_output.h"
#include "daemon/program_figures.h"
#include "health/compaction_report.h"
#include "health/rules/transition.h"

namespace jetmem {

struct CompactionOptions {
  // Memory, and kept over a restart. Empty: nothing is kept, and each start counts as a compaction.
  std::string runtime_directory{};
  std::string boot_id{};
  // Whether a probe of jetmem's runs, which would measure the stall. Empty: not known.
  std::function<bool()> probe_runs{};
  Nanoseconds deadline = std::chrono::minutes(2);
  Nanoseconds look = std::chrono::seconds(10);        // whether that probe has ended
  Nanoseconds first_pause = std::chrono::minutes(1);  // after one that could not be asked for
};

class Compaction {
 public:
  static constexpr std::string_view kAlert = "JetmemBuddyFragmented";
  static constexpr std::size_t kMaxSeries = 64;

  Compaction(const Clock& clock, Spawner& spawner, Log& log, CompactionOptions options);
  ~Compaction();
  Compaction(const Compaction&) = delete;
  Compaction& operator=(const Compaction&) = delete;

  // To be called once. Nothing is done before, but what is told before is not forgotten.
  Result<void> start(sd_event* event);
  void apply(const AlertsSettings& settings);
  // Every change of every alert. What fires already when the daemon starts is told as firing.
  void tell(const Transition& transition);
  // The rules are others now: what fires is told anew.
  void forget();
  void stop(std::string_view why = "it is switched off now");

  // Nothing while it is off.
  void write(SampleWriter& out) const;
  std::uint64_t withheld() const { return log_.withheld(); }

 private:
  enum class Outcome : std::uint8_t { kOk, kNotStarted, kFailed, kTimeout, kGarbage };
  static constexpr std::size_t kOutcomes = 5;
  enum class Skip : std::uint8_t { kInterval, kProbe, kNotKept };
  static constexpr std::size_t kSkips = 3;
  static constexpr std::array<std::string_view, kOutcomes> kOutcomeNames{
      "ok", "not_started", "failed", "timeout", "garbage"};
  static constexpr std::array<std::string_view, kSkips> kSkipNames{"interval", "probe_running",
                                                                   "not_kept"};

  static int on_step(sd_event_source*, std::uint64_t, void* self);
  static int on_deadline(sd_event_source*, std::uint64_t, void* self);
  void restore();
  Result<void> keep() const;
  bool wanted() const { return settings_.compact && !firing_.empty(); }
  // Nothing: at once.
  std::optional<Nanoseconds> next_at() const;
  void step();
  void arm();
  void say_if_too_soon();
  void compact();
  Result<void> connect();
  void on_output(std::string_view bytes);
  void on_end();
  void end(Outcome outcome, const std::string& how);
  void tell_report();
  void skip(Skip why, const std::string& words);
  void set_timer(sd_event_source* timer, std::optional<Nanoseconds> from_now);

  const Clock& clock_;
  CompactionOptions options_;
  ProgramLog log_;
  ChildOutput child_;
  Backoff backoff_;
  AlertsSettings settings_;
  std::string state_file_;
  sd_event_source* step_timer_ = nullptr;
  sd_event_source* deadline_timer_ = nullptr;

  using Labels = std::vector<std::pair<std::string, std::string>>;
  std::vector<Labels> firing_;
  std::optional<Nanoseconds> last_;        // boot clock: when one was asked for
  std::optional<Nanoseconds> not_before_;  // likewise, after one that could not be, or a skip
  std::optional<Skip> skipping_;
  ByteBuffer text_;

  std::optional<CompactionReport> report_;  // of the last one
  std::array<std::uint64_t, kOutcomes> outcomes_{};
  std::array<std::uint64_t, kSkips> skips_{};
};

std::span<const Descriptor> compaction_metrics();

}  // namespace jetmem
