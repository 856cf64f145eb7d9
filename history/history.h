// SPDX-License-Identifier: Apache-2.0
// The past: queries of the recorder's database, whoever answers them (the file itself, the daemon
// over its API, what still waits in memory).
//
// Time here is the wall clock in nanoseconds since 1970, as it is known now: what was recorded
// under a clock that was wrong then is given at the time it really was, once the clock was right
// later in the same boot. Within a boot the order is that of the boot clock, always.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "history/event_record.h"

namespace jetmem {

// raw: each step of the recorder (10 s); minute and quarter (15 minutes): least, mean and greatest
// of what was seen in it.
enum class Resolution : std::uint8_t { kRaw, kMinute, kQuarter };
// "raw", "1m", "15m".
std::string_view resolution_name(Resolution resolution);
std::optional<Resolution> resolution_named(std::string_view name);
Nanoseconds resolution_step(Resolution resolution, Nanoseconds raw_step);

struct HistoryPoint {
  Nanoseconds wall{0};  // the step's moment; of a roll-up: its begin
  Nanoseconds boot_time{0};
  std::int64_t boot = 0;
  bool wall_trusted = false;
  Resolution resolution = Resolution::kRaw;
  std::uint32_t count = 1;  // values behind it
  double min = 0;
  double average = 0;
  double max = 0;
};

struct SeriesQuery {
  std::string key;  // the durable name (metrics/series_key.h)
  Nanoseconds from{0};
  Nanoseconds to{0};
  // Absent: the finest that still reaches back to `from`.
  std::optional<Resolution> resolution;
  std::size_t most = 10'000;  // points; more than that and the coarser resolution is taken
};

struct SeriesPast {
  std::string key;
  bool is_counter = false;
  std::vector<HistoryPoint> points;  // oldest first
  bool cut = false;                  // `most` was reached even so; the newest are there
  std::string problem;  // why part of the past is missing: the file could not be asked; else empty
};

struct SeriesKnown {
  std::string key;
  bool is_counter = false;
  Nanoseconds first{0};  // wall
  Nanoseconds last{0};
};

struct EventsQuery {
  std::optional<Nanoseconds> from;  // wall
  std::optional<Nanoseconds> to;
  std::optional<EventWhat> what;
  std::vector<std::string> kinds;      // any of; empty: all
  std::optional<std::int64_t> before;  // only ids below: the next page of newest_first
  std::size_t most = 500;

  // Of kind and time: `when` of an event without a time of its own is when it was written.
  bool wants(const EventRecord& event, std::optional<Nanoseconds> when) const;
};

struct EventsPast {
  std::vector<EventRecord> events;  // newest first
  bool more = false;                // there are older ones that match
  std::string problem;              // as SeriesPast
  std::int64_t boot = 0;            // this one's number; 0: not known
};

struct BootKnown {
  std::int64_t number = 0;  // growing
  std::string boot_id;
  std::optional<Nanoseconds> first_wall;
  std::optional<Nanoseconds> last_wall;
  bool wall_trusted = false;
};

struct HistoryFacts {
  std::string location;  // the file, or the daemon's address
  std::uint64_t bytes = 0;
  std::uint64_t series = 0;
  std::uint64_t events = 0;
  std::optional<Nanoseconds> oldest;  // wall, of any resolution
  std::optional<Nanoseconds> newest;
  Nanoseconds raw_step{0};
  std::int64_t schema = 0;
  std::vector<BootKnown> boots;  // oldest first
  std::string problem;  // why part of it is missing: "set aside as damaged: ..."; empty: it is not
};

class History {
 public:
  virtual ~History() = default;

  // Series whose metric name is `family`, or all of them when it is empty: the first kMostSeries by
  // name.
  static constexpr std::size_t kMostSeries = 32768;
  virtual Result<std::vector<SeriesKnown>> series(std::string_view family) = 0;
  // A series that was never recorded has no points and is no error.
  virtual Result<SeriesPast> past(const SeriesQuery& requested) = 0;
  // Each series' last value at or before `wall`, not older than `patience`, of the resolution that
  // reaches back so far: {key, value}. Of a roll-up it is the mean; of a counter or a state (of an
  // alert, of pressure) the maximum; a name (a PID) that changed within it is absent.
  virtual Result<std::vector<std::pair<std::string, double>>> at(Nanoseconds wall,
                                                                 Nanoseconds timeout) = 0;
  virtual Result<EventsPast> events(const EventsQuery& requested) = 0;
  virtual Result<HistoryFacts> facts() = 0;
  // What this history's own clock shows where the device's shows `wall`, `boot` after its boot.
  // They differ where the clock was set back below an earlier boot, or forward after it was
  // synchronised.
  virtual Nanoseconds now(Nanoseconds wall, Nanoseconds boot) {
    static_cast<void>(boot);
    return wall;
  }
};

}  // namespace jetmem
