// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/kernel_log_thread.h"

#include <poll.h>

#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "collectors/kernel_log/kmsg.h"

namespace jetmem {
namespace {

// What a batch may hold before it is passed on; one record more fits in.
constexpr std::size_t kBatchBytes = 32U << 10;
constexpr std::size_t kLinesAtOnce = 16;
// More wake-ups than this within a second are a storm: from then on the log is read at intervals.
// The kernel's ring holds thousands of records meanwhile.
constexpr std::uint32_t kWakesPerSecond = 8;
constexpr std::chrono::milliseconds kPace{50};
constexpr std::size_t kRecordsPerPace = 4096;
constexpr std::chrono::milliseconds kStopTimeout{100};

}  // namespace

void KernelLogThread::Batch::add(std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  char prefix[sizeof size];
  std::memcpy(prefix, &size, sizeof size);
  bytes.append(prefix, sizeof prefix).append(text);
}

void KernelLogThread::Batch::each(const std::function<void(std::string_view)>& take) const {
  std::string_view rest = bytes;
  std::uint32_t size = 0;
  while (rest.size() >= sizeof size) {
    std::memcpy(&size, rest.data(), sizeof size);
    rest.remove_prefix(sizeof size);
    take(rest.substr(0, size));
    rest.remove_prefix(size);
  }
}

void KernelLogThread::Batch::clear() {
  is_drained = false;
  bytes.clear();
  if (bytes.capacity() > 2 * kBatchBytes) bytes.shrink_to_fit();  // after a large record
  error.reset();
}

struct KernelLogThread::Shared : WorkerThread::Shared {
  EventFd wake;   // of the thread, while it polls
  EventFd ready;  // of the loop
  // What is to be read next, or nothing; replaces what is read now.
  UniqueFd next;
  Use next_use = Use::kClose;
  std::vector<UniqueFd> unread;  // to be closed only
  std::optional<std::chrono::steady_clock::time_point> ordered;
  // A ping, until something was read after it.
  std::optional<std::chrono::steady_clock::time_point> pinged;
  bool is_busy = false;
  bool is_full = false;  // `batch` waits for the loop
  Batch batch;

  bool must_leave() const { return stopping || ordered; }
};

// The thread's own side.
class KernelLogThread::Worker {
 public:
  explicit Worker(Shared& shared) : shared_(shared) {}

  void run() {
    while (wait_for_order()) read_it();
  }

 private:
  // Takes the order, if it is not to stop.
  bool wait_for_order() {
    input_.detach();
    fd_.reset();
    unread_.clear();
    std::unique_lock lock(shared_.mutex);
    shared_.is_busy = false;
    shared_.pinged.reset();
    shared_.changed.wait(lock, [&] { return shared_.must_leave(); });
    if (shared_.stopping) return false;
    shared_.ordered.reset();
    shared_.is_full = false;
    shared_.wake.clear();
    fd_ = std::move(shared_.next);
    use_ = shared_.next_use;
    std::swap(unread_, shared_.unread);
    shared_.is_busy = true;
    return true;
  }

  void read_it() {
    if (!fd_.valid() || use_ == Use::kClose) return;
    batch_.clear();
    const bool is_file = use_ == Use::kFile;
    auto attached = input_.attach(std::move(fd_), use_ == Use::kPackets);
    if (attached && input_.is_file() != is_file) {
      attached = fail(Errc::kNotRegular, is_file ? "the captured kernel log is no file"
                                                 : "jetmem-reader handed over a file, not /dev/kmsg");
    }
    if (!attached) {
      batch_.error = std::move(attached.error());
      pass_on();
      return;
    }
    bool has_drained = false;
    for (;;) {
      const bool more = read_some();
      answer_ping();
      const bool is_last = batch_.error || (input_.is_file() && batch_.is_drained);
      // That nothing more is there is news once; that an idle device is idle is none.
      const bool is_news = !batch_.bytes.empty() || is_last || (batch_.is_drained && !has_drained);
      has_drained = has_drained || batch_.is_drained;
      if (is_news && !pass_on()) return;
      if (is_last || !rest(more, has_drained)) return;
    }
  }

  // False: all that is there was read.
  bool read_some() {
    batch_.clear();
    while (batch_.bytes.size() < kBatchBytes) {
      const auto drained = input_.drain(input_.is_file() ? kLinesAtOnce : 1, add_);
      if (!drained) {
        batch_.error = drained.error();
        return false;
      }
      if (*drained) {
        batch_.is_drained = true;
        return false;
      }
    }
    return true;
  }

  void answer_ping() {
    const std::lock_guard lock(shared_.mutex);
    shared_.pinged.reset();
  }

