// The text file for a node_exporter on this device: what /metrics says, written anew at intervals
// into its textfile directory, so that no port need be open.
//
//   loop ── page, when one is due ──▶ thread ──▶ jetmem.prom
//   web thread ── its own figures ──────▲
//
// The thread alone touches the directory, which may hang, be full or not be there: the loop never
// waits for it. What the file says is true or it is not there: when sampling stalls it says so and
// no more, when it cannot be written the old one is taken away, and so it is at the end.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/sample.h"
#include "daemon/page_box.h"
#include "daemon/program_figures.h"
#include "daemon/readiness.h"
#include "daemon/textfile_directory.h"
#include "report/exposition.h"

namespace jetmem {

struct TextfileOptions {
  std::string directory;
  Nanoseconds interval = std::chrono::seconds(15);
  // A write that takes longer than this hangs.
  Nanoseconds stuck_after = std::chrono::seconds(5);
};

class Textfile {
 public:
  // `clock` is the loop's; the thread has one of its own. `readiness` is the loop's, too.
  Textfile(TextfileOptions options, const Clock& clock, const Readiness& readiness, Log& log);
  ~Textfile();
  Textfile(const Textfile&) = delete;
  Textfile& operator=(const Textfile&) = delete;

  Result<void> start();
  // Where the web thread says its own figures, for the file to repeat them.
  const std::shared_ptr<WebTextBox>& web_text() const { return shared_->web_text; }

  // Each page, by the loop: copied where a new file is due. Tells the log what has changed.
  void round(const Page& page);
  void write(SampleWriter& out);
  std::uint64_t withheld() const { return log_.withheld(); }

  // The thread takes the file away and ends. Does not wait.
  void begin_stop();
  // False: it did not within `patience`, is stuck and left behind.
  bool finish(std::chrono::milliseconds patience);

 private:
  // What the two threads share. Outlives this object when its thread is stuck.
  struct Shared {
    TextfileOptions options;
    SystemClock clock;
    std::shared_ptr<WebTextBox> web_text = std::make_shared<WebTextBox>();

    // By the loop, each round: when the newest page was made, and how long it counts as true.
    std::atomic<std::int64_t> newest{0};
    std::atomic<std::int64_t> patience{0};
    std::atomic<bool> has_newest{false};
    // By the thread: it wrote that sampling stalls, so a page is wanted as soon as there is one.
    std::atomic<bool> wants_page{false};
    // Boot clock: when the write under way began, when the last that succeeded ended; negative:
    // none.
    std::atomic<std::int64_t> writing_since{-1};
    std::atomic<std::int64_t> last_success{-1};
    std::atomic<std::uint64_t> writes{0};
    std::atomic<std::uint64_t> bytes{0};
    std::array<std::atomic<std::uint64_t>, kTextfileFailures> failures{};
    std::atomic<std::uint64_t> changes{0};  // of `trouble` or `on_disk`

    std::mutex mutex;  // guards all below; never held while the directory is touched
    std::condition_variable changed;
    Page next;
    bool has_next = false;
    bool stopping = false;
    bool finished = false;
    std::string trouble;  // why the last write failed, or the file could not be taken away
    bool on_disk = false;
    std::size_t size = 0;  // of the last file
  };
  class Writer;
  static void run(const std::shared_ptr<Shared>& shared);
  void tell_changes(Nanoseconds now);

  std::shared_ptr<Shared> shared_;
  const Clock& clock_;
  const Readiness& readiness_;
  Log& unbounded_log_;  // for the last words
  ProgramLog log_;
  std::thread thread_;
  Nanoseconds due_{0};
  std::uint64_t changes_told_ = 0;
  std::string trouble_told_;
  bool told_once_ = false;
  bool disk_told_ = false;
  bool stuck_told_ = false;
};

std::span<const Descriptor> textfile_metrics();

}  // namespace jetmem
