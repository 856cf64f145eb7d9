// SPDX-License-Identifier: Apache-2.0
#include "base/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/root/small_file.h"
#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kReadBytes = 16U << 10;
constexpr int kReadsPerWake = static_cast<int>(ChildProcess::kBytesPerWake / kReadBytes);
constexpr unsigned kWakesPerSecond = 8;
constexpr Nanoseconds kPace = std::chrono::milliseconds(250);
// A process that ends closes its pipes a moment before it can be reaped; and SIGKILL needs a moment
// even where nothing hangs.
constexpr Nanoseconds kExitTimeout = std::chrono::milliseconds(200);
// Where there are no pidfds (before 5.3) one that was killed is looked at again, ever less often.
constexpr Nanoseconds kFirstCheck = std::chrono::milliseconds(20);
constexpr Nanoseconds kLongestPollPause = std::chrono::minutes(1);
// Without a pidfd the number of a process that is not ours may come to belong to another: it is
// believed for so long.
constexpr Nanoseconds kLongestPeer = std::chrono::hours(1);
// One that prints much on stderr is read so often, until there is nothing.
constexpr Nanoseconds kErrorsPace = std::chrono::milliseconds(250);
constexpr int kShutdownTimeoutMs = 50;
// 1 MiB, the largest default size of a pipe.
constexpr int kLastReads = 16;

struct Ends {
  UniqueFd mine;
  UniqueFd theirs;
};

Result<Ends> make_pipe(std::string_view program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return tl::unexpected(errno_error("make a pipe for", program, errno));
  }
  // Ours only: a program may not expect that a write would block.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<Ends> make_channel(std::string_view program) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return tl::unexpected(errno_error("make a socket for", program, errno));
  }
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Its name, as far as the kernel keeps it: 15 bytes.
bool is_called(pid_t pid, std::string_view name) {
  const auto comm = read_small_file("/proc/" + std::to_string(pid) + "/comm", 64);
  return comm && !name.empty() && comm->starts_with(name.substr(0, 15));
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

// Whether a child of ours is over, without taking its number away from it.
bool has_exited(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

}  // namespace

Nanoseconds Backoff::next() {
  pause_ = std::clamp(pause_ * 2, first_, longest_);
  return pause_;
}

ChildProcess::ChildProcess(const Clock& clock, Spawner& spawner, Callbacks callbacks)
    : clock_(clock), spawner_(spawner), callbacks_(std::move(callbacks)) {
  error_text_.reserve(kErrorBytes);
}

ChildProcess::~ChildProcess() {
  kill();
  // Nobody comes back to it, so it must not stay as a zombie; nor may one that hangs block us.
  for (int i = 0; i < kShutdownTimeoutMs && terminating_is_ours_ && !terminating_is_gone(); ++i)
    ::usleep(1000);
}

Result<void> ChildProcess::attach(EventLoop& loop) {
  loop_ = &loop;
  if (auto ok = timer_.attach(loop, [this] { on_timer(); }); !ok) return ok;
  return errors_timer_.attach(loop, [this] { poll_stderr(); });
}

Result<void> ChildProcess::check_free() {
  if (running_ || is_terminating())
    return fail(Errc::kUnavailable, "the one before is not gone yet");
  return {};
}

Result<void> ChildProcess::start(SpawnRequest request) {
  if (auto ok = check_free(); !ok) return ok;
  const bool has_packets = callbacks_.packets != nullptr;
  auto out = has_packets ? make_channel(request.argv[0]) : make_pipe(request.argv[0]);
  if (!out) return tl::unexpected(std::move(out.error()));
  request.descriptors.emplace_back(out->theirs.get(), has_packets ? kChannel : 1);
  Ends errors;
  if (!has_packets) {
    auto pipe = make_pipe(request.argv[0]);
    if (!pipe) return tl::unexpected(std::move(pipe.error()));
    errors = std::move(*pipe);
    request.descriptors.emplace_back(errors.theirs.get(), 2);
  }
  auto child = spawner_.spawn(request);
  if (!child) return tl::unexpected(std::move(child.error()));
  process_ = std::move(*child);
  allowed_until_ = Nanoseconds(0);
  is_ours_ = true;
  own_process_group_ = request.own_process_group;
  auto ok = listen(std::move(out->mine), std::move(errors.mine));
  if (ok) ok = watch_process(process_);
  if (!ok) kill();
  return ok;
}

Result<void> ChildProcess::read_from(UniqueFd connection) {
  if (auto ok = check_free(); !ok) return ok;
  process_ = {};
  allowed_until_ = Nanoseconds(0);
  is_ours_ = false;
  own_process_group_ = false;
  auto ok = listen(std::move(connection), UniqueFd());
  if (!ok) kill();
  return ok;
}

void ChildProcess::set_peer_process(pid_t pid, std::string_view name, Nanoseconds until) {
  if (!running_ || is_ours_ || pid <= 1) return;
  Child process{pid, open_pidfd(pid)};
  // Waiting for somebody else's process would never end.
  if (!name.empty() && !is_called(pid, name)) return;
  process_ = std::move(process);
  allowed_until_ = until;
}

void ChildProcess::forget_peer() {
  if (terminating_.pid <= 0 || terminating_is_ours_) return;
  exit_.stop();
  terminating_ = {};
}

Result<void> ChildProcess::listen(UniqueFd out, UniqueFd errors) {
  running_ = true;
  ++runs_;
  out_ = std::move(out);
  errors_ = std::move(errors);
  error_text_.clear();
  error_bytes_ = 0;
  wakes_ = 0;
  paced_ = false;
  flood_since_ = Nanoseconds(0);
  auto ok = output_.start(*loop_, out_.get(), [this] { read_now(); });
  if (ok && errors_.valid()) {
    ok = errors_ready_.start(*loop_, errors_.get(), [this] { poll_stderr(); });
  }
  return ok;
}

Result<void> ChildProcess::watch_process(const Child& process) {
  exit_.stop();
  if (!process.pidfd.valid()) return {};
  return exit_.start(*loop_, process.pidfd.get(), [this] { on_process(); });
}

void ChildProcess::read_now() {
  if (!out_.valid()) return;
  if (read_some() == Read::kOver) {
    on_end_of_output();
  } else if (running_ && !paced_ && !callbacks_.packets) {
    pace();
  }
}

void ChildProcess::pace() {
  const Nanoseconds now = clock_.mono();
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    wakes_ = 0;
  }
  if (++wakes_ <= kWakesPerSecond) return;
  paced_ = true;
  output_.enable(false);
  timer_.set(kPace);
}

