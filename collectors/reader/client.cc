#include "collectors/reader/client.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/units.h"

namespace jetmem::reader {
namespace {

constexpr Nanoseconds kFirstPause = std::chrono::minutes(1);
constexpr Nanoseconds kLongestPause = std::chrono::hours(1);
// Starting a process may take long on a machine short of memory, and is no fault of a source.
constexpr Nanoseconds kStartPatience = std::chrono::seconds(20);
// SIGKILL needs a moment even where nothing hangs.
constexpr Nanoseconds kDyingPatience = std::chrono::milliseconds(200);
constexpr int kStatusPatienceMs = 10;
constexpr Nanoseconds kSocketRetry = std::chrono::minutes(1);

// What the kernel adds to a packet. Each descriptor that came is closed unless it is taken.
struct Attached {
  pid_t sender = -1;  // as the kernel vouches for it
  UniqueFd first;
  std::size_t descriptors = 0;

  explicit Attached(msghdr* message) {
    if (message == nullptr) return;
    for (cmsghdr* c = CMSG_FIRSTHDR(message); c != nullptr; c = CMSG_NXTHDR(message, c)) {
      if (c->cmsg_level != SOL_SOCKET) continue;
      if (c->cmsg_type == SCM_CREDENTIALS) {
        ucred credentials{};
        std::memcpy(&credentials, CMSG_DATA(c), sizeof credentials);
        sender = credentials.pid;
      } else if (c->cmsg_type == SCM_RIGHTS) {
        for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
          int fd = -1;
          std::memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
          UniqueFd owned(fd);
          if (descriptors++ == 0) first = std::move(owned);
        }
      }
    }
  }
};

}  // namespace

Client::Client(ClientOptions options, const Clock& clock, Spawner& spawner, Done done)
    : options_(std::move(options)),
      clock_(clock),
      spawner_(spawner),
      done_(std::move(done)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  // Without it nobody would ever be late: then this is of no use, and fd() says so.
  if (!timer_.valid() || !watch(timer_.get())) epoll_.reset();
}

Client::~Client() { abandon(); }

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

void Client::set_timer(Nanoseconds from_now) {
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
  for (const Leaving& l : leaving_) {
    if (l.source != source) continue;
    return Error{Errc::kTimeout, "in quarantine: jetmem-reader " + std::to_string(l.process.pid) +
                                     " still hangs in the kernel reading it"};
  }
  const Quarantine* q = quarantine_of(source);
  if (q != nullptr && clock_.boot() < q->until) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(q->until - clock_.boot());
    return Error{Errc::kTimeout, "in quarantine after a read that did not return; next try in " +
                                     format_duration(left + std::chrono::seconds(1))};
  }
  if (wedged() >= options_.max_wedged) {
    return Error{Errc::kUnavailable,
                 std::to_string(wedged()) + " readers hang in the kernel, no more are started"};
  }
  return std::nullopt;
}

ReaderKind Client::kind() const {
  if (!connection_.valid() || !greeted_) return ReaderKind::kNone;
  return ours_ ? ReaderKind::kSpawned : ReaderKind::kSocket;
}

// One that was killed a moment ago is only dying.
bool Client::is_wedged(const Leaving& leaving) const {
  return clock_.mono() - leaving.since >= kDyingPatience;
}

std::size_t Client::wedged() const {
  return static_cast<std::size_t>(
      std::count_if(leaving_.begin(), leaving_.end(),
                    [&](const Leaving& leaving) { return is_wedged(leaving); }));
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
  if (!in_flight_ && queue_.empty() && !must_wait()) {
    source_ = source;  // the common case: nothing waits, nothing is copied twice
    in_flight_ = true;
    start_next();
    return;
  }
  queue_.emplace_back(source);
  serve_queue();
}

// Were it not for this, each source that hangs could wedge one more reader than allowed, before it
// is known that the one before is not merely dying.
bool Client::must_wait() const {
  return leaving_.size() >= options_.max_wedged && wedged() < leaving_.size();
}

// Sends the request for source_, which is marked in flight.
void Client::start_next() {
  // A dead reader shows only when it is written to: then one new try with a fresh one.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (auto ready = ensure_reader(); !ready) {
      fail_request(Errc::kUnavailable, std::move(ready.error().message));
      return;
    }
    Request request;
    request.sequence = ++sequence_;
    request.deadline_ms = static_cast<std::uint32_t>(options_.deadline.count());
    source_.copy(request.source, sizeof request.source - 1);
    stream_.clear();
    if (::send(connection_.get(), &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT) ==
        static_cast<ssize_t>(sizeof request)) {
      sent_ = clock_.mono();
      set_timer(greeted_ ? options_.deadline + std::chrono::milliseconds(kGraceMs)
                         : kStartPatience);
      return;
    }
    if (!ours_ && !greeted_) {
      socket_trouble_ = "the reader behind " + options_.socket + " takes no requests";
      next_socket_try_ = clock_.mono() + kSocketRetry;
    }
    abandon();
  }
  fail_request(Errc::kUnavailable, "jetmem-reader does not take requests");
}

