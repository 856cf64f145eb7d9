// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/tegrastats_program.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "base/text/text.h"
#include "base/text/units.h"
#include "collectors/jetson/tegrastats/source.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;

// Where a captured tree keeps the line, and so what the source looks for.
constexpr std::string_view kTegrastatsPath = "/jetmem/tegrastats";
constexpr Nanoseconds kTegrastatsFirstPause = std::chrono::seconds(1);
constexpr Nanoseconds kTegrastatsLongestPause = std::chrono::minutes(5);
// One that prints for so long is sound: when it ends after all, it is started again soon.
constexpr Nanoseconds kSound = std::chrono::minutes(1);
// More than three intervals without a line, which make the source stale.
constexpr int kSilentIntervals = 3;
constexpr Nanoseconds kSilenceSlack = std::chrono::seconds(5);
constexpr Nanoseconds kFloodLimit = std::chrono::seconds(10);
// The one before is killed: it takes a moment, or for ever.
constexpr Nanoseconds kRetrySoon = std::chrono::milliseconds(100);
constexpr Nanoseconds kWedgedPause = std::chrono::seconds(30);
constexpr Nanoseconds kLossPause = std::chrono::minutes(10);

constexpr std::array<std::string_view, 6> kPlaces{
    "/usr/bin/tegrastats", "/usr/sbin/tegrastats",      "/bin/tegrastats",
    "/sbin/tegrastats",    "/usr/local/bin/tegrastats", "/usr/local/sbin/tegrastats"};

}  // namespace

Result<std::string> find_tegrastats(const std::string& configured) {
  if (!configured.empty()) return configured;
  std::string there;
  for (const std::string_view location : kPlaces) {
    const std::string path(location);
    if (::access(path.c_str(), X_OK) == 0) return path;
    if (there.empty() && ::access(path.c_str(), F_OK) == 0) there = path;
  }
  // Starting it says why it cannot be.
  if (!there.empty()) return there;
  return fail(Errc::kAbsent,
              "tegrastats is not installed: it is not in /usr/bin, /usr/sbin, /bin, /sbin, "
              "/usr/local/bin or /usr/local/sbin, and tegrastats.program names none");
}

TegrastatsProgram::TegrastatsProgram(const ProgramContext& context)
    : clock_(context.clock),
      done_(context.done),
      log_(context.log, context.clock, TegrastatsSource::kInfo.name),
      child_(context.clock, context.spawner,
             {[this](std::string_view bytes) { on_output(bytes); },
              [this](const ChildEnd& end) {
                abandon_run(ChildProcessFailure::kExited, "tegrastats " + end.how);
              }}),
      backoff_(kTegrastatsFirstPause, kTegrastatsLongestPause) {}

std::string_view TegrastatsProgram::source() const { return TegrastatsSource::kInfo.name; }

Result<void> TegrastatsProgram::start(EventLoop& loop) {
  if (auto ok = timer_.attach(loop, [this] { on_timer(); }); !ok) return ok;
  return child_.attach(loop);
}

void TegrastatsProgram::apply(const Settings& settings) {
  program_ = settings.tegrastats.program;
  const SourceSettings* source = settings.find_source(this->source());
  if (source == nullptr || source->interval == interval_) return;
  interval_ = source->interval;
  if (!child_.running()) return;
  // It takes its interval only when it starts.
  child_.kill();
  wait(Waits::kToStart, kRetrySoon);
}

void TegrastatsProgram::due() {
  needed_ = true;
  if (child_.running()) {
    log_losses();
  } else if (waits_ == Waits::kForNothing) {
    run();
  }
}

void TegrastatsProgram::stop() {
  needed_ = false;
  child_.kill();
  line_.restart();
  backoff_.reset();
  logged_wedged_ = false;
  wait(Waits::kForNothing, Nanoseconds(0));
}

void TegrastatsProgram::run() {
  wait(Waits::kForNothing, Nanoseconds(0));
  if (child_.is_terminating()) {
    if (!child_.wedged()) {
      wait(Waits::kToStart, kRetrySoon);
      return;
    }
    if (!std::exchange(logged_wedged_, true)) {
      stats_.failed(ChildProcessFailure::kWedged);
      std::string message = "tegrastats " + std::to_string(child_.terminating_pid()) +
                            " was killed and still hangs in the kernel: no other is started "
                            "until it is gone";
      log_.log_message(LogLevel::kError, message);
      done_(source(), fail(Errc::kTimeout, std::move(message)), Nanoseconds(0));
    }
    wait(Waits::kToStart, kWedgedPause);
    return;
  }
  logged_wedged_ = false;
  auto spawned = spawn();
  if (spawned) return;
  const Errc code = spawned.error().code;
  if (code != Errc::kAbsent && code != Errc::kDenied) {
    abandon_run(ChildProcessFailure::kNotStarted, std::move(spawned.error().message));
    return;
  }
  // Nobody waits for what is not there: the daemon asks again now and then.
  if (code == Errc::kDenied || !program_.empty()) stats_.failed(ChildProcessFailure::kNotStarted);
  done_(source(), tl::unexpected(std::move(spawned.error())), Nanoseconds(0));
}

