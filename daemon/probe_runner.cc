#include "daemon/probe_runner.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "daemon/own_limit.h"
#include "probes/gates.h"
#include "probes/partial.h"

namespace jetmem {
namespace {

constexpr std::uint64_t kSlackUs = 50'000;
// Of the deadline, by which the program ends itself before it is killed.
constexpr int kEarlierShare = 10;
constexpr std::uint64_t kMaxPid = 1U << 22;

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

std::string signal_words(int number) { return "was killed by signal " + std::to_string(number); }

}  // namespace

ProbeRunner::ProbeRunner(const Clock& clock, Spawner& spawner, OnEnd on_end, std::string root)
    : clock_(clock),
      on_end_(std::move(on_end)),
      child_(clock, spawner,
             {[this](std::string_view bytes) { on_output(bytes); },
              [this](bool well, std::string how) { this->on_end(well, std::move(how)); }}),
      root_(std::move(root)) {}

ProbeRunner::~ProbeRunner() { sd_event_source_unref(timer_); }

Result<void> ProbeRunner::start(sd_event* event) {
  int ok = sd_event_add_time(event, &timer_, CLOCK_MONOTONIC, 0, kSlackUs, on_deadline, this);
  if (ok >= 0) ok = sd_event_source_set_enabled(timer_, SD_EVENT_OFF);
  if (ok < 0) return tl::unexpected(errno_error("set up", "a timer for jetmem-probe", -ok));
  return child_.attach(event);
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
  knows_process_ = false;
  auto connected = connect_to_socket();
  if (!connected) return tl::unexpected(std::move(connected.error()));
  if (*connected == Connected::kNoSocket) {
    if (auto spawned = spawn(); !spawned) return spawned;
  }
  started_ = clock_.mono();
  set_deadline(true);
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
  if (auto room = own_room_for_probe(root_, request_.frame_bytes, cuda); !room) return room;
  SpawnRequest request;
  request.argv = {program};
  for (std::string& argument : probe_arguments(request_)) {
    request.argv.push_back(std::move(argument));
  }
  request.stranger = true;
  return child_.start(std::move(request));
}

void ProbeRunner::kill() {
  child_.kill();
  set_deadline(false);
  text_.clear();
}

void ProbeRunner::on_output(std::string_view bytes) {
  text_.append(bytes);
  lines_ += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  if (text_.size() > kMaxProbeOutput) {
    child_.kill();
    end_badly(
        ProgramFailure::kFlood, Errc::kTooLarge, "flood",
        "printed more than " + format_size(kMaxProbeOutput) + " and " + std::string(given_up()));
    return;
  }
  // Its first line says which process it is: of systemd's we know it from nowhere else.
  if (!from_socket_ || knows_process_) return;
  const std::size_t end = text_.view().find('\n');
  if (end == std::string_view::npos) return;
  knows_process_ = true;
  const std::uint64_t pid = split_probe_output(text_.view().substr(0, end + 1)).pid;
  if (pid < kMaxPid) {
    child_.know_process(static_cast<pid_t>(pid), "jetmem-probe", started_ + deadline_);
  }
}

void ProbeRunner::on_end(bool well, std::string how) {
  const Nanoseconds took = clock_.mono() - started_;
  ProbeOutput output = split_probe_output(text_.view());
  if (!well || output.result.empty()) {
    // It ends itself a little before it would be killed. Of systemd's nobody tells us how it ended.
    const bool was_time = took + std::chrono::milliseconds(500) >= request_.deadline;
    if (how.starts_with(signal_words(SIGALRM)) || how.starts_with(signal_words(SIGXCPU)) ||
        (from_socket_ && was_time)) {
      end_badly(ProgramFailure::kSilent, Errc::kTimeout, "hung",
                "did not end within " + format_duration(request_.deadline));
      return;
    }
    if (how.starts_with(signal_words(SIGKILL))) {
      end_badly(ProgramFailure::kEnded, Errc::kUnavailable, "killed",
                how + ", not by jetmem: when memory runs short the kernel takes it first");
      return;
    }
    if (!well) {
      end_badly(ProgramFailure::kEnded, Errc::kUnavailable, "died", std::move(how));
      return;
    }
    if (text_.size() == 0) {
      end_badly(ProgramFailure::kEnded, Errc::kUnavailable, "died", "ended without a word");
      return;
    }
    // It began as it should.
    const bool was_cut = output.pid != 0 || !output.where.empty();
    end_badly(was_cut ? ProgramFailure::kEnded : ProgramFailure::kGarbage,
              was_cut ? Errc::kUnavailable : Errc::kMalformed, was_cut ? "died" : "garbage",
              was_cut ? "ended and its result is not there, or was cut"
                      : "ended well and printed no result");
    return;
  }
  ProbeRunEnd end;
  end.took = took;
  if (auto taken = take_result(output, end); !taken) {
    end_badly(ProgramFailure::kGarbage, Errc::kMalformed, "garbage",
              "printed garbage: " + printable(taken.error().message));
    return;
  }
  end.line = std::move(output.result);
  set_deadline(false);
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
      return fail(Errc::kMalformed, "it was asked for " + kind + " and says nothing of it");
    }
  }
  return only_what_was_asked_for(end.run);
}

