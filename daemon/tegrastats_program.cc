#include "daemon/tegrastats_program.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "collectors/tegrastats/source.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;

// Where a captured tree keeps the line, and so what the source looks for.
constexpr std::string_view kPath = "/jetmem/tegrastats";
constexpr Nanoseconds kFirstPause = std::chrono::seconds(1);
constexpr Nanoseconds kLongestPause = std::chrono::minutes(5);
// One that prints for so long is sound: when it ends after all, it is started again soon.
constexpr Nanoseconds kSound = std::chrono::minutes(1);
// More than three intervals without a line, which make the source stale.
constexpr int kSilentIntervals = 3;
constexpr Nanoseconds kSilenceSlack = std::chrono::seconds(5);
constexpr Nanoseconds kFloodLimit = std::chrono::seconds(10);
// The one before is killed: it takes a moment, or for ever.
constexpr Nanoseconds kSoon = std::chrono::milliseconds(100);
constexpr Nanoseconds kWedgedPause = std::chrono::seconds(30);
constexpr Nanoseconds kLossPause = std::chrono::minutes(10);
constexpr std::uint64_t kSlackUs = 50'000;

constexpr std::array<std::string_view, 6> kPlaces{
    "/usr/bin/tegrastats", "/usr/sbin/tegrastats",      "/bin/tegrastats",
    "/sbin/tegrastats",    "/usr/local/bin/tegrastats", "/usr/local/sbin/tegrastats"};

}  // namespace

Result<std::string> find_tegrastats(const std::string& configured) {
  if (!configured.empty()) return configured;
  std::string there;
  for (const std::string_view place : kPlaces) {
    const std::string path(place);
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
              [this](bool, std::string how) {
                give_up(ProgramFailure::kEnded, "tegrastats " + std::move(how));
              }}),
      backoff_(kFirstPause, kLongestPause) {}

TegrastatsProgram::~TegrastatsProgram() { sd_event_source_unref(timer_); }

std::string_view TegrastatsProgram::source() const { return TegrastatsSource::kInfo.name; }

Result<void> TegrastatsProgram::start(sd_event* event) {
  int ok = sd_event_add_time(event, &timer_, CLOCK_MONOTONIC, 0, kSlackUs, on_timer, this);
  if (ok >= 0) ok = sd_event_source_set_enabled(timer_, SD_EVENT_OFF);
  if (ok < 0) return tl::unexpected(errno_error("set up", "a timer for tegrastats", -ok));
  return child_.attach(event);
}

void TegrastatsProgram::apply(const Settings& settings) {
  program_ = settings.tegrastats.program;
  const SourceSettings* source = settings.find_source(this->source());
  if (source == nullptr || source->interval == interval_) return;
  interval_ = source->interval;
  if (!child_.running()) return;
  // It takes its interval only when it starts.
  child_.kill();
  wait(Waits::kToStart, kSoon);
}

void TegrastatsProgram::due() {
  wanted_ = true;
  if (child_.running()) {
    tell_losses();
  } else if (waits_ == Waits::kForNothing) {
    run();
  }
}

void TegrastatsProgram::stop() {
  wanted_ = false;
  child_.kill();
  line_.restart();
  backoff_.reset();
  told_wedged_ = false;
  wait(Waits::kForNothing, Nanoseconds(0));
}

void TegrastatsProgram::run() {
  wait(Waits::kForNothing, Nanoseconds(0));
  if (child_.leaving()) {
    if (!child_.wedged()) {
      wait(Waits::kToStart, kSoon);
      return;
    }
    if (!std::exchange(told_wedged_, true)) {
      figures_.failed(ProgramFailure::kWedged);
      std::string message = "tegrastats " + std::to_string(child_.leaving_pid()) +
                            " was killed and still hangs in the kernel: no other is started "
                            "until it is gone";
      log_.say(LogLevel::kError, message);
      done_(source(), fail(Errc::kTimeout, std::move(message)), Nanoseconds(0));
    }
    wait(Waits::kToStart, kWedgedPause);
    return;
  }
  told_wedged_ = false;
  auto spawned = spawn();
  if (spawned) return;
  const Errc code = spawned.error().code;
  if (code != Errc::kAbsent && code != Errc::kDenied) {
    give_up(ProgramFailure::kNotStarted, std::move(spawned.error().message));
    return;
  }
  // Nobody waits for what is not there: the daemon asks again now and then.
  if (code == Errc::kDenied || !program_.empty()) figures_.failed(ProgramFailure::kNotStarted);
  done_(source(), tl::unexpected(std::move(spawned.error())), Nanoseconds(0));
}