Result<void> Client::ensure_reader() {
  // A spawned reader stands in for systemd's only until that can be had.
  const bool try_socket = !options_.socket.empty() && clock_.mono() >= next_socket_try_ &&
                          (!connection_.valid() || ours_);
  if (try_socket) {
    auto connected = connect_to_socket();
    if (connected) return {};
    socket_trouble_ = std::move(connected.error().message);
    next_socket_try_ = clock_.mono() + kSocketRetry;
  }
  if (connection_.valid()) return {};
  std::string why = options_.socket.empty() ? std::string() : socket_trouble_;
  if (!options_.program.empty()) {
    auto spawned = spawn_program();
    if (spawned) {
      fallback_reason_ = std::move(why);
      return {};
    }
    why = why.empty() ? std::move(spawned.error().message)
                      : why + "; " + std::move(spawned.error().message);
  }
  if (why.empty()) why = "jetmem-reader is not installed";
  return fail(Errc::kUnavailable, "no reader: " + why);
}

void Client::socket_gave_no_reader(std::string_view how) {
  abandon();
  ++counters_.failures;
  socket_trouble_ = "the reader behind " + options_.socket + " ";
  socket_trouble_.append(how);
  next_socket_try_ = clock_.mono() + kSocketRetry;
  if (in_flight_) start_next();
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
  abandon();  // a stand-in, if there was one
  connection_ = std::move(fd);
  pid_ = -1;  // known with its hello
  ++counters_.starts;
  return watch_connection(options_.socket);
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
  return watch_connection(options_.program);
}

// Its answers would be seen by chance only.
Result<void> Client::watch_connection(const std::string& of) {
  if (watch(connection_.get())) return {};
  Error error = errno_error("wait for", of, errno);
  abandon();
  return tl::unexpected(std::move(error));
}

void Client::dispatch() {
  // All packets first: an answer that is there counts, however late the timer says it is.
  while (take_packet()) {
  }
  std::uint64_t expirations = 0;
  if (::read(timer_.get(), &expirations, sizeof expirations) == sizeof expirations && in_flight_) {
    on_deadline();
  }
  collect_gone();
  if (!in_flight_) serve_queue();
}

