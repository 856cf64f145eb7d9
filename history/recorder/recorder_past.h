// SPDX-License-Identifier: Apache-2.0
// The past as the recorder knows it: what its file has and, newer than that, what still waits in
// memory. For one thread at a time, which is not the loop; only unread() is for all.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "history/history.h"
#include "history/recorder/recorder_thread.h"
#include "history/recorder/waiting.h"
#include "history/recorder/waiting_events.h"
#include "history/store/store.h"

namespace jetmem {

class RecorderPast final : public History {
 public:
  struct Options {
    std::string file;     // empty: there is none
    std::string no_file;  // why
    std::string boot_id;
    Nanoseconds raw_step{0};
  };
  // All of them are to outlive it.
  RecorderPast(Options options, const Waiting& steps, const WaitingEvents& events,
               std::shared_ptr<const RecorderNow> now);

  Result<std::vector<SeriesKnown>> series(std::string_view family) override;
  Result<SeriesPast> past(const SeriesQuery& requested) override;
  Result<std::vector<std::pair<std::string, double>>> at(Nanoseconds wall,
                                                         Nanoseconds timeout) override;
  Result<EventsPast> events(const EventsQuery& requested) override;
  Result<HistoryFacts> facts() override;
  Nanoseconds now(Nanoseconds wall, Nanoseconds boot) override;

  // Queries that could not read the file, and the reason of the last one.
  std::uint64_t unread() const { return unread_.load(std::memory_order_relaxed); }
  std::string unread_reason() const;

 private:
  // How what waits is placed: as the file places its boot, so that both are one past.
  struct Placed {
    std::int64_t boot = 0;
    Nanoseconds offset{0};
    bool trusted = false;
    std::optional<Nanoseconds> until;  // what the file has of it
  };
  // Null where the file cannot be asked now; then trouble_ says why, and is_missing_ whether there
  // is a past that is not shown for it.
  HistoryStore* store();
  void set_error(const Error& error);
  void count_unread();
  tl::unexpected<Error> error() const;
  Placed placed(const std::optional<HistoryStore::BootState>& state) const;
  Placed placed(HistoryStore*& file);
  std::vector<HistoryPoint> points_of(const std::vector<Waiting::Block>& blocks,
                                      const SeriesQuery& requested, Resolution resolution,
                                      const Placed& placed, bool& is_counter) const;
  std::optional<std::int64_t> events_before(HistoryStore*& file);

  const Options options_;
  const Waiting& steps_;
  const WaitingEvents& events_;
  const std::shared_ptr<const RecorderNow> now_;
  std::unique_ptr<HistoryStore> store_;
  std::uint64_t store_device_ = 0;
  std::uint64_t store_inode_ = 0;
  std::string problem_;
  Errc error_code_ = Errc::kUnavailable;
  bool is_missing_ = false;
  bool is_counting_ = true;
  std::atomic<std::uint64_t> unread_{0};
  mutable std::mutex unread_mutex_;  // never held for longer than a copy takes
  std::string unread_reason_;
};

}  // namespace jetmem