  // Until there is more to read. False: it is to leave what it reads.
  bool rest(bool more, bool has_drained) {
    const auto now = std::chrono::steady_clock::now();
    if (now - second_ >= std::chrono::seconds(1)) {
      second_ = now;
      wakes_ = 0;
    }
    // The first reading is no storm.
    if (more && (!has_drained || input_.is_file() || records_ < kRecordsPerPace)) {
      const std::lock_guard lock(shared_.mutex);
      return !shared_.must_leave();
    }
    records_ = 0;
    pollfd polled[2] = {{shared_.wake.get(), POLLIN, 0}, {input_.fd(), POLLIN, 0}};
    const bool is_storm = more || ++wakes_ > kWakesPerSecond;
    if (is_storm) (void)!::poll(polled, 1, static_cast<int>(kPace.count()));
    if (!more && polled[0].revents == 0) (void)!::poll(polled, 2, -1);
    const std::lock_guard lock(shared_.mutex);
    if (shared_.must_leave()) return false;
    if (polled[0].revents != 0) shared_.wake.clear();  // a ping
    return true;
  }

  // False: nobody wants it any more.
  bool pass_on() {
    std::unique_lock lock(shared_.mutex);
    shared_.changed.wait(lock, [&] { return !shared_.is_full || shared_.must_leave(); });
    if (shared_.must_leave()) return false;
    std::swap(shared_.batch, batch_);
    shared_.batch.is_file = use_ == Use::kFile;
    shared_.is_full = true;
    shared_.ready.signal();
    return true;
  }

  Shared& shared_;
  kernel_log::KmsgInput input_;
  UniqueFd fd_;
  std::vector<UniqueFd> unread_;
  Use use_ = Use::kClose;
  const kernel_log::KmsgInput::Emit add_ = [this](std::string_view text) {
    batch_.add(text);
    ++records_;
  };
  Batch batch_;
  std::size_t records_ = 0;
  std::chrono::steady_clock::time_point second_{};
  std::uint32_t wakes_ = 0;
};

Result<void> KernelLogThread::start(EventLoop& loop) {
  loop_ = &loop;
  return {};
}

Result<void> KernelLogThread::take(UniqueFd fd, Use use) {
  if (!shared_) shared_ = std::make_shared<Shared>();
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->next.valid()) shared_->unread.push_back(std::move(shared_->next));
    shared_->next = std::move(fd);
    shared_->next_use = use;
    order(*shared_);
  }
  return thread_.is_running() ? Result<void>() : start_thread();
}

// Only once there is something to read: without a kernel log there is no thread.
Result<void> KernelLogThread::start_thread() {
  if (!shared_->wake.valid()) shared_->wake = EventFd();
  if (!shared_->ready.valid()) shared_->ready = EventFd();
  Result<void> ok;
  if (!shared_->wake.valid() || !shared_->ready.valid()) {
    ok = fail(Errc::kUnavailable, "no file descriptor is left to follow the kernel log");
  } else {
    ok = ready_.start(*loop_, shared_->ready.get(), [this] { on_ready(); });
  }
  if (ok && !thread_.start("jetmem-kmsg", shared_, [](Shared& own) { Worker(own).run(); })) {
    ready_.stop();
    ok = fail(Errc::kUnavailable, "no thread to follow the kernel log: " + thread_.problem());
  }
  return ok;
}

// With the lock held.
void KernelLogThread::order(Shared& shared) {
  shared.ordered = std::chrono::steady_clock::now();
  shared.is_full = false;
  shared.wake.signal();
  shared.changed.notify_all();
}

void KernelLogThread::drop() {
  if (!thread_.is_running()) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->next_use = Use::kClose;
  if (!shared_->ordered) order(*shared_);
}

std::optional<std::chrono::steady_clock::time_point> KernelLogThread::waiting_since() const {
  if (!thread_.is_running()) return std::nullopt;
  const std::lock_guard lock(shared_->mutex);
  return shared_->ordered;
}

void KernelLogThread::ping() {
  if (!thread_.is_running()) return;
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->is_busy || shared_->pinged) return;
  shared_->pinged = std::chrono::steady_clock::now();
  shared_->wake.signal();
}

std::optional<std::chrono::steady_clock::time_point> KernelLogThread::pinged_since() const {
  if (!thread_.is_running()) return std::nullopt;
  const std::lock_guard lock(shared_->mutex);
  if (shared_->is_full) return std::nullopt;  // it may wait for the loop
  return shared_->pinged;
}

bool KernelLogThread::is_busy() const {
  if (!thread_.is_running()) return false;
  const std::lock_guard lock(shared_->mutex);
  return shared_->ordered || shared_->is_busy || shared_->is_full;
}

void KernelLogThread::on_ready() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ready.clear();
    if (!shared_->is_full) return;
    std::swap(taken_, shared_->batch);
    shared_->is_full = false;
    if (shared_->pinged) shared_->pinged = std::chrono::steady_clock::now();
    shared_->changed.notify_all();
  }
  on_batch_(taken_);
}

void KernelLogThread::stop() {
  ready_.stop();
  if (!thread_.is_running()) return;
  {
    // Together, as the thread clears a wake-up that it sees no reason for.
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
    shared_->wake.signal();
  }
  thread_.stop(kStopTimeout);
}

}  // namespace jetmem