Result<void> TegrastatsProgram::spawn() {
  auto program = find_tegrastats(program_);
  if (!program) return tl::unexpected(std::move(program.error()));
  SpawnRequest request;
  request.argv = {*program, "--interval", std::to_string(interval_.count())};
  request.stranger = true;
  line_.restart();
  if (auto ok = child_.start(std::move(request)); !ok) return ok;
  ++figures_.starts;
  started_ = clock_.mono();
  first_line_ = line_.lines();
  handed_over_ = Nanoseconds(0);
  wait(Waits::kForLine, patience());
  log_.say(LogLevel::kInfo, "started " + *program + " as process " + std::to_string(child_.pid()) +
                                ", a line each " + format_duration(interval_));
  return {};
}

void TegrastatsProgram::on_output(std::string_view bytes) {
  const std::uint64_t before = line_.lines();
  line_.feed(bytes);
  const Nanoseconds now = clock_.mono();
  if (const Nanoseconds flood = child_.flooding(); flood >= kFloodLimit) {
    child_.kill();
    give_up(ProgramFailure::kFlood,
            "tegrastats floods: it printed far more than it should for " +
                format_duration(std::chrono::duration_cast<std::chrono::seconds>(flood)) + ", " +
                std::to_string(line_.lines() - first_line_) + " lines");
    return;
  }
  if (line_.lines() == before) return;
  if (now - started_ >= kSound && child_.flooding() == Nanoseconds(0)) backoff_.reset();
  wait(Waits::kForLine, patience());
  // A line comes each interval, more or less, and is taken as it comes or never: kept for later it
  // would be told as new when it is not. What comes in between is superseded by the next.
  if (handed_over_ == Nanoseconds(0) || now - handed_over_ >= interval_ / 2) hand_over();
}

void TegrastatsProgram::hand_over() {
  handed_over_ = clock_.mono();
  snapshot_.clear();
  snapshot_.add(kPath, line_.line(), 0);
  line_.take();
  done_(source(), &snapshot_, Nanoseconds(0));
}

int TegrastatsProgram::on_timer(sd_event_source*, std::uint64_t, void* self) {
  auto* program = static_cast<TegrastatsProgram*>(self);
  switch (program->waits_) {
    case Waits::kForNothing:
      break;
    case Waits::kToStart:
      if (program->wanted_) program->run();
      break;
    case Waits::kForLine:
      program->on_silence();
      break;
  }
  return 0;
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
      format_duration(std::chrono::duration_cast<milliseconds>(patience())) + " and was ended";
  if (const std::string words = child_.last_words(); !words.empty()) message += ": " + words;
  child_.kill();
  give_up(endless ? ProgramFailure::kFlood : ProgramFailure::kSilent, std::move(message));
}

void TegrastatsProgram::give_up(ProgramFailure why, std::string how) {
  figures_.failed(why);
  line_.restart();
  const Nanoseconds pause = backoff_.next();
  wait(Waits::kToStart, pause);
  log_.say(LogLevel::kWarning,
           how + "; it is started again in " +
               format_duration(std::chrono::duration_cast<milliseconds>(pause)));
  done_(source(), fail(Errc::kUnavailable, std::move(how)), Nanoseconds(0));
}

void TegrastatsProgram::tell_losses() {
  const std::uint64_t lost = line_.superseded() + line_.too_long();
  const Nanoseconds now = clock_.mono();
  if (lost == told_lost_ || (told_lost_ > 0 && now - told_losses_at_ < kLossPause)) return;
  log_.say(LogLevel::kWarning, std::to_string(lost - told_lost_) +
                                   " lines of tegrastats were not looked at: it prints more than "
                                   "a line each " +
                                   format_duration(interval_) + ", or lines without an end");
  told_lost_ = lost;
  told_losses_at_ = now;
}

Nanoseconds TegrastatsProgram::patience() const {
  return kSilentIntervals * interval_ + kSilenceSlack;
}

void TegrastatsProgram::wait(Waits what, Nanoseconds how_long) {
  waits_ = what;
  if (timer_ == nullptr) return;
  sd_event_source_set_time_relative(timer_, static_cast<std::uint64_t>(how_long.count() / 1000));
  sd_event_source_set_enabled(timer_, what == Waits::kForNothing ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

void TegrastatsProgram::write(SampleWriter& out) const {
  ProgramFigures figures = figures_;
  figures.lines = line_.lines();
  figures.superseded = line_.superseded();
  figures.too_long = line_.too_long();
  figures.wedged = child_.wedged();
  write_program(out, name(), figures);
}

}  // namespace jetmem
