// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_runner.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/text/text.h"
#include "base/text/units.h"
#include "probes/partial.h"

namespace jetmem {
namespace {

constexpr Nanoseconds kBetweenProgress = std::chrono::milliseconds(100);

struct Signal {
  int number;
  const char* name;
  bool is_crash = false;
};
constexpr std::array kSignals{Signal{SIGSEGV, "SIGSEGV", true}, Signal{SIGBUS, "SIGBUS", true},
                              Signal{SIGILL, "SIGILL", true},   Signal{SIGFPE, "SIGFPE", true},
                              Signal{SIGABRT, "SIGABRT", true}, Signal{SIGTRAP, "SIGTRAP", true},
                              Signal{SIGSYS, "SIGSYS", true},   Signal{SIGKILL, "SIGKILL"},
                              Signal{SIGTERM, "SIGTERM"},       Signal{SIGINT, "SIGINT"},
                              Signal{SIGHUP, "SIGHUP"},         Signal{SIGPIPE, "SIGPIPE"}};

std::string describe_signal(int number) {
  for (const Signal& known : kSignals) {
    if (known.number != number) continue;
    return (known.is_crash ? "crashed with " : "was killed by ") + std::string(known.name);
  }
  return "was killed by signal " + std::to_string(number);
}

// What a program that ended well printed in place of a result.
std::string describe_output(std::string_view text) {
  if (text.empty()) return "printed nothing";
  const char* const what =
      text.back() == '\n' ? "printed no result" : "ended in the middle of a line";
  text = trim(text);
  text.remove_prefix(text.rfind('\n') + 1);
  return std::string(what) + ", its last: '" + printable(text, 80) + "'";
}

bool names(const std::vector<std::string>& kinds, std::string_view kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

}  // namespace

ProbeRunner::ProbeRunner(const Clock& clock, Spawner& spawner, OnEnd on_end,
                         ProbeRunnerOptions options)
    : clock_(clock),
      on_end_(std::move(on_end)),
      options_(std::move(options)),
      child_(clock, spawner,
             {[this](std::string_view bytes) { on_output(bytes); },
              [this](ChildEnd end) { this->on_end(std::move(end)); }}) {
  child_.allow_stdout_close();
}

Result<void> ProbeRunner::start(EventLoop& loop) {
  const auto on_deadline = [this] {
    give_up(Errc::kTimeout, "did not end within " + format_duration(deadline_));
  };
  if (auto ok = timer_.attach(loop, on_deadline); !ok) return ok;
  if (auto ok = progress_.attach(loop, [this] { print_progress(); }); !ok) return ok;
  return child_.attach(loop);
}

void ProbeRunner::set_paths(std::string socket, std::string program) {
  socket_ = std::move(socket);
  program_ = std::move(program);
}

Result<void> ProbeRunner::run(ProbeRequest request, std::chrono::milliseconds deadline) {
  request_ = std::move(request);
  deadline_ = deadline;
  text_.clear();
  has_peer_process_ = false;
  is_progress_due_ = false;
  auto connected = connect_to_socket();
  if (!connected) return tl::unexpected(std::move(connected.error()));
  if (*connected == Connected::kNoSocket) {
    if (auto spawned = spawn(); !spawned) return spawned;
  }
  started_ = clock_.mono();
  timer_.set(deadline_);
  return {};
}

// Where nobody listens the daemon starts the program itself; where somebody does and has no room
// it does not: two would run at a time.
Result<ProbeRunner::Connected> ProbeRunner::connect_to_socket() {
  fallback_.clear();
  if (socket_.empty()) {
    fallback_ = "no socket is set";
    return Connected::kNoSocket;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalid, "socket path too long: " + socket_);
  }
  socket_.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return tl::unexpected(errno_error("connect to", socket_, errno));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    const int why = errno;
    Error error = errno_error("connect to", socket_, why);
    if (why == EAGAIN) return tl::unexpected(std::move(error));
    fallback_ = std::move(error.message);
    return Connected::kNoSocket;
  }
  const std::string line = probe_request_line(request_);
  const ssize_t sent = ::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(line.size())) {
    return tl::unexpected(errno_error("write to", socket_, sent < 0 ? errno : EMSGSIZE));
  }
  from_socket_ = true;
  if (auto read = child_.read_from(std::move(fd)); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  return Connected::kYes;
}

