#include "daemon/textfile.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/units.h"
#include "daemon/web_metrics.h"

namespace jetmem {
namespace {

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_textfile_writes_total",
               .type = MetricType::kCounter,
               .help = "Times that jetmem.prom was written into node_exporter's directory "
                       "(textfile.directory)."},
    Descriptor{.name = "jetmem_textfile_failures_total",
               .type = MetricType::kCounter,
               .help = "Times that it could not be written, by why: missing, there is no such "
                       "directory; denied, jetmemd may not write there; read_only, its file system "
                       "is; full; foreign, what lies there under that name is another user's or no "
                       "file; busy, another jetmemd writes there; other. The journal says more. "
                       "The old file is then taken away: it would no longer be true.",
               .labels = {"reason"},
               .max_series = kTextfileFailures},
    Descriptor{.name = "jetmem_textfile_written_bytes_total",
               .type = MetricType::kCounter,
               .help = "Bytes that were written there. On a disk they wear the flash; "
                       "docs/textfile.md says how to have the directory in memory."},
    Descriptor{.name = "jetmem_textfile_last_write_age_seconds",
               .help = "How long ago it was last written. Follows textfile.interval; absent before "
                       "the first time."},
    Descriptor{.name = "jetmem_textfile_stuck",
               .help = "1 while a write there has taken more than 5 seconds: its disk hangs, and "
                       "node_exporter serves what is old. Look at the kernel's log."},
};
enum Metric : std::size_t { kWrites, kFailures, kBytes, kAge, kStuck };

constexpr Nanoseconds kDay = std::chrono::hours(24);
// Within ten minutes: some troubles, each with its end.
constexpr int kLogEntries = 12;
// So that what is looked for then is so.
constexpr Nanoseconds kLittleLater = std::chrono::milliseconds(10);

}  // namespace

std::span<const Descriptor> textfile_metrics() { return kMetrics; }

// The thread's own: text and file.
class Textfile::Writer {
 public:
  explicit Writer(Shared& shared)
      : shared_(shared),
        directory_(shared.options.directory),
        section_(table_.add_section("textfile")) {}

  // `page` null: sampling stalls. Counts what comes of it; the words are the caller's.
  tl::expected<void, TextfileTrouble> write(const Page* page, Nanoseconds age) {
    text_.clear();
    if (page != nullptr) render_text(*page, text_);
    {
      SampleWriter out(table_, section_, Nanoseconds(0));
      write_page_age(out, age, page == nullptr);
    }
    fill_page(table_, Nanoseconds(0), 0, tail_);
    render_text(tail_, text_);
    text_.append(shared_.web_text->latest());
    auto done = directory_.write(text_);
    if (done) {
      ++shared_.writes;
      shared_.bytes += text_.size();
      shared_.last_success = shared_.clock.boot().count();
      return {};
    }
    const TextfileFailure why = done.error().failure;
    ++shared_.failures[static_cast<std::size_t>(why)];
    if (why == TextfileFailure::kForeign || why == TextfileFailure::kBusy) return done;
    if (const auto removed = directory_.remove(); !removed) {
      done.error().message += "; nor could the old file be taken away: " + removed.error().message;
    }
    return done;
  }

  TextfileDirectory& directory() { return directory_; }
  std::size_t size() const { return text_.size(); }

 private:
  Shared& shared_;
  TextfileDirectory directory_;
  SampleTable table_;
  std::size_t section_;
  Page tail_;
  std::string text_;
};

Textfile::Textfile(TextfileOptions options, const Clock& clock, const Readiness& readiness,
                   Log& log)
    : shared_(std::make_shared<Shared>()),
      clock_(clock),
      readiness_(readiness),
      unbounded_log_(log),
      log_(log, clock, "textfile", kLogEntries) {
  shared_->options = std::move(options);
  // Until the first page comes, its age is counted from here.
  shared_->newest = clock.boot().count();
  shared_->patience = readiness.patience().count();
}

Textfile::~Textfile() { finish(std::chrono::milliseconds(0)); }

