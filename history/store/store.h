// SPDX-License-Identifier: Apache-2.0
// The recorder's database: one SQLite file in WAL mode, bounded in bytes.
//
//   boots    number, boot id, and what is known of its wall clock
//   series   number, durable name, whether it is a counter
//   chunks   a stretch of steps of one boot and resolution: when its steps were (boot clock)
//   columns  of a chunk and series: its values, compressed (history/format/column.h)
//   events   EventRecord, row by row
//
// Rows of a chunk lie together, so that writing one touches few pages of the flash; minutes and
// quarters are made of what is stored, so that a restart loses none of them.
//
// Everything here waits for the disk: on the recorder's thread, or in a command. A store is for one
// thread at a time; several stores may have the same file open, and asking never waits for writing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "history/event_record.h"
#include "history/history.h"

namespace jetmem {

// How good the wall clock is at a moment.
enum class WallTrust : std::uint8_t {
  kUnset,      // before jetmem was built: nobody has set it
  kPlausible,  // set, and not known to be synchronised
  kSynced,     // the kernel says that it is synchronised (adjtimex)
};

struct WallSeen {
  Nanoseconds at{0};      // boot clock
  Nanoseconds offset{0};  // wall clock less boot clock
  WallTrust trust = WallTrust::kUnset;
};

// A stretch of raw steps, as the recorder took them.
struct RawChunk {
  struct Column {
    std::string_view key;
    bool is_counter = false;
    // One for each step; NaN: the series had no value then.
    std::span<const double> values;
  };
  std::vector<Nanoseconds> steps;  // boot clock, ascending
  std::vector<Column> columns;
};

class HistoryStore {
 public:
  static constexpr std::int64_t kSchema = 2;
  // Steps of one chunk, and series of one.
  static constexpr std::size_t kMaxSteps = 4096;
  static constexpr std::size_t kMaxColumns = 4096;

  struct Options {
    std::string file;
    std::uint64_t max_bytes = 64U << 20;  // file, WAL and all
    Nanoseconds raw_step = std::chrono::seconds(10);
    Nanoseconds keep_raw = std::chrono::hours(6);
    Nanoseconds keep_minutes = std::chrono::hours(72);
    Nanoseconds keep_quarters = std::chrono::hours(24 * 60);
    Nanoseconds keep_events = std::chrono::hours(24 * 60);
  };

  // What opening had to do, for the log: a damaged file set aside.
  struct Opened {
    std::unique_ptr<HistoryStore> store;
    std::vector<std::string> messages;
    bool quarantine = false;
  };
  // Opens for writing, makes the file where there is none. A file that is no database or is damaged
  // is set aside (FILE.damaged-N, at most two kept, within max_bytes), one of a newer schema too
  // (FILE.newer-N, never taken away again), and a new one begun. Errors: the directory cannot be
  // written, the disk is full, what stands there is no regular file.
  static Result<Opened> open(Options options);
  // Only to ask; never makes or repairs anything. Errors: none there, none of ours, damaged.
  static Result<std::unique_ptr<HistoryStore>> open_to_read(const std::string& file);

  ~HistoryStore();
  HistoryStore(const HistoryStore&) = delete;
  HistoryStore& operator=(const HistoryStore&) = delete;

  // What write() and tidy() did to the file since the last call, for the log: as Opened::messages.
  std::vector<std::string> take_messages();
  // Files set aside since opening, and then.
  std::uint64_t quarantine() const;

  // The number of the boot with this id, made where it is new.
  Result<std::int64_t> begin_boot(std::string_view boot_id, const WallSeen& wall);
  // What was seen of the boot's clock: a better or later look corrects every time of that boot.
  Result<void> record_wall_clock(std::int64_t boot, const WallSeen& wall);

  // Events keep their ids where these are greater than all before; 0: the next free one.
  // Committed, and safe from a loss of power, when it returns. Errors: nothing of it was written,
  // and what was committed before stays. kTooLarge: no space left, or none within max_bytes;
  // kDenied; kMalformed: damaged, and the next write sets the file aside and begins a new one;
  // kUnavailable: somebody else holds the file; kIo. A file that was deleted or replaced meanwhile
  // is begun anew. Steps from before what minutes were already made of stay raw and go with it.
  Result<void> write(std::int64_t boot, const RawChunk* chunk, std::span<const EventRecord> events);
  // Makes minutes and quarters of what is due, drops what is too old or beyond max_bytes. `now` as
  // write()'s. Bounded work a call; true: there is more to do.
  Result<bool> tidy(std::int64_t boot, Nanoseconds boot_now);

  // A boot as the file has it: what is younger than it knows fits to it so.
  struct BootState {
    std::int64_t number = 0;
    Nanoseconds offset{0};  // wall clock less boot clock, as everything of this boot is placed
    bool trusted = false;
    std::optional<Nanoseconds> until;  // the newest step of it that is stored
  };
  // Nothing where the boot was not begun in this file.
  Result<std::optional<BootState>> boot_state(std::string_view boot_id);
  // What a recorder that starts needs of earlier ones.
  struct Resume {
    std::int64_t last_event = 0;              // the greatest id ever given
    std::optional<Nanoseconds> kernel_until;  // the boot's last event of the kernel's log
  };
  Result<Resume> resume(std::int64_t boot);
  Result<std::int64_t> last_event();

  // As History. `of_boot`: where it is given, boot_state() at the moment of the answer.
  struct WindowStateQuery {
    std::string boot_id;
    std::optional<BootState> state;
  };
  Result<std::vector<SeriesKnown>> series(std::string_view family);
  Result<SeriesPast> past(const SeriesQuery& requested, WindowStateQuery* of_boot = nullptr);
  Result<std::vector<std::pair<std::string, double>>> at(Nanoseconds wall, Nanoseconds timeout);
  Result<EventsPast> events(const EventsQuery& requested);
  Result<HistoryFacts> facts();

  // File, WAL and its index, and what was set aside.
  std::uint64_t bytes() const;
  // Windows of which not all series were rolled up, since opening: there were too many.
  std::uint64_t windows_cut() const;
  // "ok", or what PRAGMA integrity_check finds.
  std::string check();

  struct Connection;  // history/store/store_connection.h, for this room only

 private:
  explicit HistoryStore(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

// A History over a file that somebody else may have made: each question is answered by a child
// process with bounds on its time and memory (base/process/bounded_child.h). Once one was reached,
// every further question is refused. Errors call the file `shown`.
std::unique_ptr<History> bounded_history(std::string file, std::string shown);

}  // namespace jetmem
