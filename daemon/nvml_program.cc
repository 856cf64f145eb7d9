#include "daemon/nvml_program.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "collectors/nvml/parse.h"
#include "collectors/nvml/source.h"

namespace jetmem {
namespace {

// Where a captured tree keeps the text, and so what the source looks for.
constexpr std::string_view kPath = "/jetmem/nvml";
// After a run that failed. One that is answered "nothing here" need not be asked again for long: a
// reload of the settings asks at once.
constexpr Nanoseconds kFirstPause = std::chrono::minutes(1);
constexpr Nanoseconds kLongestPause = std::chrono::hours(1);
constexpr Nanoseconds kNothingPause = std::chrono::hours(1);
constexpr Nanoseconds kWorthShowing = std::chrono::seconds(2);
constexpr std::uint64_t kSlackUs = 50'000;

// Whether its last line is there, without which the program did not get to its end.
bool is_whole(std::string_view text) { return text.ends_with("\nend\n"); }

}  // namespace

NvmlProgram::NvmlProgram(const ProgramContext& context, NvmlProgramOptions options)
    : clock_(context.clock),
      done_(context.done),
      log_(context.log, context.clock, NvmlSource::kInfo.name),
      options_(std::move(options)),
      child_(context.clock, context.spawner,
             {[this](std::string_view bytes) { on_output(bytes); },
              [this](bool well, std::string how) { on_end(well, std::move(how)); }}),
      backoff_(kFirstPause, kLongestPause) {
  if (options_.program.empty()) options_.program = find_companion("jetmem-nvml");
}

NvmlProgram::~NvmlProgram() { sd_event_source_unref(timer_); }

std::string_view NvmlProgram::source() const { return NvmlSource::kInfo.name; }

Result<void> NvmlProgram::start(sd_event* event) {
  int ok = sd_event_add_time(event, &timer_, CLOCK_MONOTONIC, 0, kSlackUs, on_deadline, this);
  if (ok >= 0) ok = sd_event_source_set_enabled(timer_, SD_EVENT_OFF);
  if (ok < 0) return tl::unexpected(errno_error("set up", "a timer for jetmem-nvml", -ok));
  return child_.attach(event);
}

void NvmlProgram::apply(const Settings& /*settings*/) { next_run_ = Nanoseconds(0); }

pid_t NvmlProgram::pid() const {
  return child_.running() && clock_.mono() - started_ >= kWorthShowing ? child_.pid() : -1;
}

void NvmlProgram::due() {
  if (child_.running()) return;
  if (child_.leaving()) {
    // A moment after it was killed it is merely dying.
    if (!child_.wedged()) return;
    std::string message = "jetmem-nvml " + std::to_string(child_.leaving_pid()) +
                          " hangs in the GPU's driver and cannot be killed: no other is started "
                          "until it is gone";
    if (!std::exchange(told_wedged_, true)) {
      figures_.failed(ProgramFailure::kWedged);
      log_.say(LogLevel::kError, message);
    }
    done_(source(), fail(Errc::kTimeout, std::move(message)), Nanoseconds(0));
    return;
  }
  told_wedged_ = false;
  if (clock_.boot() < next_run_) return;
  if (::access(options_.driver.c_str(), F_OK) != 0) {
    if (const int error = errno; error != ENOENT && error != ENOTDIR) {
      done_(source(), tl::unexpected(errno_error("look at", options_.driver, error)),
            Nanoseconds(0));
      return;
    }
    done_(source(),
          fail(Errc::kAbsent, "the GPU's driver is not nvidia.ko (there is no " + options_.driver +
                                  "): where it is nvgpu, nvmap tells the memory of processes"),
          Nanoseconds(0));
    return;
  }
  if (auto ran = run(); !ran) {
    const Errc code = ran.error().code == Errc::kDenied ? Errc::kDenied : Errc::kUnavailable;
    give_up(ProgramFailure::kNotStarted, code, std::move(ran.error().message));
  }
}

void NvmlProgram::stop() {
  child_.kill();
  set_deadline(false);
  next_run_ = Nanoseconds(0);
  backoff_.reset();
  told_wedged_ = false;
}

Result<void> NvmlProgram::run() {
  text_.clear();
  knows_process_ = false;
  auto connected = connect_to_socket();
  if (!connected) {
    if (options_.program.empty()) return connected;
    if (connected.error().message != told_fallback_) {
      told_fallback_ = connected.error().message;
      log_.say(LogLevel::kInfo, "jetmem-nvml runs with the daemon's own rights: " + told_fallback_);
    }
    if (auto spawned = spawn(); !spawned) return spawned;
  }
  ++figures_.starts;
  started_ = clock_.mono();
  set_deadline(true);
  return {};
}

Result<void> NvmlProgram::connect_to_socket() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options_.socket.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalid, "socket path too long: " + options_.socket);
  }
  options_.socket.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid() ||
      ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return tl::unexpected(errno_error("connect to", options_.socket, errno));
  }
  from_socket_ = true;
  return child_.read_from(std::move(fd));
}

