#include "daemon/child_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/small_file.h"
#include "base/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kReadBytes = 16U << 10;
constexpr int kReadsPerWake = static_cast<int>(ChildOutput::kBytesPerWake / kReadBytes);
constexpr unsigned kWakesPerSecond = 8;
constexpr Nanoseconds kPace = std::chrono::milliseconds(250);
constexpr std::uint64_t kSlackUs = 5'000;
// A process that ends closes its pipes a moment before it can be reaped; and SIGKILL needs a moment
// even where nothing hangs.
constexpr Nanoseconds kDyingPatience = std::chrono::milliseconds(200);
// Where there are no pidfds (before 5.3) one that was killed is looked at again, ever less often.
constexpr Nanoseconds kFirstLook = std::chrono::milliseconds(20);
constexpr Nanoseconds kLongestLook = std::chrono::minutes(1);
// One that prints much on stderr is read so often, until there is nothing.
constexpr Nanoseconds kErrorsPace = std::chrono::milliseconds(250);
constexpr int kLastPatienceMs = 50;
// 1 MiB, the largest default size of a pipe.
constexpr int kLastReads = 16;

struct Pipe {
  UniqueFd mine;
  UniqueFd theirs;
};

Result<Pipe> make_pipe(std::string_view program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return tl::unexpected(errno_error("make a pipe for", program, errno));
  }
  Pipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  // Ours only: a program may not expect that a write would block.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
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

}  // namespace

Nanoseconds Backoff::next() {
  pause_ = std::clamp(pause_ * 2, first_, longest_);
  return pause_;
}

ChildOutput::ChildOutput(const Clock& clock, Spawner& spawner, Callbacks callbacks)
    : clock_(clock), spawner_(spawner), callbacks_(std::move(callbacks)) {
  error_text_.reserve(kErrorBytes);
}

ChildOutput::~ChildOutput() {
  kill();
  // Nobody comes back to it, so it must not stay as a zombie; nor may one that hangs hold us up.
  for (int i = 0; i < kLastPatienceMs && leaving_ours_ && !leaving_is_gone(); ++i) ::usleep(1000);
  sd_event_source_unref(output_);
  sd_event_source_unref(gone_);
  sd_event_source_unref(timer_);
  sd_event_source_unref(errors_ready_);
  sd_event_source_unref(errors_timer_);
}

Result<void> ChildOutput::attach(sd_event* event) {
  event_ = event;
  int ok = sd_event_add_time(event_, &timer_, CLOCK_MONOTONIC, 0, kSlackUs, on_timer, this);
  if (ok >= 0) ok = sd_event_source_set_enabled(timer_, SD_EVENT_OFF);
  if (ok >= 0) {
    ok = sd_event_add_time(event_, &errors_timer_, CLOCK_MONOTONIC, 0, kSlackUs, on_errors_timer,
                           this);
  }
  if (ok >= 0) ok = sd_event_source_set_enabled(errors_timer_, SD_EVENT_OFF);
  if (ok < 0) return tl::unexpected(errno_error("set up", "a timer for a program", -ok));
  return {};
}

Result<void> ChildOutput::start(SpawnRequest request) {
  if (running_ || leaving()) return fail(Errc::kUnavailable, "the one before is not gone yet");
  auto out = make_pipe(request.argv[0]);
  if (!out) return tl::unexpected(std::move(out.error()));
  auto errors = make_pipe(request.argv[0]);
  if (!errors) return tl::unexpected(std::move(errors.error()));
  request.descriptors.emplace_back(out->theirs.get(), 1);
  request.descriptors.emplace_back(errors->theirs.get(), 2);
  auto child = spawner_.spawn(request);
  if (!child) return tl::unexpected(std::move(child.error()));
  process_ = std::move(*child);
  may_live_until_ = Nanoseconds(0);
  ours_ = true;
  stranger_ = request.stranger;
  auto ok = listen(std::move(out->mine), std::move(errors->mine));
  if (ok) ok = watch_process();
  if (!ok) kill();
  return ok;
}

Result<void> ChildOutput::read_from(UniqueFd connection) {
  if (running_ || leaving()) return fail(Errc::kUnavailable, "the one before is not gone yet");
  process_ = {};
  may_live_until_ = Nanoseconds(0);
  ours_ = false;
  stranger_ = false;
  auto ok = listen(std::move(connection), UniqueFd());
  if (!ok) kill();
  return ok;
}

void ChildOutput::know_process(pid_t pid, std::string_view name, Nanoseconds until) {
  if (!running_ || ours_ || pid <= 1) return;
  Child process{pid, open_pidfd(pid)};
  // Waiting for somebody else's would be waiting for ever.
  if (!is_called(pid, name)) return;
  process_ = std::move(process);
  may_live_until_ = until;
}

