// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/nvml_program.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text/text.h"
#include "base/text/units.h"
#include "collectors/jetson/nvml/parse.h"
#include "collectors/jetson/nvml/source.h"

namespace jetmem {
namespace {

// Where a captured tree keeps the text, and so what the source looks for.
constexpr std::string_view kNvmlPath = "/jetmem/nvml";
// After a run that failed. One that is answered "nothing here" need not be asked again for long: a
// reload of the settings asks at once.
constexpr Nanoseconds kNvmlFirstPause = std::chrono::minutes(1);
constexpr Nanoseconds kNvmlLongestPause = std::chrono::hours(1);
constexpr Nanoseconds kNothingPause = std::chrono::hours(1);
constexpr Nanoseconds kShowThreshold = std::chrono::seconds(2);

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
              [this](const ChildEnd& end) { on_end(end); }}),
      backoff_(kNvmlFirstPause, kNvmlLongestPause) {
  if (options_.program.empty()) options_.program = find_companion("jetmem-nvml");
}

std::string_view NvmlProgram::source() const { return NvmlSource::kInfo.name; }

Result<void> NvmlProgram::start(EventLoop& loop) {
  if (auto ok = timer_.attach(loop, [this] { on_deadline(); }); !ok) return ok;
  return child_.attach(loop);
}

void NvmlProgram::apply(const Settings& /*settings*/) { next_run_ = Nanoseconds(0); }

pid_t NvmlProgram::pid() const {
  return child_.running() && clock_.mono() - started_ >= kShowThreshold ? child_.pid() : -1;
}

void NvmlProgram::due() {
  if (child_.running()) return;
  if (child_.is_terminating()) {
    // A moment after it was killed it is merely dying.
    if (!child_.wedged()) return;
    std::string message = "jetmem-nvml " + std::to_string(child_.terminating_pid()) +
                          " hangs in the GPU's driver and cannot be killed: no other is started "
                          "until it is gone";
    if (!std::exchange(logged_wedged_, true)) {
      stats_.failed(ChildProcessFailure::kWedged);
      log_.log_message(LogLevel::kError, message);
    }
    done_(source(), fail(Errc::kTimeout, std::move(message)), Nanoseconds(0));
    return;
  }
  logged_wedged_ = false;
  if (clock_.boot() < next_run_) return;
  if (::access(options_.driver.c_str(), F_OK) != 0) {
    if (const int error = errno; error != ENOENT && error != ENOTDIR) {
      done_(source(), tl::unexpected(errno_error("look at", options_.driver, error)),
            Nanoseconds(0));
      return;
    }
    done_(source(),
          fail(Errc::kAbsent, "the GPU's driver is not nvidia.ko (there is no " + options_.driver +
                                  "): where it is nvgpu, nvmap has the memory of processes"),
          Nanoseconds(0));
    return;
  }
  if (auto ran = run(); !ran) {
    const Errc code = ran.error().code == Errc::kDenied ? Errc::kDenied : Errc::kUnavailable;
    abandon_run(ChildProcessFailure::kNotStarted, code, std::move(ran.error().message));
  }
}

void NvmlProgram::stop() {
  child_.kill();
  timer_.cancel();
  next_run_ = Nanoseconds(0);
  backoff_.reset();
  logged_wedged_ = false;
}

Result<void> NvmlProgram::run() {
  text_.clear();
  has_peer_process_ = false;
  auto connected = connect_to_socket();
  if (!connected) {
    if (options_.program.empty()) return connected;
    if (connected.error().message != logged_fallback_) {
      logged_fallback_ = connected.error().message;
      log_.log_message(LogLevel::kInfo,
                       "jetmem-nvml runs with the daemon's own rights: " + logged_fallback_);
    }
    if (auto spawned = spawn(); !spawned) return spawned;
  }
  ++stats_.starts;
  started_ = clock_.mono();
  timer_.set(options_.deadline);
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
    abandon_run(ChildProcessFailure::kFlood, Errc::kTooLarge,
                "jetmem-nvml printed more than " + format_size(nvml::kMaxText));
    return;
  }
  // Its second line says which process it is: of systemd's we know it from nowhere else.
  if (!from_socket_ || has_peer_process_) return;
  Lines lines(text_.view());
  std::string_view line;
  if (!lines.next(line) || !lines.next(line) || lines.rest().empty()) return;
  has_peer_process_ = true;
  if (!take_prefix(line, "pid ")) return;
  const auto pid = parse_u64(line);
  if (pid && *pid < kPidLimit) {
    // Systemd ends it a little later; by then it should have ended itself.
    child_.set_peer_process(static_cast<pid_t>(*pid), name(), started_ + options_.deadline);
  }
}

void NvmlProgram::on_end(const ChildEnd& end) {
  timer_.cancel();
  std::uint64_t lines = 0;
  for (const char c : text_.view()) lines += c == '\n' ? 1 : 0;
  stats_.lines += lines;
  if (from_socket_ && text_.size() == 0) {
    abandon_run(ChildProcessFailure::kExited, Errc::kUnavailable,
                "the jetmem-nvml behind " + options_.socket +
                    " ended without a word; the journal of its unit may say why");
    return;
  }
  if (!end.well) {
    abandon_run(ChildProcessFailure::kExited, Errc::kUnavailable, "jetmem-nvml " + end.how);
    return;
  }
  // Of systemd's process nobody tells us how it ended: only its text does.
  if (!is_whole(text_.view())) {
    abandon_run(ChildProcessFailure::kExited, Errc::kUnavailable,
                (from_socket_ ? "the jetmem-nvml behind " + options_.socket : "jetmem-nvml") +
                    " ended after " + std::to_string(lines) + " lines: the text was cut" +
                    (from_socket_ ? "; the journal of its unit may say why" : ""));
    return;
  }
  snapshot_.clear();
  snapshot_.add(kNvmlPath, text_.view(), 0);
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

void NvmlProgram::on_deadline() {
  // If it was we who were away, its answer is there.
  child_.read_now();
  if (!child_.running()) return;
  std::string how = "jetmem-nvml did not end within " + format_duration(options_.deadline);
  if (const std::string words = child_.stderr_tail(); !words.empty()) how += ": " + words;
  child_.kill();
  abandon_run(ChildProcessFailure::kTimeout, Errc::kTimeout, std::move(how));
}

void NvmlProgram::abandon_run(ChildProcessFailure why, Errc code, std::string how) {
  timer_.cancel();
  stats_.failed(why);
  const Nanoseconds pause = backoff_.next();
  next_run_ = clock_.boot() + pause;
  log_.log_message(
      LogLevel::kWarning,
      how + "; it is tried again in " +
          format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(pause)));
  done_(source(), fail(code, std::move(how)), Nanoseconds(0));
}

void NvmlProgram::write(SampleWriter& out) const {
  ChildProcessStats stats = stats_;
  stats.wedged = child_.wedged();
  write_child_process_stats(out, name(), stats);
}

}  // namespace jetmem
