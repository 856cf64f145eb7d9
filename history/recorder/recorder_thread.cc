// SPDX-License-Identifier: Apache-2.0
#include "history/recorder/recorder_thread.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/root/small_file.h"
#include "base/text/text.h"
#include "base/unique_fd.h"

namespace jetmem {
namespace {

// About the most that a write of half an hour takes.
constexpr std::uint64_t kNeededBytes = 512 << 10;
// Tidying after one job; the rest follows the next.
constexpr int kTidySteps = 1000;
constexpr std::size_t kMaxReported = 16;

Nanoseconds mono_now() { return SystemClock().mono(); }

// Bytes that this thread passed to write(2) and the like, as the kernel counts them.
std::optional<std::uint64_t> bytes_received() {
  char buffer[256];
  Lines lines(read_once("/proc/thread-self/io", buffer));
  for (std::string_view line; lines.next(line);) {
    if (take_prefix(line, "wchar:")) return take_u64(line);
  }
  return std::nullopt;
}

std::uint64_t since(std::optional<std::uint64_t> before) {
  const auto now = bytes_received();
  return now && before && *now > *before ? *now - *before : 0;
}

// The file as the thread holds it.
struct SharedOwner {
  HistoryStore::Options options;
  std::string boot_id;
  std::shared_ptr<RecorderNow> now;
  std::unique_ptr<HistoryStore> store;
  std::int64_t boot = 0;
  // Of the events of this boot's kernel log that were recorded before this start.
  std::optional<Nanoseconds> known_until;
  bool is_resumed = false;

  std::uint64_t aside = 0;  // of the store's count, taken