Result<void> ProbeRunner::spawn() {
  from_socket_ = false;
  const std::string program = program_.empty() ? find_companion("jetmem-probe") : program_;
  if (program.empty()) {
    return fail(Errc::kUnavailable,
                "there is no jetmem-probe beside jetmemd, nor its socket: " + fallback_);
  }
  if (options_.check_room) {
    if (auto room = options_.check_room(request_); !room) return room;
  }
  SpawnRequest request;
  request.argv = {program};
  for (std::string& argument : probe_arguments(request_)) {
    request.argv.push_back(std::move(argument));
  }
  request.own_process_group = true;
  return child_.start(std::move(request));
}

void ProbeRunner::kill() {
  child_.kill();
  timer_.cancel();
  progress_.cancel();
  text_.clear();
}

void ProbeRunner::give_up(Errc code, std::string how) {
  // If it was we who were away, its answer is there.
  child_.read_now();
  if (child_.running()) {
    end_badly(ChildProcessFailure::kTimeout, code, "timeout", std::move(how));
  }
}

void ProbeRunner::bound_stderr() {
  if (child_.running() && child_.stderr_bytes() > kMaxProbeOutput) end_flood();
}

void ProbeRunner::end_flood() {
  end_badly(ChildProcessFailure::kFlood, Errc::kTooLarge, "flood",
            "printed more than " + format_size(kMaxProbeOutput));
}

// The step that it hangs in is the last it reports, so what came too soon after another is printed
// later.
void ProbeRunner::print_progress() {
  is_progress_due_ = false;
  next_progress_ = clock_.mono() + kBetweenProgress;
  if (const auto at = split_probe_output(text_.view()).at) options_.progress(at->words());
}

void ProbeRunner::on_output(std::string_view bytes) {
  text_.append(bytes);
  lines_ += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  if (text_.size() > kMaxProbeOutput) return end_flood();
  if (options_.progress && !std::exchange(is_progress_due_, true)) {
    progress_.set(std::max(next_progress_ - clock_.mono(), Nanoseconds(0)));
  }
  // Its first line says which process it is: of systemd's we know it from nowhere else.
  if (!from_socket_ || has_peer_process_) return;
  const std::size_t end = text_.view().find('\n');
  if (end == std::string_view::npos) return;
  has_peer_process_ = true;
  const std::uint64_t pid = split_probe_output(text_.view().substr(0, end + 1)).pid;
  if (pid < kPidLimit) {
    child_.set_peer_process(static_cast<pid_t>(pid), "jetmem-probe", started_ + deadline_);
  }
}

void ProbeRunner::on_end(ChildEnd child) {
  const Nanoseconds elapsed = clock_.mono() - started_;
  ProbeOutput output = split_probe_output(text_.view());
  // It ends itself a little before it would be killed. Of systemd's nobody tells us how it ended.
  const bool was_time = from_socket_ && output.result.empty() &&
                        elapsed + std::chrono::milliseconds(500) >= request_.deadline;
  if (child.signal == SIGALRM || child.signal == SIGXCPU || was_time) {
    return end_badly(ChildProcessFailure::kTimeout, Errc::kTimeout, "timeout",
                     "did not end within " + format_duration(request_.deadline));
  }
  if (!child.well) {
    return end_badly(ChildProcessFailure::kExited, Errc::kUnavailable,
                     child.signal == SIGKILL ? "killed" : "exited",
                     child.signal != 0 ? describe_signal(child.signal)
                                       : "ended with status " + std::to_string(child.exit_status));
  }
  if (output.result.empty()) {
    // It began as it should, or not at all.
    const bool was_cut = text_.size() == 0 || output.has_begun();
    return end_badly(was_cut ? ChildProcessFailure::kExited : ChildProcessFailure::kInvalidOutput,
                     was_cut ? Errc::kUnavailable : Errc::kMalformed,
                     was_cut ? "exited" : "invalid_output", describe_output(text_.view()));
  }
  ProbeRunEnd end;
  end.elapsed = elapsed;
  if (auto taken = take_result(output, end); !taken) {
    return end_badly(ChildProcessFailure::kInvalidOutput, Errc::kMalformed, "invalid_output",
                     "printed invalid output: " + printable(taken.error().message));
  }
  end.line = std::move(output.result);
  kill();
  on_end_(std::move(end));
}