Nanoseconds ChildProcess::flooding() const {
  return flood_since_ == Nanoseconds(0) ? Nanoseconds(0) : clock_.mono() - flood_since_;
}

void ChildProcess::on_timer() {
  if (!running_) {
    check_terminating();
    if (terminating_.pid <= 0) return;
    poll_pause_ = std::clamp(poll_pause_ * 2, kFirstCheck, kLongestPollPause);
    timer_.set(poll_pause_);
    return;
  }
  if (!out_.valid()) {
    int status = 0;
    if (reap(status)) {
      finish(status);
    } else if (allow_stdout_close_) {
      if (!exit_.is_started()) timer_.set(kExitTimeout);
    } else {
      dismiss_process();
      callbacks_.ended({false, 0, 0,
                        callbacks_.packets ? "closed its connection but is still running"
                                           : "closed stdout but is still running"});
    }
    return;
  }
  switch (read_some()) {
    case Read::kOver:
      on_end_of_output();
      break;
    case Read::kMore:
      if (!running_) break;
      if (flood_since_ == Nanoseconds(0)) flood_since_ = clock_.mono();
      timer_.set(kPace);
      break;
    case Read::kQuiet:
      if (!running_) break;
      // If it goes on like that it is paced again at once: at most twice for each look.
      paced_ = false;
      flood_since_ = Nanoseconds(0);
      output_.enable(true);
      break;
  }
}

ChildProcess::Read ChildProcess::read_some() {
  const unsigned run = runs_;
  if (callbacks_.packets) {
    const bool is_open = callbacks_.packets();
    return !is_open && running_ && run == runs_ ? Read::kOver : Read::kMore;
  }
  read_errors();
  std::array<char, kReadBytes> bytes;
  std::size_t total = 0;
  for (int i = 0; i < kReadsPerWake; ++i) {
    const ssize_t n = ::read(out_.get(), bytes.data(), bytes.size());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      return total < kFloodBytes ? Read::kQuiet : Read::kMore;
    }
    if (n <= 0) return Read::kOver;
    total += static_cast<std::size_t>(n);
    callbacks_.output({bytes.data(), static_cast<std::size_t>(n)});
    if (!running_ || run != runs_) return Read::kMore;
  }
  return Read::kMore;
}

// While there is some it is looked at by the timer; then whenever there is some again.
void ChildProcess::poll_stderr() {
  const bool any = read_errors();
  if (!errors_.valid()) return;
  errors_ready_.enable(!any);
  if (any) errors_timer_.set(kErrorsPace);
}

void ChildProcess::close_errors() {
  errors_ready_.stop();
  errors_timer_.cancel();
  errors_.reset();
}

bool ChildProcess::read_errors() {
  std::array<char, kReadBytes> bytes;
  bool any = false;
  for (int i = 0; errors_.valid() && i < kReadsPerWake; ++i) {
    const ssize_t n = ::read(errors_.get(), bytes.data(), bytes.size());
    if (n == 0) close_errors();
    if (n <= 0) break;
    any = true;
    error_bytes_ += static_cast<std::size_t>(n);
    const std::string_view text(bytes.data(), static_cast<std::size_t>(n));
    const std::string_view end = text.substr(text.size() - std::min(text.size(), kErrorBytes));
    if (error_text_.size() + end.size() > kErrorBytes) {
      error_text_.erase(0, error_text_.size() + end.size() - kErrorBytes);
    }
    error_text_.append(end);
  }
  return any;
}

