// SPDX-License-Identifier: Apache-2.0
#include "probes/run_probe.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "base/process/child_process.h"
#include "base/process/poll_loop.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "probes/partial.h"

namespace jetmem {
namespace {

constexpr Nanoseconds kExitTimeout = std::chrono::seconds(2);
constexpr Nanoseconds kBetweenProgress = std::chrono::milliseconds(100);

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

class Running {
 public:
  Running(Spawner& spawner, const ProbeCommand& command)
      : command_(command),
        child_(clock_, spawner,
               {.output = [this](std::string_view bytes) { on_output(bytes); },
                .ended =
                    [this](ChildEnd end) {
                      child_end_ = std::move(end);
                      why_ = Why::kEnded;
                    }}) {
    child_.allow_stdout_close();
  }

  ProbeEnd run() {
    ProbeEnd end;
    const Nanoseconds begin = clock_.mono();
    if (auto started = start(); !started) {
      end.error = std::move(started.error());
      return end;
    }
    loop_.run_until([&] {
      if (!why_ && child_.stderr_bytes() > kMaxProbeOutput) why_ = Why::kFlood;
      return why_.has_value();
    });
    const Nanoseconds elapsed = clock_.mono() - begin;
    child_.kill();
    const bool gone = loop_.run_until([&] { return !child_.is_terminating(); }, kExitTimeout);
    end.output = split_probe_output(text_);
    end.stopped = *why_ == Why::kStopped;
    switch (*why_) {
      case Why::kEnded:
        end.error = evaluate(end.output);
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
    if (end.error && *why_ != Why::kFlood && end.output.result.empty()) {
      end.partial = partial_probe_result(text_, elapsed);
    }
    if (!gone) {
      end.left_behind = child_.terminating_pid();
      end.error->message += "; it hangs in the kernel beyond SIGKILL and is left behind, process " +
                            std::to_string(end.left_behind);
    }
    if (const std::string words = child_.stderr_tail(); end.error && !words.empty()) {
      end.error->message += ": " + words;
    }
    return end;
  }

 private:
  enum class Why { kEnded, kDeadline, kStopped, kFlood };

  Result<void> start() {
    if (auto ok = child_.attach(loop_); !ok) return ok;
    if (auto ok = deadline_.attach(loop_, [this] { give_up(Why::kDeadline); }); !ok) return ok;
    if (auto ok = progress_.attach(loop_, [this] { print_progress(); }); !ok) return ok;
    if (command_.stop_fd >= 0) {
      auto ok = stop_.start(loop_, command_.stop_fd, [this] { give_up(Why::kStopped); });
      if (!ok) return ok;
    }
    SpawnRequest request;
    request.argv = {command_.program};
    request.argv.insert(request.argv.end(), command_.arguments.begin(), command_.arguments.end());
    request.own_process_group = true;
    deadline_.set(command_.deadline);
    return child_.start(std::move(request));
  }

  // What it printed until then counts.
  void give_up(Why why) {
    child_.read_now();
    if (!why_) why_ = why;
  }

  void on_output(std::string_view bytes) {
    text_.append(bytes);
    if (text_.size() > kMaxProbeOutput) {
      why_ = Why::kFlood;
      child_.kill();
    } else if (command_.progress && !is_progress_due_) {
      is_progress_due_ = true;
      progress_.set(std::max(next_progress_ - clock_.mono(), Nanoseconds(0)));
    }
  }

  // The step that it hangs in is the last it reports, so what came too soon after another is
  // printed later.
  void print_progress() {
    is_progress_due_ = false;
    next_progress_ = clock_.mono() + kBetweenProgress;
    const std::string where = split_probe_output(text_).where;
    if (!where.empty()) command_.progress(where);
  }

  // Of one that ended by itself.
  std::optional<Error> evaluate(const ProbeOutput& output) const {
    if (const int number = child_end_.signal; number != 0) {
      // Its own alarm, which may come a moment before ours.
      if (number == SIGALRM || number == SIGXCPU) return Error{Errc::kTimeout, late(output)};
      std::string message = is_crash(number) ? "crashed with " : "was killed by ";
      message += signal_text(number) + at(output);
      if (number == SIGKILL) message += "; was memory short? see `jetmem events`";
      return Error{Errc::kIo, std::move(message)};
    }
    if (!child_end_.well) {
      return Error{Errc::kIo,
                   "ended with status " + std::to_string(child_end_.exit_status) + at(output)};
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

  const ProbeCommand& command_;
  SystemClock clock_;
  PollLoop loop_;
  ChildProcess child_;
  Timer deadline_;
  Timer progress_;
  Watch stop_;
  std::optional<Why> why_;
  ChildEnd child_end_;
  bool is_progress_due_ = false;
  Nanoseconds next_progress_{0};  // mono clock
  std::string text_;
};

}  // namespace

ProbeEnd run_probe(Spawner& spawner, const ProbeCommand& command) {
  return Running(spawner, command).run();
}

}  // namespace jetmem
