// SPDX-License-Identifier: Apache-2.0
#include "collectors/journal/client.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text/text.h"

namespace jetmem::journal {
namespace {

using std::chrono::milliseconds;

constexpr int kPacketsAtOnce = 256;
// SIGKILL needs a moment even where nothing hangs.
constexpr milliseconds kJournalExitTimeout{200};
constexpr milliseconds kFirstPing{2'000};

kernel_log::LogLine line_of(const Packet& packet) {
  const PacketHeader& header = packet.header;
  kernel_log::LogLine line;
  line.text = packet.text;
  if (header.voice == Voice::kProcesses) {
    line.voice = kernel_log::Voice::kProcess;
    line.unit = packet.unit;
    line.pid = header.pid;
  } else {
    line.voice = header.facility == 0 ? kernel_log::Voice::kKernel : kernel_log::Voice::kForeign;
    if (header.priority != PacketHeader::kNone) line.level = header.priority;
  }
  const bool other_boot = (header.flags & PacketHeader::kOtherBoot) != 0;
  if (!other_boot) line.stamp = std::chrono::microseconds(header.monotonic_us);
  return line;
}

}  // namespace

Client::Client(ClientOptions options, const Clock& clock, Spawner& spawner, Callbacks callbacks)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      child_(clock, spawner,
             {.output = {},
              .ended = [this](const ChildEnd& end) { on_end(end); },
              .packets = [this] { return take_packets(); },
              .gone =
                  [this] {
                    if (waits_ == Waits::kForExit) wait_to_start();
                  }}),
      pause_(options_.first_pause, options_.longest_pause) {}

Result<void> Client::attach(EventLoop& loop) {
  if (auto ok = timer_.attach(loop, [this] { on_timer(); }); !ok) return ok;
  return child_.attach(loop);
}

void Client::wait(Waits what, milliseconds how_long) {
  waits_ = what;
  timer_.cancel();
  if (how_long > milliseconds(0)) timer_.set(how_long);
}

void Client::wait_to_start() {
  if (!kernel_ && !processes_) {
    wait(Waits::kForNothing, milliseconds(0));
    return;
  }
  wait(Waits::kToStart, std::chrono::duration_cast<milliseconds>(pause_.next()));
}

void Client::set_state(std::string blind, bool caught_up, bool received) {
  State state{std::move(blind), caught_up, received};
  if (state == state_) return;
  state_ = std::move(state);
  if (callbacks_.state) callbacks_.state(state_);
}

void Client::follow(bool kernel, bool processes) {
  if (kernel == kernel_ && processes == processes_) return;
  kernel_ = kernel;
  processes_ = processes;
  start_anew();
}

void Client::set_needles(std::vector<std::string> needles) {
  if (needles == options_.needles) return;
  options_.needles = std::move(needles);
  if (processes_) start_anew();
}

void Client::start_anew() {
  pause_.reset();
  if (child_.running()) {
    child_.kill();
    set_state({}, state_.caught_up, false);
    wait_for_terminating();
  } else if (waits_ == Waits::kForNothing) {
    spawn();
  } else if (waits_ == Waits::kToStart) {
    wait_to_start();
  }
}

void Client::spawn() {
  SpawnRequest request;
  request.argv = {options_.program};
  const auto add = [&](std::string option, const std::string& value) {
    request.argv.push_back(std::move(option));
    request.argv.push_back(value);
  };
  const auto add_cursor = [&](Voice voice) {
    if (!cursor(voice).empty()) add("--after-cursor", cursor(voice));
  };
  if (!options_.directory.empty()) add("--directory", options_.directory);
  if (kernel_) {
    request.argv.emplace_back("--kernel");
    add_cursor(Voice::kKernel);
  }
  if (processes_) {
    request.argv.emplace_back("--processes");
    add_cursor(Voice::kProcesses);
    for (const std::string& needle : options_.needles) add("--needle", needle);
  }
  auto started = options_.program.empty()
                     ? Result<void>(fail(Errc::kUnavailable, "jetmem-journal is not installed"))
                     : child_.start(std::move(request));
  if (!started) {
    set_state(std::move(started.error().message), state_.caught_up, false);
    wait_to_start();
    return;
  }
  logged_blind_ = false;
  run_caught_up_ = false;
  if (counters_.starts++ != 0) ++counters_.restarts;
  // One that hangs from the first should not pass for one that has nothing to say.
  wait(Waits::kToPing, std::min(options_.ping_interval, kFirstPing));
}

bool Client::take_packets() {
  const std::uint64_t lines = counters_.lines;
  Taken taken = Taken::kPacket;
  for (int i = 0; i < kPacketsAtOnce && taken == Taken::kPacket; ++i) taken = take_packet();
  if (counters_.lines != lines && callbacks_.lines_done) callbacks_.lines_done();
  return taken != Taken::kOver;
}

Client::Taken Client::take_packet() {
  if (child_.channel() < 0) return Taken::kNone;
  std::array<char, kMaxPacket> bytes;
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // No room for descriptors, so none is ever taken in.
  const ssize_t n = ::recvmsg(child_.channel(), &message, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return Taken::kNone;
  if (n <= 0) return Taken::kOver;
  const auto packet = parse_packet({bytes.data(), static_cast<std::size_t>(n)});
  if (!packet || (message.msg_flags & MSG_TRUNC) != 0) {
    abandon_run("protocol error of jetmem-journal");
    return Taken::kNone;
  }
  if (waits_ == Waits::kForAnswer) wait(Waits::kToPing, options_.ping_interval);
  on_packet(*packet);
  return Taken::kPacket;
}

void Client::on_packet(const Packet& packet) {
  const PacketHeader& header = packet.header;
  std::string& kept = options_.cursors[static_cast<std::size_t>(header.voice)];
  if (header.kind != PacketKind::kBlind) set_state({}, state_.caught_up, true);
  switch (header.kind) {
    case PacketKind::kLine: {
      ++counters_.lines;
      kernel_log::LogLine line = line_of(packet);
      line.from_before = !state_.caught_up;
      line.late = !run_caught_up_;
      if (!packet.cursor.empty()) kept = packet.cursor;
      if (callbacks_.line) callbacks_.line(line);
      break;
    }
    case PacketKind::kPosition:
      if (!packet.cursor.empty()) kept = packet.cursor;
      break;
    case PacketKind::kCaughtUp:
      run_caught_up_ = true;
      set_state({}, true, true);
      break;
    case PacketKind::kLost: {
      ++counters_.lost;
      const std::string why = printable(packet.text);
      Lost lost{std::nullopt, why};
      if (header.count != 0) lost.count = header.count;
      if (callbacks_.lost) callbacks_.lost(lost);
      break;
    }
    case PacketKind::kAlive:
      pause_.reset();  // it has held out for a while
      break;
    case PacketKind::kBlind:
      logged_blind_ = true;
      set_state(printable(packet.text), state_.caught_up, false);
      break;
  }
}

void Client::on_end(const ChildEnd& end) {
  abandon_run(logged_blind_ ? state_.blind : "jetmem-journal " + end.how);
}

void Client::abandon_run(std::string why) {
  child_.kill();
  set_state(std::move(why), state_.caught_up, false);
  wait_for_terminating();
}

void Client::wait_for_terminating() {
  if (child_.is_terminating()) {
    wait(Waits::kForExit, kJournalExitTimeout);
  } else {
    wait_to_start();
  }
}

void Client::on_timer() {
  switch (waits_) {
    case Waits::kForNothing:
      break;
    case Waits::kToStart:
      spawn();
      break;
    case Waits::kToPing:
      ping();
      break;
    case Waits::kForAnswer:
      ++counters_.silent;
      abandon_run("jetmem-journal did not answer");
      break;
    case Waits::kForExit:
      if (!child_.is_terminating()) {
        wait_to_start();
        break;
      }
      set_state(
          "jetmem-journal " + std::to_string(child_.terminating_pid()) + " hangs in the kernel",
          state_.caught_up, false);
      break;
  }
}

void Client::ping() {
  const char byte = 0;
  // What cannot be sent is not answered either.
  (void)::send(child_.channel(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  wait(Waits::kForAnswer, options_.timeout);
}

std::string find_journal_program() { return find_companion("jetmem-journal"); }

}  // namespace jetmem::journal
