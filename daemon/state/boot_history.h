// SPDX-License-Identifier: Apache-2.0
// Keeps the history of boots (collectors/device/boot/history.h) over restarts of jetmemd and of the
// device, watches what is compared from boot to boot, and logs why the device restarted.
//
// Written at a start, at a clean stop, once a minute at most when something changed, and every 15
// minutes as a sign of life: half a kilobyte each on a new device, 24 KB once the lists are full,
// so 2.3 MB a day. Starts of a crash loop count as something that changed; in the meantime they are
// counted in memory (collectors/device/boot/starts.h).
//
// The disk is read and written on threads of their own. Where it does not answer at the start, the
// daemon runs without its history until it does.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "collectors/device/boot/source.h"
#include "daemon/state/disk_question.h"
#include "daemon/state/state_directory.h"
#include "daemon/state/state_writer.h"

namespace jetmem {

struct BootHistoryOptions {
  // systemd's STATE_DIRECTORY; empty: nothing is kept.
  std::string directory;
  std::optional<std::string> boot_id;
  std::string settings;  // a digest of those in force
  std::string version;
  std::function<void()> before_reading;  // for tests: a disk that is slow
  // systemd's RUNTIME_DIRECTORY, for the times of starts; empty: they are not known.
  std::string runtime_directory{};
  // Of each mark that is new.
  std::function<void(const boot::Mark&)> on_mark{};
};

class BootHistory {
 public:
  static constexpr std::chrono::minutes kSignOfLife{15};
  // How long a start waits for the disk; the history comes later then.
  static constexpr std::chrono::milliseconds kStartTimeout{1000};

  BootHistory(BootHistoryOptions options, const Clock& clock, Log& log);

  // Asks for what was, and begins this run if it comes in time. To be called once.
  void start();
  // What the boot source read.
  void observe(const BootFacts& facts);
  void set_settings(const std::string& digest);
  // Every ten seconds or so: new marks, the sign of life, late reports, the wall clock. True
  // when there is something new to show.
  bool cycle();
  // Marks set since the last look; before finish(), while the recorder still takes them.
  void take_last_marks();
  // The last word: on the disk when this returns, or given up.
  void finish(boot::RunEnd how);

  bool keeps() const { return writer_ != nullptr; }
  BootHistoryView view() const;
  const boot::History& history() const { return history_; }
  // The marks file, as it was read last.
  const std::string& marks_text() const { return marks_text_; }
  // Whether something is still to be written, and what was.
  bool waits() const { return writer_ && writer_->waits(); }
  StateWriter::Counts writes() const { return writer_->counts(); }

 private:
  void note_start();
  void count_start();
  void keep_starts();
  bool begin(std::chrono::milliseconds timeout);
  bool begin_run();
  void note(boot::What what, const std::string& value);
  void note_crash(const BootFacts& facts);
  bool read_new_marks(std::chrono::milliseconds timeout);
  bool read_marks(MarksState snapshot, bool at_start);
  void take_marks(const boot::Marks& marks, bool at_start);
  void log_restart();
  bool log_problem();
  bool follow_clock();
  bool check_clock();
  void set_moments();
  void save();
  boot::Moment now() const;
  std::string path(std::string_view file) const;

  BootHistoryOptions options_;
  const Clock& clock_;
  Log& log_;
  std::unique_ptr<StateWriter> writer_;
  DiskQuestion<StateFound> first_;
  DiskQuestion<MarksState> marks_;
  bool begun_ = false;  // the history is known, and has this run
  boot::History history_;
  std::optional<boot::Starts> starts_;
  // By What: what was known last, in this boot or before.
  std::array<std::string, boot::kWhats> known_;
  bool is_new_ = true;          // no history before this run
  bool ended_unclean_ = false;  // the run before, in this boot
  bool logged_ = false;         // by this run
  bool dirty_ = false;          // there is more to keep than was
  bool write_failing_ = false;
  std::uint64_t handled_failures_ = 0;
  std::uint64_t bad_files_ = 0;
  std::uint64_t bad_marks_ = 0;
  std::optional<std::string> marks_error_;
  std::string marks_text_;
  MarksSeen marks_seen_;
  std::vector<boot::Mark> acknowledged_;
  Nanoseconds started_{0};
  Nanoseconds saved_{0};
  Nanoseconds wall_offset_{0};
};

}  // namespace jetmem