std::string ChildProcess::stderr_tail() {
  read_errors();
  std::string_view text = error_text_;
  const auto is_space = [](char c) { return is_blank(c) || c == '\n' || c == '\r'; };
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return printable(text, kErrorBytes);
}

void ChildProcess::on_end_of_output() {
  output_.stop();
  out_.reset();
  if (!is_ours_) {
    close_pipes();
    running_ = false;
    wait_for_exit();
    callbacks_.ended({});
    return;
  }
  // on_process() comes as soon as it is gone; without pidfds that moment is waited for here.
  int status = 0;
  for (int i = 0; i < kShutdownTimeoutMs; ++i) {
    if (reap(status)) {
      finish(status);
      return;
    }
    if (process_.pidfd.valid()) break;
    ::usleep(200);
  }
  timer_.set(kExitTimeout);
}

// What it started goes before it is reaped: until then its number is nobody else's.
bool ChildProcess::reap(int& status) {
  if (!has_exited(process_.pid)) return false;
  if (own_process_group_) ::kill(-process_.pid, SIGKILL);
  return ::waitpid(process_.pid, &status, WNOHANG) == process_.pid;
}

void ChildProcess::on_process() {
  if (!running_) return check_terminating();
  if (!has_exited(process_.pid)) return;
  // The last it printed: at most what a pipe or a socket holds.
  const unsigned run = runs_;
  for (int i = 0; i < kLastReads && out_.valid(); ++i) {
    const Read read = read_some();
    if (!running_ || run != runs_) return;
    if (read != Read::kMore) break;
  }
  int status = 0;
  if (reap(status)) finish(status);
}

// It was reaped.
void ChildProcess::finish(int status) {
  ChildEnd end;
  end.how = describe_status(status);
  if (const std::string words = stderr_tail(); !words.empty()) end.how += ": " + words;
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
  end.well = WIFEXITED(status) && end.exit_status == 0;
  exit_.stop();
  process_ = {};
  close_pipes();
  running_ = false;
  callbacks_.ended(std::move(end));
}

void ChildProcess::close_pipes() {
  output_.stop();
  out_.reset();
  close_errors();
  timer_.cancel();
  paced_ = false;
  flood_since_ = Nanoseconds(0);
}

void ChildProcess::kill() {
  if (running_) dismiss_process();
}

void ChildProcess::dismiss_process() {
  read_errors();
  close_pipes();
  running_ = false;
  wait_for_exit();
}

// Of ours that is the moment to kill it.
void ChildProcess::wait_for_exit() {
  terminating_ = std::exchange(process_, {});
  terminating_is_ours_ = is_ours_;
  terminating_until_ = allowed_until_;
  terminating_since_ = clock_.mono();
  poll_pause_ = kFirstCheck;
  if (terminating_.pid <= 0) return;
  if (is_ours_) {
    if (own_process_group_) ::kill(-terminating_.pid, SIGKILL);
    ::kill(terminating_.pid, SIGKILL);
  }
  if (terminating_is_gone()) return;
  // Of ours it is watched already.
  if (!is_ours_) (void)watch_process(terminating_);
  if (!exit_.is_started()) timer_.set(poll_pause_);
}

bool ChildProcess::is_terminating() { return terminating_.pid > 0 && !terminating_is_gone(); }

void ChildProcess::check_terminating() {
  if (terminating_.pid > 0 && terminating_is_gone() && callbacks_.gone) callbacks_.gone();
}

bool ChildProcess::wedged() const {
  const Nanoseconds now = clock_.mono();
  return !terminating_has_ended() && now - terminating_since_ >= kExitTimeout &&
         now - terminating_until_ >= kExitTimeout;
}

bool ChildProcess::terminating_has_ended() const {
  if (terminating_.pid <= 0) return true;
  if (terminating_is_ours_) return has_exited(terminating_.pid);
  if (terminating_.pidfd.valid()) {
    pollfd ended{terminating_.pidfd.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) == 1;
  }
  return (::kill(terminating_.pid, 0) != 0 && errno == ESRCH) ||
         clock_.mono() - terminating_since_ > kLongestPeer;
}

bool ChildProcess::terminating_is_gone() {
  if (terminating_.pid <= 0) return true;
  if (!terminating_has_ended()) return false;
  if (terminating_is_ours_) ::waitpid(terminating_.pid, nullptr, WNOHANG);
  exit_.stop();
  terminating_ = {};
  return true;
}

}  // namespace jetmem
