#include "collectors/reader/client.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "base/units.h"

namespace jetmem::reader {
namespace {

constexpr Nanoseconds kFirstPause = std::chrono::minutes(1);
constexpr Nanoseconds kLongestPause = std::chrono::hours(1);

// The sender of a packet, as the kernel vouches for it.
pid_t sender_of(const msghdr& message) {
  for (const cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS) continue;
    ucred credentials{};
    std::memcpy(&credentials, CMSG_DATA(c), sizeof credentials);
    return credentials.pid;
  }
  return -1;
}

}  // namespace

Client::Client(ClientOptions options, const Clock& clock, Spawner& spawner, Done done)
    : options_(std::move(options)),
      clock_(clock),
      spawner_(spawner),
      done_(std::move(done)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  watch(timer_.get());
}

Client::~Client() { abandon(); }

void Client::watch(int fd) {
  if (fd < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Client::unwatch(int fd) {
  if (fd >= 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Client::set_deadline(Nanoseconds from_now) {
  itimerspec spec{};
  spec.it_value.tv_sec = from_now.count() / 1'000'000'000;
  spec.it_value.tv_nsec = from_now.count() % 1'000'000'000;
  ::timerfd_settime(timer_.get(), 0, &spec, nullptr);
}

Client::Quarantine* Client::quarantine_of(std::string_view source) {
  for (Quarantine& q : quarantines_) {
    if (q.source == source) return &q;
  }
  return nullptr;
}

std::optional<Error> Client::refusal(std::string_view source) {
  for (const Wedged& w : wedged_) {
    if (w.source != source) continue;
    return Error{Errc::kTimeout, "in quarantine: jetmem-reader " + std::to_string(w.process.pid) +
                                     " still hangs in the kernel reading it"};
  }
  const Quarantine* q = quarantine_of(source);
  if (q != nullptr && clock_.boot() < q->until) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(q->until - clock_.boot());
    return Error{Errc::kTimeout, "in quarantine after a read that did not return; next try in " +
                                     format_duration(left + std::chrono::seconds(1))};
  }
  if (wedged_.size() >= options_.max_wedged) {
    return Error{Errc::kUnavailable, std::to_string(wedged_.size()) +
                                         " readers hang in the kernel, no more are started"};
  }
  return std::nullopt;
}

void Client::request(std::string_view source) {
  if ((in_flight_ && source_ == source) ||
      std::find(queue_.begin(), queue_.end(), source) != queue_.end()) {
    return;
  }
  collect_gone();
  if (auto no = refusal(source)) {
    done_(source, tl::unexpected(std::move(*no)), Nanoseconds(0));
    return;
  }
  if (!in_flight_ && queue_.empty()) {
    source_ = source;  // the common case: nothing waits, nothing is copied twice
    in_flight_ = true;
    start_next();
    return;
  }
  queue_.emplace_back(source);
}

// Sends the request for source_, which is marked in flight.
void Client::start_next() {
  // A dead reader shows only when it is written to: then one new try with a fresh one.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (auto ready = ensure_reader(); !ready) {
      ++counters_.failures;
      finish(tl::unexpected(std::move(ready.error())));
      return;
    }
    Request request;
    request.sequence = ++sequence_;
    request.deadline_ms = static_cast<std::uint32_t>(options_.deadline.count());
    source_.copy(request.source, sizeof request.source - 1);
    stream_.clear();
    if (::send(connection_.get(), &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT) ==
        static_cast<ssize_t>(sizeof request)) {
      set_deadline(options_.deadline + std::chrono::milliseconds(kGraceMs));
      return;
    }
    abandon();
  }
  ++counters_.failures;
  finish(fail(Errc::kUnavailable, "jetmem-reader does not take requests"));
}

Result<void> Client::ensure_reader() {
  if (connection_.valid()) return {};
  std::string why;
  if (!options_.socket.empty()) {
    auto connected = connect_to_socket();
    if (connected) return {};
    why = std::move(connected.error().message);
  }
  if (!options_.program.empty()) {
    auto spawned = spawn_program();
    if (spawned) return {};
    why = why.empty() ? std::move(spawned.error().message)
                      : why + "; " + std::move(spawned.error().message);
  }
  if (why.empty()) why = "jetmem-reader is not installed";
  return fail(Errc::kUnavailable, "no reader: " + why);
}

Result<void> Client::connect_to_socket() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options_.socket.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalid, "socket path too long: " + options_.socket);
  }
  options_.socket.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!fd.valid() || ::setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return tl::unexpected(errno_error("connect to", options_.socket, errno));
  }
  connection_ = std::move(fd);
  process_ = {};
  pid_ = -1;  // known with the first answer
  ours_ = false;
  ++counters_.starts;
  watch(connection_.get());
  return {};
}