  Result<void> open(const WallSeen& wall, RecorderThread::Outcome& outcome);
  void take_messages(std::vector<std::string>& messages, std::uint64_t& quarantine);
  Result<void> write(const RecorderThread::Job& job, RecorderThread::Outcome& outcome);
};

Result<void> SharedOwner::open(const WallSeen& wall, RecorderThread::Outcome& outcome) {
  if (store) return {};
  auto opened = HistoryStore::open(options);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  outcome.messages.insert(outcome.messages.end(), opened->messages.begin(), opened->messages.end());
  if (opened->quarantine) ++outcome.quarantine;
  auto number = opened->store->begin_boot(boot_id, wall);
  if (!number) return tl::unexpected(std::move(number.error()));
  store = std::move(opened->store);
  aside = store->quarantine();
  boot = *number;
  now->boot.store(boot);
  if (is_resumed) return {};
  const auto resume = store->resume(boot);
  if (!resume) {
    store.reset();
    return tl::unexpected(resume.error());
  }
  is_resumed = true;
  known_until = resume->kernel_until;
  now->events_before.store(resume->last_event);
  return {};
}

void SharedOwner::take_messages(std::vector<std::string>& messages, std::uint64_t& quarantine) {
  for (std::string& line : store->take_messages()) {
    if (messages.size() < kMaxReported) messages.push_back(std::move(line));
  }
  quarantine += store->quarantine() - aside;
  aside = store->quarantine();
}

Result<void> SharedOwner::write(const RecorderThread::Job& job, RecorderThread::Outcome& outcome) {
  if (auto ok = open(job.wall, outcome); !ok) return ok;
  if (auto ok = store->record_wall_clock(boot, job.wall); !ok) return ok;
  RawChunk chunk;
  if (job.block) {
    const WaitingBlock& block = *job.block;
    const std::size_t steps = block.steps();
    const std::size_t series = block.series();
    for (std::size_t i = 0; i < steps; ++i) chunk.steps.push_back(block.at(i));
    chunk.columns.reserve(series);
    for (std::size_t i = 0; i < series; ++i) {
      const WaitingBlock::Column& column = block.column(i);
      chunk.columns.push_back({column.key, column.is_counter, {column.values.data(), steps}});
    }
  }
  std::vector<EventRecord> events;
  events.reserve(job.events.size());
  for (const WaitingEvents::Each& each : job.events) {
    auto record = WaitingEvents::unknown_of(each, known_until);
    if (!record) continue;
    record->boot = boot;
    record->id = now->events_before.load() + static_cast<std::int64_t>(each.number);
    events.push_back(std::move(*record));
  }
  if (!job.block && events.empty()) return {};
  return store->write(boot, job.block ? &chunk : nullptr, events);
}

}  // namespace

bool RecorderNow::disk_hangs() const {
  const std::int64_t since = busy_since.load();
  return since != 0 && mono_now().count() - since > Nanoseconds(disk_timeout).count();
}

struct RecorderThread::Shared : WorkerThread::Shared {
  HistoryStore::Options options;
  std::string boot_id;
  std::shared_ptr<RecorderNow> now;
  DiskCheck snapshot;
  std::optional<Job> job;
  bool working = false;
  std::optional<Outcome> outcome;
  File file;
};

Result<void> RecorderThread::check_disk(const std::string& file) {
  const std::string directory = file.substr(0, file.rfind('/'));
  struct statvfs found {};
  if (::statvfs(directory.c_str(), &found) != 0) {
    return tl::unexpected(errno_error("look at", directory, errno));
  }
  if ((found.f_flag & ST_RDONLY) != 0) {
    return fail(Errc::kDenied, directory + " is on a file system that is mounted read-only");
  }
  const std::uint64_t blocks = ::geteuid() == 0 ? found.f_bfree : found.f_bavail;
  if (blocks * found.f_frsize < kNeededBytes) {
    return fail(Errc::kTooLarge, directory + ": disk full (fewer than " +
                                     std::to_string(kNeededBytes >> 10) + " KiB are free)");
  }
  return {};
}

RecorderThread::Reason RecorderThread::reason_of(const Error& error) {
  switch (error.code) {
    case Errc::kTooLarge:
      return Reason::kDiskFull;
    case Errc::kDenied:
      return Reason::kReadOnly;
    case Errc::kMalformed:
      return Reason::kDamaged;
    case Errc::kUnavailable:
      return Reason::kBusy;
    default:
      return Reason::kIo;
  }
}

RecorderThread::RecorderThread(HistoryStore::Options options, std::string boot_id,
                               std::shared_ptr<RecorderNow> now, DiskCheck snapshot)
    : shared_(std::make_shared<Shared>()) {
  shared_->options = std::move(options);
  shared_->boot_id = std::move(boot_id);
  shared_->now = std::move(now);
  shared_->snapshot = std::move(snapshot);
  thread_.start("jetmem-history", shared_, run);
}

RecorderThread::~RecorderThread() { finish(std::chrono::milliseconds(0)); }

void RecorderThread::run(Shared& shared) {
  SharedOwner keeper{shared.options, shared.boot_id, shared.now, nullptr, 0, std::nullopt, false};
  int tidy_left = 0;
  Nanoseconds boot_now{0};
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return shared.job || shared.stopping || tidy_left > 0; });
    if (shared.job) {
      Outcome outcome;
      outcome.job = std::move(*shared.job);
      shared.job.reset();
      lock.unlock();
      shared.now->busy_since.store(mono_now().count());
      const Nanoseconds begun = mono_now();
      const auto given = bytes_received();
      // First, so that its result is known even if the write then hangs.
      if (auto good = shared.snapshot(shared.options.file); !good) outcome.ahead = good.error();
      Result<void> written;
      if (!outcome.job.only_snapshot) written = keeper.write(outcome.job, outcome);
      outcome.seconds = to_seconds(mono_now() - begun);
      if (given) outcome.written = since(given);
      if (!written) {
        outcome.error = std::move(written.error());
        outcome.reason = reason_of(*outcome.error);
      }
      if (!outcome.job.only_snapshot) {
        boot_now = outcome.job.now;
        const bool is_whole = outcome.job.block && !outcome.job.more_waits;
        tidy_left = outcome.error || !is_whole ? 0 : kTidySteps;
      }
      std::optional<Nanoseconds> oldest;
      std::uint64_t bytes = 0;
      if (keeper.store && !outcome.job.only_snapshot) {
        keeper.take_messages(outcome.messages, outcome.quarantine);
        bytes = keeper.store->bytes();
        if (const auto facts = keeper.store->facts()) oldest = facts->oldest;
      }
      shared.now->busy_since.store(0);
      lock.lock();
      if (keeper.store && !outcome.job.only_snapshot) {
        shared.file.bytes = bytes;
        shared.file.oldest = oldest;
        ++shared.file.version;
      }
      shared.outcome = std::move(outcome);
      shared.working = false;
      shared.changed.notify_all();
      continue;
    }
    if (shared.stopping) break;
    lock.unlock();
    shared.now->busy_since.store(mono_now().count());
    const auto given = bytes_received();
    auto more = keeper.store->tidy(keeper.boot, boot_now);
    const std::uint64_t written = since(given);
    const std::uint64_t bytes = keeper.store->bytes();
    std::vector<std::string> messages;
    std::uint64_t quarantine = 0;
    keeper.take_messages(messages, quarantine);
    shared.now->busy_since.store(0);
    --tidy_left;
    if (!more || !*more) tidy_left = 0;
    lock.lock();
    shared.file.bytes = bytes;
    shared.file.tidied += written;
    ++shared.file.version;
    shared.file.quarantine += quarantine;
    for (std::string& line : messages) {
      if (shared.file.messages.size() < kMaxReported)
        shared.file.messages.push_back(std::move(line));
    }
    shared.file.windows_cut = keeper.store->windows_cut();
    if (!more) {
      shared.file.problem = std::move(more.error());
      shared.file.tidied_well = false;
    } else if (!*more) {
      shared.file.tidied_well = true;
    }
  }
  lock.unlock();
  shared.now->busy_since.store(mono_now().count());
  keeper.store.reset();
  shared.now->busy_since.store(0);
}

bool RecorderThread::is_idle() const {
  const std::lock_guard lock(shared_->mutex);
  return runs() && !shared_->working && !shared_->outcome;
}

void RecorderThread::begin(Job job) {
  const std::lock_guard lock(shared_->mutex);
  shared_->job = std::move(job);
  shared_->working = true;
  shared_->changed.notify_all();
}

std::optional<RecorderThread::Outcome> RecorderThread::take_outcome(
    std::chrono::milliseconds timeout) {
  std::unique_lock lock(shared_->mutex);
  if (timeout > std::chrono::milliseconds(0)) {
    shared_->changed.wait_for(lock, timeout, [&] { return shared_->outcome.has_value(); });
  }
  if (!shared_->outcome) return std::nullopt;
  return std::exchange(shared_->outcome, std::nullopt);
}

std::optional<RecorderThread::File> RecorderThread::file(std::uint64_t version) const {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->file.version == version) return std::nullopt;
  std::optional<File> out = shared_->file;
  shared_->file.problem.reset();
  shared_->file.tidied_well = false;
  shared_->file.messages.clear();
  shared_->file.quarantine = 0;
  return out;
}

bool RecorderThread::finish(std::chrono::milliseconds timeout) { return thread_.stop(timeout); }

}  // namespace jetmem