bool Client::take_packet() {
  if (!connection_.valid()) return false;
  std::span<char> room = stream_.room(kMaxPacket);
  AnswerHeader header;
  iovec parts[2] = {{&header, sizeof header}, {room.data(), room.size()}};
  // Of more than two descriptors the kernel drops the rest.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(2 * sizeof(int))];
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(connection_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  // Also an empty packet may bring descriptors.
  Attached attached(n < 0 ? nullptr : &message);
  if (n <= 0) {
    on_end();
    return false;
  }
  const bool whole = static_cast<std::size_t>(n) >= sizeof header &&
                     (message.msg_flags & MSG_TRUNC) == 0 && header.magic == kMagic;
  const std::size_t announced = whole && (header.flags & AnswerHeader::kDescriptor) != 0 ? 1 : 0;
  // Sent, and not taken in: no number left, or a security module said no.
  const bool dropped = (message.msg_flags & MSG_CTRUNC) != 0 && attached.descriptors == 0;
  if (!whole || stream_.size() > kMaxAnswer || (attached.descriptors != announced && !dropped)) {
    abandon();
    if (in_flight_) fail_request(Errc::kUnavailable, "jetmem-reader talked nonsense");
    return false;
  }
  if (dropped) {
    abandon();
    if (in_flight_) {
      fail_request(Errc::kUnavailable, "jetmem-reader's descriptor could not be taken");
    }
    return false;
  }
  if (!ours_ && pid_ < 0) {
    pid_ = attached.sender;
    if (pid_ > 0) process_ = Child{pid_, open_pidfd(pid_)};
  }
  descriptor_ = std::move(attached.first);
  on_answer(header, static_cast<std::size_t>(n) - sizeof header);
  descriptor_.reset();
  return true;
}

void Client::on_answer(const AnswerHeader& header, std::size_t payload) {
  if (!std::exchange(greeted_, true)) {
    if (!ours_) fallback_reason_.clear();
    if (in_flight_) {
      // From now on the read itself is what is waited for.
      sent_ = clock_.mono();
      set_timer(options_.deadline + std::chrono::milliseconds(kGraceMs));
    }
  }
  // The hello of a new reader (sequence 0), or an answer nobody waits for.
  if (!in_flight_ || header.sequence != sequence_) return;
  stream_.commit(payload);
  if ((header.flags & AnswerHeader::kLast) == 0) return;
  if ((header.flags & AnswerHeader::kUnknownSource) != 0) {
    fail_request(Errc::kUnavailable, "jetmem-reader is of another version: it has no such source");
    return;
  }
  snapshot_.clear();
  if (auto ok = decode(stream_.view(), snapshot_); !ok) {
    abandon();
    fail_request(Errc::kUnavailable, std::move(ok.error().message));
    return;
  }
  // It stands for the one file that could be opened.
  if (descriptor_.valid() && (snapshot_.size() != 1 || !snapshot_[0].ok())) {
    abandon();
    fail_request(Errc::kUnavailable, "jetmem-reader sent a descriptor together with an error");
    return;
  }
  if ((header.flags & AnswerHeader::kTruncated) != 0) snapshot_.set_truncated();
  if (Quarantine* q = quarantine_of(source_)) q->pause = Nanoseconds(0);
  // Reported before the next request can reuse the snapshot.
  in_flight_ = false;
  set_timer(Nanoseconds(0));
  done_(source_, &snapshot_, Nanoseconds(static_cast<std::int64_t>(header.read_ns)));
  descriptor_.reset();
  serve_queue();
}

// The connection is over: the reader ended by its own deadline, by the OOM killer, by somebody's
// hand, or closed it and lives on. An ending process closes its socket a moment before its status
// can be had; that moment it is given, and no more.
void Client::on_end() {
  if (!ours_ && !greeted_) {
    socket_gave_no_reader("ended before it said hello");
    return;
  }
  if (ours_ && process_.pidfd.valid()) {
    pollfd ended{process_.pidfd.get(), POLLIN, 0};
    ::poll(&ended, 1, kStatusPatienceMs);
  }
  int status = 0;
  const bool reaped = ours_ && ::waitpid(pid_, &status, WNOHANG) == pid_;
  if (reaped) pid_ = -1;
  // Its clock started when it got the request, ours perhaps only when we saw its hello.
  const bool late = greeted_ && clock_.mono() - sent_ >= options_.deadline * 3 / 4;
  if (!in_flight_) {
    abandon();
  } else if (late) {
    time_out();
  } else {
    abandon();
    std::string how = "ended before it answered";
    if (reaped && WIFSIGNALED(status)) {
      how = "was killed by signal " + std::to_string(WTERMSIG(status));
    }
    fail_request(Errc::kUnavailable, "jetmem-reader " + how);
  }
}

void Client::on_deadline() {
  if (greeted_) {
    time_out();
    return;
  }
  if (!ours_) {
    socket_gave_no_reader("said no hello within 20s");
    return;
  }
  abandon();
  fail_request(Errc::kUnavailable, "jetmem-reader did not start within 20s");
}

void Client::time_out() {
  Quarantine* q = quarantine_of(source_);
  if (q == nullptr) q = &quarantines_.emplace_back(Quarantine{source_, {}, {}});
  q->pause = std::clamp(q->pause * 2, kFirstPause, kLongestPause);
  q->until = clock_.boot() + q->pause;
  abandon(source_);
  fail_request(Errc::kTimeout, "no answer within " + format_duration(options_.deadline));
}

// Reports why source_ could not be had, and goes on with the queue.
void Client::fail_request(Errc code, std::string message) {
  ++(code == Errc::kTimeout ? counters_.timeouts : counters_.failures);
  descriptor_.reset();
  set_timer(Nanoseconds(0));
  in_flight_ = false;
  done_(source_, fail(code, std::move(message)), Nanoseconds(0));
  serve_queue();
}

void Client::serve_queue() {
  // start_next() may fail at once and come back here: one loop, not a recursion per source.
  if (starting_) return;
  starting_ = true;
  while (!in_flight_ && !queue_.empty()) {
    if (must_wait()) {
      set_timer(kDyingPatience);
      break;
    }
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

void Client::abandon(std::string_view source) {
  if (connection_.valid()) unwatch(connection_.get());
  connection_.reset();
  // Systemd's reader is not ours to kill or reap, and ends itself with the connection: it is only
  // remembered while it hangs.
  const bool remember = pid_ > 0 && (ours_ || !source.empty());
  if (ours_ && pid_ > 0) ::kill(pid_, SIGKILL);
  if (remember && !(ours_ && ::waitpid(pid_, nullptr, WNOHANG) != 0)) {
    watch(process_.pidfd.get());
    leaving_.push_back({std::string(source), std::move(process_), ours_, clock_.mono()});
  }
  process_ = {};
  pid_ = -1;
  ours_ = false;
  greeted_ = false;
}

void Client::collect_gone() {
  std::erase_if(leaving_, [&](const Leaving& leaving) {
    bool gone = false;
    if (leaving.ours) {
      gone = ::waitpid(leaving.process.pid, nullptr, WNOHANG) != 0;
    } else if (leaving.process.pidfd.valid()) {
      pollfd ended{leaving.process.pidfd.get(), POLLIN, 0};
      gone = ::poll(&ended, 1, 0) == 1;
    } else {
      // Without pidfds (before 5.3) the number may come to belong to another process: it is
      // believed for no longer than a quarantine may last.
      gone = (::kill(leaving.process.pid, 0) != 0 && errno == ESRCH) ||
             clock_.mono() - leaving.since > kLongestPause;
    }
    if (gone) unwatch(leaving.process.pidfd.get());
    return gone;
  });
}

std::string find_reader_program() { return find_companion("jetmem-reader"); }

}  // namespace jetmem::reader