Result<void> Client::spawn_program() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return tl::unexpected(errno_error("make a socket for", options_.program, errno));
  }
  UniqueFd mine(ends[0]);
  const UniqueFd theirs(ends[1]);
  SpawnRequest request;
  request.argv = {options_.program};
  if (!options_.root.empty()) {
    request.argv.emplace_back("--root");
    request.argv.push_back(options_.root);
  }
  request.descriptors = {{theirs.get(), 3}};
  auto child = spawner_.spawn(request);
  if (!child) return tl::unexpected(std::move(child.error()));
  process_ = std::move(*child);
  pid_ = process_.pid;
  ours_ = true;
  connection_ = std::move(mine);
  ++counters_.starts;
  watch(connection_.get());
  return {};
}

void Client::dispatch() {
  std::array<epoll_event, 8> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool timer_fired = false;
  for (int i = 0; i < n; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    if (fd == timer_.get()) {
      std::uint64_t expirations = 0;
      timer_fired = ::read(fd, &expirations, sizeof expirations) == sizeof expirations;
    } else if (connection_.valid() && fd == connection_.get()) {
      on_packet();
    }
  }
  // An answer that arrived together with the deadline counts as an answer.
  if (timer_fired && in_flight_) {
    ++counters_.timeouts;
    abandon_wedged();
    std::string message = "no answer within " + format_duration(options_.deadline);
    finish(fail(Errc::kTimeout, std::move(message)));
  }
  collect_gone();
}

