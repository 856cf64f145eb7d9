#include "collectors/journal/client.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/text.h"

namespace jetmem::journal {
namespace {

using std::chrono::milliseconds;

constexpr int kPacketsAtOnce = 256;
// SIGKILL needs a moment even where nothing hangs.
constexpr milliseconds kDyingPatience{200};
// How often one that hangs is looked at where there are no pidfds.
constexpr milliseconds kLookAgain{60'000};
constexpr int kStatusPatienceMs = 10;
constexpr milliseconds kFirstPing{2'000};
constexpr int kLastPatienceMs = 50;

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    return "jetmem-journal was killed by signal " + std::to_string(WTERMSIG(status));
  }
  return "jetmem-journal ended with status " + std::to_string(WEXITSTATUS(status));
}

JournalLine line_of(const Packet& packet) {
  const PacketHeader& header = packet.header;
  JournalLine line;
  line.voice = header.voice;
  if (header.priority != PacketHeader::kNone) line.priority = header.priority;
  if (header.facility != PacketHeader::kNone) line.facility = header.facility;
  line.monotonic_us = header.monotonic_us;
  line.own_stamp = (header.flags & PacketHeader::kOwnStamp) != 0;
  line.other_boot = (header.flags & PacketHeader::kOtherBoot) != 0;
  line.realtime_us = header.realtime_us;
  line.pid = header.pid;
  line.truncated = (header.flags & PacketHeader::kTruncated) != 0;
  line.cursor = packet.cursor;
  line.unit = packet.unit;
  line.identifier = packet.identifier;
  line.text = packet.text;
  return line;
}

}  // namespace

Client::Client(ClientOptions options, Spawner& spawner, Callbacks callbacks)
    : options_(std::move(options)),
      spawner_(spawner),
      callbacks_(std::move(callbacks)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  // Without it nobody would ever be late: then this is of no use, and fd() says so.
  if (!timer_.valid() || !watch(timer_.get())) epoll_.reset();
}

Client::~Client() {
  if (process_.pid > 0) leaving_ = std::move(process_);
  if (leaving_.pid <= 0) return;
  ::kill(leaving_.pid, SIGKILL);
  // Nobody comes back to it, so it must not stay as a zombie; nor may one that hangs hold us up.
  for (int i = 0; i < kLastPatienceMs && !leaving_is_gone(); ++i) ::usleep(1000);
}

bool Client::watch(int fd) {
  if (fd < 0) return true;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Client::unwatch(int fd) {
  if (fd >= 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Client::wait(Waits what, milliseconds how_long) {
  waits_ = what;
  itimerspec spec{};
  spec.it_value.tv_sec = how_long.count() / 1000;
  spec.it_value.tv_nsec = how_long.count() % 1000 * 1'000'000;
  ::timerfd_settime(timer_.get(), 0, &spec, nullptr);
}

void Client::wait_to_start() {
  if (!kernel_ && !processes_) {
    wait(Waits::kForNothing, milliseconds(0));
    return;
  }
  pause_ = std::clamp(pause_ * 2, options_.first_pause, options_.longest_pause);
  wait(Waits::kToStart, pause_);
}

void Client::set_state(std::string blind, bool caught_up, bool heard) {
  State state{std::move(blind), caught_up, heard};
  if (state == state_) return;
  state_ = std::move(state);
  if (callbacks_.state) callbacks_.state(state_);
}

void Client::follow(bool kernel, bool processes) {
  if (kernel == kernel_ && processes == processes_) return;
  kernel_ = kernel;
  processes_ = processes;
  pause_ = milliseconds(0);
  if (process_.pid > 0) {
    dismiss();
    set_state({}, state_.caught_up, false);
    wait_until_gone();
  } else if (waits_ == Waits::kForNothing) {
    spawn();
  } else if (waits_ == Waits::kToStart) {
    wait_to_start();
  }
}

void Client::spawn() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    set_state(errno_error("make a socket for", options_.program, errno).message, state_.caught_up,
              false);
    wait_to_start();
    return;
  }
  UniqueFd mine(ends[0]);
  const UniqueFd theirs(ends[1]);
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
  request.descriptors = {{theirs.get(), 3}};
  auto child = options_.program.empty()
                   ? Result<Child>(fail(Errc::kUnavailable, "jetmem-journal is not installed"))
                   : spawner_.spawn(request);
  if (!child) {
    set_state(std::move(child.error().message), state_.caught_up, false);
    wait_to_start();
    return;
  }
  process_ = std::move(*child);
  connection_ = std::move(mine);
  said_blind_ = false;
  if (counters_.starts++ != 0) ++counters_.restarts;
  watch(connection_.get());
  // One that hangs from the first should not pass for one that has nothing to say.
  wait(Waits::kToPing, std::min(options_.ping_interval, kFirstPing));
}

void Client::dispatch() {
  // Packets first: an answer that is there counts, however late the timer says it is.
  for (int i = 0; i < kPacketsAtOnce && take_packet(); ++i) {
  }
  std::uint64_t expirations = 0;
  if (::read(timer_.get(), &expirations, sizeof expirations) == sizeof expirations) on_timer();
  if (waits_ == Waits::kForEnd && leaving_is_gone()) wait_to_start();
}

bool Client::take_packet() {
  if (!connection_.valid()) return false;
  std::array<char, kMaxPacket> bytes;
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // No room for descriptors, so none is ever taken in.
  const ssize_t n = ::recvmsg(connection_.get(), &message, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    on_end();
    return false;
  }
  const auto packet = parse_packet({bytes.data(), static_cast<std::size_t>(n)});
  if (!packet || (message.msg_flags & MSG_TRUNC) != 0) {
    give_up("jetmem-journal talked nonsense");
    return false;
  }
  if (waits_ == Waits::kForAnswer) wait(Waits::kToPing, options_.ping_interval);
  on_packet(*packet);
  return true;
}

void Client::on_packet(const Packet& packet) {
  const PacketHeader& header = packet.header;
  std::string& kept = options_.cursors[static_cast<std::size_t>(header.voice)];
  if (header.kind != PacketKind::kBlind) set_state({}, state_.caught_up, true);
  switch (header.kind) {
    case PacketKind::kLine: {
      ++counters_.lines;
      JournalLine line = line_of(packet);
      line.from_before = !state_.caught_up;
      if (!packet.cursor.empty()) kept = packet.cursor;
      if (callbacks_.line) callbacks_.line(line);
      break;
    }
    case PacketKind::kPosition:
      if (!packet.cursor.empty()) kept = packet.cursor;
      break;
    case PacketKind::kCaughtUp:
      set_state({}, true, true);
      break;
    case PacketKind::kLost: {
      ++counters_.lost;
      const std::string why = printable(packet.text);
      Lost lost{header.voice, std::nullopt, why};
      if (header.count != 0) lost.count = header.count;
      if (callbacks_.lost) callbacks_.lost(lost);
      break;
    }
    case PacketKind::kAlive:
      pause_ = milliseconds(0);  // it has held out for a while
      break;
    case PacketKind::kBlind:
      said_blind_ = true;
      set_state(printable(packet.text), state_.caught_up, false);
      break;
  }
}

// It ended. An ending process closes its socket a moment before its status can be had; that moment
// it is given, and no more.
void Client::on_end() {
  if (process_.pidfd.valid()) {
    pollfd ended{process_.pidfd.get(), POLLIN, 0};
    ::poll(&ended, 1, kStatusPatienceMs);
  }
  int status = 0;
  std::string how = "jetmem-journal closed its connection";
  if (::waitpid(process_.pid, &status, WNOHANG) == process_.pid) {
    how = how_it_ended(status);
    process_ = {};
  }
  if (said_blind_) how = state_.blind;
  give_up(std::move(how));
}

void Client::give_up(std::string why) {
  dismiss();
  set_state(std::move(why), state_.caught_up, false);
  wait_until_gone();
}

void Client::dismiss() {
  unwatch(connection_.get());
  connection_.reset();
  leaving_ = std::exchange(process_, {});
  leaving_is_late_ = false;
  if (leaving_.pid <= 0) return;
  ::kill(leaving_.pid, SIGKILL);
  watch(leaving_.pidfd.get());
}

void Client::wait_until_gone() {
  if (leaving_is_gone()) {
    wait_to_start();
  } else {
    wait(Waits::kForEnd, kDyingPatience);
  }
}

bool Client::leaving_is_gone() {
  if (leaving_.pid > 0 && ::waitpid(leaving_.pid, nullptr, WNOHANG) == 0) return false;
  unwatch(leaving_.pidfd.get());
  leaving_ = {};
  leaving_is_late_ = false;
  return true;
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
      give_up("jetmem-journal did not answer");
      break;
    case Waits::kForEnd:
      if (leaving_is_gone()) {
        wait_to_start();
        break;
      }
      leaving_is_late_ = true;
      set_state("jetmem-journal " + std::to_string(leaving_.pid) + " hangs in the kernel",
                state_.caught_up, false);
      wait(Waits::kForEnd, kLookAgain);
      break;
  }
}

void Client::ping() {
  const char byte = 0;
  // What cannot be sent is not answered either.
  (void)::send(connection_.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  wait(Waits::kForAnswer, options_.patience);
}

std::string find_journal_program() { return find_companion("jetmem-journal"); }

}  // namespace jetmem::journal
