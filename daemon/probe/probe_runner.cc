// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_runner.h"

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
#include "daemon/children/cgroup_headroom.h"
#include "probes/gates.h"
#include "probes/partial.h"

namespace jetmem {
namespace {

// Of the deadline, by which the program ends itself before it is killed.
constexpr int kEarlierShare = 10;

std::chrono::seconds own_deadline(std::chrono::milliseconds deadline) {
  const auto earlier =
      std::max<std::chrono::milliseconds>(deadline / kEarlierShare, std::chrono::seconds(1));
  return std::max(std::chrono::duration_cast<std::chrono::seconds>(deadline - earlier),
                  std::chrono::seconds(1));
}

// "dmabuf system allocate 65536 bytes", without the last two words or the second where there is
// nothing to say.
ProbeRun::Probe probe_at(std::string_view where) {
  std::array<std::string_view, 6> words;
  std::size_t count = 0;
  while (count < words.size()) {
    words[count] = take_word(where);
    if (words[count].empty()) break;
    ++count;
  }
  ProbeRun::Probe probe;
  probe.state = ProbeState::kFailed;
  if (count > 3 && words[count - 1] == "bytes") {
    probe.failed_bytes = parse_u64(words[count - 2]).value_or(0);
    count -= 2;
  }
  if (count == 0) return probe;
  probe.kind = words[0];
  if (count > 2) probe.target = words[1];
  if (count > 1) probe.failed_step = words[count - 1];
  return probe;
}

bool names(const std::vector<std::string>& kinds, std::string_view kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

}  // namespace

ProbeRunner::ProbeRunner(const Clock& clock, Spawner& spawner, OnEnd on_end, std::string root)
    : clock_(clock),
      on_end_(std::move(on_end)),
      child_(clock, spawner,
             {[this](std::string_view bytes) { on_output(bytes); },
              [this](ChildEnd end) { this->on_end(std::move(end)); }}),
      root_(std::move(root)) {}

Result<void> ProbeRunner::start(EventLoop& loop) {
  if (auto ok = timer_.attach(loop, [this] { on_deadline(); }); !ok) return ok;
  return child_.attach(loop);
}

void ProbeRunner::set_paths(std::string socket, std::string program) {
  socket_ = std::move(socket);
  program_ = std::move(program);
}

Result<void> ProbeRunner::run(ProbeRequest request, std::chrono::milliseconds deadline) {
  request_ = std::move(request);
  deadline_ = deadline;
  request_.deadline = own_deadline(deadline);
  text_.clear();
  has_peer_process_ = false;
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
  const bool cuda = std::any_of(
      request_.kinds.begin(), request_.kinds.end(),
      [](const std::string& kind) { return probe_group_of(kind) == ProbeGroup::kCuda; });
  if (auto room = check_probe_headroom(root_, request_.frame_bytes, cuda); !room) return room;
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
  text_.clear();
}

void ProbeRunner::on_output(std::string_view bytes) {
  text_.append(bytes);
  lines_ += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  if (text_.size() > kMaxProbeOutput) {
    child_.kill();
    end_badly(ChildProcessFailure::kFlood, Errc::kTooLarge, "flood",
              "printed more than " + format_size(kMaxProbeOutput) + " and " +
                  std::string(abandon_message()));
    return;
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
  if (!child.well || output.result.empty()) {
    // It ends itself a little before it would be killed. Of systemd's nobody tells us how it ended.
    const bool was_time = elapsed + std::chrono::milliseconds(500) >= request_.deadline;
    if (child.signal == SIGALRM || child.signal == SIGXCPU || (from_socket_ && was_time)) {
      end_badly(ChildProcessFailure::kTimeout, Errc::kTimeout, "timeout",
                "did not end within " + format_duration(request_.deadline));
      return;
    }
    if (child.signal == SIGKILL) {
      end_badly(ChildProcessFailure::kExited, Errc::kUnavailable, "killed",
                child.how + ", not by jetmem: when memory runs short the kernel takes it first");
      return;
    }
    if (!child.well) {
      end_badly(ChildProcessFailure::kExited, Errc::kUnavailable, "exited", std::move(child.how));
      return;
    }
    if (text_.size() == 0) {
      end_badly(ChildProcessFailure::kExited, Errc::kUnavailable, "exited",
                "exited without printing anything");
      return;
    }
    // It began as it should.
    const bool was_cut = output.pid != 0 || !output.where.empty();
    end_badly(was_cut ? ChildProcessFailure::kExited : ChildProcessFailure::kInvalidOutput,
              was_cut ? Errc::kUnavailable : Errc::kMalformed,
              was_cut ? "exited" : "invalid_output",
              was_cut ? "exited before its result was complete"
                      : "exited with status 0 but printed no result");
    return;
  }
  ProbeRunEnd end;
  end.elapsed = elapsed;
  if (auto taken = take_result(output, end); !taken) {
    end_badly(ChildProcessFailure::kInvalidOutput, Errc::kMalformed, "invalid_output",
              "printed invalid output: " + printable(taken.error().message));
    return;
  }
  end.line = std::move(output.result);
  timer_.cancel();
  text_.clear();
  on_end_(std::move(end));
}

// Exactly the kinds that were asked for: a program of another version, or none of ours, might print
// a line that looks right.
Result<void> ProbeRunner::take_result(const ProbeOutput& output, ProbeRunEnd& end) const {
  if (auto parsed = parse_probe_run(output.result, end.run); !parsed) return parsed;
  // One in a state that is not known here was passed over.
  for (const std::string& kind : request_.kinds) {
    if (end.run.unknown_states > 0) break;
    const auto is_it = [&](const ProbeRun::Probe& probe) { return probe.kind == kind; };
    if (std::none_of(end.run.probes.begin(), end.run.probes.end(), is_it)) {
      return fail(Errc::kMalformed, "no result for " + kind);
    }
  }
  return keep_requested_kinds(end.run);
}

Result<void> ProbeRunner::keep_requested_kinds(const ProbeRun& run) const {
  for (const ProbeRun::Probe& probe : run.probes) {
    if (names(request_.kinds, probe.kind)) continue;
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
  const bool is_sound = parse_probe_run(end.line, end.run) && keep_requested_kinds(end.run) &&
                        !end.run.probes.empty();
  if (is_sound) return;
  end.line.clear();
  end.run = {};
}

void ProbeRunner::on_deadline() {
  // If it was we who were away, its answer is there.
  child_.read_now();
  if (!child_.running()) return;
  std::string how = "did not end within " + format_duration(deadline_) + " and ";
  how += abandon_message();
  const std::string words = child_.stderr_tail();
  child_.kill();
  if (!words.empty()) how += ": " + words;
  end_badly(ChildProcessFailure::kTimeout, Errc::kTimeout, "timeout", std::move(how));
}

void ProbeRunner::end_badly(ChildProcessFailure kind, Errc code, std::string_view error,
                            std::string how) {
  timer_.cancel();
  const ProbeOutput output = split_probe_output(text_.view());
  ProbeRunEnd end;
  end.elapsed = clock_.mono() - started_;
  ProbeFailure& failure = end.failure.emplace();
  failure.kind = kind;
  failure.code = code;
  failure.message = who() + " " + std::move(how);
  // Of what printed nonsense or without end nothing is believed.
  if (kind == ChildProcessFailure::kExited || kind == ChildProcessFailure::kTimeout) {
    keep_valid_results(output, end);
  }
  // Having printed nonsense it was nowhere.
  if (kind != ChildProcessFailure::kInvalidOutput && !output.where.empty()) {
    failure.message += "; it was at " + output.where;
    ProbeRun::Probe probe = probe_at(output.where);
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
  if (from_socket_ && kind == ChildProcessFailure::kExited) {
    failure.message += "; the journal of its unit may say why";
  }
  text_.clear();
  on_end_(std::move(end));
}

std::string ProbeRunner::who() const {
  return from_socket_ ? "the jetmem-probe behind " + socket_ : "jetmem-probe";
}

}  // namespace jetmem
