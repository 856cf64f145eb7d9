// SPDX-License-Identifier: Apache-2.0
#include "collectors/reader/client.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text/units.h"
#include "collectors/sampler/registry.h"

namespace jetmem::reader {
namespace {

constexpr Nanoseconds kFirstPause = std::chrono::minutes(1);
// Of a whole reading where it is read in part meanwhile: it may hold a lock of the kernel for long.
constexpr Nanoseconds kFirstPauseOfWhole = std::chrono::minutes(10);
constexpr Nanoseconds kLongestQuarantine = std::chrono::hours(1);
// Starting a process may take long on a machine short of memory, and is no fault of a source.
constexpr Nanoseconds kStartTimeout = std::chrono::seconds(20);
// SIGKILL needs a moment even where nothing hangs.
constexpr Nanoseconds kReaderExitTimeout = std::chrono::milliseconds(200);
constexpr Nanoseconds kSocketRetry = std::chrono::minutes(1);
// Of one answer, the hello before it included: all but the last are full.
constexpr std::size_t kMostPackets = kMaxAnswer / (kMaxPacket - sizeof(AnswerHeader)) + 3;

// What the kernel adds to a packet.
struct Attached {
  pid_t sender = -1;  // as the kernel vouches for it
  UniqueFd first;
  UniqueFd second;
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
          (descriptors++ == 0 ? first : second) = UniqueFd(fd);
        }
      }
    }
  }
};

// The name of a reading in part, which has a quarantine of its own.
std::string part_of(std::string_view source) { return std::string(source) + " in part"; }

bool can_spare(std::string_view source) {
  const auto all = all_source_infos();
  return std::any_of(all.begin(), all.end(), [&](const SourceInfo* info) {
    return info->can_spare && info->name == source;
  });
}

}  // namespace

Client::Client(ClientOptions options, const Clock& clock, Spawner& spawner, Done done)
    : options_(std::move(options)), clock_(clock), spawner_(spawner), done_(std::move(done)) {}

Result<void> Client::attach(EventLoop& loop) {
  loop_ = &loop;
  return timer_.attach(loop, [this] { on_timer(); });
}

Client::Quarantine* Client::quarantine_of(std::string_view reading) {
  for (Quarantine& q : quarantines_) {
    if (q.reading == reading) return &q;
  }
  return nullptr;
}

std::optional<Error> Client::quarantine_error(std::string_view reading) {
  for (const auto& reader : readers_) {
    if (reader->reading != reading || !reader->child.is_terminating()) continue;
    return Error{Errc::kTimeout, "in quarantine: jetmem-reader " +
                                     std::to_string(reader->child.terminating_pid()) +
                                     " still hangs in the kernel reading it"};
  }
  const Quarantine* q = quarantine_of(reading);
  if (q != nullptr && clock_.boot() < q->until) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(q->until - clock_.boot());
    return Error{Errc::kTimeout, "in quarantine after a read that did not return; next try in " +
                                     format_duration(left + std::chrono::seconds(1))};
  }
  return std::nullopt;
}

bool Client::must_spare(std::string_view source) {
  const auto& all = options_.in_part;
  return can_spare(source) && (std::find(all.begin(), all.end(), source) != all.end() ||
                               quarantine_error(source).has_value());
}

std::string Client::reading() const { return is_sparing_ ? part_of(source_) : source_; }

std::optional<Error> Client::refusal(std::string_view source) {
  const std::string reading = must_spare(source) ? part_of(source) : std::string(source);
  if (auto no = quarantine_error(reading)) return no;
  if (wedged() >= options_.max_wedged) {
    return Error{Errc::kUnavailable,
                 std::to_string(wedged()) + " readers hang in the kernel, none is started"};
  }
  return std::nullopt;
}

ReaderKind Client::kind() const {
  if (!is_connected() || !greeted_) return ReaderKind::kNone;
  return is_ours_ ? ReaderKind::kSpawned : ReaderKind::kSocket;
}