void Client::on_packet() {
  std::span<char> room = stream_.room(kMaxPacket);
  AnswerHeader header;
  iovec parts[2] = {{&header, sizeof header}, {room.data(), room.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(connection_.get(), &message, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    // It ended: by its own deadline, by the OOM killer, by somebody's hand.
    int status = 0;
    const bool reaped = ours_ && ::waitpid(pid_, &status, 0) == pid_;
    if (reaped) pid_ = -1;
    const bool own_deadline = reaped && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    abandon();
    if (!in_flight_) return;
    if (own_deadline) {
      ++counters_.timeouts;
      abandon_wedged();
      finish(fail(Errc::kTimeout, "no answer within " + format_duration(options_.deadline)));
      return;
    }
    ++counters_.failures;
    std::string how = "ended before it answered";
    if (reaped && WIFSIGNALED(status)) how = "was killed by signal " + std::to_string(WTERMSIG(status));
    finish(fail(Errc::kUnavailable, "jetmem-reader " + how));
    return;
  }
  const bool whole = static_cast<std::size_t>(n) >= sizeof header &&
                     (message.msg_flags & MSG_TRUNC) == 0 && header.magic == kMagic;
  if (!whole || stream_.size() > kMaxAnswer) {
    ++counters_.failures;
    abandon();
    if (in_flight_) finish(fail(Errc::kUnavailable, "jetmem-reader talked nonsense"));
    return;
  }
  if (!ours_ && pid_ < 0) {
    pid_ = sender_of(message);
    if (pid_ > 0) process_ = Child{pid_, open_pidfd(pid_)};
  }
  // The hello of a new reader (sequence 0), or an answer nobody waits for.
  if (!in_flight_ || header.sequence != sequence_) return;
  stream_.commit(static_cast<std::size_t>(n) - sizeof header);
  if ((header.flags & AnswerHeader::kLast) == 0) return;
  set_deadline(Nanoseconds(0));
  if ((header.flags & AnswerHeader::kUnknownSource) != 0) {
    finish(fail(Errc::kUnavailable, "jetmem-reader is of another version: it has no such source"));
    return;
  }
  snapshot_.clear();
  if (auto ok = decode(stream_.view(), snapshot_); !ok) {
    ++counters_.failures;
    abandon();
    finish(tl::unexpected(std::move(ok.error())));
    return;
  }
  if ((header.flags & AnswerHeader::kTruncated) != 0) snapshot_.set_truncated();
  if (Quarantine* q = quarantine_of(source_)) q->pause = Nanoseconds(0);
  // Reported before the next request can reuse the snapshot.
  in_flight_ = false;
  done_(source_, &snapshot_, Nanoseconds(static_cast<std::int64_t>(header.read_ns)));
  finish(nullptr);
}

// Reports source_ unless that was done already, and goes on with the queue.
void Client::finish(Result<const Snapshot*> result) {
  set_deadline(Nanoseconds(0));
  if (in_flight_) {
    in_flight_ = false;
    done_(source_, std::move(result), Nanoseconds(0));
  }
  // start_next() may fail at once and come back here: one loop, not a recursion per source.
  if (starting_) return;
  starting_ = true;
  while (!in_flight_ && !queue_.empty()) {
    source_ = std::move(queue_.front());
    queue_.pop_front();
    in_flight_ = true;
    if (auto no = refusal(source_)) {
      in_flight_ = false;
      done_(source_, tl::unexpected(std::move(*no)), Nanoseconds(0));
      continue;
    }
    start_next();
  }
  starting_ = false;
}

void Client::abandon() {
  if (connection_.valid()) unwatch(connection_.get());
  connection_.reset();
  if (ours_ && pid_ > 0) {
    ::kill(pid_, SIGKILL);
    // Not waited for here: it may be stuck. Remembered until it is gone.
    if (::waitpid(pid_, nullptr, WNOHANG) == 0) {
      watch(process_.pidfd.get());
      wedged_.push_back({std::string(), std::move(process_), true});
    }
  }
  process_ = {};
  pid_ = -1;
  ours_ = false;
}

void Client::abandon_wedged() {
  if (connection_.valid()) unwatch(connection_.get());
  connection_.reset();
  Quarantine* q = quarantine_of(source_);
  if (q == nullptr) q = &quarantines_.emplace_back(Quarantine{source_, {}, {}});
  q->pause = std::clamp(q->pause * 2, kFirstPause, kLongestPause);
  q->until = clock_.boot() + q->pause;
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);  // EPERM for systemd's reader, which ends itself
    if (!ours_ || ::waitpid(pid_, nullptr, WNOHANG) == 0) {
      watch(process_.pidfd.get());
      wedged_.push_back({source_, std::move(process_), ours_});
    }
  }
  process_ = {};
  pid_ = -1;
  ours_ = false;
}

void Client::collect_gone() {
  std::erase_if(wedged_, [&](const Wedged& w) {
    bool gone = false;
    if (w.ours) {
      gone = ::waitpid(w.process.pid, nullptr, WNOHANG) != 0;
    } else if (w.process.pidfd.valid()) {
      pollfd ended{w.process.pidfd.get(), POLLIN, 0};
      gone = ::poll(&ended, 1, 0) == 1;
    } else {
      gone = ::kill(w.process.pid, 0) != 0 && errno == ESRCH;
    }
    if (gone) unwatch(w.process.pidfd.get());
    return gone;
  });
}

std::string find_reader_program() {
  std::array<char, PATH_MAX> self;
  const ssize_t n = ::readlink("/proc/self/exe", self.data(), self.size());
  if (n <= 0) return {};
  std::string directory(self.data(), static_cast<std::size_t>(n));
  directory.resize(directory.rfind('/'));
  // Installed: bin/ or libexec/jetmem/ beside libexec/jetmem/; in a build tree: collectors/.
  for (const char* candidate : {"/jetmem-reader", "/../libexec/jetmem/jetmem-reader",
                                "/../collectors/jetmem-reader"}) {
    std::string path = directory + candidate;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace jetmem::reader