Result<void> NvmlProgram::spawn() {
  from_socket_ = false;
  SpawnRequest request;
  request.argv = {options_.program};
  request.argv.insert(request.argv.end(), options_.arguments.begin(), options_.arguments.end());
  return child_.start(std::move(request));
}

void NvmlProgram::on_output(std::string_view bytes) {
  text_.append(bytes);
  if (text_.size() > nvml::kMaxText) {
    child_.kill();
    give_up(ProgramFailure::kFlood, Errc::kTooLarge,
            "jetmem-nvml printed more than " + format_size(nvml::kMaxText));
    return;
  }
  // Its second line says which process it is: of systemd's we know it from nowhere else.
  if (!from_socket_ || knows_process_) return;
  Lines lines(text_.view());
  std::string_view line;
  if (!lines.next(line) || !lines.next(line) || lines.rest().empty()) return;
  knows_process_ = true;
  if (!take_prefix(line, "pid ")) return;
  const auto pid = parse_u64(line);
  if (pid && *pid < (1U << 22)) {
    // Systemd ends it a little later; by then it should have ended itself.
    child_.know_process(static_cast<pid_t>(*pid), name(), started_ + options_.deadline);
  }
}

void NvmlProgram::on_end(bool well, std::string how) {
  set_deadline(false);
  std::uint64_t lines = 0;
  for (const char c : text_.view()) lines += c == '\n' ? 1 : 0;
  figures_.lines += lines;
  if (from_socket_ && text_.size() == 0) {
    give_up(ProgramFailure::kEnded, Errc::kUnavailable,
            "the jetmem-nvml behind " + options_.socket +
                " ended without a word; the journal of its unit may say why");
    return;
  }
  if (!well) {
    give_up(ProgramFailure::kEnded, Errc::kUnavailable, "jetmem-nvml " + std::move(how));
    return;
  }
  // Of systemd's process nobody tells us how it ended: only its text does.
  if (!is_whole(text_.view())) {
    give_up(ProgramFailure::kEnded, Errc::kUnavailable,
            (from_socket_ ? "the jetmem-nvml behind " + options_.socket : "jetmem-nvml") +
                " ended after " + std::to_string(lines) + " lines: the text was cut" +
                (from_socket_ ? "; the journal of its unit may say why" : ""));
    return;
  }
  snapshot_.clear();
  snapshot_.add(kPath, text_.view(), 0);
  const auto ok = parse_nvml(text_.view(), look_);
  if (!ok && ok.error().code == Errc::kUnavailable) {
    // The program did what it should: no failure of its own.
    next_run_ = clock_.boot() + backoff_.next();
  } else {
    backoff_.reset();
    if (!ok && ok.error().code == Errc::kAbsent) next_run_ = clock_.boot() + kNothingPause;
  }
  done_(source(), &snapshot_, clock_.mono() - started_);
}

int NvmlProgram::on_deadline(sd_event_source*, std::uint64_t, void* self) {
  auto* program = static_cast<NvmlProgram*>(self);
  // If it was we who were away, its answer is there.
  program->child_.read_now();
  if (!program->child_.running()) return 0;
  std::string how = "jetmem-nvml did not end within " + format_duration(program->options_.deadline);
  if (const std::string words = program->child_.last_words(); !words.empty()) how += ": " + words;
  program->child_.kill();
  program->give_up(ProgramFailure::kSilent, Errc::kTimeout, std::move(how));
  return 0;
}

void NvmlProgram::give_up(ProgramFailure why, Errc code, std::string how) {
  set_deadline(false);
  figures_.failed(why);
  const Nanoseconds pause = backoff_.next();
  next_run_ = clock_.boot() + pause;
  log_.say(LogLevel::kWarning,
           how + "; it is tried again in " +
               format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(pause)));
  done_(source(), fail(code, std::move(how)), Nanoseconds(0));
}

void NvmlProgram::set_deadline(bool on) {
  if (timer_ == nullptr) return;
  const auto from_now = std::chrono::microseconds(options_.deadline).count();
  sd_event_source_set_time_relative(timer_, static_cast<std::uint64_t>(on ? from_now : 0));
  sd_event_source_set_enabled(timer_, on ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

void NvmlProgram::write(SampleWriter& out) const {
  ProgramFigures figures = figures_;
  figures.wedged = child_.wedged();
  write_program(out, name(), figures);
}

}  // namespace jetmem