Result<void> ProbeRunner::only_what_was_asked_for(const ProbeRun& run) const {
  for (const ProbeRun::Probe& probe : run.probes) {
    if (names(request_.kinds, probe.kind)) continue;
    return fail(Errc::kMalformed, "it was not asked for " + probe.kind);
  }
  return {};
}

// Of a run that ended badly: its result, if that was all that it still had to do, else the pieces
// of it.
void ProbeRunner::keep_what_is_sound(const ProbeOutput& output, ProbeRunEnd& end) const {
  end.line = output.result;
  if (end.line.empty()) end.line = partial_probe_result(text_.view(), end.took);
  if (end.line.empty()) return;
  const bool is_sound = parse_probe_run(end.line, end.run) && only_what_was_asked_for(end.run) &&
                        !end.run.probes.empty();
  if (is_sound) return;
  end.line.clear();
  end.run = {};
}

int ProbeRunner::on_deadline(sd_event_source*, std::uint64_t, void* self) {
  auto* runner = static_cast<ProbeRunner*>(self);
  // If it was we who were away, its answer is there.
  runner->child_.read_now();
  if (!runner->child_.running()) return 0;
  std::string how = "did not end within " + format_duration(runner->deadline_) + " and ";
  how += runner->given_up();
  const std::string words = runner->child_.last_words();
  runner->child_.kill();
  if (!words.empty()) how += ": " + words;
  runner->end_badly(ProgramFailure::kSilent, Errc::kTimeout, "hung", std::move(how));
  return 0;
}

void ProbeRunner::end_badly(ProgramFailure kind, Errc code, std::string_view error,
                            std::string how) {
  set_deadline(false);
  const ProbeOutput output = split_probe_output(text_.view());
  ProbeRunEnd end;
  end.took = clock_.mono() - started_;
  ProbeFailure& failure = end.failure.emplace();
  failure.kind = kind;
  failure.code = code;
  failure.message = who() + " " + std::move(how);
  // Of what printed nonsense or without end nothing is believed.
  if (kind == ProgramFailure::kEnded || kind == ProgramFailure::kSilent) {
    keep_what_is_sound(output, end);
  }
  // Having printed nonsense it was nowhere.
  if (kind != ProgramFailure::kGarbage && !output.where.empty()) {
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
  if (from_socket_ && kind == ProgramFailure::kEnded) {
    failure.message += "; the journal of its unit may say why";
  }
  text_.clear();
  on_end_(std::move(end));
}

std::string ProbeRunner::who() const {
  return from_socket_ ? "the jetmem-probe behind " + socket_ : "jetmem-probe";
}

void ProbeRunner::set_deadline(bool on) {
  if (timer_ == nullptr) return;
  const auto from_now = std::chrono::microseconds(deadline_).count();
  sd_event_source_set_time_relative(timer_, static_cast<std::uint64_t>(on ? from_now : 0));
  sd_event_source_set_enabled(timer_, on ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

}  // namespace jetmem