// Exactly the kinds that were asked for: a program of another version, or none of ours, might print
// a line that looks right.
Result<void> ProbeRunner::take_result(const ProbeOutput& output, ProbeRunEnd& end) const {
  if (auto parsed = parse_probe_run(output.result, end.run); !parsed) return parsed;
  // One in a state that is not known here was passed over.
  for (const std::string& kind : request_.kinds) {
    if (options_.takes_any_kind || end.run.unknown_states > 0) break;
    const auto is_it = [&](const ProbeRun::Probe& probe) { return probe.kind == kind; };
    if (std::none_of(end.run.probes.begin(), end.run.probes.end(), is_it)) {
      return fail(Errc::kMalformed, "no result for " + kind);
    }
  }
  return check_kinds(end.run);
}

Result<void> ProbeRunner::check_kinds(const ProbeRun& run) const {
  for (const ProbeRun::Probe& probe : run.probes) {
    if (options_.takes_any_kind || names(request_.kinds, probe.kind)) continue;
    return fail(Errc::kMalformed, probe.kind + " was not requested");
  }
  return {};
}

// Of a run that ended badly: its result, if that was all that it still had to do, else the pieces
// of it.
void ProbeRunner::keep_valid_results(const ProbeOutput& output, ProbeRunEnd& end) const {
  end.line = output.result;
  if (end.line.empty()) end.line = partial_probe_result(text_.view(), end.elapsed);
  if (end.line.empty()) return;
  const bool is_sound =
      parse_probe_run(end.line, end.run) && check_kinds(end.run) && !end.run.probes.empty();
  if (is_sound) return;
  end.line.clear();
  end.run = {};
}

void ProbeRunner::end_badly(ChildProcessFailure kind, Errc code, std::string_view error,
                            std::string how) {
  const std::string words = child_.stderr_tail();
  const ProbeOutput output = split_probe_output(text_.view());
  ProbeRunEnd end;
  end.elapsed = clock_.mono() - started_;
  ProbeFailure& failure = end.failure.emplace();
  failure.kind = kind;
  failure.code = code;
  failure.message =
      (from_socket_ ? "the jetmem-probe behind " + socket_ : "jetmem-probe") + " " + how;
  // Of what printed nonsense or without end nothing is believed.
  if (kind == ChildProcessFailure::kExited || kind == ChildProcessFailure::kTimeout) {
    keep_valid_results(output, end);
  }
  // Having printed nonsense it was nowhere.
  if (kind != ChildProcessFailure::kInvalidOutput && output.at) {
    failure.message += ", while at \"" + output.at->words() + "\"";
    ProbeRun::Probe probe;
    probe.state = ProbeState::kFailed;
    probe.kind = output.at->kind;
    probe.target = output.at->target;
    probe.failed_step = output.at->step;
    probe.failed_bytes = output.at->bytes;
    // What it was through with was not what broke it.
    const auto is_it = [&](const ProbeRun::Probe& kept) {
      return kept.kind == probe.kind && kept.target == probe.target;
    };
    const bool is_kept = std::any_of(end.run.probes.begin(), end.run.probes.end(), is_it);
    if (names(request_.kinds, probe.kind) && !is_kept) {
      probe.error = error;
      failure.lost = std::move(probe);
    }
  }
  if (error == "killed") failure.message += "; was memory short? see `jetmem events`";
  if (from_socket_ && kind == ChildProcessFailure::kExited) {
    failure.message += "; the journal of its unit may say why";
  }
  if (!words.empty()) failure.message += ": " + words;
  kill();
  on_end_(std::move(end));
}

}  // namespace jetmem
