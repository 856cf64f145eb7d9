#include "probes/run_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "base/units.h"
#include "probes/partial.h"

namespace jetmem {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kReadBytes = 16U << 10;
constexpr std::size_t kLastWords = 200;
constexpr milliseconds kDyingPatience{2000};
constexpr milliseconds kBetweenLooks{20};  // where there are no pidfds, and while it dies
constexpr milliseconds kBetweenProgress{100};

std::string signal_text(int number) {
  struct Name {
    int number;
    const char* name;
  };
  static constexpr std::array kNames{
      Name{SIGSEGV, "SIGSEGV"}, Name{SIGBUS, "SIGBUS"},   Name{SIGILL, "SIGILL"},
      Name{SIGFPE, "SIGFPE"},   Name{SIGABRT, "SIGABRT"}, Name{SIGTRAP, "SIGTRAP"},
      Name{SIGSYS, "SIGSYS"},   Name{SIGKILL, "SIGKILL"}, Name{SIGTERM, "SIGTERM"},
      Name{SIGINT, "SIGINT"},   Name{SIGHUP, "SIGHUP"},   Name{SIGPIPE, "SIGPIPE"}};
  for (const Name& known : kNames) {
    if (known.number == number) return known.name;
  }
  return "signal " + std::to_string(number);
}

bool is_crash(int number) {
  static constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  return std::find(kCrashes.begin(), kCrashes.end(), number) != kCrashes.end();
}

struct Pipe {
  UniqueFd mine;
  UniqueFd theirs;
};

Result<Pipe> make_pipe(std::string_view program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return tl::unexpected(errno_error("make a pipe for", program, errno));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

class Running {
 public:
  Running(const ProbeCommand& command, Child child, UniqueFd out, UniqueFd errors)
      : command_(command),
        child_(std::move(child)),
        out_(std::move(out)),
        errors_(std::move(errors)),
        started_(Clock::now()),
        deadline_(started_ + command.deadline) {}

  ProbeEnd to_the_end() {
    ProbeEnd end;
    enum class Why { kEnded, kDeadline, kStopped, kFlood } why = Why::kEnded;
    while (!has_ended()) {
      const Clock::time_point now = Clock::now();
      if (now >= deadline_) {
        why = Why::kDeadline;
        break;
      }
      if (wait(std::chrono::ceil<milliseconds>(deadline_ - now))) {
        why = Why::kStopped;
        break;
      }
      read_some();
      tell_progress();
      if (text_.size() > kMaxProbeOutput || error_bytes_ > kMaxProbeOutput) {
        why = Why::kFlood;
        break;
      }
    }
    const Clock::time_point ended = Clock::now();
    const bool gone = end_group();
    // No more than pipes hold; what is left open by others is not waited for.
    while (text_.size() <= kMaxProbeOutput && error_bytes_ <= kMaxProbeOutput && read_some()) {
    }
    if (text_.size() > kMaxProbeOutput || error_bytes_ > kMaxProbeOutput) why = Why::kFlood;
    end.output = split_probe_output(text_);
    end.stopped = why == Why::kStopped;
    switch (why) {
      case Why::kEnded:
        end.error = judge(end.output);
        break;
      case Why::kDeadline:
        end.error = Error{Errc::kTimeout, late(end.output)};
        break;
      case Why::kStopped:
        end.error = Error{Errc::kSkipped, "was stopped" + at(end.output)};
        break;
      case Why::kFlood:
        // The end of it may be missing, and which line is the last is not known.
        end.output.result.clear();
        end.error = Error{Errc::kTooLarge, "printed more than " + format_size(kMaxProbeOutput) +
                                               " and was killed" + at(end.output)};
        break;
    }
    if (end.error && why != Why::kFlood && end.output.result.empty()) {
      end.partial = partial_probe_result(text_, ended - started_);
    }
    if (!gone) {
      end.left_behind = child_.pid;
      end.error->message += "; it hangs in the kernel beyond SIGKILL and is left behind, process " +
                            std::to_string(child_.pid);
    }
    if (end.error) end.error->message += last_words();
    return end;
  }

 private:
  // Whether it is over, without taking its number away from it.
  bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOHANG | WNOWAIT) !=
               0 ||
           info.si_pid != 0;
  }