Result<void> Textfile::start() {
  // Signals belong to the loop.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Result<void> done;
  try {
    thread_ = std::thread([shared = shared_] { run(shared); });
  } catch (const std::system_error& error) {
    done = fail(Errc::kIo, std::string("start the thread: ") + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return done;
}

void Textfile::run(const std::shared_ptr<Shared>& shared) {
  pthread_setname_np(pthread_self(), "jetmem-textfile");
  Writer writer(*shared);
  Page page;
  bool said_stalled = false;
  Nanoseconds said_at{0};
  // What became of it, for the loop to tell.
  const auto note = [&shared, &writer](const tl::expected<void, TextfileTrouble>& done) {
    std::string trouble = done ? std::string() : done.error().message;
    const bool on_disk = writer.directory().on_disk();
    shared->size = writer.size();
    const bool is_first = shared->writes == 1 && done;
    if (trouble == shared->trouble && on_disk == shared->on_disk && !is_first) return;
    shared->trouble = std::move(trouble);
    shared->on_disk = on_disk;
    ++shared->changes;
  };

  std::unique_lock lock(shared->mutex);
  // What one of us left who was killed is of then.
  shared->writing_since = shared->clock.boot().count();
  lock.unlock();
  const auto left = writer.directory().remove();
  lock.lock();
  shared->writing_since = -1;
  if (!left) note(left);
  while (!shared->stopping) {
    const Nanoseconds interval = shared->options.interval;
    const Nanoseconds patience(shared->patience);
    const Nanoseconds now = shared->clock.boot();
    const Nanoseconds age = std::max(Nanoseconds(0), now - Nanoseconds(shared->newest));
    const bool stalled = age > patience;
    const bool due = stalled ? !said_stalled || now - said_at >= interval : shared->has_next;
    if (stalled) {
      shared->has_next = false;
      shared->wants_page = true;
    }
    if (!due) {
      const Nanoseconds look = stalled ? said_at + interval - now : patience - age + kLittleLater;
      shared->changed.wait_for(lock, look, [&] { return shared->stopping || shared->has_next; });
      continue;
    }
    if (!stalled) std::swap(page, shared->next);
    shared->has_next = false;
    shared->writing_since = now.count();
    lock.unlock();
    const Nanoseconds shown_age = stalled ? age : std::max(Nanoseconds(0), now - page.taken);
    const auto done =
        writer.write(stalled ? nullptr : &page, shared->has_newest ? shown_age : Nanoseconds(-1));
    lock.lock();
    shared->writing_since = -1;
    said_stalled = stalled;
    said_at = now;
    note(done);
  }
  shared->writing_since = shared->clock.boot().count();
  lock.unlock();
  const auto removed = writer.directory().remove();
  lock.lock();
  shared->writing_since = -1;
  note(removed);
  shared->finished = true;
  shared->changed.notify_all();
}

void Textfile::round(const Page& page) {
  const Nanoseconds now = clock_.boot();
  shared_->newest.store(page.taken.count(), std::memory_order_relaxed);
  shared_->has_newest.store(true, std::memory_order_relaxed);
  shared_->patience.store(readiness_.patience().count(), std::memory_order_relaxed);
  if (now >= due_ || shared_->wants_page) {
    const Nanoseconds interval = shared_->options.interval;
    due_ = now - now % interval + interval;
    const std::lock_guard lock(shared_->mutex);
    shared_->next = page;
    shared_->has_next = true;
    shared_->wants_page = false;
    shared_->changed.notify_all();
  }
  tell_changes(now);
}

void Textfile::tell_changes(Nanoseconds now) {
  const std::int64_t since = shared_->writing_since;
  const bool stuck = since >= 0 && now - Nanoseconds(since) > shared_->options.stuck_after;
  const std::string& directory = shared_->options.directory;
  if (stuck != std::exchange(stuck_told_, stuck)) {
    if (stuck) {
      log_.say(LogLevel::kError,
               "textfile: a write to " + directory +
                   " takes more than 5 s, its disk may hang; until it ends node_exporter serves "
                   "what is old");
    } else {
      log_.say(LogLevel::kInfo, "textfile: the write to " + directory + " has ended");
    }
  }
  const std::uint64_t changes = shared_->changes;
  if (changes == std::exchange(changes_told_, changes)) return;
  std::string trouble;
  bool on_disk = false;
  std::size_t size = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    trouble = shared_->trouble;
    on_disk = shared_->on_disk;
    size = shared_->size;
  }
  if (trouble != trouble_told_ || !told_once_) {
    trouble_told_ = trouble;
    if (!trouble.empty()) {
      log_.say(LogLevel::kError,
               "textfile: " + trouble + "; tried again every " +
                   format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(
                       shared_->options.interval)));
    } else {
      log_.say(LogLevel::kInfo, std::string("textfile: ") + TextfileDirectory::kName +
                                    (told_once_ ? " is written again to " : " is written to ") +
                                    directory);
    }
    told_once_ = true;
  }
  if (trouble.empty() && on_disk && !std::exchange(disk_told_, true)) {
    const auto a_day = static_cast<std::uint64_t>(kDay / shared_->options.interval) * size;
    log_.say(LogLevel::kWarning,
             "textfile: " + directory + " is on a disk: up to " +
                 std::to_string(a_day / 1'000'000) +
                 " MB a day are written to it, which wears flash; docs/textfile.md says how to "
                 "have it in memory");
  }
}

void Textfile::write(SampleWriter& out) {
  const auto put = [&out](Metric metric, std::uint64_t value, auto... labels) {
    out.put(kMetrics[metric], static_cast<double>(value), labels...);
  };
  put(kWrites, shared_->writes);
  for (std::size_t i = 0; i < kTextfileFailures; ++i) {
    put(kFailures, shared_->failures[i], textfile_failure_name(static_cast<TextfileFailure>(i)));
  }
  put(kBytes, shared_->bytes);
  const Nanoseconds now = clock_.boot();
  if (const Nanoseconds last(shared_->last_success); last >= Nanoseconds(0)) {
    out.put(kMetrics[kAge], to_seconds(std::max(Nanoseconds(0), now - last)));
  }
  const std::int64_t since = shared_->writing_since;
  put(kStuck, since >= 0 && now - Nanoseconds(since) > shared_->options.stuck_after ? 1 : 0);
}

void Textfile::begin_stop() {
  const std::lock_guard lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
}

bool Textfile::finish(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return true;
  begin_stop();
  std::unique_lock lock(shared_->mutex);
  const bool done = shared_->changed.wait_for(lock, patience, [&] { return shared_->finished; });
  const std::string trouble = shared_->trouble;
  lock.unlock();
  const std::string file = shared_->options.directory + "/" + TextfileDirectory::kName;
  if (done) {
    thread_.join();
    if (!trouble.empty() && trouble != trouble_told_) {
      unbounded_log_.error("textfile: " + file + " could not be taken away: " + trouble +
                           "; node_exporter goes on serving what is old");
    }
  } else {
    thread_.detach();
    unbounded_log_.error("textfile: " + file +
                         " could not be taken away in time, its disk may hang; "
                         "node_exporter may go on serving what is old");
  }
  return done;
}

}  // namespace jetmem