std::size_t Client::wedged() const {
  return static_cast<std::size_t>(std::count_if(
      readers_.begin(), readers_.end(), [](const auto& reader) { return reader->child.wedged(); }));
}

std::size_t Client::terminating() const {
  return static_cast<std::size_t>(
      std::count_if(readers_.begin(), readers_.end(),
                    [](const auto& reader) { return reader->child.terminating_pid() > 0; }));
}

void Client::request(std::string_view source) {
  if ((in_flight_ && source_ == source) ||
      std::find(queue_.begin(), queue_.end(), source) != queue_.end()) {
    return;
  }
  reap_exited();
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
  const std::size_t count = terminating();
  return count >= options_.max_wedged && wedged() < count;
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
    is_sparing_ = must_spare(source_);
    request.is_sparing = is_sparing_ ? 1 : 0;
    source_.copy(request.source, sizeof request.source - 1);
    stream_.clear();
    packets_ = 0;
    if (::send(current_->child.channel(), &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT) ==
        static_cast<ssize_t>(sizeof request)) {
      sent_ = clock_.mono();
      timer_.set(greeted_ ? options_.deadline + std::chrono::milliseconds(kGraceMs)
                          : kStartTimeout);
      return;
    }
    if (!is_ours_ && !greeted_) {
      socket_error_ = "the reader behind " + options_.socket + " takes no requests";
      next_socket_try_ = clock_.mono() + kSocketRetry;
    }
    abandon();
  }
  fail_request(Errc::kUnavailable, "jetmem-reader does not take requests");
}