Result<void> ChildOutput::listen(UniqueFd out, UniqueFd errors) {
  running_ = true;
  out_ = std::move(out);
  errors_ = std::move(errors);
  error_text_.clear();
  wakes_ = 0;
  paced_ = false;
  flood_since_ = Nanoseconds(0);
  int ok = sd_event_add_io(event_, &output_, out_.get(), EPOLLIN, on_output, this);
  if (ok >= 0 && errors_.valid()) {
    ok = sd_event_add_io(event_, &errors_ready_, errors_.get(), EPOLLIN, on_errors, this);
    if (ok >= 0) ok = sd_event_source_set_enabled(errors_ready_, SD_EVENT_ONESHOT);
  }
  if (ok < 0) return tl::unexpected(errno_error("wait for", "what a program prints", -ok));
  return {};
}

Result<void> ChildOutput::watch_process() {
  gone_ = sd_event_source_unref(gone_);
  if (!process_.pidfd.valid()) return {};
  const int ok = sd_event_add_io(event_, &gone_, process_.pidfd.get(), EPOLLIN, on_process, this);
  if (ok < 0) return tl::unexpected(errno_error("wait for", "the end of a program", -ok));
  return {};
}

int ChildOutput::on_output(sd_event_source*, int, std::uint32_t, void* self) {
  static_cast<ChildOutput*>(self)->read_now();
  return 0;
}

void ChildOutput::read_now() {
  if (!out_.valid()) return;
  if (read_some() == Read::kOver) {
    on_end_of_output();
  } else if (running_ && !paced_) {
    pace();
  }
}

void ChildOutput::pace() {
  const Nanoseconds now = clock_.mono();
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    wakes_ = 0;
  }
  if (++wakes_ <= kWakesPerSecond) return;
  paced_ = true;
  sd_event_source_set_enabled(output_, SD_EVENT_OFF);
  look_again(kPace);
}

Nanoseconds ChildOutput::flooding() const {
  return flood_since_ == Nanoseconds(0) ? Nanoseconds(0) : clock_.mono() - flood_since_;
}

int ChildOutput::on_timer(sd_event_source*, std::uint64_t, void* self) {
  auto* child = static_cast<ChildOutput*>(self);
  if (!child->running_) {
    if (!child->leaving()) return 0;
    child->look_pause_ = std::clamp(child->look_pause_ * 2, kFirstLook, kLongestLook);
    child->look_again(child->look_pause_);
    return 0;
  }
  if (!child->out_.valid()) {
    int status = 0;
    if (child->reap(status)) {
      child->finish(status);
      return 0;
    }
    if (child->may_close_output_) {
      if (child->gone_ == nullptr) child->look_again(kDyingPatience);
      return 0;
    }
    child->end_process();
    child->callbacks_.ended(false, "closed its output and lives on");
    return 0;
  }
  switch (child->read_some()) {
    case Read::kOver:
      child->on_end_of_output();
      break;
    case Read::kMore:
      if (!child->running_) break;
      if (child->flood_since_ == Nanoseconds(0)) child->flood_since_ = child->clock_.mono();
      child->look_again(kPace);
      break;
    case Read::kQuiet:
      if (!child->running_) break;
      // If it goes on like that it is paced again at once: twice for each look, no more.
      child->paced_ = false;
      child->flood_since_ = Nanoseconds(0);
      sd_event_source_set_enabled(child->output_, SD_EVENT_ON);
      break;
  }
  return 0;
}

ChildOutput::Read ChildOutput::read_some() {
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
    if (!running_) return Read::kMore;
  }
  return Read::kMore;
}

int ChildOutput::on_errors(sd_event_source*, int, std::uint32_t, void* self) {
  static_cast<ChildOutput*>(self)->look_for_errors();
  return 0;
}

int ChildOutput::on_errors_timer(sd_event_source*, std::uint64_t, void* self) {
  static_cast<ChildOutput*>(self)->look_for_errors();
  return 0;
}

// While there is some it is looked at by the timer; then whenever there is some again.
void ChildOutput::look_for_errors() {
  const bool any = read_errors();
  if (!errors_.valid()) return;
  if (any) {
    sd_event_source_set_time_relative(errors_timer_,
                                      static_cast<std::uint64_t>(kErrorsPace.count() / 1000));
  }
  sd_event_source_set_enabled(any ? errors_timer_ : errors_ready_, SD_EVENT_ONESHOT);
}

void ChildOutput::close_errors() {
  errors_ready_ = sd_event_source_unref(errors_ready_);
  if (errors_timer_ != nullptr) sd_event_source_set_enabled(errors_timer_, SD_EVENT_OFF);
  errors_.reset();
}

bool ChildOutput::read_errors() {
  std::array<char, kReadBytes> bytes;
  bool any = false;
  for (int i = 0; errors_.valid() && i < kReadsPerWake; ++i) {
    const ssize_t n = ::read(errors_.get(), bytes.data(), bytes.size());
    if (n == 0) close_errors();
    if (n <= 0) break;
    any = true;
    const std::string_view text(bytes.data(), static_cast<std::size_t>(n));
    const std::string_view end = text.substr(text.size() - std::min(text.size(), kErrorBytes));
    if (error_text_.size() + end.size() > kErrorBytes) {
      error_text_.erase(0, error_text_.size() + end.size() - kErrorBytes);
    }
    error_text_.append(end);
  }
  return any;
}