  // True when it is to be given up.
  bool wait(milliseconds longest) const {
    std::array<pollfd, 4> fds{{{out_.valid() ? out_.get() : -1, POLLIN, 0},
                               {errors_.valid() ? errors_.get() : -1, POLLIN, 0},
                               {child_.pidfd.valid() ? child_.pidfd.get() : -1, POLLIN, 0},
                               {command_.stop_fd, POLLIN, 0}}};
    if (!child_.pidfd.valid()) longest = std::min(longest, kBetweenLooks);
    if (has_progress()) longest = std::min(longest, kBetweenProgress);
    const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(longest.count()));
    return ready > 0 && fds[3].revents != 0;
  }

  // False when nothing more is to be had now.
  bool read_some() {
    std::array<char, kReadBytes> bytes;
    bool more = false;
    const auto read_from = [&](UniqueFd& fd, auto&& take) {
      if (!fd.valid()) return;
      const ssize_t n = ::read(fd.get(), bytes.data(), bytes.size());
      if (n > 0) {
        take(std::string_view(bytes.data(), static_cast<std::size_t>(n)));
        more = true;
      } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        fd.reset();
      }
    };
    read_from(out_, [&](std::string_view part) { text_.append(part); });
    read_from(errors_, [&](std::string_view part) {
      error_bytes_ += part.size();
      errors_text_.append(part);
      if (errors_text_.size() > kLastWords) {
        errors_text_.erase(0, errors_text_.size() - kLastWords);
      }
    });
    return more;
  }

  // The step that it hangs in is the last it tells, so what came too soon after another is told
  // later.
  bool has_progress() const { return command_.progress && text_.size() != told_bytes_; }
  void tell_progress() {
    const Clock::time_point now = Clock::now();
    if (!has_progress() || now < next_progress_) return;
    next_progress_ = now + kBetweenProgress;
    told_bytes_ = text_.size();
    const std::string where = split_probe_output(text_).where;
    if (!where.empty()) command_.progress(where);
  }

  // Ends it and all that it started, which goes first: until the process is reaped its number is
  // nobody else's. False when it is not gone after a while.
  bool end_group() {
    ::kill(-child_.pid, SIGKILL);
    ::kill(child_.pid, SIGKILL);
    const Clock::time_point patience = Clock::now() + kDyingPatience;
    while (!has_ended()) {
      if (Clock::now() >= patience) return false;
      pollfd gone{child_.pidfd.valid() ? child_.pidfd.get() : -1, POLLIN, 0};
      ::poll(&gone, 1, static_cast<int>(kBetweenLooks.count()));
    }
    if (::waitpid(child_.pid, &status_, WNOHANG) != child_.pid) status_ = 0;
    return true;
  }

  // Of one that ended by itself.
  std::optional<Error> judge(const ProbeOutput& output) const {
    if (WIFSIGNALED(status_)) {
      const int number = WTERMSIG(status_);
      // Its own alarm, which may come a moment before ours.
      if (number == SIGALRM || number == SIGXCPU) return Error{Errc::kTimeout, late(output)};
      std::string message = is_crash(number) ? "crashed with " : "was killed by ";
      message += signal_text(number) + at(output);
      if (number == SIGKILL) message += "; for want of memory? `jetmem events` tells";
      return Error{Errc::kIo, std::move(message)};
    }
    if (WEXITSTATUS(status_) != 0) {
      return Error{Errc::kIo,
                   "ended with status " + std::to_string(WEXITSTATUS(status_)) + at(output)};
    }
    if (!output.result.empty()) return std::nullopt;
    if (text_.empty()) return Error{Errc::kMalformed, "ended well, but printed nothing"};
    const bool cut = text_.back() != '\n';
    return Error{Errc::kMalformed,
                 std::string(cut ? "ended in the middle of a line" : "printed no result") +
                     ", its last: '" + last_line() + "'"};
  }

  std::string late(const ProbeOutput& output) const {
    return "did not end within " + format_duration(command_.deadline) + at(output);
  }
  static std::string at(const ProbeOutput& output) {
    return output.where.empty() ? "" : ", while at \"" + output.where + "\"";
  }

  std::string last_line() const {
    const std::string_view text = trim(text_);
    const std::size_t end = text.rfind('\n');
    return printable(text.substr(end == text.npos ? 0 : end + 1), 80);
  }

  // The end of what it wrote to stderr.
  std::string last_words() const {
    std::string_view text = errors_text_;
    const auto is_space = [](char c) { return is_blank(c) || c == '\n' || c == '\r'; };
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    return text.empty() ? "" : ": " + printable(text, kLastWords);
  }

  const ProbeCommand& command_;
  Child child_;
  UniqueFd out_;
  UniqueFd errors_;
  Clock::time_point started_;
  Clock::time_point deadline_;
  Clock::time_point next_progress_{};
  std::size_t told_bytes_ = 0;
  std::string text_;
  std::string errors_text_;
  std::size_t error_bytes_ = 0;
  int status_ = 0;
};

}  // namespace

ProbeEnd run_probe(Spawner& spawner, const ProbeCommand& command) {
  ProbeEnd end;
  auto out = make_pipe(command.program);
  auto errors = make_pipe(command.program);
  if (!out || !errors) {
    end.error = !out ? std::move(out.error()) : std::move(errors.error());
    return end;
  }
  SpawnRequest request;
  request.argv = {command.program};
  request.argv.insert(request.argv.end(), command.arguments.begin(), command.arguments.end());
  request.descriptors = {{out->theirs.get(), 1}, {errors->theirs.get(), 2}};
  request.stranger = true;
  auto child = spawner.spawn(request);
  if (!child) {
    end.error = std::move(child.error());
    return end;
  }
  out->theirs.reset();
  errors->theirs.reset();
  return Running(command, std::move(*child), std::move(out->mine), std::move(errors->mine))
      .to_the_end();
}

}  // namespace jetmem