Result<void> Client::ensure_reader() {
  // A spawned reader stands in for systemd's only until that can be reached.
  const bool try_socket = !options_.socket.empty() && clock_.mono() >= next_socket_try_ &&
                          (!is_connected() || is_ours_);
  if (try_socket) {
    auto connected = connect_to_socket();
    if (connected) return {};
    socket_error_ = std::move(connected.error().message);
    next_socket_try_ = clock_.mono() + kSocketRetry;
  }
  if (is_connected()) return {};
  abandon();  // one that closed its connection a moment ago
  std::string why = options_.socket.empty() ? std::string() : socket_error_;
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

void Client::handle_socket_failure(std::string_view how) {
  abandon();
  ++counters_.failures;
  socket_error_ = "the reader behind " + options_.socket + " ";
  socket_error_.append(how);
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
  abandon();  // a spawned one, if there was one
  auto reader = free_reader();
  if (!reader) return tl::unexpected(std::move(reader.error()));
  // Which process it is comes with its hello.
  if (auto ok = (*reader)->child.read_from(std::move(fd)); !ok) return ok;
  current_ = *reader;
  is_ours_ = false;
  ++counters_.starts;
  return {};
}

Result<void> Client::spawn_program() {
  auto reader = free_reader();
  if (!reader) return tl::unexpected(std::move(reader.error()));
  SpawnRequest request;
  request.argv = {options_.program};
  if (!options_.root.empty()) {
    request.argv.emplace_back("--root");
    request.argv.push_back(options_.root);
  }
  if (auto ok = (*reader)->child.start(std::move(request)); !ok) return ok;
  current_ = *reader;
  is_ours_ = true;
  ++counters_.starts;
  return {};
}

Result<Client::Reader*> Client::free_reader() {
  for (const auto& reader : readers_) {
    if (!reader->child.running() && !reader->child.is_terminating()) return reader.get();
  }
  ChildProcess::Callbacks callbacks;
  callbacks.packets = [this] { return take_packets(); };
  callbacks.ended = [this](const ChildEnd& end) { on_end(end); };
  callbacks.gone = [this] { serve_queue(); };
  auto reader = std::make_unique<Reader>(clock_, spawner_, std::move(callbacks));
  if (auto ok = reader->child.attach(*loop_); !ok) return tl::unexpected(std::move(ok.error()));
  return readers_.emplace_back(std::move(reader)).get();
}

bool Client::take_packets() {
  if (options_.before_answers) options_.before_answers();
  for (;;) {
    const Taken taken = take_packet();
    if (taken != Taken::kPacket) return taken == Taken::kNone;
  }
}

Client::Taken Client::take_packet() {
  if (!is_connected()) return Taken::kNone;
  std::span<char> room = stream_.room(kMaxPacket);
  AnswerHeader header;
  iovec parts[2] = {{&header, sizeof header}, {room.data(), room.size()}};
  // For two descriptors at most, whatever the alignment: the kernel drops the rest. For none where
  // none is due.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))];
  const bool may_bring_one =
      options_.stream_source.empty() || (in_flight_ && source_ == options_.stream_source);
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = control;
  message.msg_controllen = (is_ours_ ? 0 : CMSG_SPACE(sizeof(ucred))) +
                           (may_bring_one ? CMSG_SPACE(sizeof(int)) : 0);
  const ssize_t n = ::recvmsg(current_->child.channel(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return Taken::kNone;
  // Also an empty packet may bring descriptors.
  Attached attached(n < 0 ? nullptr : &message);
  descriptor_ = std::move(attached.first);
  const Taken taken = take_content(n, header, message.msg_flags, attached.sender,
                                   attached.descriptors);
  dispose(std::move(descriptor_));
  dispose(std::move(attached.second));
  return taken;
}

Client::Taken Client::take_content(ssize_t n, const AnswerHeader& header, int flags, pid_t sender,
                                   std::size_t descriptors) {
  if (n <= 0) {
    over_at_ = clock_.mono();
    return Taken::kOver;
  }
  const bool whole = static_cast<std::size_t>(n) >= sizeof header && (flags & MSG_TRUNC) == 0 &&
                     header.magic == kMagic;
  const std::size_t announced = whole && (header.flags & AnswerHeader::kDescriptor) != 0 ? 1 : 0;
  const bool is_last = (header.flags & AnswerHeader::kLast) != 0;
  // Sent, and not taken in: no number left, or a security module said no.
  const bool dropped = (flags & MSG_CTRUNC) != 0 && descriptors == 0;
  if (!whole || stream_.size() > kMaxAnswer || ++packets_ > kMostPackets ||
      (announced > 0 && !is_last) || (descriptors != announced && !dropped)) {
    refuse_packet("protocol error of jetmem-reader");
    return Taken::kNone;
  }
  if (dropped) {
    refuse_packet("jetmem-reader's descriptor could not be taken");
    return Taken::kNone;
  }
  // The kernel vouches for it.
  if (!is_ours_ && pid() < 0) current_->child.set_peer_process(sender, {}, Nanoseconds(0));
  return on_answer(header, static_cast<std::size_t>(n) - sizeof header) ? Taken::kPacket
                                                                        : Taken::kNone;
}

void Client::refuse_packet(std::string message) {
  abandon();
  if (in_flight_) {
    fail_request(Errc::kUnavailable, std::move(message));
  } else {
    ++counters_.failures;
  }
}

void Client::dispose(UniqueFd descriptor) {
  if (descriptor.valid() && options_.dispose) options_.dispose(std::move(descriptor));
}

// False: the connection is given up.
bool Client::on_answer(const AnswerHeader& header, std::size_t payload) {
  const bool is_first = !std::exchange(greeted_, true);
  if (is_first) {
    if (!is_ours_) fallback_reason_.clear();
    if (in_flight_) {
      // From now on the read itself is what is waited for.
      sent_ = clock_.mono();
      timer_.set(options_.deadline + std::chrono::milliseconds(kGraceMs));
    }
  }
  if (!in_flight_ || header.sequence != sequence_) {
    if (is_first) return true;  // the hello of a new reader (sequence 0)
    // One that sends without end what nobody waits for would keep the loop here.
    refuse_packet("protocol error of jetmem-reader");
    return false;
  }
  stream_.commit(payload);
  if ((header.flags & AnswerHeader::kLast) == 0) return true;
  if ((header.flags & AnswerHeader::kUnknownSource) != 0) {
    fail_request(Errc::kUnavailable, "jetmem-reader is of another version: it has no such source");
    return true;
  }
  snapshot_.clear();
  if (auto ok = decode(stream_.view(), snapshot_); !ok) {
    abandon();
    fail_request(Errc::kUnavailable, std::move(ok.error().message));
    return false;
  }
  // It stands for the one file that could be opened.
  if (descriptor_.valid() && (snapshot_.size() != 1 || !snapshot_[0].ok())) {
    abandon();
    fail_request(Errc::kUnavailable, "jetmem-reader sent a descriptor together with an error");
    return false;
  }
  if ((header.flags & AnswerHeader::kTruncated) != 0) snapshot_.set_truncated();
  if (Quarantine* q = quarantine_of(reading())) q->pause = Nanoseconds(0);
  if (is_sparing_) {
    read_in_part_ = source_;
  } else if (read_in_part_ == source_) {
    read_in_part_.clear();
  }
  // Reported before the next request can reuse the snapshot.
  in_flight_ = false;
  timer_.cancel();
  done_(source_, &snapshot_, Nanoseconds(static_cast<std::int64_t>(header.read_ns)));
  serve_queue();
  return true;
}

// The reader ended by its own deadline, by the OOM killer, by somebody's hand, or closed its
// connection.
void Client::on_end(const ChildEnd& end) {
  if (!is_ours_ && !greeted_) {
    handle_socket_failure("ended before its hello");
    return;
  }
  // Its clock started when it got the request, ours perhaps only when we saw its hello.
  const bool late = greeted_ && over_at_ - sent_ >= options_.deadline * 3 / 4;
  if (in_flight_ && late) {
    time_out();
    return;
  }
  abandon();
  if (!in_flight_) return;
  fail_request(
      Errc::kUnavailable,
      "jetmem-reader " + (end.signal != 0 ? end.how : std::string("ended without an answer")));
}

void Client::on_timer() {
  if (!in_flight_) {
    reap_exited();
    serve_queue();
    return;
  }
  // If the loop itself was late, the answer is there.
  const std::uint32_t sequence = sequence_;
  const bool was_greeted = greeted_;
  if (is_connected()) current_->child.read_now();
  if (!in_flight_ || sequence != sequence_ || was_greeted != greeted_) return;
  if (greeted_) {
    time_out();
  } else if (!is_ours_) {
    handle_socket_failure("sent no hello within 20s");
  } else {
    abandon();
    fail_request(Errc::kUnavailable, "jetmem-reader did not start within 20s");
  }
}

void Client::time_out() {
  const std::string hangs = reading();
  Quarantine* q = quarantine_of(hangs);
  if (q == nullptr) q = &quarantines_.emplace_back(Quarantine{hangs, {}, {}});
  const bool has_part = !is_sparing_ && can_spare(source_);
  q->pause = std::clamp(q->pause * 2, has_part ? kFirstPauseOfWhole : kFirstPause, kLongestQuarantine);
  q->until = clock_.boot() + q->pause;
  abandon(hangs);
  fail_request(Errc::kTimeout, "no answer within " + format_duration(options_.deadline));
}

// Reports why source_ was not read, and goes on with the queue.
void Client::fail_request(Errc code, std::string message) {
  ++(code == Errc::kTimeout ? counters_.timeouts : counters_.failures);
  timer_.cancel();
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
      timer_.set(kReaderExitTimeout);
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

void Client::abandon(std::string_view reading) {
  if (current_ == nullptr) return;
  Reader& reader = *std::exchange(current_, nullptr);
  reader.reading = reading;
  reader.child.kill();
  // Systemd's reader ends itself with the connection: it matters only while it hangs.
  if (reading.empty()) reader.child.forget_peer();
  is_ours_ = false;
  greeted_ = false;
}

void Client::reap_exited() {
  for (const auto& reader : readers_) (void)reader->child.is_terminating();
}

std::string find_reader_program() { return find_companion("jetmem-reader"); }

}  // namespace jetmem::reader