std::string ChildOutput::last_words() {
  read_errors();
  std::string_view text = error_text_;
  const auto is_space = [](char c) { return is_blank(c) || c == '\n' || c == '\r'; };
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return printable(text, kErrorBytes);
}

void ChildOutput::on_end_of_output() {
  output_ = sd_event_source_unref(output_);
  out_.reset();
  if (!ours_) {
    close_pipes();
    running_ = false;
    wait_until_it_is_gone();
    callbacks_.ended(true, {});
    return;
  }
  // on_process() comes as soon as it is gone; without pidfds that moment is waited for here.
  int status = 0;
  for (int i = 0; i < kLastPatienceMs; ++i) {
    if (reap(status)) {
      finish(status);
      return;
    }
    if (process_.pidfd.valid()) break;
    ::usleep(200);
  }
  look_again(kDyingPatience);
}

// What it started goes before it is reaped: until then its number is nobody else's.
bool ChildOutput::reap(int& status) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(process_.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return false;
  }
  if (stranger_) ::kill(-process_.pid, SIGKILL);
  return ::waitpid(process_.pid, &status, WNOHANG) == process_.pid;
}

int ChildOutput::on_process(sd_event_source*, int, std::uint32_t, void* self) {
  auto* child = static_cast<ChildOutput*>(self);
  if (!child->running_) {
    child->leaving();
    return 0;
  }
  int status = 0;
  if (!child->reap(status)) return 0;
  // The last it printed: no more than a pipe holds.
  for (int i = 0; i < kLastReads && child->out_.valid(); ++i) {
    const Read read = child->read_some();
    if (!child->running_) return 0;
    if (read != Read::kMore) break;
  }
  child->finish(status);
  return 0;
}

// It was reaped.
void ChildOutput::finish(int status) {
  std::string how = describe_status(status);
  if (const std::string words = last_words(); !words.empty()) how += ": " + words;
  gone_ = sd_event_source_unref(gone_);
  process_ = {};
  close_pipes();
  running_ = false;
  callbacks_.ended(WIFEXITED(status) && WEXITSTATUS(status) == 0, std::move(how));
}

void ChildOutput::close_pipes() {
  output_ = sd_event_source_unref(output_);
  out_.reset();
  close_errors();
  if (timer_ != nullptr) sd_event_source_set_enabled(timer_, SD_EVENT_OFF);
  paced_ = false;
  flood_since_ = Nanoseconds(0);
}

void ChildOutput::kill() {
  if (running_) end_process();
}

void ChildOutput::end_process() {
  read_errors();
  close_pipes();
  running_ = false;
  wait_until_it_is_gone();
}

// Of ours that is the moment to kill it.
void ChildOutput::wait_until_it_is_gone() {
  leaving_ = std::exchange(process_, {});
  leaving_ours_ = ours_;
  leaving_until_ = may_live_until_;
  leaving_since_ = clock_.mono();
  look_pause_ = kFirstLook;
  if (leaving_.pid <= 0) return;
  if (ours_) {
    if (stranger_) ::kill(-leaving_.pid, SIGKILL);
    ::kill(leaving_.pid, SIGKILL);
  }
  if (leaving_is_gone()) return;
  // Of ours it is watched already.
  if (!ours_ && leaving_.pidfd.valid()) {
    gone_ = sd_event_source_unref(gone_);
    (void)sd_event_add_io(event_, &gone_, leaving_.pidfd.get(), EPOLLIN, on_process, this);
  }
  if (gone_ == nullptr) look_again(look_pause_);
}

bool ChildOutput::leaving() { return leaving_.pid > 0 && !leaving_is_gone(); }

bool ChildOutput::wedged() const {
  const Nanoseconds now = clock_.mono();
  return !leaving_has_ended() && now - leaving_since_ >= kDyingPatience &&
         now - leaving_until_ >= kDyingPatience;
}

bool ChildOutput::leaving_has_ended() const {
  if (leaving_.pid <= 0) return true;
  if (leaving_ours_) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(leaving_.pid), &info, WEXITED | WNOHANG | WNOWAIT) !=
               0 ||
           info.si_pid != 0;
  }
  if (leaving_.pidfd.valid()) {
    pollfd ended{leaving_.pidfd.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) == 1;
  }
  return ::kill(leaving_.pid, 0) != 0 && errno == ESRCH;
}

bool ChildOutput::leaving_is_gone() {
  if (leaving_.pid <= 0) return true;
  if (!leaving_has_ended()) return false;
  if (leaving_ours_) ::waitpid(leaving_.pid, nullptr, WNOHANG);
  gone_ = sd_event_source_unref(gone_);
  leaving_ = {};
  return true;
}

void ChildOutput::look_again(Nanoseconds from_now) {
  if (timer_ == nullptr) return;
  sd_event_source_set_time_relative(timer_, static_cast<std::uint64_t>(from_now.count() / 1000));
  sd_event_source_set_enabled(timer_, SD_EVENT_ONESHOT);
}

}  // namespace jetmem