Result<void> TegrastatsProgram::spawn() {
  auto program = find_tegrastats(program_);
  if (!program) return tl::unexpected(std::move(program.error()));
  SpawnRequest request;
  request.argv = {*program, "--interval", std::to_string(interval_.count())};
  request.own_process_group = true;
  line_.restart();
  if (auto ok = child_.start(std::move(request)); !ok) return ok;
  ++stats_.starts;
  started_ = clock_.mono();
  first_line_ = line_.lines();
  handed_over_ = Nanoseconds(0);
  wait(Waits::kForLine, timeout());
  log_.log_message(LogLevel::kInfo, "started " + *program + " as process " +
                                        std::to_string(child_.pid()) + ", a line each " +
                                        format_duration(interval_));
  return {};
}

void TegrastatsProgram::on_output(std::string_view bytes) {
  const std::uint64_t before = line_.lines();
  line_.feed(bytes);
  const Nanoseconds now = clock_.mono();
  if (const Nanoseconds flood = child_.flooding(); flood >= kFloodLimit) {
    child_.kill();
    abandon_run(ChildProcessFailure::kFlood,
                "tegrastats floods: it printed far more than it should for " +
                    format_duration(std::chrono::duration_cast<std::chrono::seconds>(flood)) +
                    ", " + std::to_string(line_.lines() - first_line_) + " lines");
    return;
  }
  if (line_.lines() == before) return;
  if (now - started_ >= kSound && child_.flooding() == Nanoseconds(0)) backoff_.reset();
  wait(Waits::kForLine, timeout());
  // A line comes each interval, more or less, and is taken as it comes or never: kept for later it
  // would be reported as new when it is not. What comes in between is superseded by the next.
  if (handed_over_ == Nanoseconds(0) || now - handed_over_ >= interval_ / 2) hand_over();
}

void TegrastatsProgram::hand_over() {
  handed_over_ = clock_.mono();
  snapshot_.clear();
  snapshot_.add(kTegrastatsPath, line_.line(), 0);
  line_.take();
  done_(source(), &snapshot_, Nanoseconds(0));
}

void TegrastatsProgram::on_timer() {
  switch (waits_) {
    case Waits::kForNothing:
      break;
    case Waits::kToStart:
      if (needed_) run();
      break;
    case Waits::kForLine:
      on_silence();
      break;
  }
}

void TegrastatsProgram::on_silence() {
  // If it was we who were away, its lines are there.
  const std::uint64_t before = line_.lines();
  child_.read_now();
  if (line_.lines() != before || !child_.running()) return;
  const bool endless = child_.flooding() > Nanoseconds(0);
  std::string message =
      endless ? "tegrastats printed without ending a line for " : "tegrastats printed no line for ";
  message +=
      format_duration(std::chrono::duration_cast<milliseconds>(timeout())) + " and was ended";
  if (const std::string words = child_.stderr_tail(); !words.empty()) message += ": " + words;
  child_.kill();
  abandon_run(endless ? ChildProcessFailure::kFlood : ChildProcessFailure::kTimeout,
              std::move(message));
}

void TegrastatsProgram::abandon_run(ChildProcessFailure why, std::string how) {
  stats_.failed(why);
  line_.restart();
  const Nanoseconds pause = backoff_.next();
  wait(Waits::kToStart, pause);
  log_.log_message(LogLevel::kWarning,
                   how + "; it is started again in " +
                       format_duration(std::chrono::duration_cast<milliseconds>(pause)));
  done_(source(), fail(Errc::kUnavailable, std::move(how)), Nanoseconds(0));
}

void TegrastatsProgram::log_losses() {
  const std::uint64_t lost = line_.superseded() + line_.too_long();
  const Nanoseconds now = clock_.mono();
  if (lost == logged_lost_ || (logged_lost_ > 0 && now - logged_losses_at_ < kLossPause)) return;
  log_.log_message(LogLevel::kWarning,
                   std::to_string(lost - logged_lost_) +
                       " lines of tegrastats were not looked at: it prints more than "
                       "a line each " +
                       format_duration(interval_) + ", or lines without an end");
  logged_lost_ = lost;
  logged_losses_at_ = now;
}

Nanoseconds TegrastatsProgram::timeout() const {
  return kSilentIntervals * interval_ + kSilenceSlack;
}

void TegrastatsProgram::wait(Waits what, Nanoseconds how_long) {
  waits_ = what;
  timer_.cancel();
  if (what != Waits::kForNothing) timer_.set(how_long);
}

void TegrastatsProgram::write(SampleWriter& out) const {
  ChildProcessStats stats = stats_;
  stats.lines = line_.lines();
  stats.superseded = line_.superseded();
  stats.too_long = line_.too_long();
  stats.wedged = child_.wedged();
  write_child_process_stats(out, name(), stats);
}

}  // namespace jetmem
